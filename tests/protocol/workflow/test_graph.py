"""The plan: one order for everything, trigger rules, what a skipped node does to others, and what is hidden."""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import edge, example_count, header_of, node, plan_of, variable, workflow
from weftwork.protocol.fold.fold import apply, fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.events import Fact
from weftwork.protocol.workflow import plan as graph
from weftwork.protocol.workflow.definition import Edge
from weftwork.protocol.workflow.plan import EdgeTally, Plan, is_hidden_output, is_rule_satisfied, trigger_rule_of

RULES = ["all_success", "any_success", "all_complete", "none_failed", "any_failed"]


@st.composite
def dags(draw: st.DrawFn) -> dict[str, Any]:
    """A definition without loops: edges lead from earlier to later nodes of a random order."""
    count = draw(st.integers(1, 8))
    names = draw(st.permutations([f"n{index}" for index in range(count)]))
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)) if pairs else []
    edges = [edge(names[a], names[b], draw(st.sampled_from(RULES))) for a, b in chosen]
    return workflow([node(name) for name in draw(st.permutations(names))], edges)


@pytest.mark.rule("wf-07")
@settings(max_examples=example_count(150), deadline=None)
@given(dags(), st.integers(0, 2**32))
def test_the_order_is_topological_and_depends_on_the_definition_alone(document: dict[str, Any], seed: int) -> None:
    plan = plan_of(document)
    assert sorted(plan.order) == sorted(each["id"] for each in document["nodes"])
    place = {node_id: index for index, node_id in enumerate(plan.order)}
    assert all(plan.nodes[node_id].index == index for node_id, index in place.items())
    for each in document["edges"]:
        assert place[each["sourceNodeId"]] < place[each["targetNodeId"]]
    shuffled = {name: list(value) if name in ("nodes", "edges") else value for name, value in document.items()}
    random.Random(seed).shuffle(shuffled["nodes"])
    random.Random(seed).shuffle(shuffled["edges"])
    other = plan_of(shuffled)
    assert (other.order, other.entries, other.sinks) == (plan.order, plan.entries, plan.sinks)
    assert {n: p.trigger_rule for n, p in other.nodes.items()} == {n: p.trigger_rule for n, p in plan.nodes.items()}


def test_of_those_that_may_run_the_smallest_id_comes_first() -> None:
    plan = plan_of(workflow([node(n) for n in "zbya"], [edge("z", "b"), edge("y", "b")]))
    assert plan.order == ("a", "y", "z", "b")
    assert plan.entries == ("a", "y", "z")
    assert plan.sinks == ("a", "b")


@pytest.mark.rule("wf-05")
@pytest.mark.parametrize(
    ("completed", "failed", "skipped", "holds"),
    [
        (2, 0, 0, {"all_success", "any_success", "all_complete", "none_failed"}),
        (1, 1, 0, {"any_success", "all_complete", "any_failed"}),
        (1, 0, 1, {"any_success", "all_complete", "none_failed"}),
        (0, 2, 0, {"all_complete", "any_failed"}),
        (0, 1, 1, {"all_complete", "any_failed"}),
        (0, 0, 2, {"all_complete", "none_failed"}),
        (0, 0, 0, {"all_success", "all_complete", "none_failed"}),
    ],
)
def test_a_trigger_rule_is_weighed(completed: int, failed: int, skipped: int, holds: set[str]) -> None:
    tally = EdgeTally(0, completed, failed, skipped)
    assert {rule for rule in RULES if is_rule_satisfied(rule, tally)} == holds


def test_every_trigger_rule_is_explained() -> None:
    assert list(graph.TRIGGER_RULES) == RULES


@pytest.mark.rule("wf-06")
def test_the_edge_with_the_first_id_decides() -> None:
    def made(edge_id: str, rule: str) -> Edge:
        return Edge(edge_id, "a", "b", "output", "input", rule)

    edges = [made("e2", "any_failed"), made("e10", "any_success"), made("e3", "all_complete")]
    assert trigger_rule_of(edges) == "any_success"
    assert trigger_rule_of(edges[::-1]) == "any_success"
    assert trigger_rule_of([]) == "all_success"


def ended(plan: Plan, outcomes: dict[str, str]) -> RunState:
    """Fold a log in which ready nodes end as told, first in order first, and doomed ones are skipped."""
    state = fold(plan, header_of(plan), {}, [Fact(0, "run.started", {}, 0)])
    while state.ready or state.to_skip:
        _, node_id = (state.to_skip or state.ready)[0]
        kind = "skipped" if state.to_skip else outcomes.get(node_id, "completed")
        payload = {"error": {"code": "x", "message": "y"}} if kind == "failed" else {"outputs": {}}
        apply(state, Fact(state.last_sequence + 1, f"node.{kind}", payload, 0, node_id))
        if not state.to_skip:
            state.ready = [each for each in state.ready if state.nodes[each[1]].status == "pending"]
    return state


