"""Nodes that wait and nodes that end in odd ways: whatever they do, the run hears of it, and the host goes on."""

import asyncio
from typing import Any

import pytest

from tests.harness.cases import each_case, present
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks, until, waiting_node_type
from tests.harness.external_system import ExternalSystem, answer, effect_node_type
from weftwork.adapters.nodes.flow import control
from weftwork.engine.decide import transitions
from weftwork.engine.nodes import node_runner
from weftwork.engine.nodes.node_runner import STOP_GRACE_S
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.interrupts import Interrupt

ONE = workflow([node("a", "test.body")])


class UnexpectedError(BaseException):
    """What nobody expects."""


async def raises(error: type[BaseException] | None) -> None:
    """This error, or a cancel of the task by itself."""
    if error is None:
        present(asyncio.current_task()).cancel()
    await asyncio.sleep(0)
    raise error or AssertionError("it was cancelled")


ENDS: dict[str, Any] = {
    "a base exception": lambda: raises(UnexpectedError),
    "an interrupt from the keyboard": lambda: raises(KeyboardInterrupt),
    "an exit": lambda: raises(SystemExit),
    "the end of a generator": lambda: raises(GeneratorExit),
    "a cancel of itself": lambda: raises(None),
    "a cancel from below": lambda: raises(asyncio.CancelledError),
}


@pytest.mark.parametrize("place", ["a node", "a node with a time limit", "an item of a map", "a step"])
@pytest.mark.parametrize("name", ENDS)
async def test_however_it_ends_the_run_hears_of_it(name: str, place: str) -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await (context.step("s", "once", ENDS[name]) if place == "a step" else ENDS[name]())
        return Completed({})

    bench = EngineHarness(effect_node_type("test.body", body))
    made = node("a", "test.body", settings={"timeoutMs": 60_000} if "limit" in place else {})
    if "map" in place:
        made = node("a", "core.flow.map", config={"items": [1], "body": {"typeId": "test.body", "inputs": {}}})
    key = await bench.start(workflow([made]))
    for _ in range(40):
        await run_ready_tasks()
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] in ("node_failed", "map_item_failed", "step_failed")


async def test_what_a_node_is_given_is_its_own_and_its_clock_is_that_of_its_first_attempt() -> None:
    seen: list[tuple[Any, int]] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        before = context.now
        said = (await context.ask(Interrupt("custom", "k", {"customKind": "c"}))).value
        seen.append((list(said), context.now - before))
        said.append("mine")
        assert before == began
        return Failed("busy", "Not now.") if call.attempt < 3 else Completed({"now": context.now})

    bench = EngineHarness(effect_node_type("test.body", body))
    began = bench.clock.now()
    key = await bench.start(workflow([node("a", "test.body", settings={"maxRetries": 5, "retryDelayMs": 100})]))
    await run_ready_tasks()
    bench.clock.advance(700)
    await answer(bench, key, ["theirs"])
    await until(lambda: seen)
    await run_ready_tasks()
    after = await bench.restart()
    await after.run_to_end(key)
    assert seen == [(["theirs"], 700)] * 3


@pytest.mark.rule("lim-13")
async def test_a_node_that_takes_the_host_down_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "MAX_CRASHES", 3)
    begun = 0

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        nonlocal begun
        begun += 1
        return await asyncio.get_running_loop().create_future()

    bench, key = await EngineHarness(effect_node_type("test.body", body)).with_run(ONE)
    for _ in range(6):
        await run_ready_tasks()
        bench = await bench.restart()
    await run_ready_tasks()
    assert (begun, await bench.status(key)) == (4, "failed")
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_crashed"


async def test_an_unknown_outcome_stays_unknown_when_the_type_changes() -> None:
    world = ExternalSystem(blocked=True)
    bench, key = await EngineHarness(world.effect_node("once")).with_run(workflow([node("a", "test.pay")]))
    await until(lambda: world.received_keys)
    await bench.crash()
    world.blocked_until = None
    after = await bench.take_over(types=(world.effect_node("pure"),))
    await run_ready_tasks()
    assert (await after.status(key), len(world.received_keys)) == ("waiting-input", 1)


async def test_a_once_node_that_stopped_to_ask_is_not_asked_about() -> None:
    """A step of it is unknown; once that is settled, the node goes on without another question."""

    world = ExternalSystem()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed(await context.step("s", "once", lambda: world.call("s")))

    world.blocked_until = asyncio.get_running_loop().create_future()
    bench, key = await EngineHarness(effect_node_type("test.body", body, "once")).with_run(ONE)
    await until(lambda: world.received_keys)
    await bench.crash()
    world.blocked_until = None
    after = await bench.take_over()
    for said in ({"outcome": "again"}, {"outcome": "done", "output": {"receipt": 1}}):
        assert await after.settled_status(key) == "waiting-input"
        await answer(after, key, said)
    await after.run_to_end(key)
    assert (await after.status(key), len(world.received_keys)) == ("completed", 1)
    assert len(await after.payloads(key, "interrupt.requested")) == 2


