"""Nodes that do work of their own: executed again after a crash, at most so many at once, and heard while they run."""

import asyncio
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, answer, effect_node_type
from weftwork.engine import node_events
from weftwork.engine.api.keyring import Principal
from weftwork.engine.nodes.concurrency import ConcurrencyLimiter
from weftwork.engine.nodes.node_context import EntryContext
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fair_share import FairQueue
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.wire.v1.routes import SCOPES

ONE = workflow([node("a", "test.body")])


@pytest.mark.rule("node-14")
async def test_a_node_is_executed_again_as_the_next_attempt() -> None:
    calls: list[tuple[int, int]] = []
    gate = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        calls.append((call.attempt, context.started_at))
        await gate.wait()
        return Completed({"attempt": call.attempt})

    bench, key = await EngineHarness(effect_node_type("test.body", body)).with_run(ONE)
    for attempt in (1, 2, 3):
        await until(lambda attempt=attempt: len(calls) == attempt)
        await run_ready_tasks()
        await bench.crash()
        bench.clock.advance(10)
        bench = await bench.take_over()
    await until(lambda: len(calls) == 4)
    gate.set()
    await bench.run_to_end(key)
    begun = calls[0][1]
    assert calls == [(1, begun), (2, begun + 10), (3, begun + 20), (4, begun + 30)]
    assert [each["attempt"] for each in await bench.payloads(key, "node.started")] == [1, 2, 3, 4]
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"attempt": 4}


@pytest.mark.rule("node-15")
@fails_without("weftwork.engine.run.activity._is_pure", lambda state, node_id, threads: True, match="idempotent")
async def test_only_what_is_pure_runs_before_its_start_is_durable() -> None:
    durable: list[bool] = []
    appends: list[int] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        durable.append(any(event.node_id == call.node_id for event in await bench.events(key)))
        return Completed({})

    class CountingLog(WrappedLog):
        async def append(self, *arguments: Any) -> Any:
            appends.append(len(arguments[2].events))
            return await self._log.append(*arguments)

    effects: tuple[Any, ...] = ("pure", "idempotent", "once")
    for effect in effects:
        bench = EngineHarness(effect_node_type("test.body", body, effect), wrap=CountingLog)
        names = [f"n{number}" for number in range(4)]
        edges = [edge("g", "n0"), *(edge(a, b) for a, b in pairwise(names))]
        nodes = [node("g", "test.gate"), *(node(name, "test.body") for name in names)]
        key = await bench.start(workflow(nodes, edges))
        await until(lambda bench=bench: bench.gate_node.waiting)
        await bench.run_to_end(key, release="g")
        assert all(durable) == (effect != "pure"), effect
        assert len(appends) == 1 or effect != "pure"
        durable.clear()


async def test_nothing_runs_on_for_a_run_that_was_not_made() -> None:
    """A pure node runs while its run is being created; if that comes to nothing, it is stopped."""

    seen: list[str] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        seen.append("begun")
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            seen.append("stopped")
            raise
        raise AssertionError

    bench = EngineHarness(effect_node_type("test.body", body))
    await bench.start(ONE)
    with pytest.raises(ClientFault, match="of this scope has not ended"):
        await bench.service.create_run(CALLER, {"workflowId": "sample"}, exclusive=True)
    await run_ready_tasks()
    assert seen == ["begun", "begun", "stopped"]


async def test_a_crash_takes_no_retry_away() -> None:
    calls: list[int] = []
    gate = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        calls.append(call.attempt)
        await gate.wait()
        raise ValueError("inner text")

    bench = EngineHarness(effect_node_type("test.body", body))
    key = await bench.start(workflow([node("a", "test.body", settings={"maxRetries": 1, "retryDelayMs": 1})]))
    await until(lambda: calls)
    await run_ready_tasks()
    bench = await bench.restart()
    gate.set()
    await bench.run_to_end(key)
    assert calls == [1, 2, 3]
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_failed"
    assert "inner" not in str(await bench.events(key))


