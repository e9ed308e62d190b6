"""The table of all runs in memory, with its indexes: the family tree, forks, parked runs by wake-up time, open
interrupts.

Every run has a number: its position in the order of creation in the whole store. A run holds its children by number.
Messages between parent and child runs are stored by the number of the child.
"""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.election import Elections
from weftwork.adapters.memory.port import MemoryIdempotencyRecords, MemoryPort
from weftwork.ports.storage.annotations import Annotation
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt, TimedRun
from weftwork.protocol.run.batch import Batch, HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, Parent, RunHeader, RunKey
from weftwork.protocol.run.projection import InterruptListing, Projection, StateRow, StoredRun

MAX_CANDIDATES: Final = 10_000
MAX_PAGE_BYTES: Final = 4_194_304
"""A page of interrupts ends with the row that reaches this size."""

Position = tuple[int, str, str]
"""The position of an interrupt in the order: the time of its request, its run id, its own id."""

T = TypeVar("T")

_encode_header = msgspec.json.Encoder().encode
_decode_header = msgspec.json.Decoder(RunHeader).decode
_decode_position = msgspec.json.Decoder(Position).decode


class MemoryRun:
    """All data of one run."""

    def __init__(self, header: RunHeader, hidden: tuple[HiddenValue, ...], number: int, fence: int) -> None:
        self.key = header.key
        self.number = number
        self.fence = fence
        self.retry_at: int | None = None
        self.workflow_id = header.workflow_id
        self.scope_id = header.scope_id
        self.tags = frozenset(header.tags)
        self.parent_link = header.parent
        self.parent: MemoryRun | None = None
        self.children: dict[int, MemoryRun] = {}
        self.source: RunKey | None = None
        """The run that this fork was forked from."""
        # Encoded, as in every store: a caller that changes its header object later does not change the stored one.
        self.header = _encode_header(header)
        self.projection = Projection("pending")
        self.events: list[Event] = []
        self.hidden: list[HiddenValue] = list(hidden)
        self.annotations: dict[str, Annotation] = {}
        self.rows: dict[tuple[str, str], StateRow] = {}

    @property
    def has_ended(self) -> bool:
        return self.projection.status in TERMINAL_STATUSES

    def apply(self, batch: Batch) -> None:
        """Append a batch that was checked before."""
        self.events += batch.events
        self.hidden += batch.hidden
        # The listing of an interrupt is stored in OpenInterrupts only; as in every store, rows are read without it.
        for row in batch.rows:
            self.rows[row.kind, row.name] = row if row.listing is None else replace(row, listing=None)
        self.projection = batch.projection

    def stored(self, with_rows: bool) -> StoredRun:
        rows: Any = (row for _, row in sorted(self.rows.items())) if with_rows else ()
        projection = self.projection if with_rows else replace(self.projection, outputs=None)
        return StoredRun(_decode_header(self.header), projection, tuple(rows))


class FamilyTree:
    """The parent and child runs of the whole store, and the messages between them. `find` looks up an existing run."""

    def __init__(self, find: Callable[[RunKey], MemoryRun | None]) -> None:
        self._find = find
        self.descendant_counts: Counter[RunKey] = Counter()
        self.results: dict[int, PendingChildResult] = {}
        self.cancel_requests: dict[int, PendingCancelRequest] = {}

    def add_child(self, run: MemoryRun, parent: Parent) -> None:
        """Record a new run as the child of the parent that its header names. The parent may have been deleted."""
        self.descendant_counts[RunKey(run.key.partition, parent.root)] += 1
        run.parent = self._find(RunKey(run.key.partition, parent.run_id))
        if run.parent is not None:
            run.parent.children[run.number] = run

    def remove_child(self, run: MemoryRun) -> None:
        if run.parent_link is not None:
            self.descendant_counts[RunKey(run.key.partition, run.parent_link.root)] -= 1
        if run.parent is not None:
            run.parent.children.pop(run.number)

    def apply_messages(self, run: MemoryRun, batch: Batch) -> None:
        """Store the messages of a batch to the parent and the children. When a run ends, messages to it are dropped."""
        for request in batch.cancel_requests:
            child = self._find(RunKey(run.key.partition, request.child_run_id))
            if child is not None and child.number in run.children:
                self._add_cancel_request(run, child, request.reason)
        if (cascade := batch.cascade_cancel) is not None:
            for child in run.children.values():
                link = child.parent_link
                if link is not None and (link.awaited if cascade.awaited_only else link.cascade):
                    self._add_cancel_request(run, child, cascade.reason)
        parent = run.parent
        if batch.child_result is not None and parent is not None and not parent.has_ended:
            self.results[run.number] = PendingChildResult(parent.key, batch.child_result)
        if run.has_ended:
            self.cancel_requests.pop(run.number, None)
            for number in run.children:
                self.results.pop(number, None)

    def acknowledge_result(self, run: MemoryRun, sequence: int) -> None:
        """Drop the result of a child if it is not newer than `sequence`."""
        pending = self.results.get(run.number)
        if pending is not None and pending.result.sequence <= sequence:
            del self.results[run.number]

    def _add_cancel_request(self, run: MemoryRun, child: MemoryRun, reason: str) -> None:
        if not child.has_ended:
            self.cancel_requests.setdefault(child.number, PendingCancelRequest(child.key, run.key.run_id, reason))


