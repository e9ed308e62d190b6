"""The election on PostgreSQL: a session advisory lock says who may execute, a row has the epoch.

The lock belongs to a session that is used for nothing else. A touch keeps it alive; if the process is suspended or cut
off, the server ends the session and with it the lock. Afterwards this process continues, because each of its writes
is checked, and tries to get the lock back: with the same epoch if no other process was elected meanwhile. Otherwise it
has lost.
"""

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import Final

import msgspec

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect, translate
from weftwork.adapters.postgres.database.pool import SessionPool
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.protocol.run.header import ENGINE_VERSION

_RETRY_SECONDS: Final = 0.02
SLOT: Final = "executor"
"""The only slot. Several executors, each with a share of the runs, would have one each."""

_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
# The two halves of the key of an advisory lock are columns of their own.
_END_HOLDER = """
    SELECT pg_terminate_backend(pid, 1000) FROM pg_locks
    WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = $1 AND granted AND pid <> pg_backend_pid()
"""
_ELECT = """
    INSERT INTO elections AS e (slot, epoch, holder, engine_version)
    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2, $3)
    ON CONFLICT (slot) DO UPDATE SET epoch = greatest(e.epoch + 1, excluded.epoch), holder = excluded.holder,
      engine_version = excluded.engine_version
    WHERE e.engine_version <= excluded.engine_version
    RETURNING epoch
"""
# A process that is suspended while it prepares a statement inside a transaction keeps its locks. For the server its
# session is active, so idle_in_transaction_session_timeout does not end it, and statement_timeout neither.
_END_STALLED = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
    AND application_name IN ('weftwork', 'weftwork writer')
    AND state = 'active' AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - make_interval(secs => $1)
"""
_FIND = "SELECT epoch, holder, engine_version FROM elections WHERE slot = $1"

logger = logging.getLogger(__name__)


class ElectionTimes(msgspec.Struct, frozen=True):
    """How long an executor may be silent. Tests use a tenth of it."""

    touch: float = 1.0
    """Seconds between two signs of life."""
    silence: float = 5.0
    """After this many seconds without one, the server ends the session of the executor."""
    force: float = 5.0
    """How many seconds `take` with `force` waits for the lock of a session that it has ended."""
    stall: float = 3.0
    """After this many seconds, the executor ends a session whose process has not sent the rest of a statement."""


class PostgresElection:
    """Implements ports.storage.election.Election."""

    def __init__(self, pool: SessionPool, address: StoreAddress, times: ElectionTimes | None = None) -> None:
        self._pool = pool
        self._address = address
        self._times = times or ElectionTimes()
        self._key = address.lock_key("election", SLOT)
        self._epoch = 0
        self._connection: PostgresConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._cut = asyncio.Event()
        self.lost = asyncio.Event()

    async def take(self, force: bool = False) -> int:
        self._pool.check_open()
        await self.release()
        self.lost = asyncio.Event()
        connection = await self._connect()
        try:
            has_lock = await connection.fetchval(_TRY_LOCK, self._key)
            if not has_lock and not force:
                row = await connection.fetchrow(_FIND, SLOT)
                raise HostLocked(
                    f"{row[1] if row is not None else 'another process'} executes the runs of this store: stop it "
                    "first, or replace it with --take-over if it does not respond"
                )
            # Before the lock: with a higher epoch, the executor that has the lock cannot write any more.
            holder = f"{socket.gethostname()}, process {os.getpid()}"
            epoch = await connection.fetchval(_ELECT, SLOT, holder, ENGINE_VERSION)
            if epoch is None:
                raise HostLocked("a newer release has executed the runs of this store: start that one, or a newer one")
            if not has_lock:
                await self._replace(connection)
        except BaseException as error:
            await disconnect(connection)
            if isinstance(error, Exception) and not isinstance(error, HostLocked):
                raise translate(error, True) from error
            raise
        self._epoch = epoch
        self._connection = connection
        self._task = asyncio.create_task(self._hold())
        return epoch

    async def release(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        connection, self._connection = self._connection, None
        if connection is not None:
            await disconnect(connection)

    async def _connect(self) -> PostgresConnection:
        silence = f"{round(self._times.silence * 1000)}ms"
        connection = await connect(self._address, application_name="weftwork executor", idle_session_timeout=silence)
        connection.add_termination_listener(lambda *_: self._cut.set())
        return connection

    async def _replace(self, connection: PostgresConnection) -> None:
        """End the session that has the lock, until this session has it. The other executor may get the lock back, and
        releases it as soon as it sees the new epoch."""
        logger.warning("replacing the executor of this store")
        try:
            async with asyncio.timeout(self._times.force):
                while not await connection.fetchval(_TRY_LOCK, self._key):
                    await connection.fetch(_END_HOLDER, self._key)
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError:
            raise StoreUnavailable("the executor of this store could not be replaced") from None

    async def _hold(self) -> None:
        """Keep the session alive; after a cut, get the lock back or find out that it is lost."""
        while True:
            # A process that was replaced is cut off, and has to find that out at once.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.touch):
                    await self._cut.wait()
            self._cut.clear()
            connection = self._connection
            try:
                if connection is None or connection.is_closed():
                    logger.warning("the session of the election was lost; trying to get the lock back")
                    connection = self._connection = None
                    if not await self._regain():
                        continue
                    connection = self._connection
                    logger.warning("the session of the election is back")
                assert connection is not None
                async with asyncio.timeout(self._times.silence):
                    epoch = await connection.fetchval("SELECT epoch FROM elections WHERE slot = $1", SLOT)
                    await connection.execute(_END_STALLED, self._times.stall)
                if epoch != self._epoch:
                    self._lose()
                    return
            except _Lost:
                self._lose()
                return
            except Exception as error:
                if connection is not None and connection is self._connection:
                    connection.terminate()
                logger.warning("the election cannot be confirmed: %s", translate(error, False))

    async def _regain(self) -> bool:
        """Take the lock with the same epoch. False if another process has the lock but was not elected yet. Raises
        _Lost if one was elected."""
        connection = await self._connect()
        kept = False
        try:
            has_lock = await connection.fetchval(_TRY_LOCK, self._key)
            row = await connection.fetchrow(_FIND, SLOT)
            if row is None or row[0] != self._epoch:
                raise _Lost
            if has_lock:
                self._connection = connection
                kept = True
        finally:
            if not kept:
                await disconnect(connection)
        return kept

    def _lose(self) -> None:
        logger.critical("another process was elected to execute the runs of this store")
        self.lost.set()


class _Lost(Exception):
    """Another process was elected."""
