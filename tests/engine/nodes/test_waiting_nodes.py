"""Waiting nodes: delays by any spelling, nodes that raise, and nodes that do not stop when told."""

import asyncio
from typing import Any

import pytest

from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until, waiting_node_type
from weftwork.adapters.nodes.flow import control
from weftwork.engine.nodes import node_runner
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext

STATIC = {"delayMs": {"type": "static", "value": 700}}


@pytest.mark.rule("node-03")
@pytest.mark.parametrize(
    ("inputs", "config", "length"),
    [
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
    ],
)
async def test_a_delay_is_read_in_a_fixed_order(inputs: Any, config: Any, length: int) -> None:
    bench = EngineHarness()
    nodes = [node("a", "core.delay", inputs=inputs, config=config)]
    key = await bench.start(workflow(nodes, None, [variable("v", "number", defaultValue=50)]))
    await run_ready_tasks()
    if length:
        bench.clock.advance(length - 1)
        await run_ready_tasks()
        assert await bench.status(key) == "running"
        bench.clock.advance(1)
        await run_ready_tasks()
    assert await bench.status(key) == "completed"


@pytest.mark.rule("node-03")
async def test_a_delay_without_a_length_fails() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "core.delay")]))
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "node_input_missing"


async def test_a_delay_longer_than_a_year_is_refused_with_its_definition() -> None:
    bench = EngineHarness()
    await bench.store.open()
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
    key = await bench.start(workflow([node("a", "test.bad")]))
    await bench.run_to_end(key)
    assert await bench.event_types(key) == ["run.started", "node.started", "node.failed", "run.failed"]
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "node_failed"
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
