"""Runs in memory: one run, the family tree of all runs, and parked runs by the instant at which they wake.

Every run has a number, the order of creation in the whole store. A run holds its children by number; messages between
parent and child runs are kept by the number of the child.
"""

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from weftwork.ports.storage.annotations import Annotation
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.protocol.run.batch import Batch, CancelRequest, CascadeCancel, HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, Parent, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

_encode_header = msgspec.json.Encoder().encode
_decode_header = msgspec.json.Decoder(RunHeader).decode


class MemoryRun:
    """`number` is the order of creation in the whole store."""

    def __init__(self, header: RunHeader, hidden: tuple[HiddenValue, ...], number: int) -> None:
        self.key = header.key
        self.number = number
        self.workflow_id = header.workflow_id
        self.scope_id = header.scope_id
        self.tags = frozenset(header.tags)
        self.parent_link = header.parent
        self.parent: MemoryRun | None = None
        self.children: dict[int, MemoryRun] = {}
        # Bytes, as in every store: what the caller does to its header later does not reach us.
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
        """Add a checked batch."""
        self.events += batch.events
        self.hidden += batch.hidden
        # Where an interrupt is listed is known to the lists, as in every store.
        for row in batch.rows:
            self.rows[row.kind, row.name] = row if row.listing is None else replace(row, listing=None)
        self.projection = batch.projection

    def stored(self, with_rows: bool) -> StoredRun:
        rows: Any = (row for _, row in sorted(self.rows.items())) if with_rows else ()
        projection = self.projection if with_rows else replace(self.projection, outputs=None)
        return StoredRun(_decode_header(self.header), projection, tuple(rows))


T = TypeVar("T")


class FamilyTree:
    """Parent and child runs of the whole store, and the messages between them. `find` gives a run that is there."""

    def __init__(self, find: Callable[[RunKey], MemoryRun | None]) -> None:
        self._find = find
        self._descendant_counts: Counter[RunKey] = Counter()
        self._results: dict[int, PendingChildResult] = {}
        self._cancel_requests: dict[int, PendingCancelRequest] = {}

    def add_child(self, run: MemoryRun, parent: Parent) -> None:
        """Record a new run as the child of the parent that its header names, which may be gone."""
        self._descendant_counts[RunKey(run.key.partition, parent.root)] += 1
        run.parent = self._find(RunKey(run.key.partition, parent.run_id))
        if run.parent is not None:
            run.parent.children[run.number] = run

    def remove_child(self, run: MemoryRun) -> None:
        """Remove a run that is deleted from its tree."""
        if run.parent_link is not None:
            self._descendant_counts[RunKey(run.key.partition, run.parent_link.root)] -= 1
        if run.parent is not None:
            run.parent.children.pop(run.number)

    def apply_messages(self, run: MemoryRun, batch: Batch) -> None:
        """Record what a batch says to the parent and to the children; a run that has ended gets no messages."""
        for order in batch.cancel_requests:
            self._request_cancel(run, order)
        if batch.cascade_cancel is not None:
            self._cascade(run, batch.cascade_cancel)
        parent = run.parent
        if batch.child_result is not None and parent is not None and not parent.has_ended:
            self._results[run.number] = PendingChildResult(parent.key, batch.child_result)
        if run.has_ended:
            self._cancel_requests.pop(run.number, None)
            for number in run.children:
                self._results.pop(number, None)

    def has_pending_result(self, run: MemoryRun) -> bool:
        return run.number in self._results

    def acknowledge_result(self, run: MemoryRun, sequence: int) -> None:
        """Drop the result of a child if it is not newer than `sequence`."""
        kept = self._results.get(run.number)
        if kept is not None and kept.result.sequence <= sequence:
            del self._results[run.number]

    def descendants(self, run: RunKey) -> int:
        return self._descendant_counts[run]

    def results(self, number: int, limit: int) -> list[PendingChildResult]:
        return _after_number(self._results, number, limit)

    def cancel_requests(self, number: int, limit: int) -> list[PendingCancelRequest]:
        return _after_number(self._cancel_requests, number, limit)

    def _request_cancel(self, run: MemoryRun, order: CancelRequest) -> None:
        child = self._find(RunKey(run.key.partition, order.child_run_id))
        if child is not None and child.number in run.children:
            self._add_cancel_request(run, child, order.reason)

    def _cascade(self, run: MemoryRun, cascade: CascadeCancel) -> None:
        for child in run.children.values():
            link = child.parent_link
            if link is not None and (link.awaited if cascade.awaited_only else link.cascade):
                self._add_cancel_request(run, child, cascade.reason)

    def _add_cancel_request(self, run: MemoryRun, child: MemoryRun, reason: str) -> None:
        if not child.has_ended:
            self._cancel_requests.setdefault(child.number, PendingCancelRequest(child.key, run.key.run_id, reason))


def _after_number(kept: dict[int, T], number: int, limit: int) -> list[T]:
    found = heapq.nsmallest(max(limit, 0), (each for each in kept if each > number))
    return [kept[each] for each in found]


def index_of(siblings: list[MemoryRun], number: int) -> int:
    """Where the run of that number stands, or would stand."""
    return bisect_left(siblings, number, key=lambda run: run.number)


class WakeIndex:
    """Parked runs by the instant at which they have something to do; of equal instants the older run comes first."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, RunKey]] = []

    def add(self, run: MemoryRun) -> None:
        """Take in a run as it stands."""
        entry = _wake_entry(run)
        if entry is not None:
            insort(self._runs, entry)

    def remove(self, run: MemoryRun) -> None:
        """Take out a run that still stands as it was taken in."""
        entry = _wake_entry(run)
        if entry is not None:
            del self._runs[bisect_left(self._runs, entry)]

    def next_wake(self, after: int) -> int | None:
        at = bisect_left(self._runs, after + 1, key=lambda entry: entry[0])
        return self._runs[at][0] if at < len(self._runs) else None

    def due(self, until: int, limit: int) -> list[RunKey]:
        end = bisect_left(self._runs, until + 1, key=lambda entry: entry[0])
        return [run for _, _, run in self._runs[: min(end, max(limit, 0))]]


def _wake_entry(run: MemoryRun) -> tuple[int, int, RunKey] | None:
    projection = run.projection
    if not projection.parked or projection.wake_at is None:
        return None
    return projection.wake_at, run.number, run.key
