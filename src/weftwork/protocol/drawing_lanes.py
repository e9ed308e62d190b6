"""Lanes: the lines beside a list of nodes that show which node leads to which.

Every lane leads to one node. Below a node its lines run to the lanes of the nodes that follow it, which start
there or are joined; a line that only passes a lane runs behind it. When there is no room for another lane, the
node that would be reached is given back, to be named in words.
"""

from typing import Final

import msgspec

MAX_LANES: Final = 24
NODE: Final = "●"
_STROKES: Final = {
    "ud": "│", "udr": "├", "udl": "┤", "udlr": "┼", "dl": "╮", "dr": "╭", "dlr": "┬", "ul": "╯", "ur": "╰", "ulr": "┴",
}  # fmt: skip


class Rows(msgspec.Struct, frozen=True):
    """What stands to the left of a node, of each line of words below it, and of the lines that lead on from it."""

    node: str
    words: str
    links: str
    is_straight: bool
    """Whether nothing but this node's own line leads on, so that the words say as much as the links."""
    unreached: tuple[str, ...]


class Lanes:
    """Drawn from top to bottom, one node after the other."""

    def __init__(self) -> None:
        self._lanes: list[str | None] = []

    def draw(self, node_id: str, targets: list[str]) -> Rows:
        """The rows of the next node; `targets` come later, the nearest first."""
        at = self._column(node_id)
        node = self._row({at: NODE})
        before = set(self._held())
        columns: set[int] = set()
        unreached: list[str] = []
        for target in targets:
            column = self._reach(target, at)
            if column is None:
                unreached.append(target)
            else:
                columns.add(column)
        passing = self._row(dict.fromkeys(columns - before, " ") | ({at: "│"} if columns else {}))
        links = self._links(at, columns, before) if columns else ""
        while self._lanes and self._lanes[-1] is None:
            self._lanes.pop()
        return Rows(node, passing, links, columns <= {at}, tuple(unreached))

    def _held(self) -> list[int]:
        return [column for column, target in enumerate(self._lanes) if target is not None]

    def _column(self, node_id: str) -> int:
        """The column of a node: its lane, which ends there, or the first free one."""
        if node_id in self._lanes:
            at = self._lanes.index(node_id)
        else:
            at = next((column for column, target in enumerate(self._lanes) if target is None), len(self._lanes))
            if at == len(self._lanes):
                self._lanes.append(None)
        self._lanes[at] = None
        return at

    def _reach(self, target: str, at: int) -> int | None:
        """The lane of a node: the one that leads there already, or else the nearest free one from `at` on."""
        if target in self._lanes:
            return self._lanes.index(target)
        size = len(self._lanes)
        free = [column for column in (*range(at, size), *range(at)) if self._lanes[column] is None]
        if free:
            self._lanes[free[0]] = target
            return free[0]
        if size >= MAX_LANES:
            return None
        self._lanes.append(target)
        return size

    def _row(self, special: dict[int, str]) -> str:
        cells = [special.get(column, " " if lane is None else "│") for column, lane in enumerate(self._lanes)]
        return " ".join(cells).rstrip()

    def _links(self, at: int, columns: set[int], before: set[int]) -> str:
        left, right = min(at, *columns), max(at, *columns)
        text = ""
        for column, lane in enumerate(self._lanes):
            inside = left < right and left <= column <= right
            if column == at or column in columns:
                up = "u" if column == at or column in before else ""
                down = "d" if column in columns else ""
                sides = ("l" if inside and column > left else "") + ("r" if inside and column < right else "")
                text += _STROKES[up + down + sides]
            else:
                text += "│" if lane is not None else "─" if inside else " "
            text += "─" if inside and column < right else " "
        return text.rstrip()
