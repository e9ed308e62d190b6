"""The batch: what one append commits atomically, and the checks that keep log, projection and tenancy consistent.

A batch holds the events of one run, its projection and state rows, hidden values, an idempotency record, and messages
to other runs of the family tree: children to create, a result for the parent, and requests to cancel children.
"""

from typing import Final

import msgspec

from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, WAITING_STATUSES, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow

MAX_SEQUENCE: Final = 2**26 - 1


class IdempotencyRecord(msgspec.Struct, frozen=True):
    """An idempotency record: the outcome of one mutation under one caller's key."""

    partition: str
    slot: str
    """Digest of partition, operation and caller key; the key itself is never stored."""
    fingerprint: str
    """Digest of the request body."""
    outcome: bytes
    created_at: int
    expired_before: int = 0
    """Not stored. A record in the slot that was made before this instant no longer counts and is replaced."""


class HiddenValue(msgspec.Struct, frozen=True):
    """A value the log may not show: it belongs at `pointer` of the payload of event `sequence`.

    Sequence -1 is the header's inputs.
    """

    sequence: int
    pointer: str
    value: bytes


class ChildCreate(msgspec.Struct, frozen=True):
    """A child run that is created in the same commit as the parent's event about it: pending, without events."""

    header: RunHeader
    hidden: tuple[HiddenValue, ...] = ()


class ChildResult(msgspec.Struct, frozen=True):
    """The status of a child, for its parent. The store keeps it until the parent has applied it."""

    child_run_id: str
    node_id: str
    key: str
    sequence: int
    """The child's last sequence: a later result replaces an earlier one."""
    status: Status
    outcome: bytes = b"{}"
    """Of an ended child, as JSON: `error`, the `variables` and `outputs` that the parent wants, the names of those
    variables that are `hidden` and not given, and whether any of it is `untrusted`."""


class CancelRequest(msgspec.Struct, frozen=True):
    """A child that its parent wants cancelled. The store keeps the request until the child has ended."""

    child_run_id: str
    reason: str


class CascadeCancel(msgspec.Struct, frozen=True):
    """Cancels the children of a run that ends: those that are cancelled with it, or only those it waits for."""

    reason: str
    awaited_only: bool = False


class Batch(msgspec.Struct, frozen=True):
    """What one append commits together."""

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
    """The sha256 of each asset that these events name. The run refers to them from now on, as far as they are there."""

    @property
    def has_family_messages(self) -> bool:
        return bool(self.child_creates or self.cancel_requests or self.child_result or self.cascade_cancel)


def check_first_batch(header: RunHeader, record: IdempotencyRecord | None, first: Batch | None) -> None:
    """fold-02: raises HostFault for a run that would start out inconsistent.

    A record belongs to the run and not to its first batch.
    """
    check_record(header.key, record)
    if first is not None:
        if first.record is not None:
            raise HostFault("the first batch of a run has no record of its own")
        if first.child_creates or first.child_result is not None or first.cancel_requests:
            raise HostFault("the first batch of a run has no messages for its parent or its children")
        check_batch(header.key, -1, first)


def check_record(run: RunKey, record: IdempotencyRecord | None) -> None:
    """fold-02: raises HostFault for a record that does not belong to the run's partition."""
    if record is not None and record.partition != run.partition:
        raise HostFault("the record belongs to another partition than the run")


def check_batch(run: RunKey, expected: int, batch: Batch) -> None:
    """fold-02: raises HostFault for a batch that would leave the log, its cache or its tenancy inconsistent."""
    projection = batch.projection
    last = expected + len(batch.events)
    for sequence, event in enumerate(batch.events, expected + 1):
        if event.sequence != sequence or event.run_id != run.run_id:
            raise HostFault(f"event {event.sequence} of {event.run_id} is not event {sequence} of {run.run_id}")
    if projection.last_sequence != last:
        raise HostFault(f"the projection ends at {projection.last_sequence} and the events at {last}")
    if last > MAX_SEQUENCE:
        raise HostFault(f"the log of a run ends at sequence {MAX_SEQUENCE}")
    if (projection.status in TERMINAL_STATUSES) is (projection.completed_at is None):
        raise HostFault(f"completed_at {projection.completed_at} does not fit the status {projection.status}")
    if (projection.parked or projection.wake_at is not None) and projection.status not in (
        *WAITING_STATUSES,
        "running",
    ):
        raise HostFault(f"a run is not parked while it is {projection.status}")
    for spawn in batch.child_creates:
        parent = spawn.header.parent
        if parent is None or (spawn.header.partition, parent.run_id) != (run.partition, run.run_id):
            raise HostFault(f"the run {spawn.header.run_id} is no child of {run.run_id}")
    if batch.child_result is not None and batch.child_result.child_run_id != run.run_id:
        raise HostFault(f"the result of {batch.child_result.child_run_id} is in a batch of {run.run_id}")
    check_record(run, batch.record)
