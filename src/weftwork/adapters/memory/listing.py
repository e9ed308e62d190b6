"""A page of runs in memory, newest first."""

from bisect import bisect_left
from typing import Final

from weftwork.adapters.memory.run import MemoryRun
from weftwork.ports.eventlog import Page, RunQuery, Stored

MOST_CANDIDATES: Final = 2000


def page(siblings: list[MemoryRun], query: RunQuery, before: int | None) -> Page:
    """EventLog.list_runs over these, in the order of creation; with `before`, of those in front of that number."""
    end = len(siblings) if before is None else place(siblings, before)
    start = max(end - MOST_CANDIDATES, 0)
    found: list[MemoryRun] = []
    for at in range(end - 1, start - 1, -1):
        run = siblings[at]
        if not _matches(run, query):
            continue
        if len(found) >= max(query.limit, 1):
            return Page(_shown(found), found[-1].key.run_id, True)
        found.append(run)
    if start == 0:
        return Page(_shown(found), None, False)
    return Page(_shown(found), siblings[start].key.run_id, True)


def place(siblings: list[MemoryRun], number: int) -> int:
    """Where the run of that number stands, or would stand."""
    return bisect_left(siblings, number, key=lambda run: run.number)


def _matches(run: MemoryRun, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.workflow_id)
        and run.tags.issuperset(query.tags)
    )


def _shown(runs: list[MemoryRun]) -> tuple[Stored, ...]:
    return tuple(run.stored(with_rows=False) for run in runs)
