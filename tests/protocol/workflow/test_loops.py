"""Loops: which edges lead back, what a loop holds, what leaves it, and what cannot end."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import TYPES, edge, example_count, node, plan_of, workflow
from weftwork.protocol.workflow.definition import Edge
from weftwork.protocol.workflow.plan import Plan, find_back_edges, plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow


def made(pairs: list[str]) -> list[Edge]:
    return [Edge(pair, pair[0], pair[1], "output", "input", "all_success") for pair in pairs]


def planned(ids: str, *pairs: str) -> Plan:
    return plan_of(workflow([node(each) for each in ids], [edge(pair[0], pair[1], id=pair) for pair in pairs]))


@pytest.mark.rule("wf-15")
@pytest.mark.parametrize(
    ("ids", "pairs", "back"),
    [
        ("ab", ["ab"], set()),
        ("a", ["aa"], {"aa"}),
        ("ab", ["ab", "ba"], {"ba"}),
        ("ba", ["ab", "ba"], {"ab"}),
        ("abc", ["ba", "cb", "bc"], {"cb"}),
        ("sabc", ["sa", "ab", "bc", "ca", "cb"], {"ca", "cb"}),
        ("cabs", ["sb", "bc", "ca", "ab"], {"ab"}),
        ("abxy", ["ab", "xy", "yx"], {"yx"}),
        ("abcd", ["ab", "ac", "bd", "cd"], set()),
    ],
)
def test_back_edges_are_found_depth_first_in_document_order(ids: str, pairs: list[str], back: set[str]) -> None:
    assert find_back_edges(list(ids), made(pairs)) == back


@pytest.mark.rule("wf-15")
@settings(max_examples=example_count(200), deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))))
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
    plan, violations = plan_workflow(parsed)
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
