"""The run retention port in memory. A deleted run leaves nothing to purge."""

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

from weftwork.adapters.memory.idempotency import MemoryIdempotencyRecords
from weftwork.adapters.memory.run_table import RunTable
from weftwork.adapters.memory.runs import MemoryRun
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import RunKey

MAX_FORGET: Final = 1000


class MemoryRunRetention:
    """Implements ports.storage.retention.RunRetention."""

    def __init__(self, table: RunTable, records: MemoryIdempotencyRecords) -> None:
        self._table = table
        self._records = records

    async def delete(self, run: RunKey, now: int, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        self._table.check_open()
        check_record(run, record)
        taken = self._records.find_taken(record)
        if taken is not None:
            return taken
        found = self._table.runs.get(run)
        if found is None:
            return False
        if not found.has_ended:
            raise StillLive(f"the run is {found.projection.status}")
        if self._table.tree.has_pending_result(found):
            raise StillLive("its parent has not heard that the run is over")
        self._table.remove(found, now)
        self._records.put(record)
        return True

    async def purge(self) -> bool:
        self._table.check_open()
        return False

    async def forget_deleted(self, deleted_before: int) -> int:
        self._table.check_open()
        deleted = self._table.deleted
        old = [number for number, (deleted_at, _) in deleted.items() if deleted_at < deleted_before][:MAX_FORGET]
        for number in old:
            del deleted[number]
        return len(old)

    async def runs_ended_before(self, completed_before: int, limit: int, partition: str | None = None) -> list[RunKey]:
        self._table.check_open()
        found = ((at, run.number, run.key) for at, run in self._deletable(partition) if at < completed_before)
        return [key for _, _, key in heapq.nsmallest(max(limit, 0), found)]

    async def count_ended(self, completed_before: int, partition: str | None = None) -> int:
        self._table.check_open()
        return sum(at < completed_before for at, _ in self._deletable(partition))

    def _deletable(self, partition: str | None) -> Iterator[tuple[int, MemoryRun]]:
        """Ended runs that `delete` takes, each with its end."""
        table = self._table
        runs: Iterable[MemoryRun] = table.runs.values() if partition is None else table.by_partition.get(partition, ())
        for run in runs:
            if run.projection.completed_at is not None and not table.tree.has_pending_result(run):
                yield run.projection.completed_at, run