@pytest.mark.rule("eff-03")
async def test_an_answer_that_names_another_question_is_refused() -> None:
    world = ExternalSystem(blocked=True)
    bench, key = await EngineHarness(world.effect_node()).with_run(workflow([node("a", "test.pay")]))
    await until(lambda: world.received_keys)
    after = await bench.restart()
    await run_ready_tasks()
    (asked,) = await after.payloads(key, "interrupt.requested")
    with pytest.raises(ClientFault, match="does not match"):
        await answer(after, key, {"outcome": "done", "key": f"{asked['key']}0"})
    await answer(after, key, {"outcome": "done", "key": asked["key"]})
    await after.run_to_end(key)


async def test_an_answer_that_does_not_fit_what_the_node_gives_is_asked_for_again() -> None:
    world = ExternalSystem(blocked=True)
    wanted = {"type": "object", "required": ["receipt"], "properties": {"receipt": {"type": "integer"}}}
    bench, key = await EngineHarness(world.effect_node(outputs=wanted)).with_run(workflow([node("a", "test.pay")]))
    await until(lambda: world.received_keys)
    after = await bench.restart()
    for said in ({"outcome": "done"}, {"outcome": "done", "output": {"receipt": "x"}}):
        await run_ready_tasks()
        await answer(after, key, said)
    assert await after.settled_status(key) == "waiting-input"
    asked = await after.payloads(key, "interrupt.requested")
    assert len({each["key"] for each in asked}) == 3
    assert "does not match" in asked[-1]["data"]["payload"]["message"]
    await answer(after, key, {"outcome": "done", "output": {"receipt": 7}})
    await after.run_to_end(key)
    assert (await after.payloads(key, "node.completed"))[0]["outputs"] == {"receipt": 7}


async def test_a_node_that_does_not_heed_its_end_gives_its_turn_back() -> None:
    entered: list[str] = []
    gate = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        entered.append(call.run_id)
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return Completed({})

    bench, first = await EngineHarness(effect_node_type("test.body", body, concurrency=1)).with_run(ONE)
    await until(lambda: entered)
    second = await bench.start(ONE)
    await bench.cancel(first)
    loop = asyncio.get_running_loop()
    # The grace is of real time, so it is not waited for.
    performer: Any = next(iter(bench.executor._live.values()))._activity.runner
    assert performer._grace.when() - loop.time() <= STOP_GRACE_S
    performer._abandon()
    await until(lambda: len(entered) == 2)
    gate.set()
    await bench.run_to_end(first)
    await bench.run_to_end(second)
    await until(lambda: bench.runtime.limiter._busy == {})


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("key", [None, "once"])
async def test_no_thread_is_taken_for_a_run_that_may_be_refused(plain: bool, key: str | None) -> None:
    there: list[bool] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        there.append(bool(bench.executor._live))
        return Completed({})

    bench = await EngineHarness(effect_node_type("test.body", body, holds_thread=plain)).open()
    assert await bench.catalog.register(ONE) == []
    made = await bench.service.create_run(CALLER, {"workflowId": "sample"}, key)
    await bench.run_to_end(CALLER.run(made.run_id))
    assert there == [plain and key is not None]


async def test_a_body_of_a_map_that_raises_fails_its_item() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if call.inputs["input"] == 2:
            raise ValueError("inner text")
        return Completed({})

    bench = EngineHarness(effect_node_type("test.body", body, "once"))
    config = {"items": [1, 2], "body": {"typeId": "test.body"}}
    made = node("a", "core.flow.map", config=config, settings={"maxRetries": 2, "retryDelayMs": 1})
    key = await bench.execute(workflow([made, node("b")], [edge("a", "b")]))
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "map_item_failed"
    assert failed["error"]["details"] == {"index": 1, "code": "node_failed"}
    assert await bench.payloads(key, "interrupt.requested") == []


STATIC = {"delayMs": {"type": "static", "value": 700}}


