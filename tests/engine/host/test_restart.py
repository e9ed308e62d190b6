"""After a restart every run goes on from its log, deadlines are kept, and runs which wait are woken at their time."""

import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.engine.decide.test_answers import asks
from tests.engine.nodes.test_misbehaving_nodes import UncancellableNode
from tests.engine.run.test_pause import SlowLog
from tests.engine.run.test_waiting_runs import PICK, pass_time, times
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import (
    CALLER,
    EngineHarness,
    background_tasks,
    run_ready_tasks,
    settle,
    until,
    waiting_node_type,
)
from weftwork.engine.api.retention import Retention
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.nodes import node_runner
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, Suspended
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.workflow.node_types import NodeDeclaration

DELAY = workflow([node("a", "core.delay", config={"ms": 1000}), node("b")], [edge("a", "b")])


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("away", [0, 500, 60_000])
async def test_a_delay_keeps_its_deadline(crash: bool, away: int) -> None:
    bench, key = await EngineHarness().with_settled_run(DELAY)
    started = bench.clock.now()
    bench.clock.advance(400)
    await (bench.crash() if crash else bench.close())
    log = await bench.event_types(key)
    assert log == ["run.started", "node.started"]
    bench.clock.advance(away)
    after = bench.successor()
    assert await after.executor.recover() == 1
    await run_ready_tasks()
    assert bench.clock.next_wake == (started + 1000 if away < 600 else None)
    await after.run_to_end(key)
    assert await after.event_types(key) == [*log, "node.completed", "node.started", "node.completed", "run.completed"]
    assert bench.clock.now() == started + max(1000, 400 + away)


async def test_a_waiting_node_is_entered_again_for_the_same_attempt() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate", inputs={"x": {"type": "static", "value": [1]}})]))
    await until(lambda: bench.gate_node.waiting)
    after = await bench.restart()
    await until(lambda: after.gate_node.waiting)
    (again,), (first,) = after.gate_node.calls, bench.gate_node.calls
    assert again == msgspec.structs.replace(first, scope=again.scope)
    after.gate_node.release("a", Completed({"o": 1}))
    await after.run_to_end(key)
    assert await after.event_types(key) == ["run.started", "node.started", "node.completed", "run.completed"]
    assert (await after.payloads(key, "node.started"))[0]["attempt"] == 1
    assert (await after.stored_run(key)).projection.executions == 1


@pytest.mark.parametrize("limited", [False, True])
async def test_an_end_that_was_decided_is_carried_out_after_a_crash(limited: bool) -> None:
    stubborn = UncancellableNode()
    bench = EngineHarness(waiting_node_type("test.stubborn", stubborn.run))
    key = await bench.start(workflow([node("a", "test.stubborn")]), configurable={"runTimeoutMs": 100})
    await until(lambda: stubborn.end is not None)
    if limited:
        bench.clock.advance(101)
    else:
        assert await bench.cancel(key, "why") == "cancelling"
    await run_ready_tasks()
    log = await bench.event_types(key)
    assert log[2:] == ["cap.breached" if limited else "weftwork.run.cancel-requested"]
    assert stubborn.end is not None
    stubborn.end.set()
    await bench.crash()
    assert await bench.event_types(key) == log
    after = await bench.take_over()
    await after.run_to_end(key)
    assert stubborn.told <= 2
    assert (await after.event_types(key))[3:] == ["node.cancelled", "run.failed" if limited else "run.cancelled"]


async def test_a_run_that_was_only_created_is_started() -> None:
    bench = await EngineHarness().open()
    await bench.catalog.register(workflow([node("a")]))
    plan = await bench.catalog.find_plan("acme", "sample")
    assert plan is not None
    header = RunHeader("run-new", CALLER.partition, CALLER.owner, "sample", plan.workflow.digest, 1, {"x": 1})
    await bench.store.log.create(header)
    assert await bench.executor.recover() == 1
    await bench.run_to_end(header.key)
    assert (await bench.payloads(header.key, "run.started"))[0]["inputs"] == {"x": 1}


