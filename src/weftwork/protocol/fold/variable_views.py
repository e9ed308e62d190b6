"""Views: which writes of variables one place of the graph sees.

Theory. A node sees what was written before it on the ways that lead to it. Where ways meet, the greatest stamp wins:
(epoch, topological index, node id). Epoch and index never fall along an edge, so a write always beats those before
it; among branches side by side the winner is the same whatever their speed. Source: readings (Determinism).

The writes of a run stand in one table, and a view is a set of them, one bit each: a long graph with many variables
costs bits and not copies. A write that is the newest in no view any more is forgotten.
"""

from bisect import insort
from collections.abc import Iterable, Iterator
from typing import Any, Final

from weftwork.protocol.fold.channel_state import Stamp

GIVEN: Final[Stamp] = (-1, -1, "")
"""The stamp of what a run begins with."""
CROWD: Final = 16
"""Writes of one variable at which those that nobody sees are looked for."""

Entry = tuple[Stamp, Any]


class _Writes:
    """All writes of a run, by variable, the one with the greatest stamp last."""

    __slots__ = ("count", "crowd", "given", "made")

    def __init__(self, given: dict[str, Any]) -> None:
        self.given: dict[str, Entry] = {name: (GIVEN, value) for name, value in given.items()}
        self.made: dict[str, list[tuple[Stamp, int, Any]]] = {}
        self.crowd: dict[str, int] = {}
        self.count = 0


class View:
    """Variables as one place sees them. Immutable; `written` and `meet` make others."""

    __slots__ = ("_known", "_writes")

    def __init__(self, writes: _Writes, known: int) -> None:
        self._writes = writes
        self._known = known

    def get(self, name: str) -> Entry | None:
        """The write that counts here, with its stamp, or None."""
        for stamp, number, value in reversed(self._writes.made.get(name, ())):
            if self._known >> number & 1:
                return stamp, value
        return self._writes.given.get(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> Entry:
        entry = self.get(name)
        if entry is None:
            raise KeyError(name)
        return entry

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Every variable that has a value here."""
        for name in {**self._writes.given, **self._writes.made}:
            entry = self.get(name)
            if entry is not None:
                yield name, entry

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def joined(self, other: "View") -> "View":
        if self is NOTHING:
            return other
        known = self._known | other._known
        return self if known == self._known else View(self._writes, known)

    def with_write(self, name: str, stamp: Stamp, value: Any) -> "View":
        writes = self._writes if self is not NOTHING else _Writes({})
        number, writes.count = writes.count, writes.count + 1
        insort(writes.made.setdefault(name, []), (stamp, number, value))
        return View(writes, self._known | 1 << number)

    def crowded(self, name: str) -> bool:
        """Whether so many writes of a variable are kept that `tidy` is worth its while."""
        return len(self._writes.made[name]) >= self._writes.crowd.get(name, CROWD)

    def tidy(self, name: str, views: Iterable["View"]) -> None:
        """Forget the writes of a variable that count in none of these views, which must be all there are.

        What counts where views meet counts in one of them, so nothing that is forgotten could be seen again.
        """
        made = self._writes.made[name]
        counting = {next((n for _, n, _ in reversed(made) if view._known >> n & 1), -1) for view in views}
        self._writes.made[name] = [each for each in made if each[1] in counting]
        self._writes.crowd[name] = max(CROWD, 2 * len(counting))


NOTHING: Final = View(_Writes({}), 0)
"""The view of a node that was not reached."""


def first_view(variables: dict[str, Any]) -> View:
    """What the first nodes see."""
    return View(_Writes(variables), 0)


def meet(views: Iterable[View]) -> View:
    """data-05 (readings, Determinism): the view where several ways meet. Changes none of them."""
    met: View | None = None
    for view in views:
        met = view if met is None else met.joined(view)
    return met if met is not None else NOTHING


def written(view: View, name: str, stamp: Stamp, value: Any) -> View:
    """The view after a write."""
    return view.with_write(name, stamp, value)