async def test_what_a_node_says_is_heard_while_it_runs_and_before_its_end() -> None:
    gate = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        context.emit_event(AppendLog("info", "first"))
        context.emit_event(EmitEvent("acme.progress", {"part": 1}))
        await gate.wait()
        context.emit_event(AppendLog("warn", "last", {"n": 2}))
        return Completed({})

    bench, key = await EngineHarness(effect_node_type("test.body", body)).with_settled_run(ONE)
    assert (await bench.event_types(key))[2:] == ["log.appended", "acme.progress"]
    gate.set()
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[4:] == ["log.appended", "node.completed", "run.completed"]
    assert (await bench.events(key))[3].node_id == "a"


def test_a_node_that_says_too_much_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> str:
        async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
            for number in range(20):
                context.emit_event(EmitEvent("acme.progress", {"part": number}))
            return Completed({})

        bench, key = await EngineHarness(effect_node_type("test.body", body)).with_ended_run(ONE)
        return await bench.status(key)

    assert run(work) == "completed"
    monkeypatch.setattr(node_events, "MAX_NODE_EVENTS", 19)
    assert run(work) == "failed"
    monkeypatch.setattr(node_events, "MAX_NODE_EVENTS", 100)
    monkeypatch.setattr(node_events, "MAX_NODE_EVENT_BYTES", 19)
    assert run(work) == "failed"


@pytest.mark.rule("ver-01")
async def test_the_first_version_that_is_pinned_stands() -> None:
    pinned: list[int] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        pinned.append(await context.pin_version("prices", int(call.config["n"])))
        return Completed({})

    types = effect_node_type("test.body", body, config={"type": "object"})
    bench = EngineHarness(types)
    document = workflow(
        [node("a", "test.body", config={"n": 2}), node("g", "test.gate"), node("b", "test.body", config={"n": 5})],
        [edge("a", "g"), edge("g", "b")],
    )
    key = await bench.start(document)
    await until(lambda: bench.gate_node.waiting)
    after = await bench.restart()
    await until(lambda: after.gate_node.waiting)
    await after.run_to_end(key, release="g")
    assert pinned == [2, 2]
    assert await after.payloads(key, "version.pinned") == [{"changeId": "prices", "version": 2, "nodeId": "a"}]


@pytest.mark.rule("ver-03")
@fails_without(EntryContext, "_repeats_recorded_part", False)
@each_case("recorded, least, expected", ("step", -1, -1), ("answer", -1, -1), ("step", 0, 2), ("nothing", -1, 2))
async def test_what_older_code_has_done_pins_the_version_before_the_change(
    recorded: str, least: int, expected: int
) -> None:
    pinned: list[int] = []
    world, is_changed = ExternalSystem(), False

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if is_changed and recorded != "nothing":
            pinned.append(await context.pin_version("prices", 2, least))
        if recorded == "step":
            await context.step("x", "once", lambda: world.call("x"))
        key = "shared" if recorded == "step" else f"{call.node_id}:{call.visit}:q"
        await context.ask(Interrupt("custom", key, {"customKind": "c"}))
        if is_changed and recorded == "nothing":
            pinned.append(await context.pin_version("prices", 2, least))
        return Completed({})

    bench, key = await EngineHarness(effect_node_type("test.body", body)).with_settled_run(ONE)
    is_changed = True
    after = await bench.restart()
    await answer(after, key, "yes")
    await after.run_to_end(key)
    assert pinned == [expected]
    assert [each["version"] for each in await after.payloads(key, "version.pinned")] == [expected]


async def test_a_node_asks_and_goes_on_from_its_start_with_what_it_did_in_steps() -> None:
    world = ExternalSystem()
    outside = 0

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        nonlocal outside
        outside += 1
        first = await context.step("x", "once", lambda: world.call("x"))
        said = (await context.ask(Interrupt("custom", f"k{len(world.received_keys)}", {"customKind": "c"}))).value
        second = await context.step("y", "once", lambda: world.call("y"))
        return Completed({"said": said, "first": first, "second": second})

    bench, key = await EngineHarness(effect_node_type("test.body", body)).with_settled_run(ONE)
    assert await bench.status(key) == "waiting-input"
    after = await bench.restart()
    await answer(after, key, "yes")
    await after.run_to_end(key)
    assert (world.received_keys, outside) == (["x", "y"], 2)
    outputs: Any = (await after.payloads(key, "node.completed"))[0]["outputs"]
    assert outputs == {"said": "yes", "first": {"receipt": 1}, "second": {"receipt": 2}}


