"""Run ownership: which executor may execute a run, and the runs that none has taken yet.

Theory. Every executor has a fence: the epoch of its election (`ports/storage/election.py`), a positive number that is
higher than that of every executor before it. A run stores the fence of the executor that took it, and an executor acts
on a run only with that fence: `EventLog.append` compares it in the transaction of the append. A process that was
replaced while it was suspended or cut off can therefore not write to the log again, and finds out before its next
step. New runs and runs of a dead executor are found by the same query, because both have a lower fence than the
executor that looks for them.

Ordering: by creation of the run. A cursor stays valid when its run is deleted.
Atomicity: each call is one transaction.
Cancellation: cancelling the caller does not cancel `take` and `retry_later`. Both may be repeated.
Tenancy: the queries span all partitions; they are for the host itself, and no caller may see their result.
Cost: independent of the number of ended, parked and taken runs. Only `count_untaken` costs a step per run.
"""

from typing import Protocol

import msgspec

from weftwork.protocol.run.header import RunKey


class UntakenRun(msgspec.Struct, frozen=True):
    """A run that an executor has to take and execute."""

    key: RunKey
    is_child: bool


class RunOwnership(Protocol):
    """Assigns runs to executors. Implementations are proved by `weftwork.testing.storage`."""

    async def take(self, run: RunKey, fence: int) -> bool:
        """Assign a run to the executor with this fence, and forget its retry time; true if the run has this fence
        afterwards.

        False, without effect, if the run has a higher fence, does not exist or has ended, or if an election has a
        higher epoch than `fence`: an executor that was replaced takes no runs.
        """
        ...

    async def fence_of(self, run: RunKey) -> int | None:
        """The fence of a run, 0 if no executor has taken it; None if there is no such run."""
        ...

    async def untaken(
        self, fence: int, after: RunKey | None, limit: int, until: RunKey | None = None, partition: str | None = None
    ) -> list[UntakenRun]:
        """Runs with a lower fence that have neither ended nor parked, in the order of creation: after the run `after`,
        and up to the run `until`, if they are given. With `partition`, only the runs of this partition. The page after
        or up to an unknown run is empty."""
        ...

    async def count_untaken(self, fence: int, until: RunKey) -> int:
        """The number of runs that `untaken` returns up to the run `until`."""
        ...

    async def newest_run(self) -> RunKey | None:
        """The run that was created last; None if there is no run."""
        ...

    async def retry_later(self, run: RunKey, fence: int, at: int) -> bool:
        """Record that the executor with this fence could not load the run, and will try again at that instant
        (milliseconds since 1970). The run stays taken. False, without effect, if the run has another fence or has
        ended."""
        ...

    async def due_retries(self, fence: int, until: int, limit: int) -> list[RunKey]:
        """Runs with this fence whose retry time is `until` or earlier, earliest first."""
        ...
