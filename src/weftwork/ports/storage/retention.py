"""Run retention: deletes ended runs, and finds those that are old enough.

Ordering: `runs_ended_before` gives the runs of one partition oldest end first.
Atomicity: each call is one transaction. After a `delete` that returned True no call of any port shows the run. The
rows it leaves behind, when they are many, are invisible and go with later calls of `purge`, also in another process.
`delete` takes the idempotency record of its request, because both must be in the same transaction.
Cancellation: cancelling the caller does not cancel a write. It may or may not have happened: read it back.
Tenancy: `delete` does not find a run of another partition. Without a partition, the searches span all of them.
Cost: a search does not depend on the number of runs that ended later or not at all; each write is bounded.
"""

from typing import Protocol

from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import RunKey


class StillLive(Exception):
    """The run has not ended, or its parent has not applied its result, so it cannot be deleted. Nothing was written."""


class RunRetention(Protocol):
    """Deletes runs for good."""

    async def delete(self, run: RunKey, now: int, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        """Delete an ended run with everything that belongs to it; False when there is no such run.

        Idempotency records that mention the run stay, and its id stays usable as the cursor of a listing. With
        `record`: stored in the same transaction; if its slot is taken, which is checked first, SlotTaken. Raises
        StillLive, or HostFault for a record of another partition.
        """
        ...

    async def purge(self) -> bool:
        """Remove a bounded number of rows that deleted runs have left behind; False when none was left."""
        ...

    async def forget_deleted(self, deleted_before: int) -> int:
        """Forget a bounded number of runs that were deleted before that: their ids are no longer cursors of
        listings. Returns how many, 0 when none is left."""
        ...

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        """Runs that ended before that instant and that `delete` would take, at most `limit`."""
        ...

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        """How many `runs_ended_before` would give without a limit; the cost is that of counting them."""
        ...
