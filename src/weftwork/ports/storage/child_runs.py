"""Child runs: the family tree, and the messages between parent and child runs that have not been applied.

The tree and the messages are written by `EventLog.create` and `EventLog.append`, in the transaction of the events that
cause them. This port reads them, and removes results that the parent has applied.

Ordering: by creation of the child, stable while messages come and go. A cursor stays valid when its message is removed.
Atomicity: `acknowledge_results` is one transaction; each read is one view of the store.
Cancellation: cancelling the caller does not cancel `acknowledge_results`. It may be repeated.
Tenancy: parent and child are in one partition. The lists of messages span all partitions; they are for the host itself.
Cost: independent of the number of other runs.
"""

from typing import Protocol

import msgspec

from weftwork.protocol.run.batch import ChildResult
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun


class PendingChildResult(msgspec.Struct, frozen=True):
    """The result of a child that its parent has not applied yet."""

    parent: RunKey
    result: ChildResult


class PendingCancelRequest(msgspec.Struct, frozen=True):
    """A request to cancel a child that has not ended yet."""

    child: RunKey
    parent: str
    reason: str


class ChildRuns(Protocol):
    """Children of a run, and messages between parents and children."""

    async def children(self, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
        """Children of a run without outputs and state rows, in the order of creation, after the given run id."""
        ...

    async def count_descendants(self, run: RunKey) -> int:
        """The number of runs whose tree has this run as its root, without the root itself."""
        ...

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        """Results that no parent has acknowledged, after the given one."""
        ...

    async def acknowledge_results(self, results: tuple[PendingChildResult, ...]) -> None:
        """Remove these results, except where the child has left a newer one."""
        ...

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
        """Requests for children that have not ended, after the one for the given child."""
        ...
