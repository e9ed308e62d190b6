"""Traversal of the graph: the effect of a settled node on the nodes after it. Called only by the fold.

Theory of operation. When a node is settled (completed, failed or skipped), its condition decides for each outgoing edge
whether it is taken. A node whose incoming edges are all settled is scheduled: it runs, is skipped, or fails. Edges that
leave a loop are deferred until the loop has ended. The result depends on the outcomes of nodes, never on the order in
which they ended.
"""

from bisect import insort
from typing import Any, Final, cast

from weftwork.protocol.expressions.budget import CONDITIONS_EXHAUSTED, evaluate_condition
from weftwork.protocol.expressions.cost import READ_UNITS, SEARCH_UNITS
from weftwork.protocol.expressions.expression import Expression, match_cost, matches
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.values import weigh_value
from weftwork.protocol.fold.data_flow import expression_scope
from weftwork.protocol.fold.live_size import OUTPUTS, PREVIOUS_OUTPUTS, release_all
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.fold.variable_views import merge_views
from weftwork.protocol.json.values import ABSENT, is_array, is_object, json_equal
from weftwork.protocol.workflow.definition import Condition, Edge
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import HANDLES_FAILURE, EdgeOutcome, EdgeTally, PlanNode, is_rule_satisfied


def settle_node(state: RunState, node_id: str) -> None:
    """Settles the outgoing edges of a node that has completed, failed or been skipped, and ends rounds of its loops."""
    place = state.plan.nodes[node_id]
    # expr-13: the conditions that are evaluated here share one budget, because they block the host together.
    state.condition_budget = state.condition_limit
    for edge in place.outgoing:
        if place.loop_exits and not state.finished_loops.issuperset(place.loop_exits.get(edge.id, ())):
            state.deferred_edges.append(edge)
        else:
            _settle_edge(state, edge)
    for loop in place.loops:
        state.unsettled_in_loop[loop] -= 1
    for loop in place.loops:
        if state.unsettled_in_loop[loop] == 0 and loop not in state.finished_loops and _end_round(state, loop):
            # A new round started: the node and the outer loops are no longer settled.
            return


def schedule_node(state: RunState, node_id: str, runs: bool, fault: tuple[str, str] | None = None) -> None:
    """Schedules a node whose incoming edges are all settled: it becomes ready, to be skipped, or to fail."""
    place = state.plan.nodes[node_id]
    sources = [state.nodes[edge.source] for edge in place.incoming]
    previous = state.nodes.get(node_id)
    if len(sources) == 1:
        # Most nodes have one source. Generators for epoch and view would cost more than the rest of this function.
        node = NodeState("pending", epoch=sources[0].epoch, view=sources[0].view)
    else:
        epoch = max((source.epoch for source in sources), default=0)
        node = NodeState("pending", epoch=epoch, view=merge_views(source.view for source in sources))
    if previous is not None:
        node.previous_outputs = previous.previous_outputs
        if previous.held:
            release_all(state, previous)
            node.held = previous.held
        node.interrupts = previous.interrupts
        node.visits = previous.visits
        node.previous_untrusted = previous.previous_untrusted
    state.nodes[node_id] = node
    if fault is not None and not place.node.disabled:
        message = f"The condition of an incoming edge cannot be evaluated: {fault[1]}"
        node.error = {"code": fault[0], "message": message}
        insort(state.to_fail, (place.index, node_id))
    else:
        _enqueue(state, place, runs)


def schedule_entry_node(state: RunState, node_id: str, node: NodeState) -> None:
    """Schedules a node without incoming edges: it becomes ready, or to be skipped if it is disabled."""
    state.nodes[node_id] = node
    _enqueue(state, state.plan.nodes[node_id], True)


def _enqueue(state: RunState, place: PlanNode, runs: bool) -> None:
    insort(state.ready if runs and not place.node.disabled else state.to_skip, (place.index, place.node.id))


def _settle_edge(state: RunState, edge: Edge) -> None:
    nodes = state.plan.nodes
    target = nodes[edge.target]
    tally = state.tallies.get(edge.target)
    if tally is None:
        tally = state.tallies[edge.target] = EdgeTally(len(target.incoming))
    source_status = state.nodes[edge.source].status
    outcome: str = source_status
    source = nodes[edge.source].node.declaration
    if source.role and ends_loop(source, target.node.declaration, state.nodes[edge.source].outputs):
        outcome = "skipped"
    elif edge.condition is not None or source.branching:
        outcome = _edge_outcome(state, edge, tally)
    if outcome != source_status or target.counted_loop is not None:
        state.settled_edges[edge.id] = outcome
    tally.count(outcome)
    if tally.open == 0:
        schedule_node(state, edge.target, is_rule_satisfied(target.trigger_rule, tally), tally.fault)


