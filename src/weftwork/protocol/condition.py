"""Conditions of edges: whether an edge is taken, judged when its source is settled."""

from typing import Any

from weftwork.protocol.definition import Condition, Edge
from weftwork.protocol.expression import ExpressionFault, match_cost, matches
from weftwork.protocol.json_value import ABSENT, is_array, is_object
from weftwork.protocol.scope import names_for
from weftwork.protocol.state import RunState


def holds(state: RunState, edge: Edge) -> bool:
    """wf-14 (readings, Conditions): whether the condition of an edge holds; one without a condition always does.

    Raises ExpressionFault for an expression that has no truth value.
    """
    condition = edge.condition
    if condition is None:
        return True
    if condition.expression is not None:
        names = names_for(state, edge.source, condition.expression.references, own=True)
        value, state.budget = condition.expression.evaluate_within(state.budget, names)
        if not isinstance(value, bool):
            raise ExpressionFault("expression_failed", "the condition gave no true or false")
        return value
    left = _left(state, edge, condition.left)
    if condition.type == "regex" and isinstance(left, str):
        state.budget -= match_cost(left, condition.right)
        if state.budget < 0:
            raise ExpressionFault("expression_limit", "The patterns of these conditions would take too long together.")
    return _compare(condition, left)


def _compare(condition: Condition, left: Any) -> bool:
    right = condition.right
    if condition.type == "equals":
        return left is not ABSENT and same(left, right)
    if condition.type == "notEquals":
        return left is ABSENT or not same(left, right)
    if condition.type == "contains":
        if isinstance(left, str):
            return isinstance(right, str) and right in left
        if is_array(left):
            return any(same(each, right) for each in left)
        return is_object(left) and isinstance(right, str) and right in left
    return isinstance(left, str) and matches(left, right)


def _left(state: RunState, edge: Edge, path: str) -> Any:
    """What stands at a dotted path: among the source's outputs, else `status`, how the source ended."""
    node = state.nodes[edge.source]
    found: Any = node.outputs
    for step in path.split("."):
        if is_object(found) and step in found:
            found = found[step]
        elif is_array(found) and step.isascii() and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return node.status if path == "status" else ABSENT
    return found


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return (type(one) is type(other) and one == other) or (
        isinstance(one, int | float) and isinstance(other, int | float) and one == other
    )
