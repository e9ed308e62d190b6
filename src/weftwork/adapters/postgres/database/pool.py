"""A small pool of sessions, for reads and for transactions that are rarer than appends.

A session that was lost is noticed when it is taken from the pool, and replaced. While the server does not accept
connections, new attempts are spaced out, and calls in between fail at once.

A transaction runs in a task of its own: cancelling the caller does not cancel it. It is repeated only if the server has
rolled it back because of another transaction.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import (
    CHORE_TIMEOUT,
    REPEATABLE,
    STATEMENT_SECONDS,
    PostgresConnection,
    Row,
    connect,
    disconnect,
    has_failed,
    translate,
)
from weftwork.adapters.postgres.database.lost_sessions import LostSessions
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import FenceLost, SequenceConflict, StoreUnavailable
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.retention import StillLive

T = TypeVar("T")

SESSIONS: Final = 4
WAIT_SECONDS: Final = 10.0
"""How long a call waits for a session."""
ATTEMPTS: Final = 4
MIN_DELAY, MAX_DELAY = 0.05, 1.0
"""Seconds between two attempts to connect."""


_PORT_ERRORS: Final = (FenceLost, SequenceConflict, SourceMissing, StillLive)
"""Refusals of a job, which its caller gets as they are. The transaction is rolled back."""


class Backoff:
    """Spaces out attempts to connect: between two that fail, calls fail at once."""

    def __init__(self) -> None:
        self._delay = 0.0
        self._until = 0.0

    def check(self) -> None:
        if time.monotonic() < self._until:
            raise StoreUnavailable("the server did not accept a connection a moment ago")

    def failed(self) -> None:
        self._delay = min(max(self._delay * 2, MIN_DELAY), MAX_DELAY)
        self._until = time.monotonic() + self._delay * random.uniform(0.5, 1.0)  # noqa: S311

    def succeeded(self) -> None:
        self._delay = self._until = 0.0


class Refused(Exception):
    """Raised by a job: roll the transaction back and return `result`."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


Job = Callable[[PostgresConnection], Awaitable[T]]


class SessionPool:
    """At most `size` sessions, opened when they are needed."""

    def __init__(self, address: StoreAddress, lost: LostSessions, size: int = SESSIONS) -> None:
        self._address = address
        self._lost = lost
        self._size = size
        self._backoff = Backoff()
        self._accepting = False
        self.waits = 0
        """Calls that had to wait for a session."""

    async def open(self) -> None:
        """Accept calls. Opens one session, so that an address that cannot be used is found now."""
        self._idle: list[PostgresConnection] = []
        self._free = asyncio.Semaphore(self._size)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._idle.append(await connect(self._address))
        self._accepting = True

    async def close(self) -> None:
        """Finish the transactions that were accepted, then close the sessions. Can be called twice."""
        if not self._accepting:
            return
        self._accepting = False
        while self._tasks:
            await asyncio.wait(self._tasks)
        for _ in range(self._size):
            await self._free.acquire()
        while self._idle:
            await disconnect(self._idle.pop())

    def check_open(self) -> None:
        if not self._accepting:
            raise StoreUnavailable("the store is closed")

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[PostgresConnection, None]:
        """A session for the caller alone. If it is lost or left inside a transaction, it is not used again."""
        self.check_open()
        await self._acquire()
        connection: PostgresConnection | None = None
        try:
            connection = await self._connected()
            if self._lost:
                await self._guard(connection, self._lost.end(connection))
            yield connection
        finally:
            if connection is not None:
                if connection.is_closed() or connection.is_in_transaction():
                    connection.terminate()
                else:
                    self._idle.append(connection)
            self._free.release()

    async def read(self, query: str, *arguments: Any) -> list[Row]:
        """The rows of one statement that changes nothing."""
        return await self._read(lambda connection: connection.fetch(query, *arguments))

    async def single(self, job: Job[T]) -> T:
        """The result of a job with a single statement that changes nothing."""
        return await self._read(job)

    async def snapshot(self, job: Job[T]) -> T:
        """The result of statements that all see the same commits."""
        return await self._read(lambda connection: _in_snapshot(connection, job))

    async def _read(self, job: Job[T]) -> T:
        """Repeated once on another session, if the server has ended the session meanwhile: that is noticed only when it
        is used, and after a restart of the server every session of the pool has ended."""
        async with self.session() as connection:
            try:
                return await self._guard(connection, job(connection))
            except StoreUnavailable as error:
                # Without a cause, the server has not answered in time.
                if error.__cause__ is None or not connection.is_closed():
                    raise
        async with self.session() as connection:
            return await self._guard(connection, job(connection))

    async def transact(self, job: Job[T]) -> T:
        """The result of a job in a transaction that is committed, or of its Refused."""
        self.check_open()
        task = asyncio.create_task(self._transact(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def chore(self, name: str, idle: T, job: Job[T]) -> T:
        """`transact` for work that one process at a time does, with more time. `idle` if another one is doing it."""
        key = self._address.lock_key("chore", name)

        async def alone(connection: PostgresConnection) -> T:
            if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", key):
                raise Refused(idle)
            await connection.execute(CHORE_TIMEOUT)
            return await job(connection)

        return await self.transact(alone)

    async def _transact(self, job: Job[T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            async with self.session() as connection:
                committing = False
                try:
                    await connection.execute("BEGIN")
                    try:
                        result = await job(connection)
                    except Refused as refused:
                        await connection.execute("ROLLBACK")
                        return refused.result
                    fault_point("writer.commit")
                    committing = True
                    await connection.execute("COMMIT")
                    return result
                except REPEATABLE as error:
                    await self._roll_back(connection)
                    if attempt == ATTEMPTS:
                        raise translate(error, False) from error
                except Exception as error:
                    failed = has_failed(connection, error)
                    if committing and not failed:
                        self._lost.add(connection)
                    await self._roll_back(connection)
                    if isinstance(error, _PORT_ERRORS):
                        raise
                    raise translate(error, committing and not failed) from error
        raise AssertionError

    async def _roll_back(self, connection: PostgresConnection) -> None:
        if connection.is_closed():
            return
        try:
            await connection.execute("ROLLBACK")
        except Exception:
            connection.terminate()

    async def _guard(self, connection: PostgresConnection, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(STATEMENT_SECONDS):
                return await call
        except TimeoutError:
            connection.terminate()
            raise StoreUnavailable("the server does not answer") from None
        except _PORT_ERRORS:
            raise
        except Exception as error:
            raise translate(error, False) from error

    async def _acquire(self) -> None:
        try:
            if self._free.locked():
                self.waits += 1
            async with asyncio.timeout(WAIT_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise StoreUnavailable("all sessions of the store are in use") from None
        if not self._accepting:
            self._free.release()
            raise StoreUnavailable("the store is closed")

    async def _connected(self) -> PostgresConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        self._backoff.check()
        try:
            connection = await connect(self._address)
        except StoreUnavailable:
            self._backoff.failed()
            raise
        self._backoff.succeeded()
        return connection


async def _in_snapshot(connection: PostgresConnection, job: Job[T]) -> T:
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        result = await job(connection)
    except Exception:
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
        raise
    await connection.execute("COMMIT")
    return result
