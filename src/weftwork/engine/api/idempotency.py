"""Idempotency keys: the outcome of an operation is recorded under the caller's key, and replayed for a repeated
request."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from weftwork.engine.api.keyring import Principal
from weftwork.engine.read_back import save_record
from weftwork.engine.runtime import Runtime
from weftwork.ports.clock import Clock
from weftwork.ports.storage.idempotency import IdempotencyRecords, SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.run.batch import IdempotencyRecord, ReplayableOutcome
from weftwork.protocol.wire import idempotency

T = TypeVar("T", bound=ReplayableOutcome)


class IdempotencyClaim:
    """idem-01 (OpenWOP idempotency): created for every mutation. Without a key it records nothing."""

    __slots__ = ("_clock", "_fingerprint", "_partition", "_records", "_slot", "now")

    def __init__(
        self,
        records: IdempotencyRecords,
        clock: Clock,
        principal: Principal,
        operation: str,
        key: str | None,
        body: Any,
    ) -> None:
        self._records = records
        self._clock = clock
        self._partition = principal.partition
        self.now = clock.now()
        self._slot: str | None = None
        self._fingerprint = ""
        if key is not None:
            idempotency.check_key(key)
            self._slot = idempotency.record_key(self._partition, operation, key)
            self._fingerprint = digest(body)

    async def find_outcome(self, kind: type[T]) -> T | None:
        """The recorded outcome of this key, or None. Raises ClientFault if it was used with another body."""
        if self._slot is None:
            return None
        oldest = idempotency.expired_before(self.now)
        record = await self._records.find_record(self._partition, self._slot, oldest)
        return self.replay(record, kind) if record is not None else None

    def replay(self, record: IdempotencyRecord, kind: type[T]) -> T:
        """The outcome of a record. Raises ClientFault if the record is for another body."""
        idempotency.check_fingerprint(record.fingerprint, self._fingerprint)
        return msgspec.structs.replace(msgspec.json.decode(record.outcome, type=kind), replayed=True)

    def make_record(self, outcome: Any) -> IdempotencyRecord | None:
        """The record to commit with the work, or None without a key."""
        return self._build_record(self._slot, outcome) if self._slot is not None else None

    async def save(self, outcome: T) -> T:
        """Record an outcome without any other write. Returns the outcome on record, which is that of another request if
        it was first."""
        record = self.make_record(outcome)
        taken = await save_record(self._records, self._clock, record) if record is not None else None
        return self.replay(taken.record, type(outcome)) if taken is not None else outcome

    def _build_record(self, slot: str, outcome: Any) -> IdempotencyRecord:
        oldest = idempotency.expired_before(self.now)
        return IdempotencyRecord(
            self._partition, slot, self._fingerprint, msgspec.json.encode(outcome), self.now, oldest
        )


async def idempotent(
    runtime: Runtime,
    principal: Principal,
    operation: str,
    key: str | None,
    body: Any,
    kind: type[T],
    work: Callable[[IdempotencyClaim], Awaitable[T | SlotTaken]],
) -> T:
    """The recorded outcome of the caller's key, or else the outcome of `work`. Without a key the work is always done.

    The work records its outcome under the claim, in the commit of its effect if there is one, and returns SlotTaken if
    the same request was recorded in the meantime. Raises ClientFault if the key was used with another body.
    """
    claim = IdempotencyClaim(runtime.records, runtime.clock, principal, operation, key, body)
    if key is not None and (recorded := await claim.find_outcome(kind)) is not None:
        return recorded
    try:
        outcome = await work(claim)
    except ClientFault:
        # idem-03: an equal request may have been recorded after the first lookup.
        if (recorded := await claim.find_outcome(kind)) is not None:
            return recorded
        raise
    return claim.replay(outcome.record, kind) if isinstance(outcome, SlotTaken) else outcome
