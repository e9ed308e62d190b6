"""The base class of the ports in memory, and the idempotency records port."""

import heapq
import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

MAX_SWEEP: Final = 1000

Method = Callable[..., Coroutine[Any, Any, Any]]


class OpenState:
    """Whether the store is open. All ports of a store share one instance."""

    def __init__(self) -> None:
        self.is_open = False


class MemoryPort:
    """A port of one store. Its public coroutine methods raise StoreUnavailable while the store is closed.

    None of them awaits anything, so each is atomic on the event loop.
    """

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            if inspect.iscoroutinefunction(method) and not name.startswith("_"):
                setattr(cls, name, _raise_if_closed(method))

    def __init__(self, state: OpenState) -> None:
        self.state = state


def _raise_if_closed(method: Method) -> Method:
    @wraps(method)
    async def checked(port: MemoryPort, *arguments: Any, **named: Any) -> Any:
        if not port.state.is_open:
            raise StoreUnavailable("the store is closed")
        return await method(port, *arguments, **named)

    return checked


class MemoryIdempotencyRecords(MemoryPort):
    """Implements ports.storage.idempotency.IdempotencyRecords."""

    def __init__(self, state: OpenState) -> None:
        super().__init__(state)
        self._records: dict[tuple[str, str], IdempotencyRecord] = {}
        self._ages: list[tuple[int, str, str]] = []

    async def save_record(self, record: IdempotencyRecord) -> SlotTaken | None:
        if (taken := self.find_taken(record)) is None:
            self.put(record)
        return taken

    async def find_record(self, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
        record = self._records.get((partition, slot))
        return record if record is not None and record.created_at >= not_before else None

    async def sweep(self, created_before: int) -> int:
        swept = 0
        while swept < MAX_SWEEP and self._ages and self._ages[0][0] < created_before:
            created_at, partition, slot = heapq.heappop(self._ages)
            if self._records[partition, slot].created_at == created_at:
                del self._records[partition, slot]
                swept += 1
        return swept

    def find_taken(self, record: IdempotencyRecord | None) -> SlotTaken | None:
        """The record in the slot of this record, unless it has expired; None for None and for a free slot."""
        existing = self._records.get((record.partition, record.slot)) if record is not None else None
        if existing is None or record is None or existing.created_at < record.expired_before:
            return None
        return SlotTaken(existing)

    def put(self, record: IdempotencyRecord | None) -> None:
        """Write a record to a slot that is free or has an expired record. Does nothing for None."""
        if record is not None:
            self._records[record.partition, record.slot] = replace(record, expired_before=0)
            heapq.heappush(self._ages, (record.created_at, record.partition, record.slot))
