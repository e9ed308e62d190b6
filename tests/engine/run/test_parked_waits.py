"""Runs that wait for a time, or are paused, are in the store alone, and go on as if they had stayed in memory."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.engine.run.test_loops import flaky, trying
from tests.engine.run.test_pause import pause, resume
from tests.engine.run.test_waiting_runs import DAY, pass_time
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.api.keyring import Principal
from weftwork.engine.decide.inputs import VariablesOverwritten
from weftwork.engine.host import alarm
from weftwork.engine.host.parked_clocks import ParkedClock, ParkedClocks
from weftwork.ports.models import Message, ModelRequest, ProviderFault
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.fold import facts
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.timed_waits import LONG_WAIT_MS
from weftwork.testing.deterministic import START

LENGTH = 5_000
Document = dict[str, Any]


def delayed(config: Document | None = None, inputs: Document | None = None, **more: Any) -> Document:
    """A wait, and a node after it."""
    variables = [
        variable("length", "number", defaultValue=LENGTH),
        variable("n", "number", defaultValue=0),
        variable("time", defaultValue=iso(START + LENGTH)),
    ]
    given = {"delayMs": LENGTH} if config is None else config
    waits = node("wait", "core.delay", config=given, inputs=inputs or {}, **more)
    return workflow([waits, node("end")], [edge("wait", "end")], variables)


def until_node(text: Any) -> Document:
    return workflow([node("wait", "core.wait", inputs={"until": {"type": "static", "value": text}})])


READ = {"delayMs": {"type": "variable", "variableName": "length"}}
COMPUTED = {"delayMs": {"type": "expression", "expression": "variables.length + 1.0"}}
UNTIL_VARIABLE = workflow(
    [node("wait", "core.wait", inputs={"until": {"type": "variable", "variableName": "time"}})],
    variables=[variable("length", "number"), variable("time", defaultValue=iso(START + LENGTH))],
)
BRANCHES = workflow(
    [node("a", "core.delay", config={"ms": LENGTH}), node("b", "core.delay", config={"ms": 3 * LENGTH}), node("end")],
    [edge("a", "end"), edge("b", "end")],
    [variable("n", "number")],
)
RETRIES = {
    **trying(maxRetries=3, retryDelayMs=LENGTH, retryMaxDelayMs=LENGTH),
    "variables": [variable("n", "number")],
}
DOWN = workflow([node("wait", "test.ask"), node("end")], [edge("wait", "end")], [variable("n", "number")])
DOWN_AND_LIMITED = workflow([node("wait", "test.ask", settings={"timeoutMs": LENGTH // 2})])
CHILD = {**delayed(), "id": "child"}
PARENT = workflow([node("call", "core.subWorkflow", config={"workflowId": "child"})], id="parent")
WAITS: list[tuple[Document, list[int]]] = [
    (delayed(), [LENGTH]),
    (delayed({}, READ), [LENGTH]),
    (delayed({}, COMPUTED), [LENGTH + 1]),
    (delayed({"durationMs": LONG_WAIT_MS + 1}), [LONG_WAIT_MS + 1]),
    (until_node(iso(START + LENGTH)), [LENGTH]),
    (until_node(START + 30 * DAY), [30 * DAY]),
    (RETRIES, [LENGTH, 2 * LENGTH, 3 * LENGTH]),
    (BRANCHES, [LENGTH, 3 * LENGTH]),
    (delayed(settings={"timeoutMs": LENGTH // 2}), [LENGTH // 2]),
    (workflow([node("wait", "core.delay", config={"ms": LENGTH})], settings={"timeout": 3_000}), [3_001]),
    (PARENT, [LENGTH]),
    (DOWN, [LENGTH, 2 * LENGTH]),
    (DOWN_AND_LIMITED, [LENGTH // 2]),
    ({**DOWN, "settings": {"timeout": 3_000}}, [3_001]),
]


async def ask(call: NodeCall, context: NodeContext) -> NodeOutcome:
    request = ModelRequest("test", "", (Message("user", "Well?"),))
    return Completed({"answer": (await context.generate(request, lambda answer: ())).text})


ASK = WaitingNode(NodeDeclaration("test.ask", "Calls a model.", effect="idempotent", instant=False), ask)
IS_DOWN = [ProviderFault("provider_unavailable", "It is down.", wait_ms=LENGTH)]


@contextlib.asynccontextmanager
async def started(document: Document, **options: Any) -> AsyncIterator[tuple[EngineHarness, RunKey]]:
    """A run that is as far as it gets without time. Nothing of its host is left in the end."""
    bench = EngineHarness(flaky(9), ASK, models=ScriptedModel(IS_DOWN, IS_DOWN, "yes"), **options)
    try:
        await bench.open()
        assert await bench.catalog.register(CHILD) == []
        yield await bench.with_settled_run(document)
    finally:
        await run_ready_tasks()
        await bench.crash()


async def log_of(bench: EngineHarness, key: RunKey) -> list[tuple[Any, ...]]:
    runs = [key, *(CALLER.run(each["childRunId"]) for each in await bench.payloads(key, "weftwork.child.started"))]
    return [
        (event.sequence, event.type, event.payload, event.timestamp, event.node_id)
        for run in runs
        for event in await bench.events(run)
    ]


Act = Callable[[EngineHarness, RunKey], Awaitable[Any]]


async def kept_in_memory(document: Document, act: Act) -> list[tuple[Any, ...]]:
    """The log of a run for which every wait is short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "LONG_WAIT_MS", 10 * 365 * DAY)
        async with started(document) as (bench, key):
            await act(bench, key)
            await bench.run_to_end(key)
            return await log_of(bench, key)


