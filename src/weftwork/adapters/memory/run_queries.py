"""The run queries port in memory."""

from itertools import islice
from typing import Final

from weftwork.adapters.memory.interrupts import OpenInterrupts
from weftwork.adapters.memory.run_table import RunTable
from weftwork.adapters.memory.runs import MemoryRun, index_of
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, RunPage, RunQuery
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun

MAX_CANDIDATES: Final = 2000
_NO_INTERRUPTS: Final = OpenInterrupts()


class MemoryRunQueries:
    """Implements ports.storage.run_queries.RunQueries."""

    def __init__(self, table: RunTable) -> None:
        self._table = table

    async def list_runs(self, partition: str, query: RunQuery) -> RunPage:
        self._table.check_open()
        siblings = self._table.by_partition.get(partition, [])
        if query.parent is not None:
            parent = self._table.runs.get(RunKey(partition, query.parent))
            siblings = [*parent.children.values()] if parent is not None else []
        before = None
        if query.before is not None:
            before = self._table.number(RunKey(partition, query.before)) or 0
        return _list_page(siblings, query, before)

    async def list_interrupts(self, partition: str, query: InterruptQuery) -> InterruptPage:
        self._table.check_open()
        return self._table.interrupts.get(partition, _NO_INTERRUPTS).page(query)

    async def unfinished_runs(self, after: RunKey | None, limit: int) -> list[RunKey]:
        self._table.check_open()
        number = self._table.number_after(after)
        if number is None:
            return []
        later = (key for key, run in self._table.live.items() if run.number > number and not run.projection.parked)
        return list(islice(later, max(limit, 0)))

    async def next_wake(self, after: int = -1) -> int | None:
        self._table.check_open()
        return self._table.wakes.next_wake(after)

    async def due_runs(self, until: int, limit: int) -> list[RunKey]:
        self._table.check_open()
        return self._table.wakes.due(until, limit)


def _list_page(siblings: list[MemoryRun], query: RunQuery, before: int | None) -> RunPage:
    """RunQueries.list_runs over these, in the order of creation; with `before`, of those in front of that number."""
    end = len(siblings) if before is None else index_of(siblings, before)
    start = max(end - MAX_CANDIDATES, 0)
    found: list[MemoryRun] = []
    for at in range(end - 1, start - 1, -1):
        run = siblings[at]
        if not _matches(run, query):
            continue
        if len(found) >= max(query.limit, 1):
            return RunPage(_without_rows(found), found[-1].key.run_id, True)
        found.append(run)
    if start == 0:
        return RunPage(_without_rows(found), None, False)
    return RunPage(_without_rows(found), siblings[start].key.run_id, True)


def _matches(run: MemoryRun, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.workflow_id)
        and run.tags.issuperset(query.tags)
    )


def _without_rows(runs: list[MemoryRun]) -> tuple[StoredRun, ...]:
    return tuple(run.stored(with_rows=False) for run in runs)
