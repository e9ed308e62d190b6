"""The batch: everything that one append commits atomically, and its consistency checks.

A batch contains events of one run, its projection and state rows, hidden values, an idempotency record, and messages
to other runs of the run tree: children to create, a result for the parent, and requests to cancel children.
"""

from typing import Final

import msgspec

from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import PARKABLE_STATUSES, TERMINAL_STATUSES, Fork, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow

MAX_SEQUENCE: Final = 2**26 - 1


class ReplayableOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a mutation. `replayed` is true if it comes from the record of an earlier request."""

    replayed: bool = False


class IdempotencyRecord(msgspec.Struct, frozen=True):
    """The outcome of one request with an Idempotency-Key."""

    partition: str
    slot: str
    """Digest of partition, operation and caller key; the key itself is never stored."""
    fingerprint: str
    """Digest of the request body."""
    outcome: bytes
    created_at: int
    expired_before: int = 0
    """Not stored. An existing record in the slot from before this time has expired and is replaced."""


class HiddenValue(msgspec.Struct, frozen=True):
    """A sensitive value that the log contains only masked. It belongs at `pointer` in the payload of event `sequence`.

    Sequence -1 means the inputs of the header.
    """

    sequence: int
    pointer: str
    value: bytes


class ChildCreate(msgspec.Struct, frozen=True):
    """A child run to create in the same commit as the parent's event about it. It starts pending, without events."""

    header: RunHeader
    hidden: tuple[HiddenValue, ...] = ()


class ChildResult(msgspec.Struct, frozen=True):
    """The status of a child run for its parent. The store keeps it until the parent has applied it."""

    child_run_id: str
    node_id: str
    key: str
    sequence: int
    """The child's last sequence. A result with a higher sequence replaces an earlier one."""
    status: Status
    outcome: bytes = b"{}"
    """JSON object for an ended child: `error`, the `variables` and `outputs` that the parent requested, the names of
    the requested variables that are `hidden` from it, and whether any of the data is `untrusted`."""


class CancelRequest(msgspec.Struct, frozen=True):
    """A request of a parent to cancel a child. The store keeps it until the child has ended."""

    child_run_id: str
    reason: str


class CascadeCancel(msgspec.Struct, frozen=True):
    """Cancels children of a run that ends: all with `cascade`, or only those that the run waits for."""

    reason: str
    awaited_only: bool = False


class Batch(msgspec.Struct, frozen=True):
    events: tuple[Event, ...]
    projection: Projection
    rows: tuple[StateRow, ...] = ()
    hidden: tuple[HiddenValue, ...] = ()
    record: IdempotencyRecord | None = None
    child_creates: tuple[ChildCreate, ...] = ()
    child_result: ChildResult | None = None
    cancel_requests: tuple[CancelRequest, ...] = ()
    cascade_cancel: CascadeCancel | None = None
    assets: tuple[str, ...] = ()
    """The sha256 of each asset that these events refer to. The run keeps these assets alive; missing ones are
    ignored."""

    @property
    def has_family_messages(self) -> bool:
        return bool(self.child_creates or self.cancel_requests or self.child_result or self.cascade_cancel)


def check_first_batch(
    header: RunHeader, record: IdempotencyRecord | None, first: Batch | None, copied: int = 0
) -> None:
    """fold-02: raises HostFault if a new run would be inconsistent.

    The idempotency record is passed separately and must not be in the first batch. `copied` is the number of events
    that the run gets from the source of its fork, before the first batch.
    """
    check_record(header.key, record)
    if copied != (header.fork.from_seq if header.fork is not None else 0):
        raise HostFault("a run begins with as many events of another run as the fork in its header says")
    if first is not None:
        if first.record is not None:
            raise HostFault("the first batch of a run must not contain an idempotency record")
        if first.child_creates or first.child_result is not None or first.cancel_requests:
            raise HostFault("the first batch of a run must not contain messages to its parent or its children")
        check_batch(header.key, copied - 1, first)


def check_first_fork_batch(header: RunHeader, record: IdempotencyRecord | None, first: Batch) -> Fork:
    """fold-02: raises HostFault if a fork would be inconsistent. The first batch follows the events that the fork
    shares with its source. Returns the fork of the header."""
    fork = header.fork
    if fork is None or fork.from_seq < 0:
        raise HostFault("the header does not say from where to fork which run")
    if header.parent is not None:
        raise HostFault("a fork is not a child run")
    check_first_batch(header, record, first, fork.from_seq)
    return fork


def check_record(run: RunKey, record: IdempotencyRecord | None) -> None:
    """fold-02: raises HostFault if the record belongs to another partition than the run."""
    if record is not None and record.partition != run.partition:
        raise HostFault("the idempotency record belongs to another partition than the run")


def check_batch(run: RunKey, expected: int, batch: Batch) -> None:
    """fold-02: raises HostFault if the batch would make the log and its projection inconsistent, or cross a partition.

    `expected` is the last sequence of the log before the batch.
    """
    projection = batch.projection
    last = expected + len(batch.events)
    for sequence, event in enumerate(batch.events, expected + 1):
        if event.sequence != sequence or event.run_id != run.run_id:
            raise HostFault(
                f"the batch has event {event.sequence} of {event.run_id}, expected event {sequence} of {run.run_id}"
            )
    if projection.last_sequence != last:
        raise HostFault(f"the projection ends at sequence {projection.last_sequence}, but the events end at {last}")
    if last > MAX_SEQUENCE:
        raise HostFault(f"the log exceeds the highest sequence, {MAX_SEQUENCE}")
    if (projection.status in TERMINAL_STATUSES) is (projection.completed_at is None):
        raise HostFault(f"completed_at {projection.completed_at} is inconsistent with the status {projection.status}")
    if (projection.parked or projection.wake_at is not None) and projection.status not in PARKABLE_STATUSES:
        raise HostFault(f"a run with the status {projection.status} cannot be parked")
    for create in batch.child_creates:
        parent = create.header.parent
        if parent is None or (create.header.partition, parent.run_id) != (run.partition, run.run_id):
            raise HostFault(f"the run {create.header.run_id} is not a child of {run.run_id}")
    if batch.child_result is not None and batch.child_result.child_run_id != run.run_id:
        raise HostFault(f"a batch of {run.run_id} contains the result of {batch.child_result.child_run_id}")
    if batch.record is not None:
        check_record(run, batch.record)
