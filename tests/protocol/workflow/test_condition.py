"""Conditions of edges: every type against every kind of value, and what cannot be judged."""

from typing import Any

import pytest

from tests.harness.definitions import edge, header_of, node, plan_of, workflow
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.fold.fold import apply, fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.traversal import is_condition_met
from weftwork.protocol.json.values import json_equal
from weftwork.protocol.run.events import Fact

OUTPUTS = {
    "text": "approved by all",
    "number": 3,
    "yes": True,
    "none": None,
    "list": [1, {"a": [True]}, "x"],
    "object": {"deep": {"er": 1.0}, "a.b": 2},
}


def after(condition: dict[str, Any], failed: bool = False, **inputs: Any) -> RunState:
    plan = plan_of(workflow([node("a"), node("b")], [edge("a", "b", condition=condition)]))
    state = fold(plan, header_of(plan), inputs, [Fact(0, "run.started", {}, 5), Fact(1, "node.started", {}, 5, "a")])
    kind, payload = "node.completed", {"outputs": OUTPUTS}
    if failed:
        kind, payload = "node.failed", {"error": {"code": "c", "message": "m"}}
    apply(state, Fact(2, kind, payload, 6, "a"))
    return state


def taken(condition: dict[str, Any], **more: Any) -> bool:
    state = after(condition, **more)
    return is_condition_met(state, state.plan.nodes["a"].outgoing[0])


@pytest.mark.rule("wf-14")
@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        ("equals", "number", 3, True),
        ("equals", "number", 3.0, True),
        ("equals", "number", "3", False),
        ("equals", "yes", True, True),
        ("equals", "yes", 1, False),
        ("equals", "none", None, True),
        ("equals", "gone", None, False),
        ("equals", "object.deep.er", 1, True),
        ("equals", "list.1.a.0", True, True),
        ("equals", "list.9", 1, False),
        ("equals", "list.-1", "x", False),
        ("equals", "object", {"a.b": 2, "deep": {"er": 1}}, True),
        ("equals", "status", "completed", True),
        ("notEquals", "number", 4, True),
        ("notEquals", "number", 3, False),
        ("notEquals", "gone", 1, True),
        ("contains", "text", "by", True),
        ("contains", "text", "none", False),
        ("contains", "text", 1, False),
        ("contains", "list", {"a": [True]}, True),
        ("contains", "list", {"a": [1]}, False),
        ("contains", "list", True, False),
        ("contains", "object", "deep", True),
        ("contains", "object", "er", False),
        ("contains", "number", 3, False),
        ("contains", "gone", 3, False),
        ("regex", "text", "^appr.*all$", True),
        ("regex", "text", "by", True),
        ("regex", "text", "^by", False),
        ("regex", "number", "3", False),
        ("regex", "gone", ".*", False),
    ],
)
def test_a_comparison_holds_or_not(kind: str, left: str, right: Any, expected: bool) -> None:
    condition = {"type": kind, "left": left, "right": right}
    assert taken(condition) is expected
    state = after(condition)
    assert ([n for _, n in state.ready], [n for _, n in state.to_skip]) == ((["b"], []) if expected else ([], ["b"]))


@pytest.mark.rule("wf-14")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nodes.a.outputs.number > 2", True),
        ("inputs.limit > nodes.a.outputs.number", True),
        ("variables.limit == 9.0", True),
        ("nodes.a.outputs.yes && has(nodes.a.outputs.gone)", False),
        ("size(configurable) == 0", True),
    ],
)
def test_an_expression_holds_or_not(source: str, expected: bool) -> None:
    assert taken({"type": "expression", "expression": source}, limit=9) is expected
    assert taken({"expression": source}, limit=9) is expected


@pytest.mark.rule("wf-14")
@pytest.mark.parametrize(
    ("source", "code"), [("1.0", "expression_failed"), ("inputs.gone == 1.0", "expression_failed")]
)
def test_what_cannot_be_judged_fails_the_node_behind(source: str, code: str) -> None:
    with pytest.raises(ExpressionFault):
        taken({"type": "expression", "expression": source})
    state = after({"type": "expression", "expression": source})
    assert [node_id for _, node_id in state.to_fail] == ["b"]
    assert (state.nodes["b"].error or {})["code"] == "expression_failed"
    assert (state.ready, state.to_skip) == ([], [])


def test_a_failed_node_has_no_outputs_to_judge() -> None:
    assert taken({"type": "equals", "left": "status", "right": "failed"}, failed=True)
    assert not taken({"type": "equals", "left": "number", "right": 3}, failed=True)
    state = after({"type": "expression", "expression": "nodes.a.outputs.x == 1"}, failed=True)
    assert (state.to_fail, [node_id for _, node_id in state.to_skip]) == ([], ["b"])


def test_equal_means_equal_as_json() -> None:
    assert json_equal({"a": [1, None, "x"]}, {"a": [1.0, None, "x"]})
    for one, other in [(1, True), (0, False), ("1", 1), (None, False), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ({}, [])]:
        assert not json_equal(one, other)
        assert not json_equal(other, one)
