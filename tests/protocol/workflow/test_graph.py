"""The plan: one order for everything, trigger rules, conditions of edges, loops, and what is hidden."""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import TYPES, edge, for_all, header_of, node, plan_of, variable, workflow
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.fold.fold import apply, fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.traversal import is_condition_met
from weftwork.protocol.json.values import json_equal
from weftwork.protocol.run.events import Fact
from weftwork.protocol.workflow import plan as graph
from weftwork.protocol.workflow.definition import Edge
from weftwork.protocol.workflow.plan import find_back_edges
from weftwork.protocol.workflow.validation import parse_workflow

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
@for_all(150, dags(), st.integers(0, 2**32))
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
@each_case(
    "completed, failed, skipped, holds",
    (2, 0, 0, {"all_success", "any_success", "all_complete", "none_failed"}),
    (1, 1, 0, {"any_success", "all_complete", "any_failed"}),
    (1, 0, 1, {"any_success", "all_complete", "none_failed"}),
    (0, 2, 0, {"all_complete", "any_failed"}),
    (0, 1, 1, {"all_complete", "any_failed"}),
    (0, 0, 2, {"all_complete", "none_failed"}),
    (0, 0, 0, {"all_success", "all_complete", "none_failed"}),
)
def test_a_trigger_rule_is_weighed(completed: int, failed: int, skipped: int, holds: set[str]) -> None:
    tally = graph.EdgeTally(0, completed, failed, skipped)
    assert {rule for rule in RULES if graph.is_rule_satisfied(rule, tally)} == holds


@pytest.mark.rule("wf-06")
def test_every_trigger_rule_is_explained_and_that_of_the_edge_with_the_first_id_decides() -> None:
    assert list(graph.TRIGGER_RULES) == RULES

    def made(edge_id: str, rule: str) -> Edge:
        return Edge(edge_id, "a", "b", "output", "input", rule)

    edges = [made("e2", "any_failed"), made("e10", "any_success"), made("e3", "all_complete")]
    assert graph.trigger_rule_of(edges) == "any_success"
    assert graph.trigger_rule_of(edges[::-1]) == "any_success"
    assert graph.trigger_rule_of([]) == "all_success"


def ended(plan: graph.Plan, outcomes: dict[str, str]) -> RunState:
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


@for_all(75, dags(), st.data(), full=3_000)
def test_each_node_ends_as_its_rule_says_of_those_above(document: dict[str, Any], data: st.DataObject) -> None:
    plan = plan_of(document)
    outcomes = {node_id: data.draw(st.sampled_from(["completed", "failed"])) for node_id in plan.order}
    state = ended(plan, outcomes)
    assert set(state.nodes) == set(plan.order)
    for node_id in plan.order:
        above = [state.nodes[each.source].status for each in plan.nodes[node_id].incoming]
        tally = graph.EdgeTally(0, above.count("completed"), above.count("failed"), above.count("skipped"))
        runs = not above or graph.is_rule_satisfied(plan.nodes[node_id].trigger_rule, tally)
        assert state.nodes[node_id].status == (outcomes[node_id] if runs else "skipped")


@pytest.mark.rule("wf-05")
def test_a_node_waits_for_every_edge_and_a_skipped_one_skips_those_that_need_it() -> None:
    nodes = [node("a", disabled=True), node("b"), node("c"), node("d")]
    edges = [edge("a", "b"), edge("b", "c"), edge("c", "d", "all_complete")]
    state = ended(plan_of(workflow(nodes, edges)), {})
    assert [state.nodes[each].status for each in "abcd"] == ["skipped", "skipped", "skipped", "completed"]
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
@each_case(
    "above, ports, carried, hides",
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
)
def test_a_node_that_is_given_something_sensitive_hides_all_it_makes(
    above: dict[str, Any], ports: dict[str, Any], carried: dict[str, Any], hides: bool
) -> None:
    nodes = [node("b", inputs=ports), node("a", **above), node("c", inputs={"x": from_output("b", "any")})]
    plan = plan_of(workflow(nodes, [edge("a", "b", **carried), edge("b", "c")], VARIABLES))
    assert plan.nodes["b"].hides_outputs is hides
    assert graph.is_hidden_output(plan.nodes, "b", "any") is hides
    assert plan.nodes["c"].hides_outputs is hides
    declared = {name for name, hidden in above.get("outputSensitivity", {}).items() if hidden}
    for port in ("out", "open", "output"):
        assert graph.is_hidden_output(plan.nodes, "a", port) is (plan.nodes["a"].hides_outputs or port in declared)


