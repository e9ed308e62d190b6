"""Run retention: finds ended runs that are old enough, and deletes them.

Ordering: `runs_ended_before` returns the runs of one partition in the order in which they ended.
Atomicity: each call is one transaction. After a `delete` that returned True no call of any port shows the run. If the
run has many rows, `delete` leaves some of them behind: they are invisible, and later calls of `purge` remove them, also
from another process. `delete` accepts the idempotency record of its request, because both must be in the same
transaction.
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
    """Deletes runs permanently."""

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
        """Forget a bounded number of runs that were deleted before that instant, so that their ids stop being valid
        cursors of listings. Returns how many, 0 when none is left."""
        ...

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        """Runs that ended before that instant and that `delete` would accept, at most `limit`."""
        ...

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        """The number of runs that `runs_ended_before` would return without a limit. The cost grows with that number."""
        ...
