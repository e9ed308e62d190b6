"""The layout of a workflow drawing: nodes in topological order, edges with labels, and printable texts.

Accepts any document that matches the schema of a definition, even one that no host could run. Edges to missing nodes
are listed separately (`dangling`).
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
    """An edge of the drawing."""

    id: str
    source: str
    target: str
    document: dict[str, Any]


class WorkflowLayout(msgspec.Struct, frozen=True):
    """The layout of one definition. `order` is topological with regard to the forward edges."""

    document: dict[str, Any]
    nodes: dict[str, dict[str, Any]]
    order: tuple[str, ...]
    forward: tuple[LayoutEdge, ...]
    back: tuple[LayoutEdge, ...]
    dangling: tuple[LayoutEdge, ...]
    rules: dict[str, str]
    """The trigger rule of each node whose rule is not all_success."""

    def successors(self) -> dict[str, list[str]]:
        """The successors of each node, in drawing order."""
        positions = {node_id: at for at, node_id in enumerate(self.order)}
        targets: dict[str, set[str]] = {node_id: set() for node_id in self.order}
        for line in self.forward:
            targets[line.source].add(line.target)
        return {node_id: sorted(each, key=positions.__getitem__) for node_id, each in targets.items()}

    def incoming(self) -> dict[str, list[LayoutEdge]]:
        """The forward edges to each node."""
        edges: dict[str, list[LayoutEdge]] = {node_id: [] for node_id in self.order}
        for line in self.forward:
            edges[line.target].append(line)
        return edges

    def back_edges_from(self) -> dict[str, list[LayoutEdge]]:
        """The edges from each node to an earlier node or to itself."""
        edges: dict[str, list[LayoutEdge]] = {node_id: [] for node_id in self.order}
        for line in self.back:
            edges[line.source].append(line)
        return edges


def lay_out(document: dict[str, Any]) -> WorkflowLayout:
    """The layout of a document that matches the schema of a definition."""
    nodes: dict[str, dict[str, Any]] = {}
    for node in document["nodes"]:
        nodes.setdefault(node["id"], node)
    lines = [LayoutEdge(each["id"], each["sourceNodeId"], each["targetNodeId"], each) for each in document["edges"]]
    connected = [line for line in lines if line.source in nodes and line.target in nodes]
    returning = _back_edges(list(nodes), connected)
    forward = tuple(line for at, line in enumerate(connected) if at not in returning)
    return WorkflowLayout(
        document=document,
        nodes=nodes,
        order=tuple(_order(list(nodes), forward)),
        forward=forward,
        back=tuple(line for at, line in enumerate(connected) if at in returning),
        dangling=tuple(line for line in lines if line.source not in nodes or line.target not in nodes),
        rules=_rules(forward),
    )


def count_summary(layout: WorkflowLayout) -> str:
    """The numbers of nodes, edges and loops, as text."""
    loops = {line.target for line in layout.back}
    counts = [(len(layout.nodes), "node"), (len(layout.forward) + len(layout.back), "edge"), (len(loops), "loop")]
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count or noun != "loop")


def edge_labels(line: LayoutEdge, expected: str = "all_success") -> list[str]:
    """The labels of an edge: ports, condition, trigger rule and name. Defaults have no label."""
    edge = line.document
    labels: list[str] = []
    if edge.get("sourceOutput", "output") != "output":
        labels.append(f"on {printable(edge['sourceOutput'])}")
    if edge.get("targetInput", "input") != "input":
        labels.append(f"into {printable(edge['targetInput'])}")
    if "condition" in edge:
        labels.append(f"if {_condition(edge['condition'])}")
    rule: str = edge.get("triggerRule", "all_success")
    if rule != expected:
        labels.append(f"rule {rule}")
    if edge.get("label"):
        labels.append(f'"{printable(edge["label"])}"')
    return labels


def port_labels(node: dict[str, Any]) -> list[str]:
    """The sources of a node's inputs, at most MAX_PORTS."""
    labels = [f"{printable(name, 24)} {_origin(port)}" for name, port in node["inputs"].items()]
    return labels if len(labels) <= MAX_PORTS else [*labels[: MAX_PORTS - 1], f"{len(labels) - MAX_PORTS + 1} more"]


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
    operator = _OPERATORS.get(condition.get("type", "expression"))
    if operator is None:
        return printable(condition.get("expression", "?"))
    return f"{printable(condition.get('left', '?'))} {operator} {_value(condition.get('right'))}"


def _rules(lines: Iterable[LayoutEdge]) -> dict[str, str]:
    """The trigger rule of each node: the rule of the incoming edge with the lowest id."""
    first: dict[str, LayoutEdge] = {}
    for line in lines:
        if line.target not in first or line.id < first[line.target].id:
            first[line.target] = line
    rules = {target: line.document.get("triggerRule", "all_success") for target, line in first.items()}
    return {target: rule for target, rule in rules.items() if rule != "all_success"}


def _back_edges(node_ids: list[str], lines: list[LayoutEdge]) -> set[int]:
    """The indexes of the back edges. Not their ids, which may be duplicated in an invalid document."""
    edges = [Edge(str(at), line.source, line.target, "", "", "") for at, line in enumerate(lines)]
    return set(map(int, find_back_edges(node_ids, edges)))


def _order(node_ids: list[str], forward: Iterable[LayoutEdge]) -> list[str]:
    """Topological order, depth first, so that few lanes run in parallel."""
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