@pytest.mark.rule("node-03")
@each_case(
    "inputs, config, length",
    ({}, {"delayMs": 100}, 100),
    ({}, {"ms": 200}, 200),
    ({}, {"durationMs": 300}, 300),
    ({}, {"delayMs": 100, "ms": 200, "durationMs": 300}, 100),
    ({}, {"ms": 200, "durationMs": 300}, 200),
    ({}, {"delayMs": 0, "ms": 200}, 0),
    (STATIC, {}, 700),
    (STATIC, {"delayMs": 100}, 700),
    ({"delayMs": {"type": "variable", "variableName": "v"}}, {"delayMs": 100}, 50),
    ({"delayMs": {"type": "variable", "variableName": "gone", "optional": True}}, {"delayMs": 100}, 100),
)
async def test_a_delay_is_read_in_a_fixed_order(inputs: Any, config: Any, length: int) -> None:
    bench = EngineHarness()
    nodes = [node("a", "core.delay", inputs=inputs, config=config)]
    key = await bench.start(workflow(nodes, None, [variable("v", "number", defaultValue=50)]))
    await run_ready_tasks()
    if length:
        await bench.advance(length - 1)
        assert await bench.status(key) == "running"
        await bench.advance(1)
    assert await bench.status(key) == "completed"


@pytest.mark.rule("node-03")
async def test_a_delay_without_a_length_fails_and_one_longer_than_a_year_is_refused_with_its_definition() -> None:
    bench, key = await EngineHarness().with_ended_run(workflow([node("a", "core.delay")]))
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_input_missing"
    bench = await EngineHarness().open()
    document = workflow([node("a", "core.delay", config={"ms": control.MAX_DELAY_MS + 1})])
    (violation,) = await bench.catalog.register(document)
    assert (violation.pointer, violation.rule) == ("/nodes/0/config/ms", "maximum")
    assert bench.catalog.public_ids() == []


async def raising(call: NodeCall, context: NodeContext) -> NodeOutcome:
    await asyncio.sleep(0)
    raise RuntimeError("canary-0a1b")


async def losing(call: NodeCall, context: NodeContext) -> NodeOutcome:
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    lost.cancel()
    await lost
    return Completed({})


@pytest.mark.parametrize("work_of_node", [raising, losing])
async def test_a_waiting_node_that_raises_fails_and_the_run_goes_on(work_of_node: Any) -> None:
    bench = EngineHarness(waiting_node_type("test.bad", work_of_node))
    key = await bench.execute(workflow([node("a", "test.bad")]))
    assert await bench.event_types(key) == ["run.started", "node.started", "node.failed", "run.failed"]
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "node_failed"
    assert all(b"canary-0a1b" not in event.document for event in await bench.events(key))


class UncancellableNode:
    """A node that hears once that it should stop, and goes on until the test lets it end."""

    def __init__(self) -> None:
        self.told = 0
        self.end: asyncio.Event | None = None
        self.ended = False

    async def run(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        self.end = asyncio.Event()
        while not self.end.is_set():
            try:
                await self.end.wait()
            except asyncio.CancelledError:
                self.told += 1
                if self.told > 1:
                    raise
        self.ended = True
        return Completed({"late": True})


async def test_a_node_that_does_not_stop_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(node_runner, "STOP_GRACE_S", 0.01)
    stubborn = UncancellableNode()
    bench = EngineHarness(waiting_node_type("test.stubborn", stubborn.run))
    key = await bench.start(workflow([node("a", "test.stubborn")]))
    await until(lambda: stubborn.end is not None)
    reader = bench.feeds.join(key, -1)
    assert await bench.cancel(key) == "cancelling"
    while not reader.ended:
        await reader.next(5)
    log = await bench.event_types(key)
    assert log[-3:] == ["weftwork.run.cancel-requested", "node.cancelled", "run.cancelled"]
    assert stubborn.end is not None
    stubborn.end.set()
    await until(lambda: stubborn.ended)
    await run_ready_tasks()
    assert await bench.event_types(key) == log
    assert stubborn.told == 1
    assert "abandoned" in caplog.text


async def test_a_node_that_cleans_up_is_told_to_stop_once() -> None:
    stubborn = UncancellableNode()
    bench = EngineHarness(waiting_node_type("test.stubborn", stubborn.run))
    key = await bench.start(workflow([node("a", "test.stubborn"), node("b", "test.gate"), node("c", "test.gate")]))
    await until(lambda: stubborn.end is not None and len(bench.gate_node.waiting) == 2)
    assert await bench.cancel(key) == "cancelling"
    await run_ready_tasks()
    assert await bench.cancel(key) == "cancelling"
    await run_ready_tasks()
    assert sorted(bench.gate_node.cancelled) == ["b", "c"]
    assert (await bench.event_types(key)).count("node.cancelled") == 2
    assert stubborn.end is not None
    stubborn.end.set()
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-2:] == ["node.completed", "run.cancelled"]
    assert stubborn.told == 1
