"""The execution plan: the graph of a workflow in one deterministic order, with its loops.

Nodes are ordered by (topological index, node id), so that equal inputs produce equal logs. The trigger rule of a node
is evaluated when all its incoming edges are settled; back-edges do not count.

Loops. A back-edge leads to a node from which its source can be reached without the edge; without back-edges the graph
has no cycle. All back-edges to one node form one loop. The body of a loop is every node on a path from that node to a
source of a back-edge, including nested loops. A round ends when the whole body is settled: then either a back-edge
fires and the body starts again, or the loop ends. Edges that leave the body are settled only when the loop ends, so
that values outside the loop do not depend on how fast single nodes of a round were.

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
"""Maximum number of loops in a workflow. The cost of each loop grows with their number."""


class Loop(msgspec.Struct, frozen=True):
    """One loop: the node at which a round starts, the edges that lead back to it, and the nodes that a round resets."""

    target: str
    back_edges: tuple[Edge, ...]
    body: frozenset[str]


def find_back_edges(node_ids: Sequence[str], edges: Sequence[Edge]) -> set[str]:
    """wf-15 (readings, Loops): the ids of the back-edges, found by a depth-first search in document order.

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
    """The loops, inner ones first.

    `index` numbers the nodes; `above[i]` is a bit mask of the ancestors of node i.
    """
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
    """The target, and its descendants from which a source of the back-edges can be reached without passing the
    target."""
    body = {target}
    rest = [edge.source for edge in back]
    while rest:
        node_id = rest.pop()
        if node_id not in body and above[index[node_id]] >> index[target] & 1:
            body.add(node_id)
            rest += before[node_id]
    return frozenset(body)


def loops_left_by(loops: Sequence[Loop], edge: Edge) -> tuple[int, ...]:
    """wf-16 (readings, Loops): the indexes of the loops that a forward edge leaves."""
    return tuple(i for i, loop in enumerate(loops) if edge.source in loop.body and edge.target not in loop.body)


EdgeOutcome = Literal["completed", "failed", "skipped"]


class PlanNode(msgspec.Struct, frozen=True):
    """A node with its position in the graph. `incoming` and `outgoing` do not include back-edges."""

    node: Node
    index: int
    incoming: tuple[Edge, ...]
    outgoing: tuple[Edge, ...]
    trigger_rule: str
    hides_outputs: bool
    """Whether a sensitive value can reach its inputs, so that its outputs must be hidden."""
    back_edges: tuple[Edge, ...] = ()
    """Back-edges to this node. They provide inputs from the second round on."""
    loop_exits: dict[str, tuple[int, ...]] = {}
    """Edge id -> the loops that the edge leaves."""
    loops: tuple[int, ...] = ()
    """The loops that contain this node, inner ones first."""
    counted_loop: int | None = None
    """The loop whose rounds number the executions of this node: the loop that starts here, else the innermost loop that
    contains it."""
    reads_previous_round: frozenset[str] = frozenset()
    """Nodes whose outputs it reads from the previous round."""


class Plan(msgspec.Struct, frozen=True):
    """A workflow in execution order. `order` holds every node id by topological index."""

    workflow: Workflow
    nodes: dict[str, PlanNode]
    order: tuple[str, ...]
    entries: tuple[str, ...]
    primary: tuple[str, ...]
    sinks: tuple[str, ...]
    loops: tuple[Loop, ...]
    taint: Taint

    def max_rounds(self, loop: int) -> int:
        """wf-15 (readings, Loops): the maximum number of rounds of a loop. Loops back to a supervisor have another
        limit."""
        supervised = self.nodes[self.loops[loop].target].node.declaration.role == "supervisor"
        return self.workflow.max_supervised_loopbacks if supervised else self.workflow.max_loopbacks

    @property
    def sensitive_variables(self) -> frozenset[str]:
        return self.taint.variables

    @property
    def has_sensitive_data(self) -> bool:
        return self.taint.has_sensitive_data


class EdgeTally(msgspec.Struct):
    """Counts of the outcomes of a node's incoming edges."""

    open: int
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    fault: tuple[str, str] | None = None
    """Code and message of a condition that could not be evaluated."""

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
    "all_complete": "every upstream node ended, with any outcome",
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
    """wf-06 (readings, Data flow): the trigger rule of a node. If its edges have different rules, the smallest edge id
    decides."""
    return min(incoming, key=lambda edge: edge.id).trigger_rule if incoming else "all_success"


def is_hidden_output(nodes: Mapping[str, PlanNode], node_id: str, port: str) -> bool:
    """hide-03 (readings, What the log may hide): whether an output is declared sensitive or comes from a tainted
    node."""
    place = nodes[node_id]
    if port in place.node.sensitive_outputs:
        return True
    return place.hides_outputs and port not in place.node.declaration.untainted_outputs


class _SortedGraph:
    """Forward and back-edges, topological order and loops. Requires unique ids and edges between existing nodes."""

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
    """wf-07 (OpenWOP workflow-definition): the plan with its deterministic order, or the violations that prevent it."""
    graph = _SortedGraph(workflow.nodes, workflow.edges)
    if graph.has_too_many_loops:
        return None, [Violation("/edges", "loops", f"a workflow may have at most {MAX_LOOPS} loops")]
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
        primary=tuple(node_id for node_id in order if nodes[node_id].node.is_primary),
        sinks=tuple(node_id for node_id in order if not outgoing[node_id]),
        loops=loops,
        taint=taint,
    )
    return plan, []


def check_reads(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[Violation]:
    """wf-03 (readings, Determinism): the violations of `_check_reads`, for a definition that also has other
    violations."""
    graph = _SortedGraph(nodes, edges)
    return [] if graph.has_too_many_loops else _check_reads(nodes, edges, graph)[0]


def _check_reads(
    nodes: Sequence[Node], edges: Sequence[Edge], graph: "_SortedGraph"
) -> tuple[list[Violation], dict[str, frozenset[str]]]:
    """wf-03 (readings, Determinism): a node may only read outputs of ancestors, or of nodes in the same loop.

    The first have ended in this round, the second in the previous round. Any other value would depend on which of two
    nodes is faster. Returns the violations, and for each reader the nodes that it reads from the previous round.
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
            # The node is in a loop, and every loop that contains it also contains the reader.
            earlier.setdefault(reader, set()).add(node_id)
        else:
            text = f"reads the node {printable_token(node_id)}, from which no path of edges leads here; add an edge"
            found.append(Violation(pointer, "order", text))

    for i, node in enumerate(nodes):
        for below, node_id in node.output_reads:
            check(node.id, node_id, f"/nodes/{i}{below}", itself=False)
    for i, edge in enumerate(edges):
        if edge.condition is not None and edge.condition.expression is not None:
            for node_id in sorted(edge.condition.expression.references.nodes):
                check(edge.source, node_id, f"/edges/{i}/condition/expression", itself=True)
    return found, {reader: frozenset(several) for reader, several in earlier.items()}


def _ancestor_masks(order: Sequence[str], index: Mapping[str, int], incoming: Mapping[str, list[Edge]]) -> list[int]:
    """For each node, by index, a bit mask of its ancestors."""
    above: list[int] = []
    for node_id in order:
        mask = 0
        for edge in incoming[node_id]:
            source = index[edge.source]
            mask |= above[source] | 1 << source
        above.append(mask)
    return above


def _topological_order(incoming: Mapping[str, list[Edge]], outgoing: Mapping[str, list[Edge]]) -> list[str]:
    """Kahn's algorithm; of several ready nodes the smallest id comes first."""
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
