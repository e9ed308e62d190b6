"""The event log: the truth about every run, and the caches that are written with it.

Ordering: per run, sequence 0, 1, 2, ... without gaps, assigned in the commit that makes the events durable.
Atomicity: each call below is one transaction; all of it is durable when the call returns, or none of it.
Cancellation: cancelling the caller does not cancel a write; it may or may not have happened: read it back.
Tenancy: every argument that names a run carries its partition, and a run of another partition is not there.
"""

from typing import Final, Protocol

import msgspec

from weftwork.protocol.run.batch import Batch, ChildResult, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import InterruptListing, Projection, StoredRun


class StoreUnavailable(Exception):
    """The store cannot take or give data now (full disk, I/O error, closed).

    Nothing was written, unless the process dies before the store is usable again: after a failed sync no
    store can tell what a crash would bring back.
    """


class SequenceConflict(Exception):
    """`expected` is not the last sequence of the run. Nothing was written; reload and decide again."""


class StillLive(Exception):
    """The run has not ended, so it cannot be deleted. Nothing was written."""


class RunCreated(msgspec.Struct, frozen=True):
    """The run is durable and is the intent to execute it."""


class SlotTaken(msgspec.Struct, frozen=True):
    """The idempotency slot was taken: nothing was written, here is what is recorded."""

    record: IdempotencyRecord


class ScopeTaken(msgspec.Struct, frozen=True):
    """Another run of the same scope is live: nothing was written."""

    run_id: str


class RunQuery(msgspec.Struct, frozen=True):
    """Filters of a listing, newest run first. `before` is the run id that the last page ended with."""

    statuses: tuple[str, ...] = ()
    workflow_id: str | None = None
    tags: tuple[str, ...] = ()
    before: str | None = None
    limit: int = 50
    parent: str | None = None
    """Children of that run alone."""


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


class PendingChildResult(msgspec.Struct, frozen=True):
    """Word of a child that its parent has not heard yet."""

    parent: RunKey
    result: ChildResult


class PendingCancelRequest(msgspec.Struct, frozen=True):
    """An order that its child has not followed yet."""

    child: RunKey
    parent: str
    reason: str


class EventLog(Protocol):
    """Durable runs. Implementations are proved by `weftwork.testing.storage`."""

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        """Store a new run with its first batch of events; without one, with status pending and last sequence -1.

        With `record`: if its slot is taken, return Recorded. With `exclusive`: if a live run of the same
        partition and scope exists, return Active with the oldest. The slot is looked at first. Raises
        StoreUnavailable, or HostFault for a run id in use, a record of another partition, or a first batch
        that `check_first` refuses.
        """
        ...

    async def append(self, run: RunKey, expected: int, batch: Batch) -> SlotTaken | None:
        """Add events expected+1.. with their projection, rows, hidden values and record.

        Returns None when durable, or Recorded (nothing written) when the record's slot was taken, which is
        looked at first. Raises SequenceConflict (also for an unknown or ended run), StoreUnavailable, or
        HostFault for a batch that `check_batch` refuses.

        With `spawns`: these runs come into being, pending; HostFault for a run id in use. With `tells`: kept as news
        for the parent instead of what this child said before; not kept if the parent has ended or is not there.
        `orders` and `cascade` are kept for those children of this run that have not ended; the first order for a child
        stays. When a run ends, orders for it and news of its children go; a deleted run leaves none of either.
        """
        ...

    async def children(self, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
        """Children of a run without outputs and state rows, in the order of their creation, behind the given one.

        The cost does not depend on the number of other runs.
        """
        ...

    async def count_descendants(self, run: RunKey) -> int:
        """How many runs there are whose tree begins with this one; it does not count itself."""
        ...

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        """Word of children of all partitions that nobody has heard, in an order that stays, behind the given one."""
        ...

    async def acknowledge_results(self, heard: tuple[PendingChildResult, ...]) -> None:
        """Forget this news, unless the child has said something later."""
        ...

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
        """Orders of all partitions that were not followed, in an order that stays, behind the one for that child."""
        ...

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        """Store a record alone, unless its slot is taken."""
        ...

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        """The record of a slot, unless it is older than `not_before`."""
        ...

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        """Events with sequence > after, ascending, at most `limit`. The cost does not depend on the log's length.

        With `budget`: stops after the event with which their sizes reach so many bytes.
        """
        ...

    async def read_run(self, run: RunKey) -> StoredRun | None:
        """Header, projection and state rows by kind and name, or None. The cost does not depend on the log's length."""
        ...

    async def projection(self, run: RunKey) -> Projection | None:
        """How a run stands, without its outputs, or None. The cost does not depend on what the run holds."""
        ...

    async def hidden_values(self, run: RunKey) -> list[HiddenValue]:
        """All hidden values of a run. Only the engine's own fold may ask."""
        ...

    async def list_runs(self, partition: str, query: RunQuery) -> RunPage:
        """A page of runs, newest first; the work per call is bounded, so a page may be short and still say more."""
        ...

    async def unfinished_runs(self, after: RunKey | None, limit: int) -> list[RunKey]:
        """Runs of all partitions that have not ended and are not parked, oldest first, after the given one."""
        ...

    async def next_wake(self, after: int = -1) -> int | None:
        """The earliest `wake_at` of all parked runs that is later than `after`; None when there is none.

        The cost does not depend on their number.
        """
        ...

    async def due_runs(self, until: int, limit: int) -> list[RunKey]:
        """Parked runs of all partitions whose `wake_at` is `until` or earlier, earliest first."""
        ...

    async def list_interrupts(self, partition: str, query: InterruptQuery) -> InterruptPage:
        """A page of open interrupts, oldest first; the work per call is bounded, so a page may be short and still say
        more. An `after` that is no cursor of this store gives an empty page."""
        ...

    async def check_ready(self) -> None:
        """Return if a write would be taken now, as far as can be told without one; raises StoreUnavailable."""
        ...

    async def sweep(self, created_before: int) -> int:
        """Delete idempotency records older than that, and forget where runs stood in listings that were deleted
        before that; returns how many of both. Work per call is bounded."""
        ...

    async def delete(self, run: RunKey, now: int, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        """Delete an ended run with everything that belongs to it; False when there is no such run.

        When it returns True the run is not there for any call. What it leaves behind when there was much of it
        goes by `purge`. Idempotency records that speak of the run stay, and it stays usable as the cursor of a
        listing. A run whose news its parent has not heard counts as live. With `record`: stored along with it; if its
        slot is taken, Recorded and nothing written, which is looked at first. Raises StillLive, StoreUnavailable, or
        HostFault for a record of another partition.
        """
        ...

    async def purge(self) -> bool:
        """Remove one bounded piece of what deleted runs have left behind; False when nothing was left."""
        ...

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        """Runs that ended before that instant and may be deleted, at most `limit`; those of one partition oldest end
        first.

        The cost does not depend on the number of runs that ended later, or not at all.
        """
        ...

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        """How many `ended_before` would give without a limit; the cost is that of counting them."""
        ...


STORE_RETRY_MS: Final = 1_000
"""How long a store that is away is left alone before it is asked again."""