def after_number(messages: dict[int, T], number: int | None, limit: int) -> list[T]:
    """The messages of runs that were created after this one, in the order of creation; none after None."""
    if number is None:
        return []
    numbers = heapq.nsmallest(max(limit, 0), (each for each in messages if each > number))
    return [messages[each] for each in numbers]


def index_of(runs: list[MemoryRun], number: int) -> int:
    """The index of the run with this number, or the index at which it would be inserted."""
    return bisect_left(runs, number, key=lambda run: run.number)


class WakeIndex:
    """Parked runs by wake-up time. Runs with the same time are in the order of creation."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, RunKey]] = []

    def add(self, run: MemoryRun) -> None:
        """Insert a run, if it is parked and has a wake-up time."""
        entry = _wake_entry(run)
        if entry is not None:
            insort(self._runs, entry)

    def remove(self, run: MemoryRun) -> None:
        entry = _wake_entry(run)
        if entry is not None:
            del self._runs[bisect_left(self._runs, entry)]

    def next_wake(self, after: int) -> int | None:
        at = bisect_left(self._runs, after + 1, key=lambda entry: entry[0])
        return self._runs[at][0] if at < len(self._runs) else None

    def due(self, until: int, limit: int) -> list[RunKey]:
        end = bisect_left(self._runs, until + 1, key=lambda entry: entry[0])
        return [run for _, _, run in self._runs[: min(end, max(limit, 0))]]

    def after(self, run: TimedRun | None, limit: int) -> list[tuple[int, int, RunKey]]:
        """The wake-up time, the number and the key of runs after this one."""
        start = 0
        if run is not None:
            start = bisect_left(self._runs, (run.wake_at, run.number + 1), key=lambda entry: entry[:2])
        return self._runs[start : start + max(limit, 0)]


def _wake_entry(run: MemoryRun) -> tuple[int, int, RunKey] | None:
    projection = run.projection
    if not projection.parked or projection.wake_at is None:
        return None
    return projection.wake_at, run.number, run.key


class OpenInterrupts:
    """The open interrupts of one partition, in the order in which they were requested."""

    def __init__(self) -> None:
        self._positions: list[Position] = []
        self._open: dict[tuple[str, str], tuple[MemoryRun, InterruptListing]] = {}

    def set_open(self, run: MemoryRun, row: StateRow) -> None:
        """Insert, update or delete the entry of an interrupt, as its state row requires."""
        name = (run.key.run_id, row.name)
        self._close(name)
        if row.listing is not None:
            self._open[name] = (run, row.listing)
            insort(self._positions, (row.listing.requested_at, *name))

    def remove_run(self, run: MemoryRun) -> None:
        for kind, name in run.rows:
            if kind == "interrupt":
                self._close((run.key.run_id, name))

    def page(self, query: InterruptQuery) -> InterruptPage:
        """RunQueries.list_interrupts."""
        start = 0
        if query.after is not None:
            try:
                start = bisect_right(self._positions, _decode_position(query.after))
            except ValueError:
                return InterruptPage((), None, False)
        end = start + MAX_CANDIDATES
        page: list[OpenInterrupt] = []
        last, size = None, 0
        for position in self._positions[start:end]:
            _, run_id, interrupt_id = position
            run, listing = self._open[run_id, interrupt_id]
            row = run.rows["interrupt", interrupt_id].value
            each = OpenInterrupt(run_id, run.workflow_id, interrupt_id, listing, row)
            if run.has_ended or not _matches(each, query):
                continue
            if len(page) >= max(query.limit, 1) or size >= MAX_PAGE_BYTES:
                return _page(page, last)
            page.append(each)
            last = position
            size += len(each.row)
        return _page(page, self._positions[end - 1] if end < len(self._positions) else None)

    def _close(self, name: tuple[str, str]) -> None:
        entry = self._open.pop(name, None)
        if entry is not None:
            del self._positions[bisect_left(self._positions, (entry[1].requested_at, *name))]


def _page(interrupts: list[OpenInterrupt], last: Position | None) -> InterruptPage:
    return InterruptPage(tuple(interrupts), msgspec.json.encode(last).decode() if last else None, last is not None)


def _matches(each: OpenInterrupt, query: InterruptQuery) -> bool:
    due = each.listed.due
    return (
        (not query.kinds or each.listed.kind in query.kinds)
        and query.workflow_id in (None, each.workflow_id)
        and query.run_id in (None, each.run_id)
        and query.node_id in (None, each.listed.node_id)
        and (query.due_before is None or (due is not None and due < query.due_before))
    )


class RunTable:
    """All runs, and the indexes over them. Each method updates the runs and all indexes, and awaits nothing."""

    def __init__(self, records: MemoryIdempotencyRecords, assets: MemoryAssets, elections: Elections) -> None:
        self.records = records
        self.assets = assets
        self.elections = elections
        self.runs: dict[RunKey, MemoryRun] = {}
        self.by_partition: dict[str, list[MemoryRun]] = {}
        """Runs of a partition in the order of creation."""
        self.live: dict[RunKey, MemoryRun] = {}
        self.wakes = WakeIndex()
        self.tree = FamilyTree(self.runs.get)
        self.forks: defaultdict[RunKey, dict[int, MemoryRun]] = defaultdict(dict)
        """The existing forks of a run by number, in the order of creation. The run may have been deleted."""
        self.interrupts: defaultdict[str, OpenInterrupts] = defaultdict(OpenInterrupts)
        """By partition."""
        self.deleted: dict[int, tuple[int, RunKey]] = {}
        """Time of deletion and key of each deleted run, by number. They keep cursors valid that name such a run."""
        self._created = 0

    def number(self, run: RunKey) -> int | None:
        if (existing := self.runs.get(run)) is not None:
            return existing.number
        return max((number for number, (_, key) in self.deleted.items() if key == run), default=None)

    def number_after(self, cursor: RunKey | None) -> int | None:
        """The number after which a page starts; None for a cursor that names an unknown run."""
        return self.number(cursor) if cursor is not None else -1

    def add(self, header: RunHeader, hidden: tuple[HiddenValue, ...], fence: int) -> MemoryRun:
        run = MemoryRun(header, hidden, self._created, fence)
        self._created += 1
        self.by_partition.setdefault(header.partition, []).append(run)
        self.runs[run.key] = self.live[run.key] = run
        if header.parent is not None:
            self.tree.add_child(run, header.parent)
        if header.fork is not None:
            run.source = RunKey(header.partition, header.fork.run_id)
            self.forks[run.source][run.number] = run
        if header.assets:
            self.assets.add_references(run.key, header.assets)
        return run

    def apply(self, run: MemoryRun, batch: Batch) -> None:
        """Append a checked batch to a run, without its messages to other runs."""
        self.wakes.remove(run)
        run.apply(batch)
        self.wakes.add(run)
        if batch.assets:
            self.assets.add_references(run.key, batch.assets)
        for row in batch.rows:
            if row.kind == "interrupt":
                self.interrupts[run.key.partition].set_open(run, row)
        if run.has_ended:
            del self.live[run.key]

    def remove(self, run: MemoryRun, now: int) -> None:
        self.tree.remove_child(run)
        if run.source is not None:
            del self.forks[run.source][run.number]
        del self.runs[run.key]
        siblings = self.by_partition[run.key.partition]
        del siblings[index_of(siblings, run.number)]
        self.interrupts[run.key.partition].remove_run(run)
        self.wakes.remove(run)
        self.assets.release_references(run.key)
        self.deleted[run.number] = (now, run.key)


class RunPort(MemoryPort):
    """A port for runs. All such ports of a store share one table."""

    def __init__(self, table: RunTable) -> None:
        super().__init__(table.records.state)
        self._table = table
        self._records = table.records
