"""For every order in which nodes happen to end: the same statuses, variables, outputs and error."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.definition import edge, examples, header_of, node, plan_of, variable, workflow
from weftwork.engine.decide import Bounds, NodeCompleted, NodeFailed, Step, decide
from weftwork.protocol import schema
from weftwork.protocol.dataflow import Missing, resolve_inputs
from weftwork.protocol.events import Fact
from weftwork.protocol.fold import RunState, apply
from weftwork.protocol.graph import Plan

RULES = ["all_success", "any_success", "all_complete", "none_failed", "any_failed"]


def walk(plan: Plan, fails: set[str], parallel: int, choose: Callable[[list[str]], str]) -> RunState:
    """Move a run from start to end without an engine; `choose` says which running node ends next."""
    state = RunState(plan, header_of(plan), {"v": "given"})
    bounds = Bounds(parallel, 1_000, frozenset())
    given: Any = Step()
    while not state.terminal:
        decision = decide(state, bounds, given)
        for draft in decision.events:
            assert schema.check_payload(draft.type, draft.payload) == []
            apply(state, Fact(state.last_sequence + 1, draft.type, draft.payload, state.last_sequence, draft.node_id))
        given = Step()
        if not decision.events:
            assert state.running, "the run stands still"
            given = outcome(state, choose(sorted(state.running)), fails)
    return state


def outcome(state: RunState, node_id: str, fails: set[str]) -> Any:
    inputs = resolve_inputs(state, node_id)
    if node_id in fails or isinstance(inputs, Missing):
        return NodeFailed(node_id, "boom", f"{node_id} broke: {inputs}")
    return NodeCompleted(node_id, {"output": [node_id, inputs]})


def ending(state: RunState) -> dict[str, Any]:
    return {
        "status": state.status,
        "error": state.error,
        "outputs": state.outputs,
        "variables": state.variables,
        "executions": state.executions,
        "nodes": {n: (each.status, each.outputs, each.error) for n, each in sorted(state.nodes.items())},
    }


@st.composite
def cases(draw: st.DrawFn) -> tuple[Plan, set[str]]:
    count = draw(st.integers(1, 7))
    names = [f"n{index}" for index in range(count)]
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=10)) if pairs else []
    above: dict[int, set[int]] = {index: set() for index in range(count)}
    for a, b in sorted(chosen, key=lambda pair: pair[1]):
        above[b] |= {a, *above[a]}
    nodes: list[dict[str, Any]] = []
    for index, name in enumerate(names):
        ports: dict[str, Any] = {"v": {"type": "variable", "variableName": "v"}}
        if above[index]:
            source = names[draw(st.sampled_from(sorted(above[index])))]
            optional = draw(st.booleans())
            ports["p"] = {"type": "connection", "nodeId": source, "outputKey": "output", "optional": optional}
        disabled = draw(st.integers(0, 5)) == 0
        nodes.append(
            node(name, inputs=ports, disabled=disabled, outputRole=draw(st.sampled_from(["primary", "secondary"])))
        )
    edges = [edge(names[a], names[b], draw(st.sampled_from(RULES))) for a, b in chosen]
    fails = set(draw(st.lists(st.sampled_from(names), unique=True)))
    return plan_of(workflow(nodes, edges, [variable("v")])), fails


@pytest.mark.rule("run-02", "fold-01")
@settings(max_examples=examples(120), deadline=None)
@given(cases(), st.integers(1, 4), st.data())
def test_the_order_in_which_nodes_end_changes_nothing(
    case: tuple[Plan, set[str]], parallel: int, data: st.DataObject
) -> None:
    plan, fails = case
    first = ending(walk(plan, fails, 64, lambda running: running[0]))
    last = ending(walk(plan, fails, parallel, lambda running: running[-1]))
    drawn = ending(walk(plan, fails, parallel, lambda running: data.draw(st.sampled_from(running))))
    assert first == last == drawn
    assert first["status"] in ("completed", "failed")
    assert set(first["nodes"]) == set(plan.order)


def test_all_orders_of_four_branches_agree() -> None:
    branches = [node(n) for n in "abcd"]
    edges = [edge(n, "z", "all_complete", targetInput=f"from-{n}") for n in "abcd"]
    plan = plan_of(workflow([*branches, node("z")], edges))
    endings: list[dict[str, Any]] = []
    for order in permutations("abcd"):
        left = [*order, "z"]
        endings.append(ending(walk(plan, {"b"}, 64, lambda running, left=left: left.pop(0))))
    assert all(each == endings[0] for each in endings)
    assert set(endings[0]["outputs"]["z"]["output"][1]) == {"from-a", "from-c", "from-d"}


def test_a_run_that_looked_at_arrival_order_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.protocol.fold.insort", lambda places, place: places.append(place))
    plan = plan_of(workflow([node("a"), node("b")]))
    endings = [ending(walk(plan, {"a", "b"}, 64, pick)) for pick in (min, max)]
    assert endings[0] != endings[1]
