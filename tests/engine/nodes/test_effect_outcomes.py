"""How effects end: failures that come back, what did not happen, pauses, shutdowns, time limits."""

import asyncio
from typing import Any

import pytest

from tests.engine.run.test_pause import pause, resume
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, effect_node_type
from weftwork.engine.decide import transitions
from weftwork.engine.nodes import effect_ledger
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext

PAY = workflow([node("a", "test.pay")])
STEPS = workflow([node("a", "test.steps")])
RETRY = {"maxRetries": 5, "retryDelayMs": 1}
CLAIMED, RECORDED = "weftwork.effect.claimed", "weftwork.effect.recorded"


@pytest.mark.rule("eff-06")
async def test_a_failure_is_recorded_and_comes_back() -> None:
    calls = 0

    async def charge() -> Any:
        nonlocal calls
        calls += 1
        raise StepFailed(Failed("declined", "No money.", {"limit": 5}))

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        try:
            await context.step("x", "once", charge)
        except StepFailed as failed:
            return Failed("again", failed.failure.message)
        raise AssertionError

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.execute(workflow([node("a", "test.body", settings=RETRY)]))
    assert calls == 1
    assert (await bench.payloads(key, RECORDED))[0]["error"] == {
        "code": "declined",
        "message": "No money.",
        "details": {"limit": 5},
    }


async def test_what_did_not_happen_may_be_tried_again() -> None:
    calls = 0

    async def charge() -> Any:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise NotDone
        return calls

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({"n": await context.step("x", "once", charge)})

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.execute(workflow([node("a", "test.body", settings=RETRY)]))
    assert (calls, (await bench.payloads(key, "node.completed"))[0]["outputs"]) == (3, {"n": 3})
    assert (await bench.event_types(key)).count(CLAIMED) == 3


@pytest.mark.rule("eff-04")
@pytest.mark.parametrize("whole", [True, False])
async def test_an_immediate_pause_waits_for_what_must_not_happen_twice(whole: bool) -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench = EngineHarness(world.effect_node() if whole else world.step_node("x", "y"))
    key = await bench.start(PAY if whole else STEPS)
    await until(lambda: world.received_keys)
    await pause(bench, key, drainPolicy="immediate")
    assert await bench.status(key) == "running"
    world.blocked_until.set_result(None)
    world.blocked_until = None
    await run_ready_tasks()
    assert await bench.status(key) == "paused"
    assert len(world.received_keys) == 1
    await resume(bench, key)
    await bench.run_to_end(key)
    assert (await bench.status(key), len(world.received_keys)) == ("completed", 1 if whole else 2)
    assert await bench.payloads(key, "interrupt.requested") == []


async def test_a_host_that_goes_away_lets_an_effect_be_recorded() -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench, key = await EngineHarness(world.step_node("x", "y")).with_run(STEPS)
    await until(lambda: world.received_keys)
    closing = asyncio.ensure_future(bench.close())
    await run_ready_tasks()
    assert not closing.done()
    world.blocked_until.set_result(None)
    world.blocked_until = None
    await closing
    assert (await bench.event_types(key))[-1] == RECORDED
    after = bench.successor()
    await after.executor.recover()
    await after.run_to_end(key)
    assert (len(world.received_keys), await after.payloads(key, "interrupt.requested")) == (2, [])


@pytest.mark.rule("eff-07")
@pytest.mark.parametrize(("name", "status"), [("", "failed"), ("n" * 128, "completed"), ("n" * 129, "failed")])
async def test_a_step_has_a_name_of_some_length(name: str, status: str) -> None:
    bench, key = await EngineHarness(ExternalSystem().step_node(name)).with_ended_run(STEPS)
    assert await bench.status(key) == status


async def test_a_name_is_good_for_one_step() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        async def one() -> int:
            return 1

        await context.step("x", "once", one)
        return Completed({"n": await context.step("x", "once", one)})

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.execute(workflow([node("a", "test.body")]))
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "node_misused"


async def test_a_once_node_that_ran_out_of_time_is_not_tried_again() -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench = EngineHarness(world.effect_node())
    key = await bench.start(workflow([node("a", "test.pay", settings={**RETRY, "timeoutMs": 50})]))
    await until(lambda: world.received_keys)
    bench.clock.advance(60)
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "node_timeout"
    assert len(world.received_keys) == 1


async def test_what_was_claimed_and_never_begun_is_not_asked_about() -> None:
    """The claim is being written while the time limit passes: nothing was sent, and whoever claimed it knows that."""

    class SlowLog:
        def __init__(self, log: Any) -> None:
            self._log = log
            self.gate: asyncio.Event | None = None

        def __getattr__(self, name: str) -> Any:
            return getattr(self._log, name)

        async def append(self, *arguments: Any) -> Any:
            if self.gate is None and any(event.type == CLAIMED for event in arguments[2].events):
                self.gate = asyncio.Event()
                await self.gate.wait()
            return await self._log.append(*arguments)

    world = ExternalSystem()
    bench = EngineHarness(world.step_node("x"), wrap=SlowLog)
    key = await bench.start(workflow([node("a", "test.steps", settings={**RETRY, "timeoutMs": 50})]))
    await until(lambda: bench.log.gate)
    bench.clock.advance(60)
    await run_ready_tasks()
    bench.log.gate.set()
    await bench.run_to_end(key)
    assert (await bench.status(key), len(world.received_keys)) == ("completed", 1)
    assert await bench.payloads(key, "interrupt.requested") == []


@pytest.mark.parametrize(("name", "least"), [("MAX_STEPS", 2), ("MAX_STEP_BYTES", 20)])
def test_a_node_that_leaves_too_much_behind_fails(monkeypatch: pytest.MonkeyPatch, name: str, least: int) -> None:
    async def work() -> str:
        bench, key = await EngineHarness(ExternalSystem().step_node("x", "y", "z")).with_ended_run(STEPS)
        return await bench.status(key)

    assert run(work) == "completed"
    monkeypatch.setattr(effect_ledger, name, least)
    assert run(work) == "failed"


@pytest.mark.rule("lim-13", "node-14")
@pytest.mark.parametrize("age", [10, 61_000])
async def test_a_map_whose_items_take_the_host_down_is_given_up_unless_it_had_run_for_long(
    monkeypatch: pytest.MonkeyPatch, age: int
) -> None:
    monkeypatch.setattr(transitions, "MAX_CRASHES", 2)

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await asyncio.get_running_loop().create_future()

    bench = EngineHarness(effect_node_type("test.body", body))
    config = {"items": [1, 2], "body": {"typeId": "test.body"}}
    key = await bench.start(workflow([node("a", "core.flow.map", config=config)]))
    for _ in range(5):
        await run_ready_tasks()
        await bench.crash()
        bench.clock.advance(age)
        bench = bench.successor()
        await bench.executor.recover()
    await run_ready_tasks()
    assert (await bench.status(key)) == ("failed" if age < 60_000 else "running")
