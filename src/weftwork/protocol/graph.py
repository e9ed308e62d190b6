"""The plan: a workflow as the engine walks it, with one deterministic order for everything.

Order is (topological index, node id), so that equal logs come from equal choices. Trigger rules are
judged when every incoming edge of a node is settled. Which outputs are hidden follows from the definition
alone. Sources: OpenWOP workflow-definition, readings (Engine), readings (What the log may hide).
"""

import heapq
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from weftwork.protocol.decode import escape
from weftwork.protocol.schema import Violation
from weftwork.protocol.workflow import Edge, Node, Workflow

Settled = Literal["completed", "failed", "skipped"]


class PlanNode(msgspec.Struct, frozen=True):
    """A node with its place in the graph."""

    node: Node
    index: int
    incoming: tuple[Edge, ...]
    outgoing: tuple[Edge, ...]
    rule: str
    hides: bool
    """Whether something sensitive can reach its inputs, so that whatever it makes of them is hidden."""


class Plan(msgspec.Struct, frozen=True):
    """A workflow in execution order. `order` holds every node id by topological index."""

    workflow: Workflow
    nodes: dict[str, PlanNode]
    order: tuple[str, ...]
    entries: tuple[str, ...]
    sinks: tuple[str, ...]
    sensitive: frozenset[str]
    """Names of the sensitive variables."""
    guarded: bool
    """Whether anything in this workflow must be hidden from the log."""


class Tally(msgspec.Struct):
    """How the incoming edges of one node have settled so far."""

    open: int
    completed: int = 0
    failed: int = 0
    skipped: int = 0


RULES: Final[dict[str, str]] = {
    "all_success": "every upstream node completed",
    "any_success": "at least one upstream node completed",
    "all_complete": "every upstream node ended, however it ended",
    "none_failed": "every upstream node ended and none failed",
    "any_failed": "at least one upstream node failed",
}
HANDLES_FAILURE: Final[frozenset[str]] = frozenset({"all_complete", "any_failed"})


def satisfied(rule: str, tally: Tally) -> bool:
    """wf-05 (OpenWOP workflow-definition): whether a node runs, once all its incoming edges are settled."""
    if rule == "all_success":
        return tally.failed == 0 and tally.skipped == 0
    if rule == "any_success":
        return tally.completed > 0
    if rule == "none_failed":
        return tally.failed == 0
    if rule == "any_failed":
        return tally.failed > 0
    return True


def rule_of(incoming: list[Edge]) -> str:
    """wf-06 (readings, Data flow): when incoming rules disagree, the first edge by id decides."""
    return min(incoming, key=lambda edge: edge.id).rule if incoming else "all_success"


def is_hidden_output(nodes: Mapping[str, PlanNode], node_id: str, port: str) -> bool:
    """hide-03 (readings, What the log may hide): declared sensitive, or made by a node that was given such a value."""
    place = nodes[node_id]
    return place.hides or port in place.node.sensitive_outputs


def plan_workflow(workflow: Workflow) -> tuple[Plan | None, list[Violation]]:
    """wf-07 (OpenWOP workflow-definition): the plan with its deterministic order, or what prevents one."""
    incoming: dict[str, list[Edge]] = {node.id: [] for node in workflow.nodes}
    outgoing: dict[str, list[Edge]] = {node.id: [] for node in workflow.nodes}
    for edge in workflow.edges:
        incoming[edge.target].append(edge)
        outgoing[edge.source].append(edge)
    order = _topological(incoming, outgoing)
    if len(order) < len(workflow.nodes):
        stuck = next(i for i, node in enumerate(workflow.nodes) if node.id not in set(order))
        return None, [Violation(f"/nodes/{stuck}", "unsupported", "this host does not support loops yet")]
    if violations := _check_connections(workflow, incoming):
        return None, violations
    by_id = {node.id: node for node in workflow.nodes}
    sensitive = frozenset(variable.name for variable in workflow.variables if variable.sensitive)
    nodes: dict[str, PlanNode] = {}
    for index, node_id in enumerate(order):
        nodes[node_id] = PlanNode(
            node=by_id[node_id],
            index=index,
            incoming=tuple(incoming[node_id]),
            outgoing=tuple(outgoing[node_id]),
            rule=rule_of(incoming[node_id]),
            hides=_takes_hidden(by_id[node_id], incoming[node_id], sensitive, nodes),
        )
    plan = Plan(
        workflow=workflow,
        nodes=nodes,
        order=tuple(order),
        entries=tuple(node_id for node_id in order if not incoming[node_id]),
        sinks=tuple(node_id for node_id in order if not outgoing[node_id]),
        sensitive=sensitive,
        guarded=bool(sensitive) or any(node.sensitive_outputs for node in workflow.nodes),
    )
    return plan, []


def _takes_hidden(node: Node, incoming: list[Edge], sensitive: frozenset[str], above: Mapping[str, PlanNode]) -> bool:
    """Whether an input can come from a sensitive variable or a hidden output; `above` holds every node before it."""
    for port in node.ports.values():
        if port.type == "variable" and port.variable in sensitive:
            return True
        if port.type == "connection" and is_hidden_output(above, port.node_id, port.output_key):
            return True
    return any(
        edge.target_input not in node.ports and is_hidden_output(above, edge.source, edge.source_output)
        for edge in incoming
    )


def _check_connections(workflow: Workflow, incoming: dict[str, list[Edge]]) -> list[Violation]:
    """wf-03 (readings, Determinism): a connection leads to a node that has ended before this one starts.

    Otherwise the value would depend on which of the two happened to be faster.
    """
    found: list[Violation] = []
    for index, node in enumerate(workflow.nodes):
        wanted = {name: port.node_id for name, port in node.ports.items() if port.type == "connection"}
        if not set(wanted.values()) <= {edge.source for edge in incoming[node.id]}:
            above = _above(node.id, incoming)
            found += [
                Violation(f"/nodes/{index}/inputs/{escape(name)}/nodeId", "order", "no edges lead here from this node")
                for name, node_id in wanted.items()
                if node_id not in above
            ]
    return found


def _above(node_id: str, incoming: dict[str, list[Edge]]) -> set[str]:
    """Every node from which edges lead to this one."""
    above: set[str] = set()
    open_ids = [node_id]
    while open_ids:
        for edge in incoming[open_ids.pop()]:
            if edge.source not in above:
                above.add(edge.source)
                open_ids.append(edge.source)
    return above


def _topological(incoming: dict[str, list[Edge]], outgoing: dict[str, list[Edge]]) -> list[str]:
    """Kahn's order, smallest id first among the ready; nodes on a cycle are left out."""
    waiting = {node_id: len(edges) for node_id, edges in incoming.items()}
    ready = [node_id for node_id, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        node_id = heapq.heappop(ready)
        order.append(node_id)
        for edge in outgoing[node_id]:
            waiting[edge.target] -= 1
            if waiting[edge.target] == 0:
                heapq.heappush(ready, edge.target)
    return order
