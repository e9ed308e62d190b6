"""Nodes that run again: rounds and exits of loops; retries, delays and time limits; the same outcome in any order."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, for_all, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until, waiting_node_type
from weftwork.engine.decide.inputs import RetryDue
from weftwork.engine.run.replay import load_state
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext
from weftwork.protocol.fold import traversal
from weftwork.protocol.workflow.definition import RetryPolicy, retry_delay
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def started(document: dict[str, Any], **request: Any) -> list[str]:
    """The nodes that started, in order, and how the run ended."""
    bench, key = await EngineHarness().with_ended_run(document, **request)
    events = await bench.events(key)
    return [*(event.node_id or "" for event in events if event.type == "node.started"), events[-1].type]


def counted(name: str = "n") -> dict[str, Any]:
    port = {"value": {"type": "expression", "expression": f"variables.{name} + 1.0"}}
    return node("count", "core.setVariable", config={"name": name}, inputs=port)


UNTIL_THREE = {"type": "expression", "expression": "variables.n < 3.0"}


@pytest.mark.rule("wf-15")
async def test_a_loop_goes_round_while_its_condition_holds() -> None:
    document = workflow(
        [node("start"), counted(), node("after")],
        [edge("start", "count"), edge("count", "count", condition=UNTIL_THREE), edge("count", "after")],
        [variable("n", "number", defaultValue=0)],
    )
    assert await started(document) == ["start", "count", "count", "count", "after", "run.completed"]
    assert await started(document, inputs={"n": 5}) == ["start", "count", "after", "run.completed"]


REVIEW = workflow(
    [node("draft"), counted(), node("fix"), node("done", outputRole="primary")],
    [
        edge("draft", "count"),
        edge("count", "fix", condition=UNTIL_THREE),
        edge("fix", "draft"),
        edge("count", "done", condition={"type": "expression", "expression": "variables.n >= 3.0"}),
    ],
    [variable("n", "number", defaultValue=0)],
)
ROUND = ["draft", "count", "fix"]


def _settle_at_once(state: Any, node_id: str) -> None:
    for each in state.plan.nodes[node_id].outgoing:
        traversal._settle_edge(state, each)
    for loop in state.plan.nodes[node_id].inside:
        state.open[loop] -= 1
        if state.open[loop] == 0:
            traversal._end_round(state, loop)


@pytest.mark.rule("wf-16")
@fails_without(
    [traversal, "settle_node", _settle_at_once],
    ["weftwork.protocol.fold.facts.settle_node", _settle_at_once],
    errors=(KeyError,),
)
async def test_the_way_out_is_taken_when_the_loop_has_ended() -> None:
    """A way out that is closed in the first round is open in the last: it must not have been skipped by then."""
    assert await started(REVIEW) == [*ROUND, *ROUND, "draft", "count", "done", "run.completed"]


@pytest.mark.rule("lim-09")
@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_a_loop_that_does_not_end_is_ended(limit: int) -> None:
    settings = {} if limit == 5 else {"maxLoopbackIterations": limit}
    document = workflow([node("a"), node("b")], [edge("a", "b"), edge("b", "a")], settings=settings)
    bench, key = await EngineHarness().with_ended_run(document)
    kinds = await bench.event_types(key)
    assert kinds.count("node.started") == 2 * (limit + 1)
    assert kinds[-2:] == ["workflow.loopback-limit", "run.failed"]
    (said,) = await bench.payloads(key, "workflow.loopback-limit")
    assert said == {"nodeId": "a", "iterations": limit + 1, "limit": limit}
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "loop_limit_exceeded"


async def test_an_inner_loop_counts_anew_in_every_round_of_the_outer_one() -> None:
    document = workflow(
        [
            node("outer", "core.loop", config={"times": 2}),
            node("inner", "core.loop", config={"times": 3}),
            node("body"),
            node("next"),
            node("end"),
        ],
        [
            edge("outer", "inner", sourceOutput="body"),
            edge("inner", "body", sourceOutput="body"),
            edge("body", "inner"),
            edge("inner", "next", sourceOutput="done"),
            edge("next", "outer"),
            edge("outer", "end", sourceOutput="done"),
        ],
        settings={"maxLoopbackIterations": 3},
    )
    inner = ["inner", "body", "inner", "body", "inner", "body", "inner", "next"]
    assert await started(document) == ["outer", *inner, "outer", *inner, "outer", "end", "run.completed"]


async def test_data_comes_round_over_the_edge_and_over_a_connection() -> None:
    document = workflow(
        [
            node("seed", "core.transform", config={"expression": "1"}),
            node(
                "double",
                "core.transform",
                config={"expression": "ports.input * 2.0"},
                inputs={"last": {"type": "connection", "nodeId": "note", "outputKey": "output", "optional": True}},
            ),
            node("note", "core.transform", config={"expression": "nodes.double.outputs.output"}),
            node("end", "core.end"),
        ],
        [
            edge("seed", "double"),
            edge("double", "note"),
            edge("note", "double", condition={"type": "expression", "expression": "nodes.note.outputs.output < 20.0"}),
            edge("note", "end"),
        ],
    )
    bench, key = await EngineHarness().with_ended_run(document)
    assert (await bench.payload(key, "run.completed"))["outputs"]["end"]["input"] == 32
    doubled = [each for each in await bench.payloads(key, "node.completed") if each["nodeId"] == "double"]
    assert [each["outputs"]["output"] for each in doubled] == [2, 4, 8, 16, 32]


async def test_a_failed_node_can_lead_back_and_a_skipped_loop_lets_the_rest_go_on() -> None:
    document = workflow(
        [node("try"), node("boom", "core.fail"), node("end")],
        [edge("try", "boom"), edge("boom", "try", "any_failed"), edge("boom", "end", "all_complete")],
        settings={"maxLoopbackIterations": 2},
    )
    assert await started(document) == ["try", "boom", "try", "boom", "try", "boom", "run.failed"]
    skipped = workflow(
        [node("off", disabled=True), node("a"), node("b"), node("end")],
        [edge("off", "a"), edge("a", "b"), edge("b", "a"), edge("b", "end", "all_complete")],
    )
    assert await started(skipped) == ["end", "run.completed"]


async def test_a_condition_back_that_cannot_be_judged_fails_the_run() -> None:
    document = workflow(
        [node("a")], [edge("a", "a", condition={"type": "expression", "expression": "inputs.gone == 1.0"})]
    )
    bench, key = await EngineHarness().with_ended_run(document)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "expression_failed"


def without_epoch(state: Any, fact: Any) -> Any:
    return 0, state.plan.nodes[fact.node_id].index, fact.node_id


@pytest.mark.rule("data-05")
@fails_without("weftwork.protocol.fold.fold._stamp", without_epoch, match="'z'")
async def test_a_write_of_a_later_round_is_later() -> None:
    document = workflow(
        [
            node("l", "core.loop", config={"times": 2}),
            node("a", "core.setVariable", config={"name": "v", "value": "a"}),
            node("read", "core.getVariable", config={"name": "v"}),
            node("z", "core.setVariable", config={"name": "v", "value": "z"}),
        ],
        [edge("l", "a", sourceOutput="body"), edge("a", "read"), edge("read", "z"), edge("z", "l")],
    )
    bench, key = await EngineHarness().with_ended_run(document)
    read = [each for each in await bench.payloads(key, "node.completed") if each["nodeId"] == "read"]
    assert [each["outputs"]["output"] for each in read] == ["a", "a"]


async def test_old_writes_of_a_variable_are_forgotten() -> None:
    document = workflow(
        [node("l", "core.loop", config={"times": 200}), counted(), node("end")],
        [edge("l", "count", sourceOutput="body"), edge("count", "l"), edge("l", "end", sourceOutput="done")],
        [variable("n", "number", defaultValue=0)],
        settings={"maxLoopbackIterations": 200},
    )
    bench, key = await EngineHarness().with_ended_run(document)
    stored = await bench.stored_run(key)
    plan = await bench.catalog.pinned_plan("sample", stored.header.definition)
    state = await load_state(bench.store.log, stored.header, plan)
    assert state.variables == {"n": 200}
    assert len(state.nodes["end"].view._writes.by_name["n"]) < 20


def flaky(failures: int, retryable: bool = True) -> InstantNode:
    left = iter(range(failures))

    def work(call: NodeCall) -> NodeOutcome:
        if next(left, None) is None:
            return Completed({"output": call.attempt})
        return Failed("flaky", "Not this time.", retryable=retryable)

    return InstantNode(NodeDeclaration("test.flaky", "Flaky.", config={"type": "object"}), work)


def trying(**own: Any) -> dict[str, Any]:
    return workflow([node("a", "test.flaky", settings=own), node("b")], [edge("a", "b")])


@pytest.mark.rule("node-12")
@for_all(150, st.integers(0, 10_000), st.floats(1, 10), st.integers(0, 100_000), st.integers(0, 100), st.floats(0, 1))
def test_delays_grow_to_their_bound_and_keep_to_the_upper_half(
    delay: int, factor: float, most: int, failures: int, chance: float
) -> None:
    retry = RetryPolicy(9, delay, factor, most)
    full = min(delay * factor**failures, most)
    got = retry_delay(retry, failures, chance)
    assert int(full * 0.499) - 1 <= got <= full + 1
    assert retry_delay(retry, failures, 0.0) <= got <= retry_delay(retry, failures, 1.0)


@pytest.mark.rule("node-12")
async def test_a_failed_node_is_tried_again_until_it_completes() -> None:
    bench, key = await EngineHarness(flaky(2)).with_run(trying(maxRetries=3, retryDelayMs=100))
    assert (await bench.stored_run(key)).projection.current_node == "a"
    await bench.run_to_end(key)
    kinds = await bench.event_types(key)
    assert kinds[1:8] == ["node.started", "node.retried"] * 2 + ["node.started", "node.completed", "node.started"]
    retried = await bench.payloads(key, "node.retried")
    assert [(each["attempt"], each["delayMs"]) for each in retried] == [(2, 100), (3, 200)]
    assert retried[0]["lastError"] == {"code": "flaky", "message": "Not this time."}
    assert [each["attempt"] for each in await bench.payloads(key, "node.started")] == [1, 2, 3, 1]
    times = [event.timestamp for event in await bench.events(key) if event.type == "node.started"]
    assert [b - a for a, b in pairwise(times)] == [100, 200, 0]


@pytest.mark.rule("node-12")
@each_case("retryable, attempts", (True, 3), (False, 1))
async def test_in_the_end_it_fails_and_attempts_count_as_executions(retryable: bool, attempts: int) -> None:
    bench = EngineHarness(flaky(9, retryable))
    key = await bench.execute({**trying(), "settings": {"maxRetries": 2}})
    assert (await bench.payload(key, "node.failed")).get("attempts", 1) == attempts
    assert (await bench.event_types(key)).count("node.started") == attempts
    assert await bench.status(key) == "failed"
    if retryable:
        key = await bench.execute(trying(maxRetries=5, retryDelayMs=1), configurable={"recursionLimit": 3})
        (breach,) = await bench.payloads(key, "cap.breached")
        assert (breach["kind"], breach["limit"], breach["nodeId"]) == ("node-executions", 3, "a")
        assert (await bench.event_types(key)).count("node.started") == 3


@pytest.mark.rule("node-12")
async def test_the_wait_for_an_attempt_outlives_a_restart() -> None:
    bench, key = await EngineHarness(flaky(1)).with_run(trying(maxRetries=1, retryDelayMs=1000))
    bench.clock.advance(900)
    after = await bench.restart()
    await run_ready_tasks()
    await after.advance(99)
    assert (await after.event_types(key)).count("node.started") == 1
    after.clock.advance(1)
    await after.run_to_end(key)
    assert await after.status(key) == "completed"


async def test_a_run_can_be_cancelled_while_a_node_waits_for_its_next_attempt() -> None:
    bench, key = await EngineHarness(flaky(9)).with_run(trying(maxRetries=5, retryDelayMs=1000))
    assert await bench.cancel(key) == "cancelled"
    assert (await bench.event_types(key))[-2:] == ["node.cancelled", "run.cancelled"]
    await run_ready_tasks()
    assert bench.clock.next_wake is None


async def test_a_timer_that_comes_too_late_starts_nothing() -> None:
    bench, key = await EngineHarness(flaky(2)).with_run(trying(maxRetries=2, retryDelayMs=100))
    bench.clock.advance(100)
    await until(lambda: "a" in bench.executor._live[key].state.retrying)
    await run_ready_tasks()
    bench.executor._live[key].send(RetryDue("a", 1))
    await run_ready_tasks()
    assert (await bench.event_types(key)).count("node.started") == 2
    await bench.run_to_end(key)


@pytest.mark.rule("node-13")
async def test_an_attempt_that_takes_too_long_fails_and_may_be_tried_again() -> None:
    lengths = iter([500, 50])

    async def slow(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await context.sleep_until(context.started_at + next(lengths))
        return Completed({})

    bench = EngineHarness(waiting_node_type("test.slow", slow))
    own = {"timeoutMs": 100, "maxRetries": 1, "retryDelayMs": 0}
    key = await bench.execute(workflow([node("a", "test.slow", settings=own)]))
    (retried,) = await bench.payloads(key, "node.retried")
    assert retried["lastError"] == {"code": "node_timeout", "message": "The node did not end within 100 ms."}
    assert await bench.status(key) == "completed"


@pytest.mark.rule("node-13")
async def test_a_node_that_does_not_heed_its_time_limit_is_left_behind() -> None:
    stopped: list[str] = []

    async def stubborn(call: NodeCall, context: NodeContext) -> NodeOutcome:
        try:
            await context.sleep_until(context.started_at + 10_000)
        finally:
            stopped.append(call.node_id)
        return Completed({})

    bench = EngineHarness(waiting_node_type("test.slow", stubborn))
    key = await bench.start(workflow([node("a", "test.slow", settings={"timeoutMs": 100})]))
    await run_ready_tasks()
    bench.clock.advance(100)
    await until(lambda: stopped)
    await bench.run_to_end(key)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "node_timeout"


@pytest.mark.rule("node-13")
async def test_a_time_limit_is_counted_from_the_start_of_the_attempt_whatever_restarts_in_between() -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([node("a", "test.gate", settings={"timeoutMs": 1000})]))
    bench.clock.advance(900)
    after = await bench.restart()
    await until(lambda: after.gate_node.waiting)
    after.clock.advance(100)
    await after.run_to_end(key)
    assert await after.status(key) == "failed"