@pytest.mark.rule("park-01", "park-02", "park-03", "node-03")
@fails_without(facts, "LONG_WAIT_MS", 10 * 365 * DAY, match="live")
@each_case("document, wakes", *WAITS)
async def test_a_wait_is_parked_until_its_end_and_leaves_the_log_of_one_that_stayed(
    document: Document, wakes: list[int]
) -> None:
    async with started(document, limits=Limits(max_live_runs=1)) as (bench, key):
        for when in wakes:
            assert bench.executor.live_count == 0, "the run is live"
            assert await bench.status(key) == "running"
            assert bench.clock.next_wake == START + when, "the alarm is set for another time"
            before = await log_of(bench, key)
            await pass_time(bench, START + when - 1 - bench.clock.now())
            assert await log_of(bench, key) == before, "the run was too early"
            await pass_time(bench, 1)
            assert next(event[3] for event in await log_of(bench, key) if event not in before) == START + when
        await bench.run_to_end(key)

        async def nothing(bench: EngineHarness, key: RunKey) -> None: ...

        assert await log_of(bench, key) == await kept_in_memory(document, nothing)


def _rounded_up(self: ParkedClocks, run: RunKey, origin: int, wake_at: int | None) -> int | None:
    return ParkedClock(origin, wake_at).wake_monotonic


@pytest.mark.rule("park-02")
@fails_without(ParkedClocks, "on_parked", _rounded_up, match="too late")
@each_case("earlier", 0, 1, 2)
async def test_a_run_that_is_due_a_moment_before_the_next_wake_is_in_time(earlier: int) -> None:
    async with started(delayed({"delayMs": LENGTH})) as (bench, key):
        other = await bench.start({**delayed({"delayMs": LENGTH - earlier}), "id": "other"})
        await run_ready_tasks()
        assert bench.executor.live_count == 0
        assert bench.clock.next_wake == START + LENGTH - earlier, "the alarm is set too late"
        await bench.run_to_end(other)
        await bench.run_to_end(key)
        for run, length in ((key, LENGTH), (other, LENGTH - earlier)):
            assert (await bench.events(run))[-1].timestamp == START + length, "the run ended too late"


@pytest.mark.rule("park-03")
@fails_without("weftwork.engine.run.live_run.may_unload", lambda state, limit, now: bool(state.plan), match="unloaded")
@each_case(
    "document",
    delayed({"delayMs": LONG_WAIT_MS}),
    until_node(START + LONG_WAIT_MS),
    trying(maxRetries=1, retryDelayMs=LONG_WAIT_MS, retryMaxDelayMs=LONG_WAIT_MS),
    workflow([node("wait", "core.delay", config={"ms": LENGTH}), node("gate", "test.gate")]),
    workflow([node("a", "core.delay", config={"ms": LENGTH}), node("b", "core.delay", config={"ms": 100})]),
)
async def test_a_run_with_anything_but_long_waits_stays_in_memory(document: Document) -> None:
    async with started(document) as (bench, _):
        assert bench.executor.live_count == 1, "the run was unloaded"


