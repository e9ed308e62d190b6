"""A workflow drawn as text: a list of nodes from top to bottom, with lines beside it that show what leads where.

Lanes: the lines beside a list of nodes that show which node leads to which.

Every lane leads to one node. Below a node its lines run to the lanes of the nodes that follow it, which start
there or are joined; a line that only passes a lane runs behind it. When there is no room for another lane, the
node that would be reached is given back, to be named in words.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.cli.console.text import display_width, printable
from weftwork.cli.render.drawing.layout import (
    LayoutEdge,
    WorkflowLayout,
    count_summary,
    edge_labels,
    lay_out,
    port_labels,
)

MAX_LANES: Final = 24
NODE_MARK: Final = "●"
_STROKES: Final = {
    "ud": "│", "udr": "├", "udl": "┤", "udlr": "┼", "dl": "╮", "dr": "╭", "dlr": "┬", "ul": "╯", "ur": "╰", "ulr": "┴",
}  # fmt: skip


class LaneRows(msgspec.Struct, frozen=True):
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

    def draw(self, node_id: str, targets: list[str]) -> LaneRows:
        """The rows of the next node; `targets` come later, the nearest first."""
        at = self._column(node_id)
        node = self._row({at: NODE_MARK})
        before = set(self._used_columns())
        columns: set[int] = set()
        unreached: list[str] = []
        for target in targets:
            column = self._lane_to(target, at)
            if column is None:
                unreached.append(target)
            else:
                columns.add(column)
        passing = self._row(dict.fromkeys(columns - before, " ") | ({at: "│"} if columns else {}))
        links = self._links(at, columns, before) if columns else ""
        while self._lanes and self._lanes[-1] is None:
            self._lanes.pop()
        return LaneRows(node, passing, links, columns <= {at}, tuple(unreached))

    def _used_columns(self) -> list[int]:
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

    def _lane_to(self, target: str, at: int) -> int | None:
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


MAX_TITLE: Final = 32
"""Characters of a node's id and type that are shown."""
DEFAULT_LOOPBACKS: Final = 5


def draw_text(document: dict[str, Any]) -> str:
    """The picture, for a terminal; `document` fits the schema of a definition. Every line ends with a newline."""
    drawn = lay_out(document)
    rows = list(_rows(drawn))
    edge = max(len(left) for left, _ in rows)
    lines = _head(drawn)
    for left, right in rows:
        lines.append(f"{left:<{edge}}  {right}".rstrip() if right else left)
    lines += [f"not drawn: {_edge_text(line)} (no such node)" for line in drawn.dangling]
    return "".join(f"{line}\n" for line in lines)


def _head(drawn: WorkflowLayout) -> list[str]:
    document = drawn.document
    lines = [
        f"{printable(document['id'])}  {printable(document['name'])}  version {printable(document['version'])}",
        count_summary(drawn),
    ]
    variables = [_variable(each) for each in document["variables"]]
    if variables:
        lines.append(f"variables: {', '.join(variables)}")
    return [*lines, ""]


def _variable(variable: dict[str, Any]) -> str:
    marks = [mark for mark in ("required", "sensitive") if variable.get(mark)]
    return " ".join([f"${printable(variable['name'], 24)}", variable["type"], *marks])


def _rows(drawn: WorkflowLayout) -> Iterator[tuple[str, str]]:
    """What stands on the left and on the right of each line."""
    following, incoming, returning = drawn.successors(), drawn.incoming(), drawn.back_edges_from()
    loop_starts = {line.target for line in drawn.back}
    most = drawn.document["settings"].get("maxLoopbackIterations", DEFAULT_LOOPBACKS)
    titles = _titles(drawn)
    lanes = Lanes()
    unreached: set[tuple[str, str]] = set()
    for node_id in drawn.order:
        rows = lanes.draw(node_id, following[node_id])
        unreached |= {(node_id, target) for target in rows.unreached}
        marks = _marks(drawn.nodes[node_id], drawn.rules.get(node_id), node_id in loop_starts)
        yield rows.node, "  ".join([titles[node_id], *marks])
        words = [
            *_incoming_text(incoming[node_id], drawn.rules.get(node_id, "all_success"), unreached),
            *([", ".join(ports)] if (ports := port_labels(drawn.nodes[node_id])) else []),
            *(f"→ {printable(target)}" for target in rows.unreached),
            *(_back_edge_text(line, most) for line in returning[node_id]),
        ]
        yield from ((rows.words, f"  {each}") for each in words)
        if rows.links and not (words and rows.is_straight):
            yield rows.links, ""


def _titles(drawn: WorkflowLayout) -> dict[str, str]:
    """Id and type of each node, in columns."""
    names = {node_id: printable(node_id, MAX_TITLE) for node_id in drawn.order}
    types = {node_id: printable(drawn.nodes[node_id]["typeId"], MAX_TITLE) for node_id in drawn.order}
    name_width, type_width = max(map(display_width, names.values())), max(map(display_width, types.values()))
    return {
        node_id: f"{_padded(names[node_id], name_width)}  {_padded(types[node_id], type_width)}"
        for node_id in drawn.order
    }


def _marks(node: dict[str, Any], rule: str | None, is_loop_start: bool) -> Iterator[str]:
    if node["name"] != node["id"]:
        yield f'"{printable(node["name"])}"'
    if node.get("outputRole") == "primary":
        yield "[primary output]"
    if node.get("disabled"):
        yield "[disabled]"
    if rule is not None:
        yield f"[when {rule}]"
    if is_loop_start:
        yield "[loop starts]"


def _incoming_text(incoming: list[LayoutEdge], rule: str, unreached: set[tuple[str, str]]) -> Iterator[str]:
    """The edges of which there is more to say than the lanes show."""
    for line in incoming:
        said = edge_labels(line, rule)
        if said or (line.source, line.target) in unreached:
            yield ", ".join([f"← {printable(line.source)}", *said])


def _back_edge_text(line: LayoutEdge, most: int) -> str:
    return ", ".join([f"↺ back to {printable(line.target)}, up to {most} times", *edge_labels(line)])


def _edge_text(line: LayoutEdge) -> str:
    return f"{printable(line.source)} → {printable(line.target)}"


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - display_width(text))
