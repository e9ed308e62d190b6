"""A workflow drawn as text or as a Mermaid flowchart.

The text form lists the nodes from top to bottom, with lanes on the left: vertical lines that connect a node with its
successors. Each lane leads to exactly one node. Below a node, horizontal links run to the lanes of its successors,
which start there or exist already; a link is drawn behind the lanes that it crosses. If there is no room for another
lane, `draw` returns the successor as unreached, and it is named in words.

No text of a definition becomes Mermaid syntax: nodes are called n0, n1 and so on, and in the quoted labels every
character other than letters, digits and a few safe marks is a numeric entity.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.cli.console.table import pad_columns
from weftwork.cli.console.text import printable
from weftwork.cli.render.layout import (
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
    """The lanes to the left of one node: of its own line, of the notes below it, and of its links."""

    node: str
    words: str
    links: str
    is_straight: bool
    """Whether the only link goes straight down, so that the line of links can be omitted below notes."""
    unreached: tuple[str, ...]


class Lanes:
    """The lanes of a drawing. Call `draw` for each node, from top to bottom."""

    def __init__(self) -> None:
        self._lanes: list[str | None] = []

    def draw(self, node_id: str, targets: list[str]) -> LaneRows:
        """The rows of the next node; `targets` are its successors, nearest first."""
        at = self._column(node_id)
        node = self._row({at: NODE_MARK})
        before = {column for column, target in enumerate(self._lanes) if target is not None}
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

    def _column(self, node_id: str) -> int:
        """The column of a node: the lane that leads to it, which ends here, or the first free one."""
        if node_id not in self._lanes and None not in self._lanes:
            self._lanes.append(None)
        at = self._lanes.index(node_id if node_id in self._lanes else None)
        self._lanes[at] = None
        return at

    def _lane_to(self, target: str, at: int) -> int | None:
        """The existing lane to the target, or the nearest free one from `at` on; None if there are MAX_LANES."""
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
        first, last = min(at, *columns), max(at, *columns)
        text = ""
        for column, lane in enumerate(self._lanes):
            inside = first < last and first <= column <= last
            if column == at or column in columns:
                up = "u" if column == at or column in before else ""
                down = "d" if column in columns else ""
                sides = ("l" if inside and column > first else "") + ("r" if inside and column < last else "")
                text += _STROKES[up + down + sides]
            else:
                text += "│" if lane is not None else "─" if inside else " "
            text += "─" if inside and column < last else " "
        return text.rstrip()


MAX_TITLE: Final = 32
"""Maximum number of characters shown of a node's id and of its type."""
DEFAULT_LOOPBACKS: Final = 5


def draw_text(document: dict[str, Any]) -> str:
    """The drawing as text; `document` must match the schema of a definition. Every line ends with a newline."""
    drawn = lay_out(document)
    rows = list(_rows(drawn))
    edge = max(len(left) for left, _ in rows)
    lines = _head(drawn)
    for left, right in rows:
        lines.append(f"{left:<{edge}}  {right}".rstrip() if right else left)
    for line in drawn.dangling:
        lines.append(f"not drawn: {printable(line.source)} → {printable(line.target)} (no such node)")
    return "".join(f"{line}\n" for line in lines)


def _head(drawn: WorkflowLayout) -> list[str]:
    document = drawn.document
    lines = [
        f"{printable(document['id'])}  {printable(document['name'])}  version {printable(document['version'])}",
        count_summary(drawn),
    ]
    variables: list[str] = []
    for each in document["variables"]:
        marks = [mark for mark in ("required", "sensitive") if each.get(mark)]
        variables.append(" ".join([f"${printable(each['name'], 24)}", each["type"], *marks]))
    if variables:
        lines.append(f"variables: {', '.join(variables)}")
    return [*lines, ""]