@pytest.mark.rule("lim-12")
@each_case("by", "type", "tenant", "threads")
@fails_without("weftwork.engine.nodes.node_runner.slots_for", lambda *_: (), match="12 == 3")
async def test_no_more_run_at_once_than_may(by: str) -> None:
    now, most = 0, 0
    gate = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await gate.wait()
        now -= 1
        return Completed({})

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
    assert most == 3


async def test_waiting_for_a_turn_takes_no_time_away_and_claims_nothing() -> None:
    world = ExternalSystem(blocked=True)
    bench = EngineHarness(world.effect_node(concurrency=1))
    limited = workflow([node("a", "test.pay", settings={"timeoutMs": 50})])
    first, second = await bench.start(limited), await bench.start(limited)
    await until(lambda: world.received_keys)
    await bench.advance(49)
    world.unblock()
    await bench.run_to_end(first)
    await bench.run_to_end(second)
    assert [await bench.status(key) for key in (first, second)] == ["completed"] * 2
    world.blocked_until = asyncio.get_running_loop().create_future()
    first, second = await bench.start(limited), await bench.start(limited)
    await until(lambda: len(world.received_keys) == 3)
    await bench.crash()
    world.blocked_until = None
    after = await bench.take_over()
    await run_ready_tasks()
    # The second one had not begun: nobody has to be asked about it.
    assert (await after.status(first), await after.status(second)) == ("waiting-input", "completed")


async def test_a_turn_is_handed_on_whoever_gives_up() -> None:
    turns = ConcurrencyLimiter()
    mine = (("x", 1),)
    assert not await turns.acquire("acme", mine)
    waiting = [asyncio.ensure_future(turns.acquire("acme", mine)) for _ in range(3)]
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


def first_in_first_out(self: FairQueue[Any], cost: float = 1) -> tuple[str, Any]:
    tenant = next(iter(self._waiting))
    entry = self._waiting[tenant].popleft()
    self._count -= 1
    if not self._waiting[tenant]:
        del self._waiting[tenant]
    return tenant, entry


@pytest.mark.rule("lim-26")
@each_case("by", "type", "threads")
@fails_without(FairQueue, "take", first_in_first_out)
async def test_a_thousand_waiting_nodes_of_a_tenant_do_not_delay_the_first_of_another(by: str) -> None:
    started: list[str] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        started.append(call.inputs["tenant"])
        await asyncio.sleep(0)
        return Completed({})

    bench = EngineHarness(
        effect_node_type("test.body", body, concurrency=2 if by == "type" else 0, holds_thread=by == "threads"),
        limits=Limits(max_node_threads=2, max_parallel_nodes=1000),
    )

    def many(tenant: str, count: int) -> dict[str, Any]:
        inputs = {"tenant": {"type": "static", "value": tenant}}
        return workflow([node(f"n{at}", "test.body", inputs=inputs) for at in range(count)], id=f"many-{tenant}")

    gate = bench.runtime.limiter
    slots = (("type:test.body", 2),) if by == "type" else (("threads", 2),)
    await gate.acquire("test", slots)
    await gate.acquire("test", slots)
    keys = [await bench.start(many("greedy", 500)), await bench.start(many("greedy", 500))]
    late = Principal.of("key_2", "late", "live", frozenset(SCOPES))
    await bench.catalog.register(many("late", 3))
    keys.append(late.run((await bench.service.create_run(late, {"workflowId": "many-late"})).run_id))
    await run_ready_tasks()
    assert started == []
    gate.release(slots)
    gate.release(slots)
    for key in keys:
        await bench.run_to_end(key)
    assert Counter(started) == {"greedy": 1000, "late": 3}
    assert started.index("late") <= 1
    assert started[:8].count("late") == 3
