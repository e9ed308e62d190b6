"""The event log port in memory. No method awaits anything, so each of them is atomic on the event loop."""

from msgspec.structs import replace

from weftwork.adapters.memory.idempotency import MemoryIdempotencyRecords
from weftwork.adapters.memory.run_table import RunTable
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord, check_batch, check_first_batch
from weftwork.protocol.run.events import Event, take_bytes
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun


class MemoryEventLog:
    """Implements ports.storage.event_log.EventLog for one process; nothing survives it."""

    def __init__(self, table: RunTable, records: MemoryIdempotencyRecords) -> None:
        self._table = table
        self._records = records

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        self._table.check_open()
        check_first_batch(header, record, first)
        taken = self._records.find_taken(record)
        if taken is not None:
            return taken
        if exclusive:
            for run in self._table.live.values():
                if (run.key.partition, run.scope_id) == (header.partition, header.scope_id):
                    return ScopeTaken(run.key.run_id)
        if header.key in self._table.runs:
            raise HostFault(f"the run id {header.run_id} is in use")
        run = self._table.add(header, hidden)
        if first is not None:
            self._table.apply(run, first)
        self._records.put(record)
        return RunCreated()

    async def append(self, run: RunKey, expected: int, batch: Batch) -> SlotTaken | None:
        self._table.check_open()
        check_batch(run, expected, batch)
        taken = self._records.find_taken(batch.record)
        if taken is not None:
            return taken
        runs = self._table.runs
        found = runs.get(run)
        if found is None or found.has_ended or found.projection.last_sequence != expected:
            raise SequenceConflict(f"the run does not stand at {expected}")
        created = {child.header.key for child in batch.child_creates}
        if len(created) < len(batch.child_creates) or any(key in runs for key in created):
            raise HostFault("the run id of a child is in use")
        self._table.apply(found, batch)
        for child in batch.child_creates:
            self._table.add(child.header, child.hidden)
        self._table.tree.apply_messages(found, batch)
        self._records.put(batch.record)
        return None

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        self._table.check_open()
        found = self._table.runs.get(run)
        start = max(after, -1) + 1
        events = found.events[start : start + max(limit, 0)] if found is not None else []
        return events if budget is None else take_bytes(events, budget)

    async def read_run(self, run: RunKey) -> StoredRun | None:
        self._table.check_open()
        found = self._table.runs.get(run)
        return found.stored(with_rows=True) if found is not None else None

    async def projection(self, run: RunKey) -> Projection | None:
        self._table.check_open()
        found = self._table.runs.get(run)
        return replace(found.projection, outputs=None) if found is not None else None

    async def hidden_values(self, run: RunKey) -> list[HiddenValue]:
        self._table.check_open()
        found = self._table.runs.get(run)
        return sorted(found.hidden, key=lambda item: item.sequence) if found is not None else []

    async def check_ready(self) -> None:
        self._table.check_open()
