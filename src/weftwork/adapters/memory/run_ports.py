"""The ports for runs in memory: the event log, queries, child runs, forks, retention and annotations.

A run object holds all data of its run, so a deleted run leaves nothing to purge.
"""

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec.structs import replace

from weftwork.adapters.memory.run_table import MemoryRun, OpenInterrupts, RunPort, RunTable, after_number, index_of
from weftwork.ports.storage.annotations import AddResult, Annotation, AnnotationPage
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.event_log import (
    BEFORE_HEADER,
    FenceLost,
    RunCreated,
    RunOutline,
    ScopeTaken,
    SequenceConflict,
    WholeRun,
)
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.ownership import UntakenRun
from weftwork.ports.storage.retention import StillLive
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, RunPage, RunQuery, TimedRun
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import (
    MAX_SEQUENCE,
    Batch,
    HiddenValue,
    IdempotencyRecord,
    check_batch,
    check_first_batch,
    check_first_fork_batch,
    check_record,
)
from weftwork.protocol.run.events import Event, copy_event, take_bytes
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun

MAX_CANDIDATES: Final = 2000
"""Runs that one call of `list_runs` checks."""
MAX_FORGET: Final = 1000
_NO_INTERRUPTS: Final = OpenInterrupts()


class MemoryEventLog(RunPort):
    """Implements ports.storage.event_log.EventLog. All data is lost when the process ends."""

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
        if (taken := self._records.find_taken(record)) is not None:
            return taken
        if exclusive and (scope_taken := _find_live_in_scope(self._table, header)) is not None:
            return scope_taken
        if header.key in self._table.runs:
            raise HostFault(f"the run id {header.run_id} is in use")
        run = self._table.add(header, hidden, fence)
        if first is not None:
            self._table.apply(run, first)
        self._records.put(record)
        return RunCreated()

    async def append(self, run: RunKey, expected: int, batch: Batch, fence: int | None = None) -> SlotTaken | None:
        check_batch(run, expected, batch)
        if (taken := self._records.find_taken(batch.record)) is not None:
            return taken
        runs = self._table.runs
        entry = runs.get(run)
        if entry is not None and fence is not None and entry.fence != fence:
            raise FenceLost("another executor has taken the run")
        if entry is None or entry.has_ended or entry.projection.last_sequence != expected:
            raise SequenceConflict(f"the last sequence of the run is not {expected}, or the run has ended")
        child_keys = {child.header.key for child in batch.child_creates}
        if len(child_keys) < len(batch.child_creates) or any(key in runs for key in child_keys):
            raise HostFault("the run id of a child is in use")
        self._table.apply(entry, batch)
        for child in batch.child_creates:
            self._table.add(child.header, child.hidden, fence or 0)
        self._table.tree.apply_messages(entry, batch)
        self._records.put(batch.record)
        return None

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        entry = self._table.runs.get(run)
        start = max(after, -1) + 1
        events = entry.events[start : start + max(limit, 0)] if entry is not None else []
        return events if budget is None else take_bytes(events, budget)

    async def read_run(self, run: RunKey) -> StoredRun | None:
        entry = self._table.runs.get(run)
        return entry.stored(with_rows=True) if entry is not None else None

    async def projection(self, run: RunKey) -> Projection | None:
        entry = self._table.runs.get(run)
        return replace(entry.projection, outputs=None) if entry is not None else None

    async def outline(self, run: RunKey) -> RunOutline | None:
        entry = self._table.runs.get(run)
        if entry is None:
            return None
        stored = entry.stored(with_rows=True)
        rows = sum([len(row.value) for row in stored.rows])
        return RunOutline(
            stored.header,
            replace(stored.projection, outputs=None),
            _log_bytes(entry),
            rows,
            0 if entry.has_ended else entry.fence,
        )

    async def read_whole(self, run: RunKey, most: int) -> WholeRun | None:
        entry = self._table.runs.get(run)
        if entry is None or entry.has_ended:
            return None
        outline = await self.outline(run)
        if outline is None or outline.log_bytes + outline.row_bytes > most:
            return None
        return WholeRun(outline, entry.stored(with_rows=True), await self.hidden_values(run), [*entry.events])

    async def partition_bytes(self, partition: str) -> int:
        runs = self._table.by_partition.get(partition, [])
        return sum([_log_bytes(run) + len(run.header) for run in runs])

    async def hidden_values(
        self, run: RunKey, after: int = BEFORE_HEADER, until: int = MAX_SEQUENCE
    ) -> list[HiddenValue]:
        entry = self._table.runs.get(run)
        found = [each for each in entry.hidden if after < each.sequence <= until] if entry is not None else []
        return sorted(found, key=lambda item: item.sequence)

    async def check_ready(self) -> None: ...


def _find_live_in_scope(table: RunTable, header: RunHeader) -> ScopeTaken | None:
    for run in table.live.values():
        if (run.key.partition, run.scope_id) == (header.partition, header.scope_id):
            return ScopeTaken(run.key.run_id)
    return None


