"""How effects end: failures that come back, what did not happen, pauses, shutdowns, time limits."""

import asyncio
from typing import Any

import pytest

from tests.engine.bench import Bench, quiet, run, until
from tests.engine.effects import World, working
from tests.engine.test_pause import pause, resume
from tests.protocol.definition import node, workflow
from weftwork.ports.nodes import Completed, Failed, NodeCall, NodeContext, NotDone, Outcome, StepFailed

PAY = workflow([node("a", "test.pay")])
STEPS = workflow([node("a", "test.steps")])
RETRY = {"maxRetries": 5, "retryDelayMs": 1}
CLAIMED, RECORDED = "weftwork.effect.claimed", "weftwork.effect.recorded"


@pytest.mark.rule("eff-06")
def test_a_failure_is_recorded_and_comes_back() -> None:
    async def work() -> None:
        calls = 0

        async def charge() -> Any:
            nonlocal calls
            calls += 1
            raise StepFailed(Failed("declined", "No money.", {"limit": 5}))

        async def body(call: NodeCall, context: NodeContext) -> Outcome:
            try:
                await context.step("x", "once", charge)
            except StepFailed as failed:
                return Failed("again", failed.failure.message)
            raise AssertionError

        bench = Bench(working("test.body", body))
        key = await bench.start(workflow([node("a", "test.body", settings=RETRY)]))
        await bench.end(key)
        assert calls == 1
        assert (await bench.payloads(key, RECORDED))[0]["error"] == {
            "code": "declined",
            "message": "No money.",
            "details": {"limit": 5},
        }

    run(work)


def test_what_did_not_happen_may_be_tried_again() -> None:
    async def work() -> None:
        calls = 0

        async def charge() -> Any:
            nonlocal calls
            calls += 1
            if calls < 3:
                raise NotDone
            return calls

        async def body(call: NodeCall, context: NodeContext) -> Outcome:
            return Completed({"n": await context.step("x", "once", charge)})

        bench = Bench(working("test.body", body))
        key = await bench.start(workflow([node("a", "test.body", settings=RETRY)]))
        await bench.end(key)
        assert (calls, (await bench.payloads(key, "node.completed"))[0]["outputs"]) == (3, {"n": 3})
        assert (await bench.kinds(key)).count(CLAIMED) == 3

    run(work)


@pytest.mark.rule("eff-04")
@pytest.mark.parametrize("whole", [True, False])
def test_an_immediate_pause_waits_for_what_must_not_happen_twice(whole: bool) -> None:
    async def work() -> None:
        world = World()
        world.held = asyncio.get_running_loop().create_future()
        bench = Bench(world.node() if whole else world.steps("x", "y"))
        key = await bench.start(PAY if whole else STEPS)
        await until(lambda: world.seen)
        await pause(bench, key, drainPolicy="immediate")
        assert await bench.status(key) == "running"
        world.held.set_result(None)
        world.held = None
        await quiet()
        assert await bench.status(key) == "paused"
        assert len(world.seen) == 1
        await resume(bench, key)
        await bench.end(key)
        assert (await bench.status(key), len(world.seen)) == ("completed", 1 if whole else 2)
        assert await bench.payloads(key, "interrupt.requested") == []

    run(work)


def test_a_host_that_goes_away_lets_an_effect_be_recorded() -> None:
    async def work() -> None:
        world = World()
        world.held = asyncio.get_running_loop().create_future()
        bench = Bench(world.steps("x", "y"))
        key = await bench.start(STEPS)
        await until(lambda: world.seen)
        closing = asyncio.ensure_future(bench.close())
        await quiet()
        assert not closing.done()
        world.held.set_result(None)
        world.held = None
        await closing
        assert (await bench.kinds(key))[-1] == RECORDED
        after = bench.again()
        await after.executor.recover()
        await after.end(key)
        assert (len(world.seen), await after.payloads(key, "interrupt.requested")) == (2, [])

    run(work)


def test_a_name_is_good_for_one_step() -> None:
    async def work() -> None:
        async def body(call: NodeCall, context: NodeContext) -> Outcome:
            async def one() -> int:
                return 1

            await context.step("x", "once", one)
            return Completed({"n": await context.step("x", "once", one)})

        bench = Bench(working("test.body", body))
        key = await bench.start(workflow([node("a", "test.body")]))
        await bench.end(key)
        assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "node_misused"

    run(work)


def test_a_once_node_that_ran_out_of_time_is_not_tried_again() -> None:
    async def work() -> None:
        world = World()
        world.held = asyncio.get_running_loop().create_future()
        bench = Bench(world.node())
        key = await bench.start(workflow([node("a", "test.pay", settings={**RETRY, "timeoutMs": 50})]))
        await until(lambda: world.seen)
        bench.clock.advance(60)
        await bench.end(key)
        assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "node_timeout"
        assert len(world.seen) == 1

    run(work)
