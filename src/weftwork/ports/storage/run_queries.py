"""Run queries: finds runs and open interrupts.

Ordering: stated by each query. A walk from page to page returns every row that exists during the whole walk exactly
once, also while other rows are written. A cursor stays valid when the row that it names is deleted.
Atomicity: a page is one view of the store, and shows every write that was acknowledged before the call.
Cancellation: queries write nothing.
Tenancy: `list_runs` and `list_interrupts` show one partition. The other queries span all of them; they are for the
host itself, and no caller may see their result.
Cost: bounded per call, and independent of the number of ended runs.
"""

from typing import Protocol

import msgspec

from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import InterruptListing, StoredRun


class RunQuery(msgspec.Struct, frozen=True):
    """Filters of a listing, newest run first. `before` is the run id that the last page ended with."""

    statuses: tuple[str, ...] = ()
    workflow_id: str | None = None
    tags: tuple[str, ...] = ()
    before: str | None = None
    limit: int = 50
    parent: str | None = None
    """Only children of this run."""


class RunPage(msgspec.Struct, frozen=True):
    """One page. `more` says that a further page may hold runs; `last` is the cursor to it."""

    runs: tuple[StoredRun, ...]
    last: str | None
    more: bool


class OpenInterrupt(msgspec.Struct, frozen=True):
    """An open interrupt with its run; `row` is the value of its state row."""

    run_id: str
    workflow_id: str
    interrupt_id: str
    listed: InterruptListing
    row: bytes


class InterruptQuery(msgspec.Struct, frozen=True):
    """Filters of a list of open interrupts, oldest request first. `after` is the `last` of the page before."""

    kinds: tuple[str, ...] = ()
    workflow_id: str | None = None
    run_id: str | None = None
    node_id: str | None = None
    due_before: int | None = None
    after: str | None = None
    limit: int = 50


class InterruptPage(msgspec.Struct, frozen=True):
    """One page. `more` says that a further page may hold interrupts; `last` is the cursor to it."""

    interrupts: tuple[OpenInterrupt, ...]
    last: str | None
    more: bool


class TimedRun(msgspec.Struct, frozen=True):
    """A parked run with a timer."""

    run: RunKey
    wake_at: int
    last_event_at: int
    """The timestamp of its last event; 0 without events."""
    number: int
    """The position of the run in the order of creation. It has a meaning for its store only."""


class RunQueries(Protocol):
    """Lists runs and interrupts for callers, and finds the parked runs that are due."""

    async def list_runs(self, partition: str, query: RunQuery) -> RunPage:
        """A page of runs without outputs and state rows, newest first. It may be shorter than `limit` although
        `more` is true. A cursor that names no run gives an empty page."""
        ...

    async def list_interrupts(self, partition: str, query: InterruptQuery) -> InterruptPage:
        """A page of open interrupts, oldest first. It may be shorter than `limit` although `more` is true. An
        `after` that is no cursor of this store gives an empty page."""
        ...

    async def next_wake(self, after: int = -1) -> int | None:
        """The earliest `wake_at` of all parked runs that is later than `after`, or None."""
        ...

    async def due_runs(self, until: int, limit: int) -> list[RunKey]:
        """Parked runs whose `wake_at` is `until` or earlier, earliest first."""
        ...

    async def timed_runs(self, after: TimedRun | None, limit: int) -> list[TimedRun]:
        """Parked runs that have a `wake_at`, after the given one, earliest first. Runs with the same `wake_at` are in
        the order of creation. The given run may have ended in the meantime."""
        ...
