"""Variable views: the variable writes that are visible to one node.

Theory of operation. A node sees the writes on the paths that lead to it. Where paths join, the write with the greatest
stamp (epoch, topological index, node id) wins. Epoch and index never decrease along an edge, so a write always wins
against earlier writes on its path, and among parallel branches the winner does not depend on their speed.

All writes of a run are in one table, and a view is a bit set of them, so a large graph with many variables needs bits
instead of copies. A write that is the latest one in no view is dropped.

Source: readings (Determinism).
"""

from bisect import insort
from collections.abc import Iterable, Iterator
from typing import Any, Final

from weftwork.protocol.fold.channel_state import Stamp

INITIAL_STAMP: Final[Stamp] = (-1, -1, "")
"""The stamp of the variables with which a run starts."""
PRUNE_THRESHOLD: Final = 16
"""Number of writes of one variable at which invisible writes are first dropped."""
PRUNE_BYTES: Final = 2**20
"""The same for their size."""

StampedValue = tuple[Stamp, Any]


class _WriteTable:
    """All writes of a run by variable, in ascending order of their stamps."""

    __slots__ = ("by_name", "count", "initial", "prune_at", "sizes")

    def __init__(self, initial: dict[str, Any]) -> None:
        self.initial: dict[str, StampedValue] = {name: (INITIAL_STAMP, value) for name, value in initial.items()}
        self.by_name: dict[str, list[tuple[Stamp, int, Any, int]]] = {}
        self.prune_at: dict[str, tuple[int, int]] = {}
        self.sizes: dict[str, int] = {}
        self.count = 0

    def copy(self) -> "_WriteTable":
        """A copy that shares the written values."""
        table = _WriteTable({})
        table.initial = dict(self.initial)
        table.by_name = {name: list(writes) for name, writes in self.by_name.items()}
        table.prune_at, table.sizes, table.count = dict(self.prune_at), dict(self.sizes), self.count
        return table


class VariableView:
    """The variables that one node sees. Immutable; `with_write` and `merged_with` return new views."""

    __slots__ = ("_visible", "_writes")

    def __init__(self, writes: _WriteTable, visible: int) -> None:
        self._writes = writes
        self._visible = visible

    def get(self, name: str) -> StampedValue | None:
        """The visible write with the greatest stamp: (stamp, value). None if the variable has no value."""
        for stamp, number, value, _ in reversed(self._writes.by_name.get(name, ())):
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
        """Every variable that has a value in this view."""
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
        visible = self._visible | other._visible
        return self if visible == self._visible else VariableView(self._writes, visible)

    def with_write(self, name: str, stamp: Stamp, value: Any, size: int = 0) -> "VariableView":
        """The view with one more write, whose event has this size."""
        writes = self._writes if self is not EMPTY_VIEW else _WriteTable({})
        number, writes.count = writes.count, writes.count + 1
        insort(writes.by_name.setdefault(name, []), (stamp, number, value, size))
        writes.sizes[name] = writes.sizes.get(name, 0) + size
        return VariableView(writes, self._visible | 1 << number)

    def replace_value(self, name: str, value: Any) -> None:
        """Give a variable this value in all views that share their writes with this one. The stamps stay, so that later
        writes win as before."""
        if self is EMPTY_VIEW:
            return
        table = self._writes
        table.initial[name] = (INITIAL_STAMP, value)
        if name in table.by_name:
            table.by_name[name] = [(stamp, number, value, size) for stamp, number, _, size in table.by_name[name]]

    def copy_into(self, tables: dict[int, _WriteTable]) -> "VariableView":
        """The same view over a copy of its table of writes. `tables` holds the copies by the id of the table, so that
        views which share a table still share one."""
        if self is EMPTY_VIEW:
            return self
        copy = tables.get(id(self._writes))
        if copy is None:
            copy = tables[id(self._writes)] = self._writes.copy()
        return VariableView(copy, self._visible)

    @property
    def write_count(self) -> int:
        """The number of writes in the table of the view."""
        return sum([len(writes) for writes in self._writes.by_name.values()])

    def needs_pruning(self, name: str) -> bool:
        """Whether a variable has enough writes that `prune` is worth its cost."""
        writes = self._writes
        count, size = writes.prune_at.get(name, (PRUNE_THRESHOLD, PRUNE_BYTES))
        return len(writes.by_name[name]) >= count or writes.sizes[name] >= size

    def prune(self, name: str, views: Iterable["VariableView"]) -> int:
        """Drops the writes of a variable that are the latest one in none of `views`, which must be all views of the
        run. Returns the size of the dropped writes.

        The latest write of a merged view is the latest one in one of its parts, so a dropped write cannot become
        visible again.
        """
        table, writes = self._writes, self._writes.by_name[name]
        latest = {next((n for _, n, *_ in reversed(writes) if view._visible >> n & 1), -1) for view in views}
        kept = [each for each in writes if each[1] in latest]
        before, table.sizes[name] = table.sizes[name], sum([size for *_, size in kept])
        table.by_name[name] = kept
        table.prune_at[name] = max(PRUNE_THRESHOLD, 2 * len(latest)), max(PRUNE_BYTES, 2 * table.sizes[name])
        return before - table.sizes[name]


EMPTY_VIEW: Final = VariableView(_WriteTable({}), 0)
"""The view of a node that was not reached."""


def initial_view(variables: dict[str, Any]) -> VariableView:
    """The view of the entry nodes."""
    return VariableView(_WriteTable(variables), 0)


def merge_views(views: Iterable[VariableView]) -> VariableView:
    """data-05 (readings, Determinism): the view of a node where several paths join. Does not modify `views`."""
    merged: VariableView | None = None
    for view in views:
        merged = view if merged is None else merged.merged_with(view)
    return merged if merged is not None else EMPTY_VIEW
