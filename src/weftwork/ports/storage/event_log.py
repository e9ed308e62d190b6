"""The event log: the source of truth for every run, and the caches that are written with it.

Ordering: per run, sequence 0, 1, 2, ... without gaps, assigned in the commit that makes the events durable.
Atomicity: each call is one transaction. When the call returns, all of it is durable and every later call sees it;
when it raises, none of it was written. `create` and `append` take the idempotency record of the request that caused
them, because the record and its effect must be in the same transaction.
Cancellation: cancelling the caller does not cancel a write. It may or may not have happened: read it back.
Tenancy: every argument that names a run carries its partition. A run of another partition does not exist.
Cost: no call depends on the number of other runs, and no read on the length of the log, except
`hidden_values`, `outline` and `partition_bytes`.
"""

from typing import Final, Protocol

import msgspec

from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import MAX_SEQUENCE, Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun

BEFORE_HEADER: Final = -2
"""A sequence before that of the hidden values of a header."""


class StoreUnavailable(Exception):
    """The store cannot read or write data now (full disk, I/O error, closed). Every call of every port may raise it.

    Nothing was written, except after `OutcomeUnknown`, or if the process dies before the store is usable again: after a
    failed sync, a store cannot know which of its writes a crash would bring back.
    """


class OutcomeUnknown(StoreUnavailable):
    """The connection to the store was lost after a commit was sent, so the write may have happened. Read it back, by
    the ids of the events in the batch, before it is repeated or reported as failed. A later call that reads the data
    shows whether it has happened: a write that is not there then does not happen any more."""


class AccessDenied(StoreUnavailable):
    """The store does not accept this user, or has no such database. Waiting does not help: an operator has to act."""


class StoreDamaged(StoreUnavailable):
    """The store has data that cannot be read any more: a damaged page, or a row that cannot be decoded. A retry does
    not help; the operator has to restore or salvage the store."""


class SequenceConflict(Exception):
    """`expected` is not the last sequence of the run. Nothing was written; reload and decide again."""


class FenceLost(Exception):
    """Another executor has taken the run (`ports/storage/ownership.py`). Nothing was written, and this process must not
    act on the run any more."""


class RunCreated(msgspec.Struct, frozen=True):
    """The run is durable, and with it the intent to execute it."""


class ScopeTaken(msgspec.Struct, frozen=True):
    """Another run of the same scope has not ended: nothing was written."""

    run_id: str


class RunOutline(msgspec.Struct, frozen=True):
    """A run without its events and state rows, and the size of these."""

    header: RunHeader
    projection: Projection
    """Without the outputs."""
    log_bytes: int
    """The sizes of all events, as `Event.size` measures them, and of all hidden values."""
    row_bytes: int
    """The values of all state rows."""
    fence: int = 0
    """The fence of the executor that has taken the run; 0 if none has, or if the run has ended."""


class WholeRun(msgspec.Struct, frozen=True):
    """All that is needed to fold a run, as of one commit."""

    outline: RunOutline
    stored: StoredRun
    hidden: list[HiddenValue]
    """Ordered by sequence."""
    events: list[Event]


class EventLog(Protocol):
    """Creates runs, appends to them and reads one of them. Implementations are proved by `weftwork.testing.storage`."""

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        """Store a new run with its first batch of events; without one, with status pending and last sequence -1. The
        run is taken with `fence` (`ports/storage/ownership.py`); 0 leaves it to any executor.

        With `record`: if its slot is taken, return SlotTaken. With `exclusive`: if a run of the same partition and
        scope has not ended, return ScopeTaken with the oldest. The slot is checked first. Raises HostFault for a
        run id in use, a record of another partition, or a first batch that `check_first_batch` refuses. A fork
        with a prefix is created with `Forks.create`.
        """
        ...

    async def append(self, run: RunKey, expected: int, batch: Batch, fence: int | None = None) -> SlotTaken | None:
        """Write everything in the batch: events expected+1.., the projection, state rows, hidden values, the record,
        references to assets, and the messages to other runs of the family tree.

        Returns None when durable, or SlotTaken when the slot of the record is taken, which is checked first. Raises
        FenceLost if `fence` is given and the run has another one; else SequenceConflict (also for an unknown or ended
        run), or HostFault for a batch that `check_batch` refuses.

        `child_creates`: these runs are created, pending, and taken with `fence`, or by no executor without one;
        HostFault for a run id in use. `child_result`: replaces the result that this child left earlier; dropped if the
        parent has ended or does not exist. `cancel_requests` and `cascade_cancel`: stored for those children of this
        run that have not ended; the first request for a child stays. When a run ends, the cancel request for it and
        the results of its children are dropped.
        """
        ...

    async def read(self, run: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        """Events with sequence > after, ascending, at most `limit`.

        With `budget`: the page ends with the event whose size brings the total to that many bytes.
        """
        ...

    async def read_run(self, run: RunKey) -> StoredRun | None:
        """Header, projection, and state rows by kind and name, as of one commit; None if there is no such run."""
        ...

    async def projection(self, run: RunKey) -> Projection | None:
        """The projection of a run without its outputs, or None. The cost does not depend on the size of the run."""
        ...

    async def outline(self, run: RunKey) -> RunOutline | None:
        """What is known of a run without reading its events and state rows, or None. The cost depends on their number,
        not on their size."""
        ...

    async def read_whole(self, run: RunKey, most: int) -> WholeRun | None:
        """A small run at once, because several calls cost more than they read. None if there is no such run, if it has
        ended, or if its log and its rows together are larger than `most`, as `outline` measures them. The cost does not
        depend on the size of a larger run."""
        ...

    async def partition_bytes(self, partition: str) -> int:
        """The sum of `RunOutline.log_bytes` and of the encoded headers of all runs of a partition. The cost depends on
        the number of its events."""
        ...

    async def hidden_values(
        self, run: RunKey, after: int = BEFORE_HEADER, until: int = MAX_SEQUENCE
    ) -> list[HiddenValue]:
        """The hidden values of the events with after < sequence <= until, ordered by sequence; by default all of a run,
        with those of its header, which have the sequence -1. Only for the engine's own fold."""
        ...

    async def check_ready(self) -> None:
        """Return if a write would succeed now, as far as the store can tell without one; else raise
        StoreUnavailable."""
        ...


STORE_RETRY_MS: Final = 1_000
"""Delay before the next attempt at a store that is unavailable."""
