"""Child runs are created at a limited rate per tenant: above it, the nodes that create them wait."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.child_workflows import child_keys, start_run
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, settle
from tests.harness.run_tree import restart
from weftwork.engine.host import child_rate
from weftwork.engine.host.child_rate import ChildRate
from weftwork.protocol.limits import Limits
from weftwork.testing.deterministic import ManualClock

LEAF = workflow([node("n")], id="leaf")
MANY = workflow(
    [node("m", "core.flow.map", config={"items": list(range(12)), "body": {"workflowId": "leaf"}, "concurrency": 12})],
    id="many",
)


async def _unlimited(self: ChildRate, partition: str) -> None: ...


async def _take(rate: ChildRate, partition: str, taken: list[str], count: int) -> None:
    for _ in range(count):
        await rate.take(partition)
        taken.append(partition)


@pytest.mark.rule("lim-17")
@fails_without(ChildRate, "take", _unlimited)
async def test_a_tenant_gets_one_second_at_once_and_then_its_rate() -> None:
    clock, taken = ManualClock(), list[str]()
    rate = ChildRate(clock, 10)
    tasks = [asyncio.create_task(_take(rate, "a", taken, 30)) for _ in range(2)]
    await run_ready_tasks()
    counts = [len(taken)]
    for _ in range(6):
        clock.advance(500)
        await run_ready_tasks()
        # A sleeper that wakes asks again, and may sleep once more for the same instant.
        clock.advance(0)
        await run_ready_tasks()
        counts.append(len(taken))
    assert counts[0] == 10
    assert all(later - before <= 6 for before, later in pairwise(counts)), counts
    assert counts[-1] > 15
    for task in tasks:
        task.cancel()


@fails_without(ChildRate, "take", lambda self, partition, take=ChildRate.take: take(self, "all"))
async def test_tenants_do_not_wait_for_each_other() -> None:
    clock, taken = ManualClock(), list[str]()
    rate = ChildRate(clock, 5)
    tasks = [asyncio.create_task(_take(rate, name, taken, 8)) for name in ("a", "b")]
    await run_ready_tasks()
    assert (taken.count("a"), taken.count("b")) == (5, 5)
    for task in tasks:
        task.cancel()


async def test_a_cancelled_node_gives_its_turn_back() -> None:
    clock = ManualClock()
    rate = ChildRate(clock, 1)
    await rate.take("a")
    waiting = [asyncio.create_task(rate.take("a")) for _ in range(50)]
    await run_ready_tasks()
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    following = asyncio.create_task(rate.take("a"))
    await run_ready_tasks()
    clock.advance(1000)
    await run_ready_tasks()
    assert following.done()


@fails_without(child_rate, "MAX_IDLE_TENANTS", 10**9)
async def test_tenants_with_full_buckets_are_forgotten() -> None:
    clock = ManualClock()
    rate = ChildRate(clock, 1000)
    for number in range(3000):
        await rate.take(f"tenant-{number}")
        clock.advance(10)
    assert len(rate._virtual) <= 1024


async def test_no_limit_waits_for_nothing() -> None:
    rate = ChildRate(ManualClock(), 0)
    for _ in range(5000):
        await rate.take("a")


async def _map_of(**limits: Any) -> tuple[EngineHarness, Any]:
    return await start_run(MANY, LEAF, bench=EngineHarness(limits=Limits(**limits)))


async def _pass_time(bench: EngineHarness, seconds: int) -> None:
    for _ in range(seconds * 4):
        bench.clock.advance(250)
        await settle()


@pytest.mark.rule("lim-17")
async def test_a_map_waits_and_completes() -> None:
    bench, key = await _map_of(max_children_per_second=4)
    assert len(await child_keys(bench, key)) == 0
    assert await bench.status(key) == "running"
    await _pass_time(bench, 4)
    assert await bench.status(key) == "completed"
    assert len(await child_keys(bench, key)) == 12


async def test_a_map_that_waits_can_be_cancelled() -> None:
    bench, key = await _map_of(max_children_per_second=1)
    assert await bench.cancel(key) == "cancelling"
    await settle()
    assert await bench.status(key) == "cancelled"
    assert await child_keys(bench, key) == []


async def test_a_map_that_waits_continues_after_a_restart() -> None:
    bench, key = await _map_of(max_children_per_second=4)
    after = await restart(bench, MANY, LEAF)
    await _pass_time(after, 4)
    assert await after.status(key) == "completed"
    assert len(await child_keys(after, key)) == 12


async def test_a_full_tree_is_an_error_and_no_wait() -> None:
    bench, key = await _map_of(max_descendants=5, max_children_per_second=1000)
    assert "`max_descendants`" in (await bench.payload(key, "run.failed"))["error"]["message"]