def _rows(drawn: WorkflowLayout) -> Iterator[tuple[str, str]]:
    """The lanes and the text of each line."""
    successors, incoming, back_edges = drawn.successors(), drawn.incoming(), drawn.back_edges_from()
    loop_starts = {line.target for line in drawn.back}
    max_loopbacks = drawn.document["settings"].get("maxLoopbackIterations", DEFAULT_LOOPBACKS)
    titles = [[printable(text, MAX_TITLE) for text in (each, drawn.nodes[each]["typeId"])] for each in drawn.order]
    lanes = Lanes()
    unreached: set[tuple[str, str]] = set()
    for node_id, title in zip(drawn.order, pad_columns(titles), strict=True):
        rows = lanes.draw(node_id, successors[node_id])
        unreached |= {(node_id, target) for target in rows.unreached}
        marks = _marks(drawn.nodes[node_id], drawn.rules.get(node_id), node_id in loop_starts)
        yield rows.node, "  ".join([*title, *marks])
        notes: list[str] = []
        for line in incoming[node_id]:
            # Only edges with a label, or those that the lanes do not show.
            labels = edge_labels(line, drawn.rules.get(node_id, "all_success"))
            if labels or (line.source, line.target) in unreached:
                notes.append(", ".join([f"← {printable(line.source)}", *labels]))
        if ports := port_labels(drawn.nodes[node_id]):
            notes.append(", ".join(ports))
        notes += [f"→ {printable(target)}" for target in rows.unreached]
        for line in back_edges[node_id]:
            back = f"↺ back to {printable(line.target)}, up to {max_loopbacks} times"
            notes.append(", ".join([back, *edge_labels(line)]))
        yield from ((rows.words, f"  {each}") for each in notes)
        if rows.links and not (notes and rows.is_straight):
            yield rows.links, ""


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
        yield "[loop start]"


_UNSAFE: Final = re.compile(r"[^\w .,:/-]")
_BREAK: Final = "<br/>"


def draw_mermaid(document: dict[str, Any]) -> str:
    """The flowchart; `document` must match the schema of a definition. Every line ends with a newline."""
    drawn = lay_out(document)
    names = {node_id: f"n{at}" for at, node_id in enumerate(drawn.order)}
    lines = [
        "flowchart TD",
        f"%% {quote_label(printable(document['id']))} {quote_label(printable(document['version']))}",
    ]
    for node_id in drawn.order:
        lines.append(f"    {names[node_id]}{_shape(drawn, node_id)}")
    for line in drawn.forward:
        labels = edge_labels(line, drawn.rules.get(line.target, "all_success"))
        lines.append(f"    {names[line.source]} -->{_edge_label(labels)} {names[line.target]}")
    for line in drawn.back:
        lines.append(f"    {names[line.source]} -.->{_edge_label(['again', *edge_labels(line)])} {names[line.target]}")
    disabled = [names[node_id] for node_id in drawn.order if drawn.nodes[node_id].get("disabled")]
    if disabled:
        lines += ["    classDef disabled stroke-dasharray:5 5,opacity:0.5", f"    class {','.join(disabled)} disabled"]
    return "".join(f"{line}\n" for line in lines)


def quote_label(text: str) -> str:
    """Text for a label in double quotes. Letters of any script are kept; `#`, which starts an entity, is escaped."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", text)


def _shape(drawn: WorkflowLayout, node_id: str) -> str:
    """A box; a double box for the node with the primary output."""
    node = drawn.nodes[node_id]
    lines = [] if node["name"] == node_id else [printable(node["name"])]
    lines += [f"{printable(node_id)}: {printable(node['typeId'])}", *port_labels(node)]
    if node_id in drawn.rules:
        lines.append(f"when {drawn.rules[node_id]}")
    label = _BREAK.join(map(quote_label, lines))
    return f'[["{label}"]]' if node.get("outputRole") == "primary" else f'["{label}"]'


def _edge_label(labels: list[str]) -> str:
    return f'|"{_BREAK.join(map(quote_label, labels))}"|' if labels else ""