@pytest.mark.rule("park-03")
@fails_without(facts, "check_inline", lambda *arguments: [])
@each_case(
    "document, code",
    (delayed({}), "node_input_missing"),
    (delayed({}, {"delayMs": {"type": "static", "value": 10**12}}), "node_config_invalid"),
    (delayed({"delayMs": LENGTH}, {"delayMs": {"type": "expression", "expression": "variables.n / 0"}}), None),
    (until_node("2026-02-30T00:00:00Z"), "wait_until_invalid"),
)
async def test_a_wait_that_cannot_begin_fails_at_once_and_is_never_parked(document: Document, code: str | None) -> None:
    async with started(document) as (bench, key):
        assert (await bench.state(key)).nodes["wait"].long_wait_end == 0
        error = (await bench.payload(key, "run.failed"))["error"]
        assert code in (None, error["code"])


@pytest.mark.rule("park-02", "node-14")
@each_case("document, wakes", *WAITS)
@each_case("down", 0, 1, LENGTH, 40 * DAY)
async def test_a_parked_wait_keeps_its_deadline_when_the_host_dies(
    document: Document, wakes: list[int], down: int
) -> None:
    async with started(document) as (bench, key):
        await bench.crash()
        bench.clock.advance(down)
        bench = bench.successor()
        assert await bench.executor.recover() == 0, "a parked run was loaded at the start"
        await run_ready_tasks()
        await bench.run_to_end(key)
        starts = [each["attempt"] for each in await bench.payloads(key, "node.started") if each["nodeId"] == "wait"]
        assert starts in ([], [1])
        ends = [each.timestamp for each in await bench.events(key)]
        # What came due while no host was there happens when the next one starts.
        assert START + max(wakes[0], down) in ends
        await run_ready_tasks()


async def cancel(bench: EngineHarness, key: RunKey) -> None:
    await bench.advance(100)
    await bench.cancel(key, "enough")
    await run_ready_tasks()


async def set_variable(bench: EngineHarness, key: RunKey) -> None:
    await bench.advance(100)
    await bench.executor.request(key, VariablesOverwritten({"n": 7}))
    await run_ready_tasks()


async def pause_and_resume(bench: EngineHarness, key: RunKey) -> None:
    await bench.advance(100)
    await pause(bench, key, drainPolicy="immediate")
    await bench.advance(20 * LENGTH)
    assert await bench.status(key) == "paused"
    await resume(bench, key)
    await run_ready_tasks()


async def drain_and_resume(bench: EngineHarness, key: RunKey) -> None:
    await bench.advance(100)
    await pause(bench, key)
    await pass_time(bench, 20 * LENGTH)
    assert await bench.status(key) == "paused"
    await resume(bench, key)
    await run_ready_tasks()


@pytest.mark.rule("park-03", "node-03")
@fails_without("weftwork.engine.nodes.node_context.EntryContext.long_wait_end", 0, errors=(ClientFault,))
@each_case("length", -1, 2_000, 20 * LENGTH)
@each_case("document", delayed({}, READ), delayed({}, COMPUTED), UNTIL_VARIABLE)
async def test_a_variable_that_changes_during_a_wait_does_not_move_its_end(document: Document, length: int) -> None:
    async def change(bench: EngineHarness, key: RunKey) -> None:
        await bench.advance(100)
        await bench.executor.request(key, VariablesOverwritten({"length": length, "time": iso(START + length)}))
        await run_ready_tasks()

    async with started(document) as (bench, key):
        await change(bench, key)
        assert bench.executor.live_count == 0
        await bench.run_to_end(key)
        assert await log_of(bench, key) == await kept_in_memory(document, change)


@pytest.mark.rule("park-01", "run-03", "run-12", "run-13")
@each_case("act", cancel, set_variable, pause_and_resume, drain_and_resume)
@each_case("document", delayed(), RETRIES, BRANCHES, DOWN)
async def test_what_is_asked_of_a_parked_wait_has_the_effect_that_it_has_in_memory(
    document: Document, act: Act
) -> None:
    async with started(document) as (bench, key):
        assert bench.executor.live_count == 0
        await act(bench, key)
        assert bench.executor.live_count == 0, "the run is live"
        await bench.run_to_end(key)
        assert await log_of(bench, key) == await kept_in_memory(document, act)


