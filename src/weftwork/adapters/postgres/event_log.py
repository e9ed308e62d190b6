"""The event log port on PostgreSQL."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from weftwork.adapters.postgres.array_statements import Append, NewRun, append_statement, create_statement
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import UNIQUE_VIOLATION, PostgresConnection
from weftwork.adapters.postgres.database.pool import SessionPool
from weftwork.adapters.postgres.database.port import PostgresPort, reads, reads_once
from weftwork.adapters.postgres.database.writer import PostgresWriter, Write
from weftwork.adapters.postgres.idempotency import find_recorded
from weftwork.adapters.postgres.runs import (
    find_outline,
    find_partition_bytes,
    find_projection,
    find_run,
    find_whole,
    read_events,
    read_hidden,
)
from weftwork.adapters.postgres.transactions import (
    CREATED,
    append_batch,
    check_new_ids,
    create_run,
    run_id_in_use,
    why_not,
)
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord, check_batch, check_first_batch
from weftwork.protocol.run.header import RunHeader, RunKey

_encode_header = msgspec.json.Encoder().encode


class _NewRunWrite(Write):
    """A create that waits for the writer."""

    __slots__ = ("new_run", "record")

    def __init__(self, new_run: NewRun, future: "asyncio.Future[Any]") -> None:
        self.new_run = new_run
        self.record = new_run.record
        super().__init__(_CREATES, new_run.header.run_id, _slot(new_run.record), future)


class _AppendWrite(Write):
    """An append that waits for the writer."""

    __slots__ = ("append", "record")

    def __init__(self, append: Append, future: "asyncio.Future[Any]") -> None:
        self.append = append
        self.record = append.record
        super().__init__(_APPENDS, append.run.run_id, _slot(append.record), future)


def _slot(record: IdempotencyRecord | None) -> tuple[str, str] | None:
    return None if record is None else (record.partition, record.slot)


class _Creates:
    """Implements WriteKind for creates."""

    def statement(self, writes: Sequence[_NewRunWrite]) -> tuple[str, list[Sequence[Any]]]:
        return create_statement([write.new_run for write in writes])

    async def refusal(self, connection: PostgresConnection, write: _NewRunWrite) -> Any:
        assert write.record is not None, "only a slot refuses a create"
        return await find_recorded(connection, write.record)

    def failure(self, error: Exception, write: _NewRunWrite) -> Exception | None:
        return run_id_in_use(write.new_run.header) if isinstance(error, UNIQUE_VIOLATION) else None


class _Appends:
    """Implements WriteKind for appends."""

    def statement(self, writes: Sequence[_AppendWrite]) -> tuple[str, list[Sequence[Any]]]:
        return append_statement([write.append for write in writes])

    async def refusal(self, connection: PostgresConnection, write: _AppendWrite) -> Any:
        return await why_not(connection, write.append)

    def failure(self, error: Exception, write: _AppendWrite) -> Exception | None:
        return None


_CREATES: Final = _Creates()
_APPENDS: Final = _Appends()


class PostgresEventLog(PostgresPort):
    """Implements ports.storage.event_log.EventLog.

    Batches are checked and headers encoded before a write is queued, so that a bad one does not reach the statement
    that it would share with others.
    """

    def __init__(self, pool: SessionPool, writer: PostgresWriter, address: StoreAddress) -> None:
        super().__init__(pool)
        self._writer = writer
        self._address = address

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        check_first_batch(header, record, first)
        run = NewRun(header, _encode_header(header), hidden, record, first, fence)
        if exclusive or header.parent is not None or header.fork is not None:
            return await self._pool.transact(lambda session: create_run(session, self._address, run, exclusive))
        write = _NewRunWrite(run, self._writer.new_future())
        self._writer.submit(write)
        return await write.future or CREATED

    async def append(self, run: RunKey, expected: int, batch: Batch, fence: int | None = None) -> SlotTaken | None:
        check_batch(run, expected, batch)
        append = Append(run, expected, batch, batch.record, fence)
        fault_point("append.begin")
        if batch.has_family_messages:
            children = tuple(
                NewRun(each.header, _encode_header(each.header), each.hidden, fence=fence or 0)
                for each in batch.child_creates
            )
            check_new_ids(run, children)
            result = await self._pool.transact(lambda session: append_batch(session, append, children))
        else:
            write = _AppendWrite(append, self._writer.new_future())
            self._writer.submit(write)
            result = await write.future
        fault_point("append.durable")
        return result

    read = reads_once(read_events)
    read_run = reads_once(find_run)
    projection = reads_once(find_projection)
    outline = reads_once(find_outline)
    read_whole = reads(find_whole)
    partition_bytes = reads_once(find_partition_bytes)
    hidden_values = reads_once(read_hidden)

    async def check_ready(self) -> None:
        # Waits in the queue of the writer, and reconnects it after an outage.
        await self._writer.ping()
