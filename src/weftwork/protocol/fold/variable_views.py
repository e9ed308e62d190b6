"""Variable views: which writes of variables are visible at one place of the graph.

Theory. A node sees what was written before it on the paths that lead to it. Where paths meet, the greatest stamp wins:
(epoch, topological index, node id). Epoch and index never decrease along an edge, so a write always wins against those
before it, and among parallel branches the winner does not depend on their speed. Source: readings (Determinism).

All writes of a run are in one table, and a view is a set of them with one bit each: a long graph with many variables
costs bits, not copies. A write that is the newest in no view is dropped.
"""

from bisect import insort
from collections.abc import Iterable, Iterator
from typing import Any, Final

from weftwork.protocol.fold.channel_state import Stamp

INITIAL_STAMP: Final[Stamp] = (-1, -1, "")
"""The stamp of what a run begins with."""
PRUNE_THRESHOLD: Final = 16
"""Writes of one variable at which those that nobody sees are looked for."""

StampedValue = tuple[Stamp, Any]


class _WriteTable:
    """All writes of a run, by variable, the one with the greatest stamp last."""

    __slots__ = ("by_name", "count", "initial", "prune_at")

    def __init__(self, given: dict[str, Any]) -> None:
        self.initial: dict[str, StampedValue] = {name: (INITIAL_STAMP, value) for name, value in given.items()}
        self.by_name: dict[str, list[tuple[Stamp, int, Any]]] = {}
        self.prune_at: dict[str, int] = {}
        self.count = 0


class VariableView:
    """Variables as one place sees them. Immutable; `with_write` and `merged_with` return new ones."""

    __slots__ = ("_visible", "_writes")

    def __init__(self, writes: _WriteTable, known: int) -> None:
        self._writes = writes
        self._visible = known

    def get(self, name: str) -> StampedValue | None:
        """The write that counts here, with its stamp, or None."""
        for stamp, number, value in reversed(self._writes.by_name.get(name, ())):
            if self._visible >> number & 1:
                return stamp, value
        return self._writes.initial.get(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> StampedValue:
        entry = self.get(name)
        if entry is None:
            raise KeyError(name)
        return entry

    def items(self) -> Iterator[tuple[str, StampedValue]]:
        """Every variable that has a value here."""
        for name in {**self._writes.initial, **self._writes.by_name}:
            entry = self.get(name)
            if entry is not None:
                yield name, entry

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableView) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def merged_with(self, other: "VariableView") -> "VariableView":
        if self is EMPTY_VIEW:
            return other
        known = self._visible | other._visible
        return self if known == self._visible else VariableView(self._writes, known)

    def with_write(self, name: str, stamp: Stamp, value: Any) -> "VariableView":
        writes = self._writes if self is not EMPTY_VIEW else _WriteTable({})
        number, writes.count = writes.count, writes.count + 1
        insort(writes.by_name.setdefault(name, []), (stamp, number, value))
        return VariableView(writes, self._visible | 1 << number)

    def needs_pruning(self, name: str) -> bool:
        """Whether so many writes of a variable are kept that `prune` is worth its cost."""
        return len(self._writes.by_name[name]) >= self._writes.prune_at.get(name, PRUNE_THRESHOLD)

    def prune(self, name: str, views: Iterable["VariableView"]) -> None:
        """Forget the writes of a variable that count in none of these views, which must be all there are.

        What counts where views meet counts in one of them, so nothing that is forgotten could be seen again.
        """
        made = self._writes.by_name[name]
        counting = {next((n for _, n, _ in reversed(made) if view._visible >> n & 1), -1) for view in views}
        self._writes.by_name[name] = [each for each in made if each[1] in counting]
        self._writes.prune_at[name] = max(PRUNE_THRESHOLD, 2 * len(counting))


EMPTY_VIEW: Final = VariableView(_WriteTable({}), 0)
"""The view of a node that was not reached."""


def initial_view(variables: dict[str, Any]) -> VariableView:
    """What the first nodes see."""
    return VariableView(_WriteTable(variables), 0)


def merge_views(views: Iterable[VariableView]) -> VariableView:
    """data-05 (readings, Determinism): the view where several ways meet. Changes none of them."""
    met: VariableView | None = None
    for view in views:
        met = view if met is None else met.merged_with(view)
    return met if met is not None else EMPTY_VIEW