@pytest.mark.parametrize("appends", range(1, 10))
async def test_a_chain_goes_on_wherever_it_was_cut(monkeypatch: pytest.MonkeyPatch, appends: int) -> None:
    monkeypatch.setattr("weftwork.engine.run.next_commit.MAX_BATCH_EVENTS", 2)
    names = [f"n{index}" for index in range(6)]
    chain = workflow([node(n, "core.identity") for n in names], [edge(a, b) for a, b in pairwise(names)])
    whole, expected = await EngineHarness().with_ended_run(chain)
    bench = EngineHarness()
    append, forever = bench.store.log.append, asyncio.Event()
    left = appends

    async def cut(*arguments: object) -> object:
        nonlocal left
        if left == 0:
            await forever.wait()
        left -= 1
        return await append(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(bench.store.log, "append", cut)
    key = await bench.start(chain)
    await run_ready_tasks()
    await bench.crash()
    monkeypatch.setattr(bench.store.log, "append", append)
    after = await bench.take_over()
    await after.run_to_end(key)
    assert [event.payload for event in await after.events(key)] == [
        event.payload for event in await whole.events(expected)
    ]


async def test_ended_runs_are_left_alone_and_unknown_ones_too(caplog: pytest.LogCaptureFixture) -> None:
    bench, _ = await EngineHarness().with_ended_run(workflow([node("a")]))
    future = RunHeader("run-future", CALLER.partition, CALLER.owner, "sample", "0" * 64, 1, engine_version=99)
    gone = RunHeader("run-gone", CALLER.partition, CALLER.owner, "gone", "0" * 64, 1)
    for header in (future, gone):
        await bench.store.log.create(header)
    after = bench.successor()
    assert await after.executor.recover() == 0
    assert await after.status(future.key) == await after.status(gone.key) == "pending"
    hints = {
        vars(record)["runId"]: vars(record).get("hint") for record in caplog.records if record.levelname == "ERROR"
    }
    assert hints == {"run-future": None, "run-gone": "weftwork runs cancel run-gone"}


async def test_a_run_keeps_the_definition_it_started_with() -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([node("a", "test.gate"), node("b")], [edge("a", "b")]))
    await bench.crash()
    after = bench.successor()
    assert await after.catalog.register(workflow([node("other")])) == []
    await after.executor.recover()
    await until(lambda: after.gate_node.waiting)
    await after.run_to_end(key, release="a")
    assert [each["nodeId"] for each in await after.payloads(key, "node.started")] == ["a", "b"]


@pytest.mark.parametrize("crash", [False, True])
async def test_nothing_of_a_host_that_went_away_goes_on(crash: bool) -> None:
    bench = EngineHarness(wrap=SlowLog)
    key = await bench.start(workflow([node("a"), node("b", "test.gate")], [edge("a", "b")]), at_once=False)
    bench.log.gate.clear()
    asking = asyncio.create_task(bench.cancel(key))
    await run_ready_tasks()
    if crash:
        await bench.crash()
    else:
        closing = asyncio.create_task(bench.close())
        await run_ready_tasks()
        bench.log.gate.set()
        await asyncio.wait((closing, asking))
        assert isinstance(asking.exception(), StoreUnavailable)
    await run_ready_tasks()
    assert background_tasks() == set()
    assert bench.gate_node.calls == []


async def test_closing_stops_nodes_without_a_word_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runner, "STOP_GRACE_S", 0.01)
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]), configurable={"runTimeoutMs": 10})
    await until(lambda: bench.gate_node.waiting)
    log = await bench.event_types(key)
    await bench.close()
    assert bench.gate_node.cancelled == ["a"]
    await bench.advance(1000)
    assert await bench.event_types(key) == log
    assert bench.clock.next_wake is None


