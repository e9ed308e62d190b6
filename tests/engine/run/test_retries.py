"""Retries and time limits of nodes: attempts, growing delays, what is not tried again, restarts in between."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.definitions import edge, for_all, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until, waiting_node_type
from weftwork.engine.decide.inputs import RetryDue
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext
from weftwork.protocol.workflow.node_settings import RetryPolicy, retry_delay
from weftwork.protocol.workflow.node_types import NodeDeclaration


def flaky(failures: int, retryable: bool = True) -> InstantNode:
    """Fails so many times, then completes."""
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
    starts = await bench.payloads(key, "node.started")
    assert [each["attempt"] for each in starts] == [1, 2, 3, 1]
    times = [event.timestamp for event in await bench.events(key) if event.type == "node.started"]
    assert [b - a for a, b in pairwise(times)] == [100, 200, 0]


@pytest.mark.rule("node-12")
@pytest.mark.parametrize(("failures", "retryable", "attempts"), [(9, True, 3), (9, False, 1)])
async def test_in_the_end_it_fails(failures: int, retryable: bool, attempts: int) -> None:
    bench = EngineHarness(flaky(failures, retryable))
    key = await bench.execute({**trying(), "settings": {"maxRetries": 2}})
    assert (await bench.payload(key, "node.failed")).get("attempts", 1) == attempts
    assert (await bench.event_types(key)).count("node.started") == attempts
    assert await bench.status(key) == "failed"


@pytest.mark.rule("node-12")
async def test_the_wait_for_an_attempt_outlives_a_restart() -> None:
    bench, key = await EngineHarness(flaky(1)).with_run(trying(maxRetries=1, retryDelayMs=1000))
    bench.clock.advance(900)
    after = await bench.restart()
    await run_ready_tasks()
    after.clock.advance(99)
    await run_ready_tasks()
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


async def test_attempts_count_as_executions() -> None:
    bench = EngineHarness(flaky(9))
    key = await bench.execute(trying(maxRetries=5, retryDelayMs=1), configurable={"recursionLimit": 3})
    (breach,) = await bench.payloads(key, "cap.breached")
    assert (breach["kind"], breach["limit"], breach["nodeId"]) == ("node-executions", 3, "a")
    assert (await bench.event_types(key)).count("node.started") == 3


async def test_a_timer_that_comes_too_late_starts_nothing() -> None:
    bench, key = await EngineHarness(flaky(2)).with_run(trying(maxRetries=2, retryDelayMs=1000))
    bench.clock.advance(1000)
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