@pytest.mark.rule("park-01", "run-12")
@fails_without("weftwork.protocol.fold.state.PARKABLE_STATUSES", frozenset({"running"}), match="live")
async def test_paused_runs_are_in_nobodys_memory_and_no_timer_is_set_for_them() -> None:
    document = workflow(
        [node("a", "core.delay", config={"ms": 100}), node("b", "core.delay", config={"ms": LENGTH})], [edge("a", "b")]
    )
    async with started(document) as (bench, key):
        await pause(bench, key, drainPolicy="immediate")
        assert bench.executor.live_count == 0, "the run is live"
        projection = (await bench.stored_run(key)).projection
        assert (projection.status, projection.parked, projection.wake_at) == ("paused", True, None)
        await bench.crash()
        bench = bench.successor()
        assert await bench.executor.recover() == 0
        await pass_time(bench, DAY)
        assert (await bench.status(key), bench.executor.live_count) == ("paused", 0)
        await resume(bench, key)
        await bench.run_to_end(key)
        assert await bench.status(key) == "completed"


@pytest.mark.rule("park-01", "run-12")
async def test_a_run_that_is_about_to_pause_is_parked_while_its_node_waits() -> None:
    async with started(BRANCHES) as (bench, key):
        await pause(bench, key)
        assert bench.executor.live_count == 0
        for wake_at in (START + LENGTH, START + 3 * LENGTH):
            projection = (await bench.stored_run(key)).projection
            assert (projection.status, projection.wake_at) == ("running", wake_at)
            await pass_time(bench, wake_at - bench.clock.now())
        assert (await bench.status(key), bench.executor.live_count) == ("paused", 0)


@pytest.mark.rule("park-02")
async def test_a_paused_run_ends_when_its_own_time_is_up() -> None:
    bench, key = await EngineHarness().with_settled_run(delayed(), configurable={"runTimeoutMs": 3_000})
    await pause(bench, key, drainPolicy="immediate")
    assert (await bench.stored_run(key)).projection.wake_at == START + 3_001
    await pass_time(bench, 3_001)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "run_timeout"


async def test_a_map_that_waits_stays_in_memory() -> None:
    """The wait of an item is not in the log, so the run cannot be unloaded."""
    config = {"body": {"typeId": "core.delay", "config": {"ms": LENGTH}}}
    inputs = {"items": {"type": "static", "value": [1, 2]}}
    async with started(workflow([node("map", "core.flow.map", config=config, inputs=inputs)])) as (bench, key):
        assert bench.executor.live_count == 1
        await bench.run_to_end(key)
        assert await bench.status(key) == "completed"


@pytest.mark.rule("park-02", "lim-07")
@fails_without(FairLimit, "is_full", False, match="at once")
async def test_a_crowd_that_waits_for_the_same_time_is_woken_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarm, "WAKE_BATCH", 5)
    bench = EngineHarness(limits=Limits(max_live_runs=4))
    document = workflow(
        [node("wait", "core.delay", config={"ms": LENGTH}), node("gate", "test.gate")], [edge("wait", "gate")]
    )
    keys = [await bench.start(document) for _ in range(20)]
    await run_ready_tasks()
    assert bench.executor.live_count == 0
    for count in (5, 10, 15, 20):
        await pass_time(bench, LENGTH if count == 5 else alarm.STORE_RETRY_MS)
        assert bench.executor.live_count == count, "too many were loaded at once"
    for key in keys:
        assert await bench.cancel(key) in ("cancelling", "cancelled")
    await run_ready_tasks()


def first_come(self: FairLimit, entries: list[tuple[str, RunKey]], count: int) -> list[RunKey]:
    return [run for _, run in entries[:count]]


@pytest.mark.rule("park-02", "lim-21")
@fails_without(FairLimit, "in_fair_order", first_come, match="had to wait")
async def test_a_crowd_of_one_tenant_does_not_delay_the_only_run_of_another() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alarm, "WAKE_BATCH", 5)
        bench = EngineHarness(limits=Limits(max_live_runs=4))
        waits = [node("wait", "core.delay", config={"ms": LENGTH}), node("gate", "test.gate")]
        document = workflow(waits, [edge("wait", "gate")])
        keys = [await bench.start(document) for _ in range(20)]
        late = Principal.of("key_2", "late", "live", frozenset(SCOPES))
        keys.append(late.run((await bench.service.create_run(late, {"workflowId": document["id"]})).run_id))
        slots = bench.executor.run_slots
        slots.force("others", 4)
        await run_ready_tasks()
        await pass_time(bench, LENGTH)
        assert slots.held_by(keys[-1].partition) == 1, "it had to wait"
        assert slots.total == 4 + 5
        slots.free("others", 4)
        for key in keys:
            await bench.cancel(key)
