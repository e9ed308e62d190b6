"""Parked runs in memory by the instant at which they have something to do."""

from bisect import bisect_left, insort

from weftwork.adapters.memory.run import MemoryRun
from weftwork.protocol.run import RunKey


class Waking:
    """Of equal instants the older run comes first."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, RunKey]] = []

    def add(self, run: MemoryRun) -> None:
        """Take in a run as it stands."""
        entry = _entry(run)
        if entry is not None:
            insort(self._runs, entry)

    def remove(self, run: MemoryRun) -> None:
        """Take out a run that still stands as it was taken in."""
        entry = _entry(run)
        if entry is not None:
            del self._runs[bisect_left(self._runs, entry)]

    def next_wake(self, after: int) -> int | None:
        at = bisect_left(self._runs, after + 1, key=lambda entry: entry[0])
        return self._runs[at][0] if at < len(self._runs) else None

    def due(self, until: int, limit: int) -> list[RunKey]:
        end = bisect_left(self._runs, until + 1, key=lambda entry: entry[0])
        return [run for _, _, run in self._runs[: min(end, max(limit, 0))]]


def _entry(run: MemoryRun) -> tuple[int, int, RunKey] | None:
    projection = run.projection
    if not projection.parked or projection.wake_at is None:
        return None
    return projection.wake_at, run.number, run.key
