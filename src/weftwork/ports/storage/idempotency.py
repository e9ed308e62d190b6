"""Idempotency records: one per partition and slot, so that a repeated request gets the response of the first one.

A record is written in the same transaction as the effect of its request. Therefore `EventLog.create`,
`EventLog.append`, `RunRetention.delete`, `Definitions.register` and `AnnotationStore.add` accept a record and check its
slot; `save_record` is for requests that change nothing else.

Ordering: of several writers for a free slot exactly one succeeds; the others get SlotTaken with its record.
Atomicity: checking a slot and filling it is one transaction, with the effect of the request in it.
Cancellation: cancelling the caller does not cancel a write. It may or may not have happened: read it back.
Tenancy: equal slots of different partitions are different records.
Cost: independent of the number of records; that of `sweep` is bounded.
"""

from typing import Protocol

import msgspec

from weftwork.protocol.run.batch import IdempotencyRecord


class SlotTaken(msgspec.Struct, frozen=True):
    """The slot holds `record`, which has not expired. Nothing was written."""

    record: IdempotencyRecord


class IdempotencyRecords(Protocol):
    """Finds records, stores records of requests without effects, and deletes old records."""

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        """Store a record unless its slot is taken."""
        ...

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        """The record of a slot, unless it was created before `not_before`."""
        ...

    async def sweep(self, created_before: int) -> int:
        """Delete a bounded number of records that were created before that instant; returns how many, 0 when none is
        left."""
        ...
