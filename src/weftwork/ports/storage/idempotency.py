"""Idempotency records: one per partition and slot, so that a repeated request is answered like the first one.

A record is written in the transaction of its effect wherever there is one. So `EventLog.create`, `EventLog.append`,
`RunRetention.delete`, `Definitions.register` and `AnnotationStore.add` take it and check its slot themselves;
`save_record` is for requests that change nothing else.

Ordering: of several writers for a free slot exactly one succeeds; the others get SlotTaken with the record of that one.
Atomicity: checking a slot and filling it is one transaction, with the effect of the request in it.
Cancellation: cancelling the caller does not cancel a write. It may or may not have happened: read it back.
Tenancy: equal slots of different partitions are different records.
Cost: independent of the number of records; that of `sweep` is bounded.
"""

from typing import Protocol

import msgspec

from weftwork.protocol.run.batch import IdempotencyRecord


class SlotTaken(msgspec.Struct, frozen=True):
    """The slot holds a record that has not expired: nothing was written, and this is the record."""

    record: IdempotencyRecord


class IdempotencyRecords(Protocol):
    """Finds records, stores those that have no effect to go with, and deletes old ones."""

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        """Store a record on its own, unless its slot is taken."""
        ...

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        """The record of a slot, unless it was created before `not_before`."""
        ...

    async def sweep(self, created_before: int) -> int:
        """Delete a bounded number of records that were created before that; returns how many, 0 when none is left."""
        ...