def ends_loop(source: NodeDeclaration, target: NodeDeclaration, outputs: dict[str, Any]) -> bool:
    """orch-05 (readings, Loops): whether a supervisor decided to terminate, which skips its dispatch node and ends the
    loop."""
    return source.role == "supervisor" and target.role == "dispatch" and outputs.get("kind") == "terminate"


def _edge_outcome(state: RunState, edge: Edge, tally: EdgeTally) -> EdgeOutcome:
    """wf-14 (readings, Conditions): the outcome of an edge. An edge that is not taken counts as skipped."""
    node = state.nodes[edge.source]
    branching = state.plan.nodes[edge.source].node.declaration.branching
    if node.status == "completed" and branching and edge.source_output not in node.outputs:
        return "completed" if edge.source_output == "output" else "skipped"
    if node.status == "skipped":
        return "skipped"
    try:
        return cast(EdgeOutcome, node.status) if is_condition_met(state, edge) else "skipped"
    except ExpressionFault as fault:
        if node.status == "completed" and tally.fault is None:
            tally.fault = fault.code, fault.message
        return "skipped"


def _end_round(state: RunState, number: int) -> bool:
    """wf-15 (readings, Loops): at the end of a round, starts the next one or ends the loop.

    Returns False if the loop has ended, and True if it has a new round or is stuck.
    """
    loop = state.plan.loops[number]
    _renew_budget(state)
    fired: set[str] = set()
    for edge in loop.back_edges:
        tally = EdgeTally(0)
        if _is_back_edge_taken(state, edge, tally):
            fired.add(edge.id)
        if tally.fault is not None:
            code, message = tally.fault
            message = f"The condition of edge {edge.id} cannot be evaluated: {message}"
            return _mark_stuck(state, number, {"code": code, "message": message})
    if fired:
        if state.loop_rounds.get(number, 0) >= state.plan.max_rounds(number):
            return _mark_stuck(state, number, None)
        _start_round(state, number, frozenset(fired))
        return True
    state.finished_loops.add(number)
    # In the order of the graph, so that the use of the budget does not depend on which node ended first.
    deferred = sorted(state.deferred_edges, key=lambda edge: (state.plan.nodes[edge.source].index, edge.id))
    state.deferred_edges = []
    _renew_budget(state)
    for edge in deferred:
        if state.finished_loops.issuperset(state.plan.nodes[edge.source].loop_exits[edge.id]):
            _settle_edge(state, edge)
        else:
            state.deferred_edges.append(edge)
    return False


def _renew_budget(state: RunState) -> None:
    """Runs of earlier versions gave the back-edges and the deferred edges of a loop a budget of their own."""
    if state.header.expression_limits is None:
        state.condition_budget = state.condition_limit


def _mark_stuck(state: RunState, number: int, failure: dict[str, Any] | None) -> bool:
    """Marks a loop that can neither continue nor end, so that the rounds of outer loops cannot end either."""
    state.stuck_loops[number] = failure
    for around in state.plan.nodes[state.plan.loops[number].target].loops:
        state.unsettled_in_loop[around] += 1
    return True


def _is_back_edge_taken(state: RunState, edge: Edge, tally: EdgeTally) -> bool:
    node = state.nodes[edge.source]
    if node.status == "skipped" or (node.status == "failed" and edge.trigger_rule not in HANDLES_FAILURE):
        return False
    if node.status == "completed" and edge.trigger_rule == "any_failed":
        return False
    return _edge_outcome(state, edge, tally) == node.status


