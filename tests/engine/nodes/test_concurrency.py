"""Turns: no more nodes at once than may, in order, and without a loss to those who wait."""

import asyncio

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, effect_node_type
from weftwork.engine.nodes.concurrency import ConcurrencyLimiter
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.limits import Limits

ONE = workflow([node("a", "test.body")])


@pytest.mark.rule("lim-12")
@pytest.mark.parametrize("by", ["type", "tenant", "threads"])
def test_no_more_run_at_once_than_may(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    async def work(guarded: bool) -> int:
        now, most = 0, 0
        gate = asyncio.Event()

        async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await gate.wait()
            now -= 1
            return Completed({})

        if not guarded:
            monkeypatch.setattr("weftwork.engine.nodes.node_runner.slots_for", lambda *_: ())
        limits = {"tenant": Limits(max_nodes_per_tenant=3), "threads": Limits(max_node_threads=3)}.get(by, Limits())
        bench = EngineHarness(
            effect_node_type("test.body", body, concurrency=3 if by == "type" else 0, holds_thread=by == "threads"),
            limits=limits,
        )
        keys = [await bench.start(workflow([node(f"n{i}", "test.body") for i in range(4)])) for _ in range(3)]
        await run_ready_tasks()
        gate.set()
        for key in keys:
            await bench.run_to_end(key)
        assert bench.runtime.limiter._busy == {}
        return most

    assert run(lambda: work(True)) == 3
    assert run(lambda: work(False)) == 12


async def test_waiting_for_a_turn_takes_no_time_away_and_claims_nothing() -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench = EngineHarness(world.effect_node(concurrency=1))
    limited = workflow([node("a", "test.pay", settings={"timeoutMs": 50})])
    first, second = await bench.start(limited), await bench.start(limited)
    await until(lambda: world.received_keys)
    bench.clock.advance(49)
    await run_ready_tasks()
    world.blocked_until.set_result(None)
    world.blocked_until = None
    await bench.run_to_end(first)
    await bench.run_to_end(second)
    assert [await bench.status(key) for key in (first, second)] == ["completed"] * 2

    world.blocked_until = asyncio.get_running_loop().create_future()
    first, second = await bench.start(limited), await bench.start(limited)
    await until(lambda: len(world.received_keys) == 3)
    await bench.crash()
    world.blocked_until = None
    after = bench.successor()
    await after.executor.recover()
    await run_ready_tasks()
    # The second one had not begun: nobody has to be asked about it.
    assert (await after.status(first), await after.status(second)) == ("waiting-input", "completed")


async def test_a_turn_is_handed_on_whoever_gives_up() -> None:
    turns = ConcurrencyLimiter()
    mine = (("x", 1),)
    assert not await turns.acquire(mine)
    waiting = [asyncio.ensure_future(turns.acquire(mine)) for _ in range(3)]
    await run_ready_tasks()
    waiting[0].cancel()
    turns.release(mine)
    # Handed over and cancelled before it could go on.
    waiting[1].cancel()
    await run_ready_tasks()
    assert await waiting[2]
    assert [each.cancelled() for each in waiting] == [True, True, False]
    turns.release(mine)
    assert (turns._busy, turns._waiting) == ({}, {})
