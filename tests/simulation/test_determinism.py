"""For every order in which nodes happen to end: the same statuses, variables, outputs, error, rounds and channels."""

import random
from collections.abc import Callable
from copy import deepcopy
from itertools import count, pairwise, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import edge, example_count, header_of, node, variable, workflow
from tests.simulation.fold_driver import (
    FoldedRun,
    choose_first,
    choose_last,
    choose_randomly,
    event_counts,
    final_state,
)
from tests.simulation.random_workflows import INPUTS, random_workflow, violations_of
from weftwork.engine.decide.decision import Decision
from weftwork.protocol.fold import data_flow
from weftwork.protocol.fold.fold import fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.variable_views import VariableView
from weftwork.protocol.run.events import Fact
from weftwork.protocol.workflow.plan import Plan

SAMPLE = range(40)
"""Seeds among which each sabotage is found; an honest host passes them all."""


def _beside(name: str, other: str) -> dict[str, Any]:
    seen = {"seen": {"type": "connection", "nodeId": other, "outputKey": "output", "optional": True}}
    value = {"value": {"type": "static", "value": name}}
    return node(name, "core.identity", inputs={**seen, "output": value["value"]})


BESIDE = workflow(
    [node("a", "core.loop", config={"times": 2}), _beside("b", "c"), _beside("c", "b"), node("d"), node("e")],
    [
        *(edge("a", each, sourceOutput="body") for each in "bc"),
        *(edge(each, "d") for each in "bc"),
        edge("d", "a"),
        edge("a", "e", sourceOutput="done"),
    ],
)
"""A loop in which two nodes side by side each read what the other gave in the round before."""


def _writing(name: str) -> dict[str, Any]:
    return node(name, "core.setVariable", config={"name": "v"}, inputs={"value": {"type": "static", "value": name}})


MEETING = workflow(
    [_writing("a"), _writing("b"), node("c", "core.getVariable", config={"name": "v"})],
    [edge("a", "c"), edge("b", "c")],
)
"""Two ways that write the same variable, and a reader where they meet."""


def a_chain(dice: random.Random) -> dict[str, Any]:
    """One node after the other, with edges that lead back; each of them reads and writes variables."""
    names = [f"n{index}" for index in range(dice.randint(2, 6))]
    if dice.random() < 0.5:
        names.reverse()
    nodes: list[dict[str, Any]] = []
    for name in names:
        shape = dice.choice(["variables.{0} + 1.0", "variables.{0} + 1.0", "variables.{0} + variables.{1}"])
        value = shape.format(dice.choice("abc"), dice.choice("abc"))
        port = {"value": {"type": "expression", "expression": value}}
        nodes.append(node(name, "core.setVariable", config={"name": dice.choice("abc")}, inputs=port))
    edges = [edge(one, other) for one, other in pairwise(names)]
    for number in range(dice.randint(0, 3)):
        source = dice.randrange(len(names))
        target = dice.randrange(source + 1)
        condition = {"type": "expression", "expression": f"variables.{dice.choice('abc')} < {dice.randint(1, 9)}.0"}
        edges.append(edge(names[source], names[target], id=f"back{number}", condition=condition))
    variables = [variable(name, "number", defaultValue=index) for index, name in enumerate("abc")]
    return workflow(nodes, edges, variables, settings={"maxLoopbackIterations": 4})


def planned(document: dict[str, Any]) -> Plan:
    plan, violations = violations_of(document)
    assert plan is not None, violations
    return plan


def check_agreement(plan: Plan, seed: int) -> None:
    """Other orders, other bounds, nodes that look at the run when they start or when they end: nothing shows."""
    one = FoldedRun(plan).run(choose_first)
    dice = random.Random(seed)
    others = [
        FoldedRun(plan).run(choose_last),
        FoldedRun(plan, 1).run(choose_first),
        FoldedRun(plan, 2).run(choose_randomly(seed), lambda: True),
        FoldedRun(plan, 3).run(choose_randomly(seed + 1), lambda: dice.random() < 0.5),
    ]
    for other in others:
        assert final_state(other.state) == final_state(one.state)
        assert event_counts(other.facts) == event_counts(one.facts)
    assert one.state.status in ("completed", "failed")