def _log_bytes(run: MemoryRun) -> int:
    return sum([event.size for event in run.events]) + sum([len(each.value) for each in run.hidden])


class MemoryRunQueries(RunPort):
    """Implements ports.storage.run_queries.RunQueries."""

    async def list_runs(self, partition: str, query: RunQuery) -> RunPage:
        candidates = self._table.by_partition.get(partition, [])
        if query.parent is not None:
            parent = self._table.runs.get(RunKey(partition, query.parent))
            candidates = [*parent.children.values()] if parent is not None else []
        end = len(candidates)
        if query.before is not None:
            end = index_of(candidates, self._table.number(RunKey(partition, query.before)) or 0)
        start = max(end - MAX_CANDIDATES, 0)
        matching = (run for run in reversed(candidates[start:end]) if _matches(run, query))
        page = list(islice(matching, max(query.limit, 1)))
        last = page[-1] if next(matching, None) is not None else candidates[start] if start else None
        return RunPage(tuple(run.stored(with_rows=False) for run in page), last and last.key.run_id, last is not None)

    async def list_interrupts(self, partition: str, query: InterruptQuery) -> InterruptPage:
        return self._table.interrupts.get(partition, _NO_INTERRUPTS).page(query)

    async def next_wake(self, after: int = -1) -> int | None:
        return self._table.wakes.next_wake(after)

    async def due_runs(self, until: int, limit: int) -> list[RunKey]:
        return self._table.wakes.due(until, limit)

    async def timed_runs(self, after: TimedRun | None, limit: int) -> list[TimedRun]:
        found: list[TimedRun] = []
        for wake_at, number, key in self._table.wakes.after(after, limit):
            events = self._table.runs[key].events
            found.append(TimedRun(key, wake_at, events[-1].timestamp if events else 0, number))
        return found


def _matches(run: MemoryRun, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.workflow_id)
        and run.tags.issuperset(query.tags)
    )


class MemoryOwnership(RunPort):
    """Implements ports.storage.ownership.RunOwnership."""

    async def take(self, run: RunKey, fence: int) -> bool:
        entry = self._table.live.get(run)
        if entry is None or entry.fence > fence or self._table.elections.epoch > fence:
            return False
        entry.fence, entry.retry_at = fence, None
        return True

    async def fence_of(self, run: RunKey) -> int | None:
        entry = self._table.runs.get(run)
        return entry.fence if entry is not None else None

    async def untaken(
        self, fence: int, after: RunKey | None, limit: int, until: RunKey | None = None, partition: str | None = None
    ) -> list[UntakenRun]:
        number = self._table.number_after(after)
        if number is None:
            return []
        later = (
            UntakenRun(run.key, run.parent_link is not None)
            for run in self._untaken(fence, until)
            if run.number > number and partition in (None, run.key.partition)
        )
        return list(islice(later, max(limit, 0)))

    async def count_untaken(self, fence: int, until: RunKey) -> int:
        return sum(1 for _ in self._untaken(fence, until))

    async def newest_run(self) -> RunKey | None:
        return next(reversed(self._table.runs), None)

    async def retry_later(self, run: RunKey, fence: int, at: int) -> bool:
        entry = self._table.live.get(run)
        if entry is None or entry.fence != fence:
            return False
        entry.retry_at = at
        return True

    async def due_retries(self, fence: int, until: int, limit: int) -> list[RunKey]:
        runs = (run for run in self._table.live.values() if run.fence == fence)
        due = ((run.retry_at, run.number, run.key) for run in runs if run.retry_at is not None)
        return [key for at, _, key in heapq.nsmallest(max(limit, 0), due) if at <= until]

    def _untaken(self, fence: int, until: RunKey | None) -> Iterator[MemoryRun]:
        last = self._table.number(until) if until is not None else None
        if until is None or last is not None:
            for run in self._table.live.values():
                if run.fence < fence and (last is None or run.number <= last) and not run.projection.parked:
                    yield run