def test_the_first_hop_decides_for_a_long_chain() -> None:
    names = [f"n{index:03}" for index in range(400)]
    nodes = [node(names[0], inputs={"x": from_variable("secret")}), *(node(name) for name in names[1:]), node("apart")]
    plan = plan_of(workflow(nodes, [edge(a, b) for a, b in pairwise(names)], VARIABLES))
    assert [node_id for node_id in plan.order if not plan.nodes[node_id].hides_outputs] == ["apart"]


def made(pairs: list[str]) -> list[Edge]:
    return [Edge(pair, pair[0], pair[1], "output", "input", "all_success") for pair in pairs]


def planned(ids: str, *pairs: str) -> graph.Plan:
    return plan_of(workflow([node(each) for each in ids], [edge(pair[0], pair[1], id=pair) for pair in pairs]))


@pytest.mark.rule("wf-15")
@each_case(
    "ids, pairs, back",
    ("ab", ["ab"], set()),
    ("a", ["aa"], {"aa"}),
    ("ab", ["ab", "ba"], {"ba"}),
    ("ba", ["ab", "ba"], {"ab"}),
    ("abc", ["ba", "cb", "bc"], {"cb"}),
    ("sabc", ["sa", "ab", "bc", "ca", "cb"], {"ca", "cb"}),
    ("cabs", ["sb", "bc", "ca", "ab"], {"ab"}),
    ("abxy", ["ab", "xy", "yx"], {"yx"}),
    ("abcd", ["ab", "ac", "bd", "cd"], set()),
)
def test_back_edges_are_found_depth_first_in_document_order(ids: str, pairs: list[str], back: set[str]) -> None:
    assert find_back_edges(list(ids), made(pairs)) == back


@pytest.mark.rule("wf-15")
@for_all(
    100,
    st.integers(1, 8).flatmap(lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))),
    full=4_000,
)
def test_without_back_edges_nothing_is_left_of_a_cycle(pairs: list[tuple[int, int]]) -> None:
    ids = [f"n{i}" for i in range(8)]
    edges = [Edge(f"e{k}", ids[a], ids[b], "o", "i", "all_success") for k, (a, b) in enumerate(pairs)]
    back = find_back_edges(ids, edges)
    forward = [each for each in edges if each.id not in back]
    waiting = {each: sum(e.target == each for e in forward) for each in ids}
    ready = [each for each, count in waiting.items() if count == 0]
    for each in ready:
        for out in [e for e in forward if e.source == each]:
            waiting[out.target] -= 1
            if waiting[out.target] == 0:
                ready.append(out.target)
    assert len(ready) == len(ids)
    for each in (e for e in edges if e.id in back):
        assert each.target == each.source or _leads(forward, each.target, each.source)


def _leads(edges: list[Edge], start: str, goal: str) -> bool:
    seen, rest = {start}, [start]
    while rest:
        at = rest.pop()
        for each in edges:
            if each.source == at and each.target not in seen:
                seen.add(each.target)
                rest.append(each.target)
    return goal in seen


@pytest.mark.rule("wf-15", "wf-16")
def test_a_loop_is_what_lies_between_and_inner_loops_come_first() -> None:
    plan = planned("sabcdex", "sa", "ab", "bc", "cb", "cd", "da", "de", "bx")
    inner, outer = plan.loops
    assert (inner.target, inner.body) == ("b", {"b", "c"})
    assert (outer.target, outer.body) == ("a", {"a", "b", "c", "d"})
    assert plan.nodes["c"].loop_exits == {"cd": (0,)}
    assert plan.nodes["d"].loop_exits == {"de": (1,)}
    assert plan.nodes["b"].loop_exits == {"bx": (0, 1)}
    assert (plan.nodes["c"].loops, plan.nodes["d"].loops, plan.nodes["e"].loops) == ((0, 1), (1,), ())
    assert [plan.nodes[each].counted_loop for each in "sabcdex"] == [None, 1, 0, 0, 1, None, None]
    assert plan.entries == ("s",)
    assert set(plan.sinks) == {"e", "x"}