def check_causality(plan: Plan) -> None:
    """Where one node follows the other, each sees the last write, and the last write stays."""
    begun = fold_of(plan).variables

    def last_written() -> dict[str, Any]:
        writes = [each.payload for each in walk.facts if each.type == "variable.changed"]
        return {**begun, **{each["name"]: each["next"] for each in writes}}

    def checked(nodes: list[str]) -> str:
        assert len(nodes) == 1
        view = walk.state.nodes[nodes[0]].view
        assert {name: value for name, (_, value) in view.items()} == last_written()
        return nodes[0]

    walk = FoldedRun(plan)
    walk.run(checked)
    assert walk.state.variables == last_written()


def fold_of(plan: Plan) -> RunState:
    return fold(plan, header_of(plan), INPUTS, [Fact(0, "run.started", {}, 0)])


@pytest.mark.rule("run-02", "fold-01", "data-05", "data-06")
@settings(max_examples=example_count(25, 3000), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 2**16))
def test_the_order_in_which_nodes_end_changes_nothing(dice: random.Random, seed: int) -> None:
    asking = {"core.interrupt": dice.choice([0, 1])}
    check_agreement(planned(random_workflow(dice, more=asking)), seed)


@pytest.mark.rule("data-05")
@settings(max_examples=example_count(60), deadline=None)
@given(st.randoms(use_true_random=False))
def test_nodes_that_follow_each_other_see_the_last_write(dice: random.Random) -> None:
    check_causality(planned(a_chain(dice)))


def orders(plan: Plan, most: int) -> list[FoldedRun]:
    """Runs in every order that there is, as long as there are no more than so many."""
    walks: list[FoldedRun] = []
    rest: list[list[int]] = [[]]
    while rest and len(walks) < most:
        told = rest.pop()
        widths: list[int] = []

        def choose(nodes: list[str], told: list[int] = told, widths: list[int] = widths) -> str:
            widths.append(len(nodes))
            return nodes[told[len(widths) - 1] if len(widths) <= len(told) else 0]

        walks.append(FoldedRun(plan).run(choose))
        for at in range(len(told), len(widths)):
            rest += [[*told, *[0] * (at - len(told)), other] for other in range(1, widths[at])]
    return walks


@pytest.mark.rule("run-02")
@settings(max_examples=example_count(6, 240), deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_order_of_a_small_graph_ends_the_same(dice: random.Random) -> None:
    walks = orders(planned(random_workflow(dice, 5)), 120)
    assert all(final_state(each.state) == final_state(walks[0].state) for each in walks)


@pytest.mark.rule("run-02")
def test_all_orders_of_five_branches_agree() -> None:
    branches = [node(n, "core.fail" if n == "b" else "core.identity") for n in "abc"]
    edges = [edge(n, "z", "all_complete", sourceOutput="o", targetInput=f"from-{n}") for n in "abc"]
    writes = [_writing("vx"), _writing("vy")]
    for each in branches:
        each["inputs"] = {"o": {"type": "static", "value": each["id"]}}
    plan = planned(workflow([*branches, node("z", "core.identity"), *writes], edges, [variable("v")]))
    found = [
        final_state(FoldedRun(plan).run(lambda nodes, order=order: min(nodes, key=order.index)).state)
        for order in permutations(["a", "b", "c", "vx", "vy", "z"])
    ]
    assert all(each == found[0] for each in found)
    assert found[0]["outputs"]["z"] == {"from-a": "a", "from-c": "c"}
    assert found[0]["variables"]["v"] == "vy"


@pytest.mark.rule("fold-01")
@settings(max_examples=example_count(25), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 2**16))
def test_a_run_is_the_fold_of_its_facts_at_every_moment(dice: random.Random, seed: int) -> None:
    plan = planned(random_workflow(dice, 7))
    seen: list[tuple[int, Any]] = []

    def watch(nodes: list[str]) -> str:
        seen.append((len(walk.facts), deepcopy(final_state(walk.state))))
        return choose_randomly(seed)(nodes)

    walk = FoldedRun(plan)
    walk.run(watch)
    for length, expected in [*seen, (len(walk.facts), final_state(walk.state))]:
        assert final_state(fold(plan, header_of(plan), INPUTS, walk.facts[:length])) == expected


