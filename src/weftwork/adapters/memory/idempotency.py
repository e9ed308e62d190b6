"""The idempotency records port in memory, and the part of it that writes of other ports include."""

import heapq
from typing import Final

from msgspec.structs import replace

from weftwork.adapters.memory.open_state import OpenState
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

MAX_SWEEP: Final = 1000


class MemoryIdempotencyRecords:
    """Implements ports.storage.idempotency.IdempotencyRecords."""

    def __init__(self, state: OpenState) -> None:
        self._state = state
        self._records: dict[tuple[str, str], IdempotencyRecord] = {}
        self._ages: list[tuple[int, str, str]] = []

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        self._state.check_open()
        taken = self.find_taken(record)
        if taken is None:
            self.put(record)
        return taken

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        self._state.check_open()
        record = self._records.get((partition, slot))
        return record if record is not None and record.created_at >= not_before else None

    async def sweep(self, created_before: int) -> int:
        self._state.check_open()
        swept = 0
        while swept < MAX_SWEEP and self._ages and self._ages[0][0] < created_before:
            created_at, partition, slot = heapq.heappop(self._ages)
            if self._records[partition, slot].created_at == created_at:
                del self._records[partition, slot]
                swept += 1
        return swept

    def find_taken(self, record: IdempotencyRecord | None) -> SlotTaken | None:
        """What is in the slot of a record, if there is a record and the slot is taken."""
        known = self._records.get((record.partition, record.slot)) if record is not None else None
        if known is None or record is None or known.created_at < record.expired_before:
            return None
        return SlotTaken(known)

    def put(self, record: IdempotencyRecord | None) -> None:
        """Fill a slot that is not taken, if there is a record."""
        if record is not None:
            self._records[record.partition, record.slot] = replace(record, expired_before=0)
            heapq.heappush(self._ages, (record.created_at, record.partition, record.slot))
