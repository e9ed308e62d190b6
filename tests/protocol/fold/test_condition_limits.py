"""The conditions behind one node share a slice of the loop; runs of earlier versions keep the limits that they had."""

from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, header_of, node, plan_of, workflow
from weftwork.protocol.expressions import budget
from weftwork.protocol.expressions.cost import MAX_WORK
from weftwork.protocol.fold import traversal
from weftwork.protocol.fold.fold import fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import LOOP_SLICE_UNITS, ExpressionLimits
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.header import RunHeader

MAPPED = {"type": "expression", "expression": "nodes.a.outputs.l.map(x, x + 1.0).size() > 0"}
LIMITS = ExpressionLimits()


def after(condition: dict[str, Any], outputs: dict[str, Any], limits: ExpressionLimits | None, count: int) -> RunState:
    """The state after the first of the nodes has completed, with so many conditions behind it."""
    names = [f"n{at:03}" for at in range(count)]
    document = workflow(
        [node("a", "core.identity"), *map(node, names)], [edge("a", name, condition=condition) for name in names]
    )
    plan = plan_of(document)
    header = header_of(plan, expression_limits=limits)
    facts = [
        Fact(0, "run.started", {"inputs": {}}, 1_000),
        Fact(1, "node.started", {"attempt": 1}, 1_000, "a"),
        Fact(2, "node.completed", {"outputs": outputs}, 1_000, "a"),
    ]
    return fold(plan, header, {}, facts)


def ran(state: RunState) -> tuple[int, int]:
    """How many nodes are ready, and how many fail because their condition was not evaluated."""
    return len(state.ready), len(state.to_fail)


@pytest.mark.rule("expr-13")
@fails_without(traversal, "evaluate_condition", lambda expression, scope, left: (expression.evaluate(scope), left))
def test_the_conditions_behind_a_node_share_a_slice_of_the_loop() -> None:
    outputs = {"l": list(range(350))}
    state = after(MAPPED, outputs, LIMITS, 10)
    assert ran(state) == (1, 9)
    assert state.condition_units <= LOOP_SLICE_UNITS
    (failed, *_) = state.to_fail
    assert state.nodes[failed[1]].error == {
        "code": "expression_limit",
        "message": f"The condition of an incoming edge cannot be evaluated: {budget.CONDITIONS_EXHAUSTED}",
    }


@pytest.mark.rule("expr-14")
def test_a_run_without_limits_in_its_header_folds_as_before() -> None:
    outputs = {"l": list(range(350))}
    state = after(MAPPED, outputs, None, 40)
    assert ran(state) == (40, 0)
    # 40 conditions of 251,317 units, as earlier versions counted them.
    assert state.condition_budget == MAX_WORK - 40 * 251_317
    assert ran(after(MAPPED, outputs, None, 100)) == (79, 21)
    assert ran(after(MAPPED, {"l": list(range(2_000))}, None, 4)) == (2, 2)


@pytest.mark.rule("expr-14")
def test_the_header_of_an_earlier_version_has_no_limits() -> None:
    import msgspec

    stored = b'{"run_id":"r","partition":"p","owner":{"tenant":"t","principal":"k"},"workflow_id":"w","definition":"d",'
    header = msgspec.json.decode(stored + b'"created_at":1}', type=RunHeader)
    assert header.expression_limits is None
    pinned = msgspec.structs.replace(header, expression_limits=ExpressionLimits(7, 5))
    encoded = msgspec.json.encode(pinned)
    assert encoded.endswith(b'"expression_limits":[7,5]}')
    assert msgspec.json.decode(encoded, type=RunHeader) == pinned


LEFT = "x" * 900_000


@pytest.mark.rule("expr-13")
@each_case(
    "condition, value, most",
    ({"type": "regex", "left": "v", "right": "^[a-z]+$"}, LEFT[:30_000], 4),
    ({"type": "contains", "left": "v", "right": "y"}, LEFT, 1),
    ({"type": "contains", "left": "v", "right": "y"}, ["x"] * 10_000, 2),
    ({"type": "equals", "left": "v", "right": list(range(5_000))}, list(range(5_000)), 4),
    ({"type": "notEquals", "left": "v", "right": "y"}, "x", 40),
)
def test_comparisons_are_counted_as_well(condition: dict[str, Any], value: Any, most: int) -> None:
    state = after(condition, {"v": value}, LIMITS, 40)
    assert len(state.to_fail) == 40 - most
    assert state.condition_units <= LOOP_SLICE_UNITS
    assert not after(condition, {"v": value}, None, 40).to_fail


@pytest.mark.rule("expr-13")
def test_a_condition_reads_no_more_than_fits_into_what_is_left() -> None:
    size = {"type": "expression", "expression": "size(nodes.a.outputs.l) > 0"}
    assert ran(after(size, {"l": [[1.0] * 100] * 200}, LIMITS, 1)) == (1, 0)
    state = after(size, {"l": [[1.0] * 100] * 260}, LIMITS, 1)
    assert ran(state) == (0, 1)
    assert state.condition_units == 0
