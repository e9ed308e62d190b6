"""The open interrupts of all runs in memory, in the order in which they were requested."""

from bisect import bisect_left, bisect_right, insort
from typing import Final

import msgspec

from weftwork.adapters.memory.runs import MemoryRun
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt
from weftwork.protocol.run.projection import InterruptListing, StateRow

MAX_CANDIDATES: Final = 10_000
MAX_PAGE_BYTES: Final = 4_194_304
"""A page ends with the row that reaches it."""

Position = tuple[int, str, str]
"""Where an interrupt stands: when it was requested, its run, its id."""

_decode_position = msgspec.json.Decoder(Position).decode


class OpenInterrupts:
    """Those of one partition."""

    def __init__(self) -> None:
        self._positions: list[Position] = []
        self._open: dict[tuple[str, str], tuple[MemoryRun, InterruptListing]] = {}

    def set_open(self, run: MemoryRun, row: StateRow) -> None:
        """List an interrupt of a run as its row says, or no longer."""
        name = (run.key.run_id, row.name)
        self._close(name)
        if row.listing is not None:
            self._open[name] = (run, row.listing)
            insort(self._positions, (row.listing.requested_at, *name))

    def remove_run(self, run: MemoryRun) -> None:
        """Forget what a deleted run has left open."""
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
        found: list[OpenInterrupt] = []
        place, weight = None, 0
        for candidate in self._positions[start:end]:
            run, each = self._open_interrupt(candidate)
            if run.has_ended or not _matches(each, query):
                continue
            if len(found) >= max(query.limit, 1) or weight >= MAX_PAGE_BYTES:
                return _page(found, place)
            found.append(each)
            place = candidate
            weight += len(each.row)
        return _page(found, self._positions[end - 1] if end < len(self._positions) else None)

    def _close(self, name: tuple[str, str]) -> None:
        known = self._open.pop(name, None)
        if known is not None:
            del self._positions[bisect_left(self._positions, (known[1].requested_at, *name))]

    def _open_interrupt(self, place: Position) -> tuple[MemoryRun, OpenInterrupt]:
        _, run_id, interrupt_id = place
        run, listed = self._open[run_id, interrupt_id]
        row = run.rows["interrupt", interrupt_id].value
        return run, OpenInterrupt(run_id, run.workflow_id, interrupt_id, listed, row)


def _page(found: list[OpenInterrupt], last: Position | None) -> InterruptPage:
    return InterruptPage(tuple(found), msgspec.json.encode(last).decode() if last else None, last is not None)


def _matches(each: OpenInterrupt, query: InterruptQuery) -> bool:
    due = each.listed.due
    return (
        (not query.kinds or each.listed.kind in query.kinds)
        and query.workflow_id in (None, each.workflow_id)
        and query.run_id in (None, each.run_id)
        and query.node_id in (None, each.listed.node_id)
        and (query.due_before is None or (due is not None and due < query.due_before))
    )