def _start_round(state: RunState, number: int, fired: frozenset[str]) -> None:
    """Resets every node in the body of a loop and schedules its target. Nodes outside the loop do not change."""
    plan = state.plan
    loop = plan.loops[number]
    state.loop_rounds[number] = state.loop_rounds.get(number, 0) + 1
    state.fired_edges[number] = fired
    # In the order of the graph, so that the result is deterministic.
    body = sorted(loop.body, key=lambda node_id: plan.nodes[node_id].index)
    ends = [state.nodes[node_id] for node_id in body]
    epoch = 1 + max(end.epoch for end in ends)
    view = merge_views(end.view for end in ends)
    for other, inner in enumerate(plan.loops):
        if other != number and inner.body <= loop.body:
            state.loop_rounds.pop(other, None)
            state.fired_edges.pop(other, None)
        shared = len(inner.body & loop.body)
        if shared:
            state.unsettled_in_loop[other] += shared
            state.finished_loops.discard(other)
    state.deferred_edges = [edge for edge in state.deferred_edges if edge.source not in loop.body]
    state.failures = [entry for entry in state.failures if entry[1] not in loop.body]
    for node_id in body:
        old = state.nodes[node_id]
        previous = old.outputs if old.status == "completed" else old.previous_outputs
        node = NodeState("pending", previous_outputs=previous, interrupts=old.interrupts, visits=old.visits + 1)
        if old.held:
            size = release_all(state, old, OUTPUTS if old.status == "completed" else PREVIOUS_OUTPUTS)
            node.held = {PREVIOUS_OUTPUTS: size}
        node.previous_untrusted = old.untrusted if old.status == "completed" else old.previous_untrusted
        state.nodes[node_id] = node
        state.changed_rows.add(("node", node_id))
    node = state.nodes[loop.target]
    node.epoch = epoch
    node.view = view
    _enqueue(state, plan.nodes[loop.target], True)
    for node_id in body:
        if node_id != loop.target:
            place = plan.nodes[node_id]
            tally = state.tallies[node_id] = EdgeTally(len(place.incoming))
            for edge in place.incoming:
                if edge.source not in loop.body:
                    # An edge from outside the loop keeps its outcome in every round.
                    tally.count(state.settled_edges[edge.id])
            if tally.open == 0:
                schedule_node(state, node_id, is_rule_satisfied(place.trigger_rule, tally))


def is_condition_met(state: RunState, edge: Edge) -> bool:
    """wf-14 (readings, Conditions): whether the condition of an edge is true. An edge without a condition is always
    taken.

    Raises ExpressionFault if the expression fails or its value is not a boolean.
    """
    condition = edge.condition
    if condition is None:
        return True
    budget = state.condition_budget
    try:
        if condition.expression is not None:
            names = expression_scope(state, edge.source, condition.expression.references, own=True)
            evaluate = evaluate_condition if state.header.expression_limits is not None else _evaluate_with_work
            value, state.condition_budget = evaluate(condition.expression, names, budget)
            if not isinstance(value, bool):
                raise ExpressionFault("expression_failed", "The value of the condition is not true or false.")
            return value
        left = _left_value(state, edge, condition.left)
        if (cost := _comparison_cost(state, condition, left)) > budget:
            raise ExpressionFault("expression_limit", CONDITIONS_EXHAUSTED)
        state.condition_budget -= cost
        return _compare(condition, left)
    finally:
        state.condition_units += budget - state.condition_budget


def _evaluate_with_work(expression: Expression, names: dict[str, Any], left: int) -> tuple[Any, int]:
    return expression.evaluate_with_budget(left, names)


COMPARISON_UNITS: Final = 100
"""Loop units of the cheapest comparison."""


def _comparison_cost(state: RunState, condition: Condition, left: Any) -> int:
    """The cost of a condition that is not an expression. Runs of earlier versions counted patterns only."""
    right = condition.right
    cost = match_cost(left, right) if condition.type == "regex" and isinstance(left, str) else 0
    if state.header.expression_limits is None:
        return cost
    if isinstance(left, str):
        return COMPARISON_UNITS + cost + SEARCH_UNITS * len(left) // 8
    items = len(left) if condition.type == "contains" and is_array(left) else 1
    return COMPARISON_UNITS + READ_UNITS * items * weigh_value(right)


def _compare(condition: Condition, left: Any) -> bool:
    right = condition.right
    if condition.type == "equals":
        return left is not ABSENT and json_equal(left, right)
    if condition.type == "notEquals":
        return left is ABSENT or not json_equal(left, right)
    if condition.type == "contains":
        if isinstance(left, str):
            return isinstance(right, str) and right in left
        if is_array(left):
            return any(json_equal(each, right) for each in left)
        return is_object(left) and isinstance(right, str) and right in left
    return isinstance(left, str) and matches(left, right)


def _left_value(state: RunState, edge: Edge, path: str) -> Any:
    """The value at a dotted path in the outputs of the edge's source, or ABSENT. The path `status` is the status of the
    source, unless it has an output with that name."""
    node = state.nodes[edge.source]
    value: Any = node.outputs
    for step in path.split("."):
        if is_object(value) and step in value:
            value = value[step]
        elif is_array(value) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return node.status if path == "status" else ABSENT
    return value