async def test_a_log_that_cannot_be_folded_keeps_no_other_run_from_going_on() -> None:
    bench, good = await EngineHarness().with_run(workflow([node("wait", "core.delay", config={"ms": 50})]))
    await bench.crash()
    header = (await bench.stored_run(good)).header
    bad = RunHeader("run-bad", CALLER.partition, CALLER.owner, "sample", header.definition, 1)
    await bench.store.log.create(bad)
    # A node.failed without its error is nothing that this host ever wrote.
    broken = Event("run-bad", 0, "event-bad", "node.failed", 1, b"{}", node_id="wait")
    await bench.store.log.append(bad.key, -1, Batch((broken,), Projection("running", 0, 1)))
    later = bench.successor()
    assert await later.executor.recover() == 1
    await later.run_to_end(good)
    assert await later.status(good) == "completed"
    assert await later.status(bad.key) == "running"


async def test_large_runs_are_not_kept_in_memory_after_their_end() -> None:
    bench = EngineHarness()
    large = {"text": "x" * 20_000}
    document = workflow([node("a")])
    requests: list[dict[str, Any]] = [{"inputs": large}, {"configurable": {"acme.note": large}}]
    for request in requests:
        key = await bench.execute(document, **request)
        await bench.executor.read_run(key)
        assert bench.executor._recent_runs.get(key) is None
    key = await bench.execute(document, inputs={"text": "small"})
    assert bench.executor._recent_runs.get(key) is not None


async def test_what_cannot_be_woken_keeps_nobody_else_from_it() -> None:
    def late(name: str, after: int) -> InstantNode:
        def ask(call: NodeCall) -> NodeOutcome:
            return Completed({}) if "q" in call.answers else Suspended(Interrupt("custom", "q", PICK, None, after))

        return InstantNode(NodeDeclaration(name, "Asks.", config={"type": "object"}), ask)

    bench = EngineHarness(late("test.gone", 5), late("test.there", 10))
    lost = [await bench.start({**workflow([node("ask", "test.gone")]), "id": "lost"}) for _ in range(150)]
    found = [await bench.start({**workflow([node("ask", "test.there")]), "id": "found"}) for _ in range(250)]
    bench = await bench.restart(types=(late("test.there", 10),))
    began = bench.clock.now()
    await pass_time(bench, 10)
    await until_ended(bench, found)
    assert {(await times(bench, key, "interrupt.resolved"))[0] - began for key in found} == {10}
    assert {await bench.status(key) for key in lost} == {"waiting-input"}
    bench = await bench.take_over(types=(late("test.gone", 5), late("test.there", 10)))
    await until_ended(bench, lost)


async def until_ended(bench: EngineHarness, keys: list[RunKey]) -> None:
    for _ in range(500):
        if all([await bench.status(key) == "completed" for key in keys]):
            return
        await run_ready_tasks()
    raise AssertionError("not all of them ended")


@pytest.mark.parametrize("limits", [(1000, 0), (1000, 5000), (5000, 1000)])
async def test_a_limit_that_changed_meanwhile_counts_when_the_run_is_next_woken(limits: tuple[int, int]) -> None:
    before, after = limits
    bench, key = await EngineHarness(
        asks(Interrupt("custom", "q", PICK, remind_after_ms=(900,))), limits=Limits(max_run_duration_ms=before)
    ).with_run(workflow([node("ask", "test.ask")]))
    bench = await bench.restart(limits=Limits(max_run_duration_ms=after))
    await pass_time(bench, 4000)
    assert await bench.status(key) == ("failed" if after == 1000 else "waiting-input")
    await pass_time(bench, 2000)
    assert await bench.status(key) == ("waiting-input" if after == 0 else "failed")
    assert (await bench.stored_run(key)).projection.wake_at is None


def lost_type(*ids: str, **settings: Any) -> dict[str, Any]:
    """A workflow with nodes of a type that the next host does not have."""
    return workflow([*(node(each, "test.lost", settings=settings) for each in ids), node("end")])


