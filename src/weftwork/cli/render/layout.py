"""A workflow as it is drawn: nodes in an order that reads well, edges with their words, and text that is safe to show.

Works on any document that fits the definition's schema, also on one that this host could not run. Edges that lead
to no node are kept apart.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.cli.console.text import printable
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.workflow.definition import Edge
from weftwork.protocol.workflow.plan import find_back_edges

MAX_PORTS: Final = 6
_OPERATORS: Final = {"equals": "==", "notEquals": "!=", "contains": "contains", "regex": "matches"}


class LayoutEdge(msgspec.Struct, frozen=True):
    """An edge of the picture."""

    id: str
    source: str
    target: str
    document: dict[str, Any]


class WorkflowLayout(msgspec.Struct, frozen=True):
    """A document that fits the schema, as it is drawn. `order` is topological once the back-edges are left out."""

    document: dict[str, Any]
    nodes: dict[str, dict[str, Any]]
    order: tuple[str, ...]
    forward: tuple[LayoutEdge, ...]
    back: tuple[LayoutEdge, ...]
    dangling: tuple[LayoutEdge, ...]
    rules: dict[str, str]
    """The rule that counts at each node, where it is another than all_success."""

    def successors(self) -> dict[str, list[str]]:
        """The nodes that come after each node, in order."""
        place = {node_id: at for at, node_id in enumerate(self.order)}
        found: dict[str, set[str]] = {node_id: set() for node_id in self.order}
        for line in self.forward:
            found[line.source].add(line.target)
        return {node_id: sorted(targets, key=place.__getitem__) for node_id, targets in found.items()}

    def incoming(self) -> dict[str, list[LayoutEdge]]:
        """The edges that lead to each node for the first time."""
        found: dict[str, list[LayoutEdge]] = {node_id: [] for node_id in self.order}
        for line in self.forward:
            found[line.target].append(line)
        return found

    def back_edges_from(self) -> dict[str, list[LayoutEdge]]:
        """The edges that lead from a node back to one before it, or to itself."""
        found: dict[str, list[LayoutEdge]] = {node_id: [] for node_id in self.order}
        for line in self.back:
            found[line.source].append(line)
        return found


def lay_out(document: dict[str, Any]) -> WorkflowLayout:
    """Everything a picture needs, from a document that fits the schema."""
    nodes: dict[str, dict[str, Any]] = {}
    for node in document["nodes"]:
        nodes.setdefault(node["id"], node)
    lines = [LayoutEdge(each["id"], each["sourceNodeId"], each["targetNodeId"], each) for each in document["edges"]]
    drawn = [line for line in lines if line.source in nodes and line.target in nodes]
    returning = _back_edges(list(nodes), drawn)
    forward = tuple(line for at, line in enumerate(drawn) if at not in returning)
    return WorkflowLayout(
        document=document,
        nodes=nodes,
        order=tuple(_order(list(nodes), forward)),
        forward=forward,
        back=tuple(line for at, line in enumerate(drawn) if at in returning),
        dangling=tuple(line for line in lines if line.source not in nodes or line.target not in nodes),
        rules=_rules(forward),
    )


def count_summary(drawn: WorkflowLayout) -> str:
    """How much there is of everything."""
    loops = {line.target for line in drawn.back}
    counts = [(len(drawn.nodes), "node"), (len(drawn.forward) + len(drawn.back), "edge"), (len(loops), "loop")]
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count or word != "loop")


def edge_labels(line: LayoutEdge, expected: str = "all_success") -> list[str]:
    """What is to be said about an edge beside its ends; nothing about a plain one whose rule is the expected one."""
    edge = line.document
    words: list[str] = []
    if edge.get("sourceOutput", "output") != "output":
        words.append(f"on {printable(edge['sourceOutput'])}")
    if edge.get("targetInput", "input") != "input":
        words.append(f"into {printable(edge['targetInput'])}")
    if "condition" in edge:
        words.append(f"if {_condition(edge['condition'])}")
    rule: str = edge.get("triggerRule", "all_success")
    if rule != expected:
        words.append(f"rule {rule}")
    if edge.get("label"):
        words.append(f'"{printable(edge["label"])}"')
    return words


def port_labels(node: dict[str, Any]) -> list[str]:
    """Where the inputs of a node come from, briefly."""
    words = [f"{printable(name, 24)} {_origin(port)}" for name, port in node["inputs"].items()]
    return words if len(words) <= MAX_PORTS else [*words[: MAX_PORTS - 1], f"{len(words) - MAX_PORTS + 1} more"]


def _origin(port: dict[str, Any]) -> str:
    kind: str = port["type"]
    if kind == "variable":
        return f"← ${printable(port['variableName'], 24)}"
    if kind == "connection":
        return f"← {printable(port['nodeId'], 24)}.{printable(port['outputKey'], 24)}"
    if kind == "expression":
        return f"← ({printable(port['expression'], 40)})"
    return f"= {_value(port['value'])}"


def _value(value: Any) -> str:
    return printable(encode_stored(value).decode(), 24)


def _condition(condition: dict[str, Any]) -> str:
    sign = _OPERATORS.get(condition.get("type", "expression"))
    if sign is None:
        return printable(condition.get("expression", "?"))
    return f"{printable(condition.get('left', '?'))} {sign} {_value(condition.get('right'))}"


def _rules(lines: Iterable[LayoutEdge]) -> dict[str, str]:
    """The rule that counts at each node: that of the incoming edge whose id comes first."""
    first: dict[str, LayoutEdge] = {}
    for line in lines:
        if line.target not in first or line.id < first[line.target].id:
            first[line.target] = line
    rules = {target: line.document.get("triggerRule", "all_success") for target, line in first.items()}
    return {target: rule for target, rule in rules.items() if rule != "all_success"}


def _back_edges(node_ids: list[str], lines: list[LayoutEdge]) -> set[int]:
    """The lines that lead back, by their number: in a document that breaks other rules, ids may be repeated."""
    edges = [Edge(str(at), line.source, line.target, "", "", "") for at, line in enumerate(lines)]
    return set(map(int, find_back_edges(node_ids, edges)))


def _order(node_ids: list[str], forward: Iterable[LayoutEdge]) -> list[str]:
    """Topological, one branch after the other, so that few lines run side by side."""
    outgoing: dict[str, list[str]] = {node_id: [] for node_id in node_ids}
    waiting = dict.fromkeys(node_ids, 0)
    for line in forward:
        outgoing[line.source].append(line.target)
        waiting[line.target] += 1
    ready = [node_id for node_id in reversed(node_ids) if not waiting[node_id]]
    order: list[str] = []
    while ready:
        node_id = ready.pop()
        order.append(node_id)
        freed: list[str] = []
        for target in outgoing[node_id]:
            waiting[target] -= 1
            if not waiting[target]:
                freed.append(target)
        ready += reversed(freed)
    return order