def test_all_edges_back_to_one_node_are_one_loop() -> None:
    plan = planned("abc", "ab", "ac", "ba", "ca")
    (loop,) = plan.loops
    assert (loop.target, loop.body) == ("a", {"a", "b", "c"})


def refused(document: dict[str, Any]) -> list[tuple[str, str]]:
    parsed, found = parse_workflow(document, TYPES)
    assert parsed is not None, found
    plan, violations = graph.plan_workflow(parsed)
    return [] if plan is not None else [(each.pointer, each.rule) for each in violations]


def test_two_ways_back_from_one_node_are_one_loop_inside_the_other() -> None:
    plan = planned("pdcms", "pd", "dc", "cm", "md", "cs", "sp")
    small, large = plan.loops
    assert (small.target, small.body) == ("d", {"d", "c", "m"})
    assert (large.target, large.body) == ("p", {"p", "d", "c", "m", "s"})


@pytest.mark.rule("wf-03")
def test_what_comes_round_can_be_read_and_what_runs_beside_cannot() -> None:
    def reads(reader: str, source: str) -> list[tuple[str, str]]:
        pairs = ["sa", "ab", "ac", "bd", "cd", "da", "de"]
        port = {"x": {"type": "connection", "nodeId": source, "outputKey": "o", "optional": True}}
        nodes = [node(each, inputs=port if each == reader else {}) for each in "sabcde"]
        return refused(workflow(nodes, [edge(each[0], each[1], id=each) for each in pairs]))

    assert reads("a", "d") == reads("b", "c") == reads("b", "b") == reads("e", "b") == reads("d", "b") == []
    assert reads("s", "d") == [("/nodes/0/inputs/x/nodeId", "order")]
    assert reads("a", "e") == [("/nodes/1/inputs/x/nodeId", "order")]


def test_a_node_beside_an_inner_loop_cannot_read_from_inside_it() -> None:
    pairs = ["ab", "bc", "cb", "ax", "cd", "xd", "da"]
    port = {"x": {"type": "connection", "nodeId": "c", "outputKey": "o", "optional": True}}
    nodes = [node(each, inputs=port if each == "x" else {}) for each in "abcxd"]
    assert refused(workflow(nodes, [edge(each[0], each[1], id=each) for each in pairs])) == [
        ("/nodes/3/inputs/x/nodeId", "order")
    ]


def test_a_long_loop_is_found_without_recursion() -> None:
    ids = [f"n{i:04}" for i in range(3000)]
    pairs = [*pairwise(ids), (ids[-1], ids[0])]
    edges = [Edge(f"{a}-{b}", a, b, "o", "i", "all_success") for a, b in pairs]
    assert find_back_edges(ids, edges) == {f"{ids[-1]}-{ids[0]}"}


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
@each_case(
    "kind, left, right, expected",
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
)
def test_a_comparison_holds_or_not(kind: str, left: str, right: Any, expected: bool) -> None:
    condition = {"type": kind, "left": left, "right": right}
    assert taken(condition) is expected
    state = after(condition)
    assert ([n for _, n in state.ready], [n for _, n in state.to_skip]) == ((["b"], []) if expected else ([], ["b"]))


@pytest.mark.rule("wf-14")
@each_case(
    "source, expected",
    ("nodes.a.outputs.number > 2", True),
    ("inputs.limit > nodes.a.outputs.number", True),
    ("variables.limit == 9.0", True),
    ("nodes.a.outputs.yes && has(nodes.a.outputs.gone)", False),
    ("size(configurable) == 0", True),
)
def test_an_expression_holds_or_not(source: str, expected: bool) -> None:
    assert taken({"type": "expression", "expression": source}, limit=9) is expected
    assert taken({"expression": source}, limit=9) is expected


@pytest.mark.rule("wf-14")
@each_case("source, code", ("1.0", "expression_failed"), ("inputs.gone == 1.0", "expression_failed"))
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
