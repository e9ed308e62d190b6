"""The plan: a workflow as the engine walks it, with one deterministic order for everything.

Order is (topological index, node id), so that equal logs come from equal choices. Trigger rules are
judged when every incoming edge of a node is settled; edges that lead back do not count in them.

Theory of loops. A back-edge leads to a node from which its source can be reached without it; without back-edges the
graph has no cycle. All back-edges to one node make one loop. The body of the loop is everything between that node and
the sources of the back-edges, including the loops on the way. A round is over when the whole body is settled: then
either a back-edge fires and the body starts again, or the loop has ended. Edges that leave the body are settled when
the loop has ended and not before, so nothing outside sees a value of a round that happened to be fast.

Sources: OpenWOP workflow-definition, readings (Engine), readings (Loops).
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.workflow.definition import Edge, Node, Workflow
from weftwork.protocol.workflow.taint import Taint, find_taint

MAX_LOOPS: Final = 64
"""Loops of one workflow: what each costs grows with the others."""


class Loop(msgspec.Struct, frozen=True):
    """One loop: where it begins again, the edges that lead back there, and the nodes that a round resets."""

    target: str
    back_edges: tuple[Edge, ...]
    body: frozenset[str]


def find_back_edges(node_ids: Sequence[str], edges: Sequence[Edge]) -> set[str]:
    """wf-15 (readings, Loops): ids of the edges that lead back, found depth first in document order.

    The search starts from the nodes without incoming edges, then from the nodes that it has not reached.
    """
    outgoing: dict[str, list[Edge]] = {node_id: [] for node_id in node_ids}
    for edge in edges:
        outgoing[edge.source].append(edge)
    targets = {edge.target for edge in edges}
    starts = [node_id for node_id in node_ids if node_id not in targets]
    found: set[str] = set()
    done: set[str] = set()
    for start in (*starts, *node_ids):
        if start not in done:
            _search(start, outgoing, done, found)
    return found


def _search(start: str, outgoing: Mapping[str, list[Edge]], done: set[str], found: set[str]) -> None:
    path = {start}
    stack = [(start, iter(outgoing[start]))]
    while stack:
        node_id, rest = stack[-1]
        edge = next(rest, None)
        if edge is None:
            stack.pop()
            path.discard(node_id)
            done.add(node_id)
        elif edge.target in path:
            found.add(edge.id)
        elif edge.target not in done:
            path.add(edge.target)
            stack.append((edge.target, iter(outgoing[edge.target])))


def find_loops(
    back: Sequence[Edge], forward: Sequence[Edge], index: Mapping[str, int], above: Sequence[int]
) -> tuple[Loop, ...]:
    """The loops, inner ones first. `index` numbers the nodes; `above[i]` has a bit for each node above node i."""
    if not back:
        return ()
    before: dict[str, list[str]] = {node_id: [] for node_id in index}
    for edge in (*forward, *back):
        before[edge.target].append(edge.source)
    grouped: dict[str, list[Edge]] = {}
    for edge in back:
        grouped.setdefault(edge.target, []).append(edge)
    loops = [
        Loop(target, tuple(several), _body(target, several, before, index, above))
        for target, several in grouped.items()
    ]
    return tuple(sorted(loops, key=lambda loop: (len(loop.body), index[loop.target])))


def _body(
    target: str, back: Sequence[Edge], before: Mapping[str, list[str]], index: Mapping[str, int], above: Sequence[int]
) -> frozenset[str]:
    """Whatever comes after the target and leads to a source of the loop without passing the target again."""
    body = {target}
    rest = [edge.source for edge in back]
    while rest:
        node_id = rest.pop()
        if node_id not in body and above[index[node_id]] >> index[target] & 1:
            body.add(node_id)
            rest += before[node_id]
    return frozenset(body)


def loops_left_by(loops: Sequence[Loop], edge: Edge) -> tuple[int, ...]:
    """wf-16 (readings, Loops): the loops that a forward edge leaves."""
    return tuple(i for i, loop in enumerate(loops) if edge.source in loop.body and edge.target not in loop.body)


EdgeOutcome = Literal["completed", "failed", "skipped"]


class PlanNode(msgspec.Struct, frozen=True):
    """A node with its place in the graph. Edges are those that lead forward."""

    node: Node
    index: int
    incoming: tuple[Edge, ...]
    outgoing: tuple[Edge, ...]
    trigger_rule: str
    hides_outputs: bool
    """Whether something sensitive can reach its inputs, so that whatever it makes of them is hidden."""
    back_edges: tuple[Edge, ...] = ()
    """Edges that lead back here; they bring data from the second round on."""
    loop_exits: dict[str, tuple[int, ...]] = {}
    """Edge id -> the loops that the edge leaves."""
    loops: tuple[int, ...] = ()
    """The loops around this node, inner ones first."""
    counted_loop: int | None = None
    """The loop whose rounds this node counts: its own, else the innermost around it."""
    reads_previous_round: frozenset[str] = frozenset()
    """Nodes that it can read only as they ended in the round before."""


class Plan(msgspec.Struct, frozen=True):
    """A workflow in execution order. `order` holds every node id by topological index."""

    workflow: Workflow
    nodes: dict[str, PlanNode]
    order: tuple[str, ...]
    entries: tuple[str, ...]
    sinks: tuple[str, ...]
    loops: tuple[Loop, ...]
    taint: Taint

    def max_rounds(self, loop: int) -> int:
        """wf-15 (readings, Loops): how often a loop may go round; one of a supervisor as often as that may decide."""
        supervised = self.nodes[self.loops[loop].target].node.declaration.role == "supervisor"
        return self.workflow.max_supervised_loopbacks if supervised else self.workflow.max_loopbacks

    @property
    def sensitive_variables(self) -> frozenset[str]:
        return self.taint.variables

    @property
    def has_sensitive_data(self) -> bool:
        return self.taint.has_sensitive_data


class EdgeTally(msgspec.Struct):
    """How the incoming edges of one node have settled so far."""

    open: int
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    fault: tuple[str, str] | None = None
    """Code and message of a condition that could not be judged."""

    def count(self, outcome: str) -> None:
        self.open -= 1
        if outcome == "completed":
            self.completed += 1
        elif outcome == "failed":
            self.failed += 1
        else:
            self.skipped += 1


TRIGGER_RULES: Final[dict[str, str]] = {
    "all_success": "every upstream node completed",
    "any_success": "at least one upstream node completed",
    "all_complete": "every upstream node ended, however it ended",
    "none_failed": "every upstream node ended and none failed",
    "any_failed": "at least one upstream node failed",
}
HANDLES_FAILURE: Final[frozenset[str]] = frozenset({"all_complete", "any_failed"})


def is_rule_satisfied(rule: str, tally: EdgeTally) -> bool:
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


def trigger_rule_of(incoming: Sequence[Edge]) -> str:
    """wf-06 (readings, Data flow): when incoming rules disagree, the first edge by id decides."""
    return min(incoming, key=lambda edge: edge.id).trigger_rule if incoming else "all_success"


def is_hidden_output(nodes: Mapping[str, PlanNode], node_id: str, port: str) -> bool:
    """hide-03 (readings, What the log may hide): declared sensitive, or made by a node that was given such a value."""
    place = nodes[node_id]
    if port in place.node.sensitive_outputs:
        return True
    return place.hides_outputs and port not in place.node.declaration.untainted_outputs


class _SortedGraph:
    """Edges sorted out, nodes in order, and the loops. Ids are unique and edges lead to nodes that are there."""

    def __init__(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        ids = [node.id for node in nodes]
        backwards = find_back_edges(ids, edges)
        forward = [edge for edge in edges if edge.id not in backwards]
        back = [edge for edge in edges if edge.id in backwards]
        self.back_edges: dict[str, list[Edge]] = {}
        for edge in back:
            self.back_edges.setdefault(edge.target, []).append(edge)
        self.incoming: dict[str, list[Edge]] = {node_id: [] for node_id in ids}
        self.outgoing: dict[str, list[Edge]] = {node_id: [] for node_id in ids}
        for edge in forward:
            self.incoming[edge.target].append(edge)
            self.outgoing[edge.source].append(edge)
        self.order = _topological_order(self.incoming, self.outgoing)
        self.index = {node_id: i for i, node_id in enumerate(self.order)}
        self.ancestors = _ancestor_masks(self.order, self.index, self.incoming)
        self.has_too_many_loops = len(self.back_edges) > MAX_LOOPS
        self.loops = () if self.has_too_many_loops else find_loops(back, forward, self.index, self.ancestors)


def plan_workflow(workflow: Workflow) -> tuple[Plan | None, list[Violation]]:
    """wf-07 (OpenWOP workflow-definition): the plan with its deterministic order, or what prevents one."""
    graph = _SortedGraph(workflow.nodes, workflow.edges)
    if graph.has_too_many_loops:
        return None, [Violation("/edges", "loops", f"a workflow takes {MAX_LOOPS} or fewer loops")]
    violations, earlier = _check_reads(workflow.nodes, workflow.edges, graph)
    if violations:
        return None, violations
    order, incoming, outgoing, loops = graph.order, graph.incoming, graph.outgoing, graph.loops
    into = {node_id: [*several, *graph.back_edges.get(node_id, ())] for node_id, several in incoming.items()}
    taint = find_taint(workflow, into)
    by_id = {node.id: node for node in workflow.nodes}
    nodes: dict[str, PlanNode] = {}
    for i, node_id in enumerate(order):
        left = (
            {edge.id: several for edge in outgoing[node_id] if (several := loops_left_by(loops, edge))} if loops else {}
        )
        around = tuple(n for n, loop in enumerate(loops) if node_id in loop.body) if loops else ()
        own = next((n for n in around if loops[n].target == node_id), None)
        nodes[node_id] = PlanNode(
            node=by_id[node_id],
            index=i,
            incoming=tuple(incoming[node_id]),
            outgoing=tuple(outgoing[node_id]),
            trigger_rule=trigger_rule_of(incoming[node_id]),
            hides_outputs=node_id in taint.nodes,
            back_edges=tuple(graph.back_edges.get(node_id, ())),
            loop_exits=left,
            loops=around,
            counted_loop=own if own is not None else around[0] if around else None,
            reads_previous_round=earlier.get(node_id, frozenset()),
        )
    plan = Plan(
        workflow=workflow,
        nodes=nodes,
        order=tuple(order),
        entries=tuple(node_id for node_id in order if not incoming[node_id]),
        sinks=tuple(node_id for node_id in order if not outgoing[node_id]),
        loops=loops,
        taint=taint,
    )
    return plan, []


def check_reads(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[Violation]:
    """wf-03 (readings, Determinism): what is wrong with the reads of a definition that may have other faults."""
    graph = _SortedGraph(nodes, edges)
    return [] if graph.has_too_many_loops else _check_reads(nodes, edges, graph)[0]


def _check_reads(
    nodes: Sequence[Node], edges: Sequence[Edge], graph: "_SortedGraph"
) -> tuple[list[Violation], dict[str, frozenset[str]]]:
    """wf-03 (readings, Determinism): what is read has ended before, in this round of a loop or in the one before.

    Otherwise the value would depend on which of two nodes happened to be faster.
    """
    index, above, loops = graph.index, graph.ancestors, graph.loops
    found: list[Violation] = []
    earlier: dict[str, set[str]] = {}

    def check(reader: str, node_id: str, pointer: str, itself: bool) -> None:
        if node_id not in index:
            found.append(Violation(pointer, "reference", f"no node has the id {printable_token(node_id)}"))
        elif above[index[reader]] >> index[node_id] & 1 or (itself and reader == node_id):
            return
        elif (around := [loop for loop in loops if node_id in loop.body]) and all(
            reader in loop.body for loop in around
        ):
            # Each loop around a node is around its reader too, and there is one.
            earlier.setdefault(reader, set()).add(node_id)
        else:
            found.append(Violation(pointer, "order", f"no edges lead here from the node {printable_token(node_id)}"))

    for i, node in enumerate(nodes):
        for below, node_id in node.output_reads:
            check(node.id, node_id, f"/nodes/{i}{below}", itself=False)
    for i, edge in enumerate(edges):
        if edge.condition is not None and edge.condition.expression is not None:
            for node_id in sorted(edge.condition.expression.references.nodes):
                check(edge.source, node_id, f"/edges/{i}/condition/expression", itself=True)
    return found, {reader: frozenset(several) for reader, several in earlier.items()}


def _ancestor_masks(order: Sequence[str], index: Mapping[str, int], incoming: Mapping[str, list[Edge]]) -> list[int]:
    """For each node, by index, a bit for every node from which edges lead to it."""
    above: list[int] = []
    for node_id in order:
        mask = 0
        for edge in incoming[node_id]:
            source = index[edge.source]
            mask |= above[source] | 1 << source
        above.append(mask)
    return above


def _topological_order(incoming: Mapping[str, list[Edge]], outgoing: Mapping[str, list[Edge]]) -> list[str]:
    """Kahn's order, smallest id first among the ready."""
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