async def without_type(document: dict[str, Any], outcome: NodeOutcome | None) -> tuple[EngineHarness, RunKey]:
    """A run whose node has come to this outcome, or is under way, and a host that lacks the type."""

    async def work(call: NodeCall, context: Any) -> NodeOutcome:
        if outcome is None:
            await asyncio.Event().wait()
        return outcome or Completed({})

    bench = EngineHarness(waiting_node_type("test.lost", work))
    assert await (await bench.open()).catalog.register({**lost_type("lost"), "id": "child"}) == []
    bench, key = await bench.with_settled_run(document)
    await bench.crash()
    after = bench.successor(types=())
    await after.executor.recover()
    await run_ready_tasks()
    return after, key


CALLS = workflow([node("call", "core.subWorkflow", config={"workflowId": "child"})], id="parent")
BODY = {"body": {"typeId": "test.lost", "config": {}}}
EACH = workflow([node("m", "core.flow.map", config=BODY, inputs={"items": {"type": "static", "value": [1, 2]}})])


@pytest.mark.rule("run-15", "run-03")
@fails_without(WorkflowCatalog, "cancel_plan", WorkflowCatalog.pinned_plan, errors=(ClientFault,))
@each_case(
    "document, outcome, last",
    (lost_type("a"), None, "node.cancelled"),
    (lost_type("a", "b"), None, "node.cancelled"),
    (lost_type("a"), Suspended(Interrupt("custom", "q", PICK)), "node.cancelled"),
    (lost_type("a", maxRetries=1, retryDelayMs=5_000), Failed("boom", "It fails."), "node.cancelled"),
    (CALLS, None, "node.cancelled"),
    (EACH, None, "node.cancelled"),
)
async def test_a_run_whose_node_type_is_gone_can_be_cancelled_and_deleted(
    document: dict[str, Any], outcome: NodeOutcome | None, last: str
) -> None:
    bench, key = await without_type(document, outcome)
    control = RunControl(bench.runtime, bench.executor)
    before = await bench.event_types(key)
    if document is not CALLS:
        with pytest.raises(ClientFault, match="cancel the run"):
            await control.pause_run(CALLER, key.run_id, {})
        assert bench.executor.live_count == 0
    (done,) = (await control.cancel_runs(CALLER, {"runIds": [key.run_id]})).results
    assert done["ok"]
    await settle()
    log = await bench.event_types(key)
    assert log[: len(before)] == before, "something else happened first"
    assert log[-2:] == [last, "run.cancelled"]
    open_nodes = [row for row in (await bench.stored_run(key)).rows if row.kind == "node" and b'"running"' in row.value]
    assert (await bench.status(key), bench.executor.live_count, open_nodes) == ("cancelled", 0, [])
    for started in await bench.payloads(key, "weftwork.child.started"):
        assert await bench.status(CALLER.run(started["childRunId"])) == "cancelled"
    deleted = Retention(bench.store.retention, bench.store.log, bench.store.records, bench.clock, bench.executor)
    assert await deleted.delete_run(CALLER, key.run_id) is False
    await bench.crash()


@pytest.mark.rule("run-15")
async def test_a_cancellation_that_a_crash_interrupted_is_completed_without_the_node_type() -> None:
    bench, key = await without_type(lost_type("a"), None)
    live = await bench.executor._wake(key, to_cancel=True)
    assert live is not None
    assert not live.executable
    with pytest.MonkeyPatch.context() as patch:
        # The process dies before it has stopped the nodes.
        patch.setattr("weftwork.engine.run.activity.Activity.apply_commit", lambda self, state, work: None)
        assert await bench.cancel(key) == "cancelling"
        await settle()
        await bench.crash()
    bench = await bench.take_over()
    await settle()
    assert (await bench.event_types(key))[-2:] == ["node.cancelled", "run.cancelled"]
    await bench.crash()