class MemoryChildRuns(RunPort):
    """Implements ports.storage.child_runs.ChildRuns."""

    async def children(self, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
        entry = self._table.runs.get(run)
        number = self._table.number_after(RunKey(run.partition, after) if after is not None else None)
        if entry is None or number is None:
            return []
        later = (child for child in entry.children.values() if child.number > number)
        return [child.stored(with_rows=False) for child in islice(later, max(limit, 0))]

    async def count_descendants(self, run: RunKey) -> int:
        return self._table.tree.descendant_counts[run]

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        number = self._table.number_after(_child(after) if after is not None else None)
        return after_number(self._table.tree.results, number, limit)

    async def acknowledge_results(self, results: tuple[PendingChildResult, ...]) -> None:
        for pending in results:
            child = self._table.runs.get(_child(pending))
            if child is not None:
                self._table.tree.acknowledge_result(child, pending.result.sequence)

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
        return after_number(self._table.tree.cancel_requests, self._table.number_after(after), limit)


def _child(pending: PendingChildResult) -> RunKey:
    return RunKey(pending.parent.partition, pending.result.child_run_id)


class MemoryForks(RunPort):
    """Implements ports.storage.forks.Forks."""

    async def create(
        self,
        header: RunHeader,
        first: Batch,
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        fork = check_first_fork_batch(header, record, first)
        if (taken := self._records.find_taken(record)) is not None:
            return taken
        if exclusive and (scope_taken := _find_live_in_scope(self._table, header)) is not None:
            return scope_taken
        source = self._table.runs.get(RunKey(header.partition, fork.run_id))
        if source is None or source.projection.last_sequence < fork.from_seq - 1:
            raise SourceMissing("the source of the fork does not exist, or has not as many events")
        if header.key in self._table.runs:
            raise HostFault(f"the run id {header.run_id} is in use")
        run = self._table.add(header, tuple(each for each in source.hidden if each.sequence < fork.from_seq), fence)
        run.events = [copy_event(event, header.run_id) for event in source.events[: fork.from_seq]]
        self._table.assets.copy_references(source.key, run.key)
        self._table.apply(run, first)
        self._records.put(record)
        return RunCreated()

    async def forks_of(self, run: RunKey, after: RunKey | None, limit: int) -> list[StoredRun]:
        number = self._table.number_after(after)
        if number is None or (after is not None and after.partition != run.partition):
            return []
        later = (fork for fork in self._table.forks.get(run, {}).values() if fork.number > number)
        return [fork.stored(with_rows=False) for fork in islice(later, max(limit, 0))]


class MemoryRunRetention(RunPort):
    """Implements ports.storage.retention.RunRetention."""

    async def delete(self, run: RunKey, now: int, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        check_record(run, record)
        if (taken := self._records.find_taken(record)) is not None:
            return taken
        entry = self._table.runs.get(run)
        if entry is None:
            return False
        if not entry.has_ended:
            raise StillLive(f"the run is {entry.projection.status}")
        if entry.number in self._table.tree.results:
            raise StillLive("the parent of the run has not received its result yet")
        self._table.remove(entry, now)
        self._records.put(record)
        return True

    async def purge(self) -> bool:
        return False

    async def forget_deleted(self, deleted_before: int) -> int:
        deleted = self._table.deleted
        old = [number for number, (deleted_at, _) in deleted.items() if deleted_at < deleted_before][:MAX_FORGET]
        for number in old:
            del deleted[number]
        return len(old)

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        ended = ((at, run.number, run.key) for at, run in self._deletable(partition) if at < completed_before)
        return [key for _, _, key in heapq.nsmallest(max(limit, 0), ended)]

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        return sum(at < completed_before for at, _ in self._deletable(partition))

    def _deletable(self, partition: str | None) -> Iterator[tuple[int, MemoryRun]]:
        """The runs that `delete` accepts, each with the time at which it ended."""
        table = self._table
        runs: Iterable[MemoryRun] = table.runs.values() if partition is None else table.by_partition.get(partition, ())
        for run in runs:
            if run.projection.completed_at is not None and run.number not in table.tree.results:
                yield run.projection.completed_at, run


class MemoryAnnotations(RunPort):
    """Implements ports.storage.annotations.AnnotationStore. No method awaits anything, so each is atomic."""

    async def add(
        self,
        run: RunKey,
        annotation: Annotation,
        most: int,
        record: IdempotencyRecord | None = None,
        assets: tuple[str, ...] = (),
    ) -> AddResult | SlotTaken:
        check_record(run, record)
        if (taken := self._records.find_taken(record)) is not None:
            return taken
        entry = self._table.runs.get(run)
        if entry is None:
            return "absent"
        if len(entry.annotations) >= most:
            return "full"
        if annotation.annotation_id in entry.annotations:
            raise HostFault(f"the annotation id {annotation.annotation_id} is in use")
        entry.annotations[annotation.annotation_id] = annotation
        self._table.assets.add_references(run, assets)
        self._records.put(record)
        return "added"

    async def find(self, run: RunKey, annotation_id: str) -> Annotation | None:
        entry = self._table.runs.get(run)
        return entry.annotations.get(annotation_id) if entry is not None else None

    async def page(self, run: RunKey, after: str | None, limit: int, budget: int) -> AnnotationPage | None:
        entry = self._table.runs.get(run)
        if entry is None:
            return None
        remaining = list(entry.annotations.values())
        if after is not None:
            remaining = remaining[list(entry.annotations).index(after) + 1 :] if after in entry.annotations else []
        page: list[Annotation] = []
        for annotation in remaining[: max(limit, 1)]:
            page.append(annotation)
            budget -= len(annotation.document)
            if budget <= 0:
                break
        return AnnotationPage(tuple(page), len(page) < len(remaining))

    async def locate(self, run: RunKey, event_id: str, within: int) -> int | None:
        entry = self._table.runs.get(run)
        events = entry.events[: max(within, 0)] if entry is not None else []
        return next((event.sequence for event in events if event.event_id == event_id), None)
