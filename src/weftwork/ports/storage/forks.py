"""Forks: creates runs that begin with a copy of the log of another run, and finds the forks of a run.

Ordering: `forks_of` returns forks in the order of their creation.
Atomicity: `create` is one transaction: the copy, the first batch, and the idempotency record of the request. The source
cannot be deleted or pruned while it is copied.
Cancellation: cancelling the caller does not cancel a write. It may or may not have happened: read it back.
Tenancy: a fork is in the partition of its source. A source of another partition does not exist.
Cost: `create` costs a step per copied event, within the store, and delays other writes meanwhile. A fork shares nothing
with its source afterwards, so that each of them can be deleted alone. `forks_of` does not depend on other runs.
"""

from typing import Protocol

from weftwork.ports.storage.event_log import RunCreated, ScopeTaken
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import Batch, IdempotencyRecord
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import StoredRun


class SourceMissing(Exception):
    """The source of a fork does not exist, was deleted, or its log is shorter than the prefix. Nothing was written."""


class Forks(Protocol):
    """Implementations are proved by `weftwork.testing.storage`."""

    async def create(
        self,
        header: RunHeader,
        first: Batch,
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        """Store a run whose header has a `fork`, with a copy of the source, and then the first batch. The fork is taken
        with `fence`, as in `EventLog.create`.

        The copy has, of the source: the events with a sequence below `from_seq`, with the run id of the fork, also in
        the payload of `output.chunk`; all else of an event is the same, also its id and time. The hidden values of
        these events and of the inputs. The references to assets, all of them. The batch follows at `from_seq`, and its
        projection and rows are those of the whole log; it may have no events.

        With `record`: if its slot is taken, return SlotTaken. With `exclusive`: as for `EventLog.create`. Raises
        SourceMissing, or HostFault for a run id in use,
        a record of another partition, or a header or first batch that `check_first_fork_batch` refuses. The slot is
        checked first, then the scope, then the source.

        A fork with `from_seq` 0 has no prefix. It may also be created with `EventLog.create`, and is then found by
        `forks_of` as well, with nothing of its source.
        """
        ...

    async def forks_of(self, run: RunKey, after: RunKey | None, limit: int) -> list[StoredRun]:
        """The forks of a run that exist, at most `limit` after the fork `after`, without outputs and state rows.

        The source may have been deleted. A deleted fork stays valid as `after` until `RunRetention.forget_deleted`
        removes its position; the page after an unknown run, or one of another partition, is empty.
        """
        ...
