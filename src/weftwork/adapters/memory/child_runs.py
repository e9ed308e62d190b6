"""The child runs port in memory."""

from itertools import islice

from weftwork.adapters.memory.run_table import RunTable
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun


class MemoryChildRuns:
    """Implements ports.storage.child_runs.ChildRuns."""

    def __init__(self, table: RunTable) -> None:
        self._table = table

    async def children(self, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
        self._table.check_open()
        found = self._table.runs.get(run)
        number = self._table.number_after(RunKey(run.partition, after) if after is not None else None)
        if found is None or number is None:
            return []
        later = (child for child in found.children.values() if child.number > number)
        return [child.stored(with_rows=False) for child in islice(later, max(limit, 0))]

    async def count_descendants(self, run: RunKey) -> int:
        self._table.check_open()
        return self._table.tree.descendants(run)

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        self._table.check_open()
        number = self._table.number_after(_child(after) if after is not None else None)
        return self._table.tree.results(number, limit) if number is not None else []

    async def acknowledge_results(self, heard: tuple[PendingChildResult, ...]) -> None:
        self._table.check_open()
        for pending in heard:
            child = self._table.runs.get(_child(pending))
            if child is not None:
                self._table.tree.acknowledge_result(child, pending.result.sequence)

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
        self._table.check_open()
        number = self._table.number_after(after)
        return self._table.tree.cancel_requests(number, limit) if number is not None else []


def _child(pending: PendingChildResult) -> RunKey:
    return RunKey(pending.parent.partition, pending.result.child_run_id)
