"""What the writer must know of a run before it appends: its number, and how it stands."""

from typing import Final, NamedTuple

from weftwork.adapters.sqlite.driver import Connection
from weftwork.ports.eventlog import Projection
from weftwork.protocol.run import TERMINAL, RunKey

MOST_HEADS: Final = 4096

_FIND = """
    SELECT run_no, last_sequence, status, parked, wake_at, is_child, has_children FROM runs
    WHERE partition = ? AND run_id = ?
"""


class Head(NamedTuple):
    """Where a run stands."""

    run_no: int
    last_sequence: int
    status: str
    parked: bool
    wake_at: int | None
    is_child: bool
    has_children: bool


def head_of(run_no: int, projection: Projection, is_child: bool, has_children: bool) -> Head:
    """The head of a run that stands like this."""
    return Head(
        run_no,
        projection.last_sequence,
        projection.status,
        projection.parked,
        projection.wake_at,
        is_child,
        has_children,
    )


class Heads:
    """Heads of live runs, kept between appends. The writer is the only one who changes runs, and it forgets
    all of them when a transaction is rolled back, so a head that is kept is the one in the store."""

    def __init__(self) -> None:
        self._kept: dict[RunKey, Head] = {}

    def find(self, connection: Connection, run: RunKey) -> Head | None:
        """The head of a run of that partition, or None."""
        kept = self._kept.get(run)
        if kept is not None:
            return kept
        found = connection.execute(_FIND, (run.partition, run.run_id)).fetchall()
        if not found:
            return None
        run_no, last_sequence, status, parked, wake_at, is_child, has_children = found[0]
        return Head(run_no, last_sequence, status, bool(parked), wake_at, bool(is_child), bool(has_children))

    def keep(self, run: RunKey, head: Head) -> None:
        """Remember a head that was just written; an ended run takes no more appends and is dropped,
        and so is a parked one, which takes none for long."""
        kept = self._kept
        if head.parked or head.status in TERMINAL:
            kept.pop(run, None)
            return
        if len(kept) >= MOST_HEADS and run not in kept:
            del kept[next(iter(kept))]
        kept[run] = head

    def forget(self) -> None:
        """Drop everything: what was written since the last commit did not happen."""
        self._kept.clear()
