"""Graphs and accidents that once went wrong, each as small as it can be."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import run
from tests.simulation.fold_driver import FoldedRun, choose_first, choose_last, final_state
from tests.simulation.random_workflows import violations_of
from tests.simulation.run_driver import ADVANCE_CLOCK, RunDriver
from weftwork.engine.decide.inputs import PauseRequested, ResumeRequested
from weftwork.protocol.workflow.plan import Plan


def planned(nodes: list[Any], edges: list[Any], **settings: int) -> Plan:
    numbers = [variable(name, "number", defaultValue=0) for name in "xyz"]
    plan, violations = violations_of(workflow(nodes, edges, numbers, settings=settings))
    assert plan is not None, violations
    return plan


def counting(name: str, counted: str = "x") -> dict[str, Any]:
    value = {"value": {"type": "expression", "expression": f"variables.{counted} + 1.0"}}
    return node(name, "core.setVariable", config={"name": counted}, inputs=value)


def while_less(name: str, most: int) -> dict[str, Any]:
    return {"type": "expression", "expression": f"variables.{name} < {most}.0"}


def both_ways(plan: Plan) -> dict[str, Any]:
    """The end of a run, whichever of its nodes is the faster one."""
    one, other = FoldedRun(plan).run(choose_first), FoldedRun(plan).run(choose_last)
    assert final_state(one.state) == final_state(other.state)
    return final_state(one.state)


def test_a_way_back_may_settle_before_the_other_has_begun() -> None:
    nodes = [counting("a"), node("b"), node("c"), node("d")]
    edges = [edge("a", "b"), edge("a", "c"), edge("c", "d"), edge("b", "a", condition=while_less("x", 3))]
    end = both_ways(planned(nodes, [*edges, edge("d", "a", condition=while_less("x", 2))]))
    assert (end["status"], end["variables"]["x"], end["rounds"]) == ("completed", 3, {0: 2})


@pytest.mark.rule("lim-09")
def test_a_loop_that_goes_too_far_does_not_cut_short_what_runs_beside_it() -> None:
    nodes = [node("a"), node("z"), counting("m"), counting("n", "y")]
    edges = [edge("a", "a"), edge("z", "z"), edge("m", "n")]
    plan = planned(nodes, edges, maxLoopbackIterations=2)
    end = both_ways(plan)
    assert end["error"]["code"] == "loop_limit_exceeded"
    assert end["error"]["details"] == {"nodeId": "a", "iterations": 3, "limit": 2}
    assert (end["variables"]["x"], end["variables"]["y"]) == (1, 1)


@pytest.mark.rule("lim-09")
def test_no_round_is_over_around_a_loop_that_went_too_far() -> None:
    nodes = [counting("a"), node("b"), node("c"), node("d")]
    edges = [edge("b", "c"), edge("c", "b"), edge("a", "b"), edge("d", "a"), edge("a", "d"), edge("c", "a")]
    end = both_ways(planned(nodes, edges, maxLoopbackIterations=1))
    assert (end["error"]["details"]["nodeId"], end["variables"]["x"]) == ("b", 1)


def test_a_way_back_that_cannot_be_judged_fails_the_run_when_all_else_is_done() -> None:
    wrong = {"type": "expression", "expression": "variables.gone == 1.0"}
    end = both_ways(
        planned([node("a"), counting("m"), counting("n")], [edge("a", "a", condition=wrong), edge("m", "n")])
    )
    assert (end["status"], end["error"]["code"], end["variables"]["x"]) == ("failed", "expression_failed", 2)
    assert end["error"]["message"].startswith("The condition of edge a-a cannot be evaluated")


def fates(gated: RunDriver, *told: str | None) -> None:
    rest = list(told)
    gated.fails = lambda: rest.pop(0) if rest else None


LOOP = workflow(
    [counting("a")],
    [edge("a", "a", condition=while_less("x", 3))],
    [variable("x", "number", defaultValue=0)],
)


@pytest.mark.parametrize("number", range(4))
async def test_an_end_that_was_durable_without_a_word_does_not_end_the_next_round(number: int) -> None:
    gated = await RunDriver().start(LOOP)
    fates(gated, *[None] * number, "lost")
    state = await gated.finish(choose_first)
    assert (state.variables["x"], state.loop_rounds, state.executions) == (3, {0: 2}, 3)
    await gated.engine.crash()


async def test_a_node_starts_again_after_a_pause_and_a_resume_that_nobody_heard_of() -> None:
    gated = await RunDriver().start(workflow([node("a")]))
    await gated.available_actions()
    for asked in (PauseRequested("immediate"), ResumeRequested()):
        fates(gated, "lost")
        await gated.send(asked)
        await gated.perform(ADVANCE_CLOCK)
    state = await gated.finish(choose_first)
    assert (state.status, state.nodes["a"].attempt) == ("completed", 2)
    await gated.engine.crash()


@pytest.mark.parametrize("fate", ["lost", "down", "conflict"])
def test_a_retry_that_the_store_did_not_take_at_once_is_followed_by_the_next_one(fate: str) -> None:
    retries = {"maxRetries": 3, "retryDelayMs": 10}
    document = workflow([node("a", "core.fail", settings=retries)])

    async def work(number: int, instant: bool) -> None:
        gated = await RunDriver(frozenset({"core.fail"} if instant else ())).start(document)
        fates(gated, *[None] * number, fate)
        state = await gated.finish(choose_first)
        assert (state.status, state.executions) == ("failed", 4)
        await gated.engine.crash()

    for number in range(6):
        run(lambda number=number: work(number, True))
        run(lambda number=number: work(number, False))


@pytest.mark.rule("wf-01")
@pytest.mark.parametrize(("type_id", "member"), [("core.setVariable", "name"), ("core.channelWrite", "channelName")])
@pytest.mark.parametrize("name", [[], {}, 1, None])
def test_a_name_that_is_no_name_is_refused_with_its_place(type_id: str, member: str, name: Any) -> None:
    channels = {"c": {"reducer": "append"}}
    plan, violations = violations_of(workflow([node("a", type_id, config={member: name})], channels=channels))
    assert plan is None
    assert [each.pointer for each in violations] == [f"/nodes/0/config/{member}"]


def turned(value: Any) -> Any:
    """The same JSON with the members of each object the other way round."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value


@pytest.mark.rule("wf-01")
def test_the_order_of_members_decides_nothing() -> None:
    gone = {"type": "variable", "variableName": "gone"}
    wrong = {"fields": {"p": "variables.p", "q": "variables.q"}}
    nodes = [node("a", "core.identity", inputs={"x": gone, "y": gone}), node("b", "core.transform", config=wrong)]
    found = [
        {each.node_id: each.payload for each in FoldedRun(plan).run(choose_first).facts if each.type == "node.failed"}
        for plan in (planned(nodes, []), planned(turned(nodes), []))
    ]
    assert found[0] == found[1]
    assert "input x" in found[0]["a"]["error"]["message"]
    assert "`p`" in found[0]["b"]["error"]["message"]
