"""Runs in memory by their end."""

import heapq
from collections.abc import Iterable, Iterator

from weftwork.adapters.memory.kin import Kin
from weftwork.adapters.memory.run import MemoryRun
from weftwork.protocol.run import RunKey


def ended_before(runs: Iterable[MemoryRun], kin: Kin, instant: int, limit: int) -> list[RunKey]:
    """EventLog.ended_before over these."""
    found = [(at, run.number, run.key) for at, run in _ended(runs, kin) if at < instant]
    return [key for _, _, key in heapq.nsmallest(max(limit, 0), found)]


def count_ended(runs: Iterable[MemoryRun], kin: Kin, instant: int) -> int:
    """EventLog.count_ended over these."""
    return sum(at < instant for at, _ in _ended(runs, kin))


def _ended(runs: Iterable[MemoryRun], kin: Kin) -> Iterator[tuple[int, MemoryRun]]:
    for run in runs:
        if run.projection.completed_at is not None and not kin.is_unheard(run):
            yield run.projection.completed_at, run
