"""The event log port in memory. No method waits for anything, so each of them is atomic on the event loop."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from weftwork.adapters.memory import runs
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.interrupts import OpenInterrupts
from weftwork.adapters.memory.open_state import OpenState
from weftwork.adapters.memory.runs import ChildRuns, MemoryRun, WakeIndex
from weftwork.ports.storage.event_log import (
    InterruptPage,
    InterruptQuery,
    PendingCancelRequest,
    PendingChildResult,
    RunCreated,
    RunPage,
    RunQuery,
    ScopeTaken,
    SequenceConflict,
    SlotTaken,
    StillLive,
)
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import (
    Batch,
    HiddenValue,
    IdempotencyRecord,
    check_batch,
    check_first_batch,
    check_record,
)
from weftwork.protocol.run.events import Event, take_bytes
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun

MAX_SWEEP: Final = 1000
_NO_INTERRUPTS: Final = OpenInterrupts()


class MemoryEventLog:
    """Implements ports.storage.event_log.EventLog for one process; nothing survives it."""

    def __init__(self, state: OpenState, assets: MemoryAssets) -> None:
        self._state = state
        self._assets = assets
        self._runs: dict[RunKey, MemoryRun] = {}
        self._by_partition: dict[str, list[MemoryRun]] = {}
        self._live: dict[RunKey, MemoryRun] = {}
        self._wake_index = WakeIndex()
        self._child_runs = ChildRuns(self.find_run)
        self._interrupts: defaultdict[str, OpenInterrupts] = defaultdict(OpenInterrupts)
        self._records: dict[tuple[str, str], IdempotencyRecord] = {}
        self._record_ages: list[tuple[int, str, str]] = []
        self._deleted: dict[int, tuple[int, RunKey]] = {}
        """By its number, when a run was deleted and how it was called."""
        self._created = 0

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        self._state.check_open()
        check_first_batch(header, record, first)
        known = self._find_recorded(record)
        if known is not None:
            return known
        if exclusive:
            for run in self._live.values():
                if (run.key.partition, run.scope_id) == (header.partition, header.scope_id):
                    return ScopeTaken(run.key.run_id)
        if header.key in self._runs:
            raise HostFault(f"the run id {header.run_id} is in use")
        run = self._add(header, hidden)
        if first is not None:
            self._apply(run, first)
        self._put_record(record)
        return RunCreated()

    async def append(self, run: RunKey, expected: int, batch: Batch) -> SlotTaken | None:
        self._state.check_open()
        check_batch(run, expected, batch)
        known = self._find_recorded(batch.record)
        if known is not None:
            return known
        found = self._runs.get(run)
        if found is None or found.has_ended or found.projection.last_sequence != expected:
            raise SequenceConflict(f"the run does not stand at {expected}")
        born = {spawn.header.key for spawn in batch.child_creates}
        if len(born) < len(batch.child_creates) or any(key in self._runs for key in born):
            raise HostFault("the run id of a child is in use")
        self._apply(found, batch)
        for spawn in batch.child_creates:
            self._add(spawn.header, spawn.hidden)
        self._child_runs.apply_messages(found, batch)
        self._put_record(batch.record)
        return None

    async def children(self, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
        self._state.check_open()
        found = self._runs.get(run)
        number = self._run_number(RunKey(run.partition, after)) if after is not None else -1
        if found is None or number is None:
            return []
        later = (child for child in found.children.values() if child.number > number)
        return [child.stored(with_rows=False) for child in islice(later, max(limit, 0))]

    async def count_descendants(self, run: RunKey) -> int:
        self._state.check_open()
        return self._child_runs.descendants(run)

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        self._state.check_open()
        number = (
            self._run_number(RunKey(after.parent.partition, after.result.child_run_id)) if after is not None else -1
        )
        return self._child_runs.results(number, limit) if number is not None else []

    async def acknowledge_results(self, heard: tuple[PendingChildResult, ...]) -> None:
        self._state.check_open()
        for news in heard:
            child = self._runs.get(RunKey(news.parent.partition, news.result.child_run_id))
            if child is not None:
                self._child_runs.acknowledge_result(child, news.result.sequence)

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
        self._state.check_open()
        number = self._run_number(after) if after is not None else -1
        return self._child_runs.cancel_requests(number, limit) if number is not None else []

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        self._state.check_open()
        known = self._find_recorded(record)
        if known is None:
            self._put_record(record)
        return known

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        self._state.check_open()
        record = self._records.get((partition, slot))
        return record if record is not None and record.created_at >= not_before else None

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        self._state.check_open()
        found = self._runs.get(run)
        start = max(after, -1) + 1
        events = found.events[start : start + max(limit, 0)] if found is not None else []
        return events if budget is None else take_bytes(events, budget)

    def find_run(self, run: RunKey) -> MemoryRun | None:
        """The run itself, for the ports that keep something beside its log."""
        return self._runs.get(run)

    async def read_run(self, run: RunKey) -> StoredRun | None:
        self._state.check_open()
        found = self._runs.get(run)
        return found.stored(with_rows=True) if found is not None else None

    async def projection(self, run: RunKey) -> Projection | None:
        self._state.check_open()
        found = self._runs.get(run)
        return replace(found.projection, outputs=None) if found is not None else None

    async def hidden_values(self, run: RunKey) -> list[HiddenValue]:
        self._state.check_open()
        found = self._runs.get(run)
        return sorted(found.hidden, key=lambda item: item.sequence) if found is not None else []

    async def list_runs(self, partition: str, query: RunQuery) -> RunPage:
        self._state.check_open()
        siblings = self._by_partition.get(partition, [])
        if query.parent is not None:
            parent = self._runs.get(RunKey(partition, query.parent))
            siblings = [*parent.children.values()] if parent is not None else []
        before = None
        if query.before is not None:
            before = self._run_number(RunKey(partition, query.before)) or 0
        return runs.list_page(siblings, query, before)

    async def unfinished_runs(self, after: RunKey | None, limit: int) -> list[RunKey]:
        self._state.check_open()
        number = self._run_number(after) if after is not None else -1
        if number is None:
            return []
        later = (key for key, run in self._live.items() if run.number > number and not run.projection.parked)
        return list(islice(later, max(limit, 0)))

    async def next_wake(self, after: int = -1) -> int | None:
        self._state.check_open()
        return self._wake_index.next_wake(after)

    async def due_runs(self, until: int, limit: int) -> list[RunKey]:
        self._state.check_open()
        return self._wake_index.due(until, limit)

    async def list_interrupts(self, partition: str, query: InterruptQuery) -> InterruptPage:
        self._state.check_open()
        return self._interrupts.get(partition, _NO_INTERRUPTS).page(query)

    async def check_ready(self) -> None:
        self._state.check_open()

    async def sweep(self, created_before: int) -> int:
        self._state.check_open()
        swept = 0
        while swept < MAX_SWEEP and self._record_ages and self._record_ages[0][0] < created_before:
            created_at, partition, slot = heapq.heappop(self._record_ages)
            if self._records[partition, slot].created_at == created_at:
                del self._records[partition, slot]
                swept += 1
        old = [number for number, (deleted_at, _) in self._deleted.items() if deleted_at < created_before]
        for number in old[:MAX_SWEEP]:
            del self._deleted[number]
            swept += 1
        return swept

    async def delete(self, run: RunKey, now: int, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        self._state.check_open()
        check_record(run, record)
        known = self._find_recorded(record)
        if known is not None:
            return known
        found = self._runs.get(run)
        if found is None:
            return False
        if not found.has_ended:
            raise StillLive(f"the run is {found.projection.status}")
        if self._child_runs.has_pending_result(found):
            raise StillLive("its parent has not heard that the run is over")
        self._child_runs.remove_child(found)
        del self._runs[run]
        siblings = self._by_partition[run.partition]
        del siblings[runs.index_of(siblings, found.number)]
        self._interrupts[run.partition].remove_run(found)
        self._wake_index.remove(found)
        self._assets.release_references(run)
        self._deleted[found.number] = (now, run)
        self._put_record(record)
        return True

    async def purge(self) -> bool:
        self._state.check_open()
        return False

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        self._state.check_open()
        return runs.list_ended(self._all(partition), self._child_runs, completed_before, limit)

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        self._state.check_open()
        return runs.count_ended(self._all(partition), self._child_runs, completed_before)

    def _all(self, partition: str | None) -> Iterable[MemoryRun]:
        return self._runs.values() if partition is None else self._by_partition.get(partition, ())

    def _run_number(self, run: RunKey) -> int | None:
        """The number of a run that is there or was."""
        if (found := self._runs.get(run)) is not None:
            return found.number
        return max((number for number, (_, key) in self._deleted.items() if key == run), default=None)

    def _add(self, header: RunHeader, hidden: tuple[HiddenValue, ...]) -> MemoryRun:
        run = MemoryRun(header, hidden, self._created)
        self._created += 1
        self._by_partition.setdefault(header.partition, []).append(run)
        self._runs[run.key] = self._live[run.key] = run
        if header.parent is not None:
            self._child_runs.add_child(run, header.parent)
        if header.assets:
            self._assets.add_references(run.key, header.assets)
        return run

    def _apply(self, run: MemoryRun, batch: Batch) -> None:
        self._wake_index.remove(run)
        run.apply(batch)
        self._wake_index.add(run)
        if batch.assets:
            self._assets.add_references(run.key, batch.assets)
        for row in batch.rows:
            if row.kind == "interrupt":
                self._interrupts[run.key.partition].set_open(run, row)
        if run.has_ended:
            del self._live[run.key]

    def _find_recorded(self, record: IdempotencyRecord | None) -> SlotTaken | None:
        known = self._records.get((record.partition, record.slot)) if record is not None else None
        if known is None or record is None or known.created_at < record.expired_before:
            return None
        return SlotTaken(known)

    def _put_record(self, record: IdempotencyRecord | None) -> None:
        if record is not None:
            self._records[record.partition, record.slot] = replace(record, expired_before=0)
            heapq.heappush(self._record_ages, (record.created_at, record.partition, record.slot))