@pytest.mark.rule("data-05")
@pytest.mark.parametrize("crowd", [1, 1_000_000])
def test_forgetting_writes_that_nobody_sees_changes_nothing(monkeypatch: pytest.MonkeyPatch, crowd: int) -> None:
    plans = [planned(random_workflow(random.Random(seed))) for seed in SAMPLE]
    expected = [final_state(FoldedRun(plan).run(choose_first).state) for plan in plans]
    monkeypatch.setattr("weftwork.protocol.fold.variable_views.PRUNE_THRESHOLD", crowd)
    assert [final_state(FoldedRun(plan).run(choose_first).state) for plan in plans] == expected


def all_agree() -> None:
    for document in (BESIDE, MEETING):
        check_agreement(planned(document), 0)
    for seed in SAMPLE:
        dice = random.Random(seed)
        check_agreement(planned(random_workflow(dice)), seed)
        check_causality(planned(a_chain(dice)))


def test_an_honest_host_passes_the_sample() -> None:
    all_agree()


def last_to_arrive(patch: pytest.MonkeyPatch) -> None:
    """Where ways meet, the write that came last wins."""
    clock = count()
    honest = VariableView.with_write

    def written(view: VariableView, name: str, stamp: Any, value: Any, size: int) -> VariableView:
        return honest(view, name, (next(clock), 0, ""), value, size)

    patch.setattr(VariableView, "with_write", written)


def last_in_the_log(patch: pytest.MonkeyPatch) -> None:
    """The last write in the log is the value of a variable at the end."""
    clock = count()
    patch.setattr("weftwork.protocol.fold.fold._stamp", lambda state, fact: (next(clock), 0, fact.node_id))


def exits_at_once(patch: pytest.MonkeyPatch) -> None:
    """Edges lead out of a loop that has not ended."""
    patch.setattr("weftwork.protocol.workflow.plan.loops_left_by", lambda loops, edge: ())


def this_round(patch: pytest.MonkeyPatch) -> None:
    """What comes round a loop is read as it stands."""

    def output_of(state: RunState, reader: str, node_id: str) -> dict[str, Any] | None:
        found = state.nodes.get(node_id)
        return found.outputs if found is not None and found.status == "completed" else None

    patch.setattr(data_flow, "visible_outputs", output_of)
    patch.setattr("weftwork.protocol.fold.data_flow.visible_outputs", output_of)


def no_epochs(patch: pytest.MonkeyPatch) -> None:
    """A write of a later round is no later than those before."""

    def stamp(state: RunState, fact: Fact) -> Any:
        return (0, state.plan.nodes[fact.node_id or ""].index, fact.node_id)

    patch.setattr("weftwork.protocol.fold.fold._stamp", stamp)


def first_to_fail(patch: pytest.MonkeyPatch) -> None:
    """The failure that came first is the error of the run."""
    patch.setattr("weftwork.protocol.fold.facts.insort", lambda places, place: places.append(place))


def stuck_at_once(patch: pytest.MonkeyPatch) -> None:
    """A loop that wants one round too many ends the run without waiting for the rest."""
    from weftwork.engine.decide import transitions

    honest = transitions._step

    def step(state: RunState, bounds: Any) -> Any:
        if state.stuck_loops and state.stop is None:
            return Decision((transitions._loop_stuck(state),))
        return honest(state, bounds)

    patch.setattr(transitions, "_step", step)


SABOTAGES = [last_to_arrive, last_in_the_log, exits_at_once, this_round, no_epochs, first_to_fail, stuck_at_once]


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda each: each.__name__)
def test_a_host_that_looked_at_arrival_order_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, sabotage: Callable[[pytest.MonkeyPatch], None]
) -> None:
    sabotage(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        all_agree()
