"""The table of all runs in memory, with its indexes. The ports about runs share one table."""

from collections import defaultdict

from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.interrupts import OpenInterrupts
from weftwork.adapters.memory.open_state import OpenState
from weftwork.adapters.memory.runs import FamilyTree, MemoryRun, WakeIndex, index_of
from weftwork.protocol.run.batch import Batch, HiddenValue
from weftwork.protocol.run.header import RunHeader, RunKey


class RunTable:
    """Each method changes the runs and every index of them, and awaits nothing."""

    def __init__(self, state: OpenState, assets: MemoryAssets) -> None:
        self.check_open = state.check_open
        self._assets = assets
        self.runs: dict[RunKey, MemoryRun] = {}
        self.by_partition: dict[str, list[MemoryRun]] = {}
        """In the order of creation."""
        self.live: dict[RunKey, MemoryRun] = {}
        self.wakes = WakeIndex()
        self.tree = FamilyTree(self.runs.get)
        self.interrupts: defaultdict[str, OpenInterrupts] = defaultdict(OpenInterrupts)
        """By partition."""
        self.deleted: dict[int, tuple[int, RunKey]] = {}
        """By its number, when a run was deleted, and its key."""
        self._created = 0

    def number(self, run: RunKey) -> int | None:
        """The number of a run that exists or was deleted."""
        if (found := self.runs.get(run)) is not None:
            return found.number
        return max((number for number, (_, key) in self.deleted.items() if key == run), default=None)

    def number_after(self, cursor: RunKey | None) -> int | None:
        """The number behind which a walk continues; None for a cursor that names no run."""
        return self.number(cursor) if cursor is not None else -1

    def add(self, header: RunHeader, hidden: tuple[HiddenValue, ...]) -> MemoryRun:
        run = MemoryRun(header, hidden, self._created)
        self._created += 1
        self.by_partition.setdefault(header.partition, []).append(run)
        self.runs[run.key] = self.live[run.key] = run
        if header.parent is not None:
            self.tree.add_child(run, header.parent)
        if header.assets:
            self._assets.add_references(run.key, header.assets)
        return run

    def apply(self, run: MemoryRun, batch: Batch) -> None:
        """Add a checked batch to a run, without its messages to other runs."""
        self.wakes.remove(run)
        run.apply(batch)
        self.wakes.add(run)
        if batch.assets:
            self._assets.add_references(run.key, batch.assets)
        for row in batch.rows:
            if row.kind == "interrupt":
                self.interrupts[run.key.partition].set_open(run, row)
        if run.has_ended:
            del self.live[run.key]

    def remove(self, run: MemoryRun, now: int) -> None:
        """Delete an ended run."""
        self.tree.remove_child(run)
        del self.runs[run.key]
        siblings = self.by_partition[run.key.partition]
        del siblings[index_of(siblings, run.number)]
        self.interrupts[run.key.partition].remove_run(run)
        self.wakes.remove(run)
        self._assets.release_references(run.key)
        self.deleted[run.number] = (now, run.key)
