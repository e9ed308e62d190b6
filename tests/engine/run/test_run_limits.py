"""Limits of live runs: node executions and time."""

from itertools import pairwise
from typing import Any

import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from weftwork.protocol.limits import Limits

NAMES = [f"n{index}" for index in range(6)]
CHAIN = workflow([node(n) for n in NAMES], [edge(a, b) for a, b in pairwise(NAMES)])


@pytest.mark.rule("lim-03", "lim-04")
@pytest.mark.parametrize(("host", "asked", "limit"), [(100, 3, 3), (4, 100, 4), (5, None, 5), (100, 6, 6), (6, 7, 6)])
async def test_a_run_breaks_at_the_lower_limit_of_executions(host: int, asked: int | None, limit: int) -> None:
    async def work() -> None:
        bench = EngineHarness(limits=Limits(max_node_executions=host))
        key = await bench.start(CHAIN, configurable={} if asked is None else {"recursionLimit": asked})
        await bench.run_to_end(key)
        kinds = await bench.event_types(key)
        assert kinds.count("node.started") == min(limit, len(NAMES))
        if limit >= len(NAMES):
            assert kinds[-1] == "run.completed"
            return
        assert kinds[-2:] == ["cap.breached", "run.failed"]
        breach = {"kind": "node-executions", "limit": limit, "observed": limit + 1}
        assert await bench.payloads(key, "cap.breached") == [{**breach, "nodeId": f"n{limit}"}]
        (failed,) = await bench.payloads(key, "run.failed")
        assert failed["error"]["code"] == "recursion_limit_exceeded"
        assert failed["error"]["details"] == breach

    await work()


@pytest.mark.rule("lim-02", "lim-05")
@pytest.mark.parametrize(
    ("host", "timeout", "asked", "limit"),
    [(0, 0, 1000, 1000), (0, 700, 1000, 700), (500, 700, 1000, 500), (0, 0, None, None), (800, 0, None, 800)],
)
async def test_a_run_breaks_just_after_its_time_limit(
    host: int, timeout: int, asked: int | None, limit: int | None
) -> None:
    async def work() -> None:
        bench = EngineHarness(limits=Limits(max_run_duration_ms=host))
        document = workflow([node("a", "test.gate")], settings={"timeout": timeout})
        key = await bench.start(document, configurable={} if asked is None else {"runTimeoutMs": asked})
        await until(lambda: bench.gate_node.waiting)
        bench.clock.advance(limit or 10**9)
        await run_ready_tasks()
        assert await bench.event_types(key) == ["run.started", "node.started"]
        if limit is None:
            return
        bench.clock.advance(1)
        await run_ready_tasks()
        assert (await bench.event_types(key))[2:] == ["cap.breached", "node.cancelled", "run.failed"]
        assert bench.gate_node.cancelled == ["a"]
        breach = {"kind": "run-duration", "limit": limit, "observed": limit + 1}
        assert await bench.payloads(key, "cap.breached") == [breach]
        (failed,) = await bench.payloads(key, "run.failed")
        assert (failed["error"]["code"], failed["error"]["details"]) == ("run_timeout", breach)

    await work()


@pytest.mark.rule("lim-02")
async def test_time_spent_by_earlier_nodes_counts() -> None:
    bench = EngineHarness()
    nodes = [node("a", "core.delay", config={"ms": 600}), node("b", "core.delay", config={"ms": 600})]
    key = await bench.start(workflow(nodes, [edge("a", "b")]), configurable={"runTimeoutMs": 1000})
    started = bench.clock.now()
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-3:] == ["cap.breached", "node.cancelled", "run.failed"]
    assert bench.clock.now() - started == 1001


async def test_a_run_that_ends_in_time_leaves_no_timer_behind() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]), configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    assert bench.clock.next_wake is not None
    bench.gate_node.release("a")
    await run_ready_tasks()
    assert await bench.status(key) == "completed"
    assert bench.clock.next_wake is None


@pytest.mark.rule("lim-02")
async def test_the_time_limit_goes_on_while_the_host_is_away() -> None:
    bench = EngineHarness()
    document = workflow([node("a", "test.gate")])
    key = await bench.start(document, configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    await bench.close()
    bench.clock.advance(5000)
    after = bench.successor()
    assert await after.executor.recover() == 1
    await run_ready_tasks()
    assert (await after.event_types(key))[2:] == ["cap.breached", "node.cancelled", "run.failed"]
    (breach,) = await after.payloads(key, "cap.breached")
    assert breach["observed"] == 5000


async def test_a_breach_of_one_branch_stops_the_others() -> None:
    bench = EngineHarness()
    nodes: list[dict[str, Any]] = [node("a", "test.gate"), node("b", "test.gate"), node("c")]
    key = await bench.start(workflow(nodes, [edge("b", "c")]), configurable={"recursionLimit": 2})
    await until(lambda: len(bench.gate_node.waiting) == 2)
    bench.gate_node.release("b")
    await bench.run_to_end(key)
    assert bench.gate_node.cancelled == ["a"]
    assert (await bench.event_types(key))[3:] == ["node.completed", "cap.breached", "node.cancelled", "run.failed"]
