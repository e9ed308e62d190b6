"""The writer: one session, and group commits of creates and appends.

While a statement commits, further writes wait; the next statement has all of them, at most MAX_BATCH of one kind, so
that one commit serves many callers. A statement has arrays as its arguments and is a transaction of its own. Equal
idempotency slots and equal runs never share a statement, because the same slot twice would create two runs. Writes of
one run or one slot keep their order.

If the server refuses a statement, nothing of it was written, and its writes go one by one, so that a bad write does not
affect the others. If the session is lost, the outcome of the statement is unknown, and it is never repeated.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Protocol

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import (
    DIVISION_BY_ZERO,
    REPEATABLE,
    STATEMENT_SECONDS,
    PostgresConnection,
    Statement,
    check_server,
    check_writable,
    connect,
    disconnect,
    has_failed,
    is_outage,
    translate,
)
from weftwork.adapters.postgres.database.lost_sessions import LostSessions
from weftwork.adapters.postgres.database.pool import ATTEMPTS, Backoff
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import StoreUnavailable

MAX_BATCH: Final = 64
RECENT_COMMITS: Final = 1_000
PLANNER: Final = {
    "application_name": "weftwork writer",
    # The statements are planned once, with sizes of tables that may be empty. They find every row by an index for all
    # sizes: a plan for an empty table that scans it would be used until the next ANALYZE.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "random_page_cost": "1.1",
}


class WriteKind(Protocol):
    """How writes of one kind become a statement."""

    def statement(self, writes: Sequence[Any]) -> tuple[str, list[Sequence[Any]]]:
        """The query and its arguments. Its rows begin with the number of a write that was not done, from 1."""
        ...

    async def refusal(self, connection: PostgresConnection, write: Any) -> Any:
        """Why a write was not done: the result of its call, or the exception to raise; None if it may be repeated."""
        ...

    def failure(self, error: Exception, write: Any) -> Exception | None:
        """The error of a call whose statement had no other write and failed with `error`; None for the usual one."""
        ...


class Write:
    """A write with the future of its caller. `run_id` and `slot` are what it locks: equal run ids of two partitions are
    so rare that they may wait for each other."""

    __slots__ = ("future", "kind", "run_id", "slot")

    def __init__(
        self, kind: WriteKind, run_id: str, slot: tuple[str, str] | None, future: "asyncio.Future[Any]"
    ) -> None:
        self.kind = kind
        self.run_id = run_id
        self.slot = slot
        self.future = future


def lock_order(write: Write) -> tuple[str, str]:
    """Every process locks slots in this order."""
    return write.slot or ("", "")


class PostgresWriter:
    """Runs writes in the order of submission."""

    def __init__(self, address: StoreAddress, lost: LostSessions) -> None:
        self._address = address
        self._lost = lost
        self._backoff = Backoff()
        self._connection: PostgresConnection | None = None
        self._statements: dict[str, Statement] = {}
        self._waiting: deque[Write] = deque()
        self._accepting = False
        self.batches = self.writes = self.reconnects = self.splits = 0
        self.recent_commits: deque[float] = deque(maxlen=RECENT_COMMITS)
        """How many seconds each of the last batches took."""

    async def open(self) -> None:
        """Connect, and check the server. Raises StoreUnavailable or HostFault."""
        self._loop = asyncio.get_running_loop()
        self._wake: asyncio.Future[None] | None = None
        self._connection = await self._connect()
        self._accepting = True
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Finish the writes that were accepted, then close the session. Can be called twice."""
        if self._accepting:
            self._accepting = False
            self._notify()
            await self._task
        connection, self._connection = self._connection, None
        if connection is not None:
            await disconnect(connection)

    @property
    def connection(self) -> PostgresConnection:
        """The session, for checks before the first write."""
        assert self._connection is not None, "the writer is open"
        return self._connection

    def new_future(self) -> "asyncio.Future[Any]":
        if not self._accepting:
            raise StoreUnavailable("the store is closed")
        return self._loop.create_future()

    def submit(self, write: Write) -> None:
        """Queue a write. Its future settles when it is durable or has failed; a cancelled future does not cancel it."""
        if not self._accepting:
            raise StoreUnavailable("the store is closed")
        self._waiting.append(write)
        if self._wake is not None:
            self._notify()

    async def ping(self) -> int:
        """Check that the session of the writer can write; the skew of the clocks in milliseconds."""
        future: asyncio.Future[int] = self.new_future()
        self.submit(Write(_PING, "", None, future))
        return await future

    def _notify(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)

    async def _run(self) -> None:
        while True:
            if not self._waiting:
                if not self._accepting:
                    return
                self._wake = self._loop.create_future()
                await self._wake
                continue
            await self._commit(self._next_batch())

    def _next_batch(self) -> list[Write]:
        """The oldest write and all others of its kind that may share its statement."""
        waiting = self._waiting
        kind = waiting[0].kind
        batch: list[Write] = []
        skipped: list[Write] = []
        used: set[Any] = {None}
        has_slots = False
        while waiting and len(batch) < MAX_BATCH:
            write = waiting.popleft()
            run_id, slot = write.run_id, write.slot
            if write.kind is kind and run_id not in used and (slot is None or slot not in used):
                batch.append(write)
                has_slots = has_slots or slot is not None
            else:
                skipped.append(write)
            used.add(run_id)
            used.add(slot)
        waiting.extendleft(reversed(skipped))
        if has_slots:
            batch.sort(key=lock_order)
        return batch

    async def _commit(self, writes: list[Write], attempt: int = 1) -> None:
        connection: PostgresConnection | None = None
        sent = False
        try:
            fault_point("writer.begin")
            async with asyncio.timeout(STATEMENT_SECONDS):
                connection = await self._connected()
                if self._lost:
                    await self._lost.end(connection)
                if writes[0].kind is _PING:
                    _settle(writes, await check_writable(connection))
                    return
                statement, arguments = await self._prepare(connection, writes)
                sent = True
                began = self._loop.time()
                refused = await statement.fetch(*arguments)
            fault_point("writer.committed")
        except Exception as error:
            if connection is None:
                _settle(writes, translate(error, False))
            elif not has_failed(connection, error, sent):
                if sent:
                    self._lost.add(connection)
                self._drop(connection)
                _settle(writes, translate(error, sent))
            elif len(writes) > 1 and not is_outage(error):
                self.splits += 1
                for write in writes:
                    await self._commit([write])
            elif isinstance(error, (*REPEATABLE, DIVISION_BY_ZERO)) and attempt < ATTEMPTS:
                await self._commit(writes, attempt + 1)
            elif len(writes) == 1:
                _settle(writes, writes[0].kind.failure(error, writes[0]) or translate(error, False))
            else:
                _settle(writes, translate(error, False))
            return
        self.batches += 1
        self.writes += len(writes)
        self.recent_commits.append(self._loop.time() - began)
        if refused:
            numbers = {row[0] for row in refused}
            await self._refuse(connection, [writes[number - 1] for number in numbers], attempt)
            _settle([write for number, write in enumerate(writes, 1) if number not in numbers], None)
        else:
            _settle(writes, None)

    async def _prepare(
        self, connection: PostgresConnection, writes: list[Write]
    ) -> tuple[Statement, list[Sequence[Any]]]:
        """The statement for these writes, which this session prepares once, and its arguments."""
        query, arguments = writes[0].kind.statement(writes)
        statement = self._statements.get(query)
        if statement is None:
            statement = self._statements[query] = await connection.prepare(query)
        return statement, arguments

    async def _refuse(self, connection: PostgresConnection, writes: list[Write], attempt: int) -> None:
        """Settle writes that the statement has not done. Nothing of them was written."""
        for write in writes:
            try:
                async with asyncio.timeout(STATEMENT_SECONDS):
                    reason = await write.kind.refusal(connection, write)
            except Exception as error:
                if not has_failed(connection, error):
                    self._drop(connection)
                reason = translate(error, False)
            if reason is not None:
                _settle([write], reason)
            elif attempt < ATTEMPTS:
                await self._commit([write], attempt + 1)
            else:
                _settle([write], StoreUnavailable("other processes change the same rows all the time"))

    async def _connected(self) -> PostgresConnection:
        connection = self._connection
        if connection is not None and not connection.is_closed():
            return connection
        self._backoff.check()
        try:
            self._connection = await self._connect()
        except StoreUnavailable:
            self._backoff.failed()
            raise
        self._backoff.succeeded()
        self.reconnects += 1
        return self._connection

    async def _connect(self) -> PostgresConnection:
        self._statements.clear()
        connection = await connect(self._address, **PLANNER)
        try:
            await check_server(connection)
            await check_writable(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _drop(self, connection: PostgresConnection) -> None:
        connection.terminate()
        self._connection = None


class _Ping:
    """The kind of a write that writes nothing."""

    def statement(self, writes: Sequence[Any]) -> tuple[str, list[Sequence[Any]]]:
        raise NotImplementedError

    async def refusal(self, connection: PostgresConnection, write: Any) -> Any:
        raise NotImplementedError

    def failure(self, error: Exception, write: Any) -> Exception | None:
        return None


_PING: Final = _Ping()


def _settle(writes: list[Write], result: Any) -> None:
    """Give each caller the result, or raise it there."""
    is_error = isinstance(result, BaseException)
    for write in writes:
        future = write.future
        if not future.done():  # the caller may have been cancelled
            if is_error:
                future.set_exception(result)
            else:
                future.set_result(result)
