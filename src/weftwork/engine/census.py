"""The census: how many runs there are, in all and in each partition."""

from typing import TypeVar

from weftwork.protocol.run import RunKey

T = TypeVar("T")


class Census:
    """Counts by partition. A partition without anybody in it costs nothing."""

    __slots__ = ("_counts", "total")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self.total = 0

    def enter(self, partition: str) -> None:
        self.total += 1
        self._counts[partition] = self._counts.get(partition, 0) + 1

    def leave(self, partition: str) -> None:
        self.total -= 1
        left = self._counts[partition] - 1
        if left:
            self._counts[partition] = left
        else:
            del self._counts[partition]

    def of(self, partition: str) -> int:
        return self._counts.get(partition, 0)


class Population(dict[RunKey, T]):
    """Runs by key, with a census that cannot disagree with them."""

    def __init__(self) -> None:
        super().__init__()
        self.census = Census()

    def __setitem__(self, run: RunKey, value: T) -> None:
        if run not in self:
            self.census.enter(run.partition)
        super().__setitem__(run, value)

    def __delitem__(self, run: RunKey) -> None:
        super().__delitem__(run)
        self.census.leave(run.partition)

    def drop(self, run: RunKey) -> None:
        """Remove a run if it is there."""
        if run in self:
            del self[run]
