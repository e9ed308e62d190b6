"""The event log port on one SQLite file."""

from functools import partial

import msgspec

from weftwork.adapters.sqlite import child_runs, idempotency, interrupts, retention, run_queries
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.reader import SqliteReaders
from weftwork.adapters.sqlite.database.writer import SqliteWriter
from weftwork.adapters.sqlite.run_queries import find_projection, find_run, read_events, read_hidden
from weftwork.adapters.sqlite.transactions import RunHeadCache, append_batch, create_run
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import (
    InterruptPage,
    InterruptQuery,
    PendingCancelRequest,
    PendingChildResult,
    RunCreated,
    RunPage,
    RunQuery,
    ScopeTaken,
    SlotTaken,
)
from weftwork.protocol.run.batch import (
    Batch,
    HiddenValue,
    IdempotencyRecord,
    check_batch,
    check_first_batch,
    check_record,
)
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun

_encode_header = msgspec.json.Encoder().encode


class SqliteEventLog:
    """Implements ports.storage.event_log.EventLog. What a job needs is encoded and checked before it is queued."""

    def __init__(self, writer: SqliteWriter, readers: SqliteReaders, heads: RunHeadCache) -> None:
        self._write = writer.submit
        self._read = readers.submit
        self._heads = heads

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        check_first_batch(header, record, first)
        document = _encode_header(header)
        return await self._write(partial(create_run, self._heads, header, document, hidden, record, exclusive, first))

    async def append(self, run: RunKey, expected: int, batch: Batch) -> SlotTaken | None:
        check_batch(run, expected, batch)
        brood = (
            tuple((each, _encode_header(each.header)) for each in batch.child_creates) if batch.child_creates else ()
        )
        fault_point("append.begin")
        taken = await self._write(partial(append_batch, self._heads, run, expected, batch, brood))
        fault_point("append.durable")
        return taken

    async def children(self, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
        return await self._read(partial(child_runs.list_children, run, after, limit))

    async def count_descendants(self, run: RunKey) -> int:
        return await self._read(partial(child_runs.count_descendants, run))

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        return await self._read(partial(child_runs.list_results, after, limit))

    async def acknowledge_results(self, heard: tuple[PendingChildResult, ...]) -> None:
        await self._write(partial(child_runs.acknowledge_results, heard))

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
        return await self._read(partial(child_runs.list_cancel_requests, after, limit))

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        return await self._write(partial(idempotency.save_record, record))

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        return await self._read(partial(idempotency.find_record, partition, slot, not_before))

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        return await self._read(partial(read_events, run, after, limit, budget=budget))

    async def read_run(self, run: RunKey) -> StoredRun | None:
        return await self._read(partial(find_run, run))

    async def projection(self, run: RunKey) -> Projection | None:
        return await self._read(partial(find_projection, run))

    async def hidden_values(self, run: RunKey) -> list[HiddenValue]:
        return await self._read(partial(read_hidden, run))

    async def list_runs(self, partition: str, query: RunQuery) -> RunPage:
        return await self._read(partial(run_queries.list_runs, partition, query))

    async def unfinished_runs(self, after: RunKey | None, limit: int) -> list[RunKey]:
        return await self._read(partial(run_queries.list_unfinished, after, limit))

    async def next_wake(self, after: int = -1) -> int | None:
        return await self._read(partial(run_queries.find_next_wake, after))

    async def due_runs(self, until: int, limit: int) -> list[RunKey]:
        return await self._read(partial(run_queries.list_due, until, limit))

    async def list_interrupts(self, partition: str, query: InterruptQuery) -> InterruptPage:
        return await self._read(partial(interrupts.list_interrupts, partition, query))

    async def check_ready(self) -> None:
        # An empty transaction: it waits its turn, takes the lock, and mends a writer that had an outage.
        await self._write(lambda _connection: None)

    async def sweep(self, created_before: int) -> int:
        return await self._write(partial(_sweep, created_before))

    async def delete(self, run: RunKey, now: int, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        check_record(run, record)
        return await self._write(partial(retention.delete_run, run, now, record))

    async def purge(self) -> bool:
        # Most of the time there is nothing to do, and then nobody has to wait for the writer.
        return await self._read(retention.has_unpurged) and await self._write(retention.purge_piece)

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        return await self._read(partial(retention.list_ended, completed_before, limit, partition))

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        return await self._read(partial(retention.count_ended, completed_before, partition))


def _sweep(created_before: int, connection: SqliteConnection) -> int:
    return idempotency.sweep_records(created_before, connection) + retention.forget_tombstones(
        created_before, connection
    )
