"""The event log port in memory. No method waits for anything, so each of them is atomic on the event loop."""

import heapq
from itertools import islice
from typing import Final

from msgspec.structs import replace

from weftwork.adapters.memory.door import Door
from weftwork.adapters.memory.run import MemoryRun
from weftwork.ports.eventlog import (
    Active,
    Batch,
    Created,
    Hidden,
    Page,
    Projection,
    Record,
    Recorded,
    RunQuery,
    SequenceConflict,
    Stored,
)
from weftwork.protocol.batch import check_batch, check_first
from weftwork.protocol.errors import HostFault
from weftwork.protocol.events import Event, reaching
from weftwork.protocol.run import RunHeader, RunKey

MOST_CANDIDATES: Final = 2000
SWEEP_MOST: Final = 1000


class MemoryEventLog:
    """Implements ports.eventlog.EventLog for one process; nothing survives it."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._runs: dict[RunKey, MemoryRun] = {}
        self._by_partition: dict[str, list[MemoryRun]] = {}
        self._live: dict[RunKey, MemoryRun] = {}
        self._records: dict[tuple[str, str], Record] = {}
        self._ages: list[tuple[int, str, str]] = []

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[Hidden, ...] = (),
        record: Record | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
    ) -> Created | Recorded | Active:
        self._door.enter()
        check_first(header, record, first)
        known = self._taken(record)
        if known is not None:
            return known
        if exclusive:
            for run in self._live.values():
                if (run.key.partition, run.scope_id) == (header.partition, header.scope_id):
                    return Active(run.key.run_id)
        if header.key in self._runs:
            raise HostFault(f"the run id {header.run_id} is in use")
        siblings = self._by_partition.setdefault(header.partition, [])
        run = MemoryRun(header, hidden, len(self._runs), len(siblings))
        siblings.append(run)
        self._runs[run.key] = self._live[run.key] = run
        if first is not None:
            self._apply(run, first)
        self._fill(record)
        return Created()

    async def append(self, run: RunKey, expected: int, batch: Batch) -> Recorded | None:
        self._door.enter()
        check_batch(run, expected, batch)
        known = self._taken(batch.record)
        if known is not None:
            return known
        found = self._runs.get(run)
        if found is None or found.ended or found.projection.last_sequence != expected:
            raise SequenceConflict(f"the run does not stand at {expected}")
        self._apply(found, batch)
        self._fill(batch.record)
        return None

    async def remember(self, record: Record) -> Recorded | None:
        self._door.enter()
        known = self._taken(record)
        if known is None:
            self._fill(record)
        return known

    async def recall(self, partition: str, slot: str, not_before: int) -> Record | None:
        self._door.enter()
        record = self._records.get((partition, slot))
        return record if record is not None and record.created_at >= not_before else None

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        self._door.enter()
        found = self._runs.get(run)
        start = max(after, -1) + 1
        events = found.events[start : start + max(limit, 0)] if found is not None else []
        return events if budget is None else reaching(events, budget)

    async def stored(self, run: RunKey) -> Stored | None:
        self._door.enter()
        found = self._runs.get(run)
        return found.stored(with_rows=True) if found is not None else None

    async def projection(self, run: RunKey) -> Projection | None:
        self._door.enter()
        found = self._runs.get(run)
        return replace(found.projection, outputs=None) if found is not None else None

    async def hidden(self, run: RunKey) -> list[Hidden]:
        self._door.enter()
        found = self._runs.get(run)
        return sorted(found.hidden, key=lambda item: item.sequence) if found is not None else []

    async def list_runs(self, partition: str, query: RunQuery) -> Page:
        self._door.enter()
        siblings = self._by_partition.get(partition, [])
        end = len(siblings)
        if query.before is not None:
            before = self._runs.get(RunKey(partition, query.before))
            end = before.place if before is not None else 0
        start = max(end - MOST_CANDIDATES, 0)
        found: list[MemoryRun] = []
        for place in range(end - 1, start - 1, -1):
            run = siblings[place]
            if not _matches(run, query):
                continue
            if len(found) >= max(query.limit, 1):
                return Page(_page(found), found[-1].key.run_id, True)
            found.append(run)
        if start == 0:
            return Page(_page(found), None, False)
        return Page(_page(found), siblings[start].key.run_id, True)

    async def unfinished(self, after: RunKey | None, limit: int) -> list[RunKey]:
        self._door.enter()
        number = -1
        if after is not None:
            if after not in self._runs:
                return []
            number = self._runs[after].number
        later = (key for key, run in self._live.items() if run.number > number)
        return list(islice(later, max(limit, 0)))

    async def ready(self) -> None:
        self._door.enter()

    async def sweep(self, created_before: int) -> int:
        self._door.enter()
        swept = 0
        while swept < SWEEP_MOST and self._ages and self._ages[0][0] < created_before:
            created_at, partition, slot = heapq.heappop(self._ages)
            if self._records[partition, slot].created_at == created_at:
                del self._records[partition, slot]
                swept += 1
        return swept

    def _apply(self, run: MemoryRun, batch: Batch) -> None:
        run.apply(batch)
        if run.ended:
            del self._live[run.key]

    def _taken(self, record: Record | None) -> Recorded | None:
        known = self._records.get((record.partition, record.slot)) if record is not None else None
        if known is None or record is None or known.created_at < record.expired_before:
            return None
        return Recorded(known)

    def _fill(self, record: Record | None) -> None:
        if record is not None:
            self._records[record.partition, record.slot] = replace(record, expired_before=0)
            heapq.heappush(self._ages, (record.created_at, record.partition, record.slot))


def _matches(run: MemoryRun, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.workflow_id)
        and run.tags.issuperset(query.tags)
    )


def _page(runs: list[MemoryRun]) -> tuple[Stored, ...]:
    return tuple(run.stored(with_rows=False) for run in runs)