@settings(max_examples=example_count(150), deadline=None)
@given(dags(), st.data())
def test_each_node_ends_as_its_rule_says_of_those_above(document: dict[str, Any], data: st.DataObject) -> None:
    plan = plan_of(document)
    outcomes = {node_id: data.draw(st.sampled_from(["completed", "failed"])) for node_id in plan.order}
    state = ended(plan, outcomes)
    assert set(state.nodes) == set(plan.order)
    for node_id in plan.order:
        above = [state.nodes[each.source].status for each in plan.nodes[node_id].incoming]
        tally = EdgeTally(0, above.count("completed"), above.count("failed"), above.count("skipped"))
        runs = not above or is_rule_satisfied(plan.nodes[node_id].trigger_rule, tally)
        assert state.nodes[node_id].status == (outcomes[node_id] if runs else "skipped")


@pytest.mark.rule("wf-05")
def test_a_skipped_node_skips_those_that_need_it() -> None:
    nodes = [node("a", disabled=True), node("b"), node("c"), node("d")]
    edges = [edge("a", "b"), edge("b", "c"), edge("c", "d", "all_complete")]
    state = ended(plan_of(workflow(nodes, edges)), {})
    assert [state.nodes[each].status for each in "abcd"] == ["skipped", "skipped", "skipped", "completed"]


def test_a_node_waits_for_every_edge_even_if_its_rule_could_be_decided() -> None:
    plan = plan_of(workflow([node("a"), node("b"), node("c")], [edge("a", "c", "any_success"), edge("b", "c")]))
    state = fold(plan, header_of(plan), {}, [Fact(0, "run.started", {}, 0)])
    apply(state, Fact(1, "node.completed", {"outputs": {}}, 0, "a"))
    assert "c" not in [node_id for _, node_id in state.ready]
    apply(state, Fact(2, "node.completed", {"outputs": {}}, 0, "b"))
    assert "c" in [node_id for _, node_id in state.ready]


def from_variable(name: str) -> dict[str, Any]:
    return {"type": "variable", "variableName": name, "optional": True}


def from_output(node_id: str, port: str) -> dict[str, Any]:
    return {"type": "connection", "nodeId": node_id, "outputKey": port}


VARIABLES = [variable("secret", sensitive=True), variable("plain", sensitive=False)]
STATIC = {"type": "static", "value": 1}


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize(
    ("above", "ports", "carried", "hides"),
    [
        ({}, {"x": from_variable("secret")}, {}, True),
        ({}, {"x": from_variable("plain")}, {}, False),
        ({}, {"x": from_variable("undeclared")}, {}, False),
        ({}, {"x": {"type": "static", "value": "secret"}}, {}, False),
        ({"outputSensitivity": {"out": True}}, {"x": from_output("a", "out")}, {}, True),
        ({"outputSensitivity": {"out": True}}, {"x": from_output("a", "open")}, {}, False),
        ({"outputSensitivity": {"out": False}}, {"x": from_output("a", "out")}, {}, False),
        ({"outputSensitivity": {"output": True}}, {}, {}, True),
        ({"outputSensitivity": {"output": True}}, {"input": STATIC}, {}, False),
        ({"outputSensitivity": {"output": True}}, {"other": STATIC}, {}, True),
        ({"outputSensitivity": {"out": True}}, {}, {}, False),
        ({"outputSensitivity": {"out": True}}, {}, {"sourceOutput": "out"}, True),
        ({"outputSensitivity": {"out": True}}, {"y": STATIC}, {"sourceOutput": "out", "targetInput": "y"}, False),
        ({"inputs": {"x": from_variable("secret")}}, {"x": from_output("a", "any")}, {}, True),
        ({"inputs": {"x": from_variable("secret")}}, {"input": STATIC}, {}, False),
        ({"inputs": {"x": from_variable("secret")}}, {}, {"sourceOutput": "any"}, True),
        ({"inputs": {"x": from_variable("secret")}, "disabled": True}, {}, {}, True),
    ],
)
def test_a_node_that_is_given_something_sensitive_hides_all_it_makes(
    above: dict[str, Any], ports: dict[str, Any], carried: dict[str, Any], hides: bool
) -> None:
    nodes = [node("b", inputs=ports), node("a", **above), node("c", inputs={"x": from_output("b", "any")})]
    plan = plan_of(workflow(nodes, [edge("a", "b", **carried), edge("b", "c")], VARIABLES))
    assert plan.nodes["b"].hides_outputs is hides
    assert is_hidden_output(plan.nodes, "b", "any") is hides
    assert plan.nodes["c"].hides_outputs is hides
    declared = {name for name, hidden in above.get("outputSensitivity", {}).items() if hidden}
    for port in ("out", "open", "output"):
        assert is_hidden_output(plan.nodes, "a", port) is (plan.nodes["a"].hides_outputs or port in declared)


def test_the_first_hop_decides_for_a_long_chain() -> None:
    names = [f"n{index:03}" for index in range(400)]
    nodes = [node(names[0], inputs={"x": from_variable("secret")}), *(node(name) for name in names[1:]), node("apart")]
    plan = plan_of(workflow(nodes, [edge(a, b) for a, b in pairwise(names)], VARIABLES))
    assert [node_id for node_id in plan.order if not plan.nodes[node_id].hides_outputs] == ["apart"]
