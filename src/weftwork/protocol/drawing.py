"""A workflow drawn as text: a list of nodes from top to bottom, with lines beside it that show what leads where."""

from collections.abc import Iterator
from typing import Any, Final

from weftwork.protocol.drawing_lanes import Lanes
from weftwork.protocol.drawing_sketch import Line, Sketch, edge_words, plain, port_words, sketch, summary, width

MAX_TITLE: Final = 32
"""Characters of a node's id and type that are shown."""
DEFAULT_LOOPBACKS: Final = 5


def as_text(document: dict[str, Any]) -> str:
    """The picture, for a terminal; `document` fits the schema of a definition. Every line ends with a newline."""
    drawn = sketch(document)
    rows = list(_rows(drawn))
    edge = max(len(left) for left, _ in rows)
    lines = _head(drawn)
    for left, right in rows:
        lines.append(f"{left:<{edge}}  {right}".rstrip() if right else left)
    lines += [f"not drawn: {_ends(line)} (no such node)" for line in drawn.loose]
    return "".join(f"{line}\n" for line in lines)


def _head(drawn: Sketch) -> list[str]:
    document = drawn.document
    lines = [
        f"{plain(document['id'])}  {plain(document['name'])}  version {plain(document['version'])}",
        summary(drawn),
    ]
    variables = [_variable(each) for each in document["variables"]]
    if variables:
        lines.append(f"variables: {', '.join(variables)}")
    return [*lines, ""]


def _variable(variable: dict[str, Any]) -> str:
    marks = [mark for mark in ("required", "sensitive") if variable.get(mark)]
    return " ".join([f"${plain(variable['name'], 24)}", variable["type"], *marks])


def _rows(drawn: Sketch) -> Iterator[tuple[str, str]]:
    """What stands on the left and on the right of each line."""
    following, incoming, returning = drawn.following(), drawn.incoming(), drawn.returning()
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
            *_entering(incoming[node_id], drawn.rules.get(node_id, "all_success"), unreached),
            *([", ".join(ports)] if (ports := port_words(drawn.nodes[node_id])) else []),
            *(f"→ {plain(target)}" for target in rows.unreached),
            *(_again(line, most) for line in returning[node_id]),
        ]
        yield from ((rows.words, f"  {each}") for each in words)
        if rows.links and not (words and rows.is_straight):
            yield rows.links, ""


def _titles(drawn: Sketch) -> dict[str, str]:
    """Id and type of each node, in columns."""
    names = {node_id: plain(node_id, MAX_TITLE) for node_id in drawn.order}
    types = {node_id: plain(drawn.nodes[node_id]["typeId"], MAX_TITLE) for node_id in drawn.order}
    name_width, type_width = max(map(width, names.values())), max(map(width, types.values()))
    return {
        node_id: f"{_padded(names[node_id], name_width)}  {_padded(types[node_id], type_width)}"
        for node_id in drawn.order
    }


def _marks(node: dict[str, Any], rule: str | None, is_loop_start: bool) -> Iterator[str]:
    if node["name"] != node["id"]:
        yield f'"{plain(node["name"])}"'
    if node.get("outputRole") == "primary":
        yield "[primary output]"
    if node.get("disabled"):
        yield "[disabled]"
    if rule is not None:
        yield f"[when {rule}]"
    if is_loop_start:
        yield "[loop starts]"


def _entering(incoming: list[Line], rule: str, unreached: set[tuple[str, str]]) -> Iterator[str]:
    """The edges of which there is more to say than the lanes show."""
    for line in incoming:
        said = edge_words(line, rule)
        if said or (line.source, line.target) in unreached:
            yield ", ".join([f"← {plain(line.source)}", *said])


def _again(line: Line, most: int) -> str:
    return ", ".join([f"↺ back to {plain(line.target)}, up to {most} times", *edge_words(line)])


def _ends(line: Line) -> str:
    return f"{plain(line.source)} → {plain(line.target)}"


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))
