"""The event log port on one SQLite file."""

import msgspec

from weftwork.adapters.sqlite.database.port import SqlitePort, reads
from weftwork.adapters.sqlite.database.reader import SqliteReaders
from weftwork.adapters.sqlite.database.writer import SqliteWriter
from weftwork.adapters.sqlite.runs import (
    find_outline,
    find_partition_bytes,
    find_projection,
    find_run,
    find_whole,
    read_events,
    read_hidden,
)
from weftwork.adapters.sqlite.transactions import RunHeadCache, append_batch, create_run
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord, check_batch, check_first_batch
from weftwork.protocol.run.header import RunHeader, RunKey

_encode_header = msgspec.json.Encoder().encode


class SqliteEventLog(SqlitePort):
    """Implements ports.storage.event_log.EventLog.

    Batches are checked and headers encoded on the event loop, before the job is queued, so that the writer thread does
    only the work that needs the database.
    """

    def __init__(self, writer: SqliteWriter, readers: SqliteReaders, heads: RunHeadCache) -> None:
        super().__init__(writer, readers)
        self._heads = heads

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
        document = _encode_header(header)
        return await self._write(create_run, self._heads, header, document, hidden, record, exclusive, first, fence)

    async def append(self, run: RunKey, expected: int, batch: Batch, fence: int | None = None) -> SlotTaken | None:
        check_batch(run, expected, batch)
        children = (
            tuple((each, _encode_header(each.header)) for each in batch.child_creates) if batch.child_creates else ()
        )
        fault_point("append.begin")
        result = await self._write(append_batch, self._heads, run, expected, batch, children, fence)
        fault_point("append.durable")
        return result

    read = reads(read_events)
    read_run = reads(find_run)
    projection = reads(find_projection)
    outline = reads(find_outline)
    read_whole = reads(find_whole)
    partition_bytes = reads(find_partition_bytes)
    hidden_values = reads(read_hidden)

    async def check_ready(self) -> None:
        # An empty transaction waits in the queue, takes the write lock, and reconnects a writer that had an outage.
        await self._write(lambda _connection: None)
