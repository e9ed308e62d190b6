"""Pause, resume and cancel: what is kept, what stops, what is refused, and that every request gets an answer."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.engine.nodes.test_misbehaving_nodes import UncancellableNode
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import (
    CALLER,
    EngineHarness,
    WrappedLog,
    fault_of,
    run_ready_tasks,
    until,
    waiting_node_type,
)
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.decide import run_control
from weftwork.engine.decide.inputs import CancelRequested, PauseRequested, ResumeRequested
from weftwork.engine.nodes import node_runner
from weftwork.engine.run.pending_commit import RunNotLive
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold import fold
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.node_types import NodeDeclaration

CHAIN = workflow([node("a", "test.gate"), node("b", "test.gate")], [edge("a", "b")])
DELAY = workflow([node("wait", "core.delay", config={"ms": 1000})])


async def pause(bench: EngineHarness, key: RunKey, idem: str | None = None, **body: Any) -> Any:
    return await RunControl(bench.runtime, bench.executor).pause_run(CALLER, key.run_id, body, idem)


async def resume(bench: EngineHarness, key: RunKey, idem: str | None = None, **body: Any) -> Any:
    return await RunControl(bench.runtime, bench.executor).resume_run(CALLER, key.run_id, body, idem)


@pytest.mark.rule("run-12", "run-13")
async def test_a_drained_pause_lets_the_node_end_and_keeps_the_run_from_ending() -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([node("a", "test.gate")]))
    assert (await pause(bench, key, reason="lunch")).status == "paused"
    assert await bench.status(key) == "running"
    await bench.release("a", Completed({"o": 1}))
    assert await bench.status(key) == "paused"
    assert (await bench.event_types(key))[-2:] == ["node.completed", "run.paused"]
    assert (await bench.payloads(key, "run.paused")) == [{"drainPolicy": "drain-current-node", "reason": "lunch"}]
    assert (await resume(bench, key)).status == "running"
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-3:] == ["run.paused", "run.resumed", "run.completed"]


@pytest.mark.rule("run-12")
async def test_an_immediate_pause_starts_the_node_anew() -> None:
    bench, key = await EngineHarness().with_run(DELAY)
    bench.clock.advance(600)
    await pause(bench, key, drainPolicy="immediate")
    assert await bench.status(key) == "paused"
    await bench.advance(5_000)
    assert await bench.status(key) == "paused"
    await resume(bench, key)
    await bench.advance(999)
    assert await bench.status(key) == "running"
    bench.clock.advance(1)
    await bench.run_to_end(key)
    assert [each["attempt"] for each in await bench.payloads(key, "node.started")] == [1, 2]
    assert await bench.status(key) == "completed"


@pytest.mark.rule("run-12")
async def test_nothing_starts_while_a_run_is_paused_and_it_outlives_a_restart() -> None:
    bench, key = await EngineHarness().with_gated_run(CHAIN)
    await pause(bench, key)
    await bench.release("a")
    assert await bench.status(key) == "paused"
    await bench.crash()
    after = bench.successor()
    assert await after.executor.recover() == 0
    await run_ready_tasks()
    assert not after.gate_node.calls
    await resume(after, key)
    await until(lambda: after.gate_node.waiting)
    await after.run_to_end(key, release="b")
    assert (await after.event_types(key)).count("node.started") == 2


async def test_a_pause_that_was_asked_for_outlives_a_restart() -> None:
    bench, key = await EngineHarness().with_gated_run(CHAIN)
    await pause(bench, key)
    after = await bench.restart()
    await until(lambda: after.gate_node.waiting)
    await after.release("a")
    assert await after.status(key) == "paused"
    await after.crash()


def paused_when_it_takes_effect(state: Any, fact: Any) -> None:
    fold._run_paused(state, fact)
    state.paused_at = fact.timestamp


@pytest.mark.rule("run-12")
@fails_without(fold, "_CHANGES", {**fold._CHANGES, "run.paused": paused_when_it_takes_effect})
async def test_a_drain_does_not_change_the_time_of_a_pause() -> None:
    bench, key = await EngineHarness().with_gated_run(CHAIN)
    await pause(bench, key)
    before = (await fault_of(pause(bench, key))).details or {}
    assert before == {"runStatus": "running", "pausedAt": iso(bench.clock.now())}
    bench.clock.advance(1000)
    await bench.release("a")
    assert (await fault_of(pause(bench, key))).details == {**before, "runStatus": "paused"}


@pytest.mark.rule("run-12", "run-13")
async def test_what_cannot_be_paused_or_resumed_says_how_it_stands() -> None:
    bench, key = await EngineHarness().with_gated_run(CHAIN)
    fault = await fault_of(resume(bench, key))
    assert (fault.status, fault.details) == (409, {"runStatus": "running"})
    await pause(bench, key, drainPolicy="immediate")
    details = (await fault_of(pause(bench, key))).details or {}
    assert (details["runStatus"], "pausedAt" in details) == ("paused", True)
    assert await bench.cancel(key) == "cancelled"
    for ask in (pause, resume):
        fault = await fault_of(ask(bench, key))
        assert (fault.status, fault.details) == (409, {"runStatus": "cancelled"})
    with pytest.raises(ClientFault, match=r"^not_found: "):
        await pause(bench, RunKey(key.partition, "gone"))


@pytest.mark.rule("idem-01")
async def test_a_repeated_pause_with_the_same_key_is_the_first_one() -> None:
    bench, key = await EngineHarness().with_gated_run(CHAIN)
    first = await pause(bench, key, drainPolicy="immediate", idem="k")
    bench.clock.advance(5)
    again = await pause(bench, key, drainPolicy="immediate", idem="k")
    assert again == msgspec.structs.replace(first, replayed=True)
    assert (await bench.event_types(key)).count("run.paused") == 1
    await bench.close()


@pytest.mark.rule("lim-05")
async def test_the_time_limit_runs_on_while_a_run_is_paused() -> None:
    bench, key = await EngineHarness().with_gated_run(CHAIN, configurable={"runTimeoutMs": 1000})
    await pause(bench, key, drainPolicy="immediate")
    bench.clock.advance(1001)
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-2:] == ["cap.breached", "run.failed"]


def once(seen: list[str]) -> WaitingNode:
    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        seen.append(call.node_id)
        await context.sleep_until(context.started_at + 100)
        return Completed({})

    return WaitingNode(NodeDeclaration("test.once", "Not twice.", effect="once", instant=False), work)


def careless_pause(state: Any, bounds: Any, policy: str, reason: str | None, honest: Any = run_control.pause) -> Any:
    made = honest(state, bounds, policy, reason)
    draft = msgspec.structs.replace(made.events[0], type="run.paused")
    return msgspec.structs.replace(made, events=(draft,), interrupt=True)


# Even then it does not happen twice: somebody is asked what became of it.
@pytest.mark.rule("run-12")
@fails_without("weftwork.engine.decide.transitions.pause", careless_pause, match="waiting-input")
async def test_a_node_that_may_not_run_twice_is_never_interrupted() -> None:
    seen: list[str] = []
    bench, key = await EngineHarness(once(seen)).with_run(workflow([node("a", "test.once")]))
    await until(lambda: seen)
    await pause(bench, key, drainPolicy="immediate")
    await bench.advance(100)
    assert await bench.status(key) == "paused"
    await resume(bench, key)
    for _ in range(20):
        await run_ready_tasks()
    assert seen == ["a"]
    assert await bench.status(key) == "completed"


@pytest.mark.rule("run-02")
@fails_without(
    "weftwork.engine.decide.transitions.is_running", lambda state, node_id, attempt: node_id in state.running
)
async def test_word_of_an_attempt_that_was_interrupted_comes_too_late() -> None:
    """The first attempt ends while the pause is being written, and a resume waits behind the pause already."""
    outputs = iter([1, 2])

    async def answer(call: NodeCall, context: NodeContext) -> NodeOutcome:
        mine = next(outputs)
        await context.sleep_until(context.started_at + 100)
        return Completed({"o": mine})

    bench = EngineHarness(waiting_node_type("test.count", answer))
    key = await bench.start(workflow([node("a", "test.count")]))
    await run_ready_tasks()
    honest = bench.store.log.append
    passing = iter([100])

    async def late(*arguments: Any) -> Any:
        await bench.advance(next(passing, 0))
        return await honest(*arguments)

    live = bench.executor._live[key]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.store.log, "append", late)
        live.send(PauseRequested("immediate"))
        live.send(ResumeRequested())
        await bench.run_to_end(key)
    assert (await bench.payload(key, "run.completed"))["outputs"]["a"]["o"] == 2


GATE = workflow([node("a", "test.gate"), node("b")], [edge("a", "b")])
ASKED = "weftwork.run.cancel-requested"


async def waiting(bench: EngineHarness, document: dict[str, Any] = GATE, **request: Any) -> RunKey:
    key = await bench.start(document, **request)
    await until(lambda: bench.gate_node.waiting)
    return key


@pytest.mark.rule("run-03")
async def test_a_cancel_really_stops_a_waiting_node() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    assert await bench.cancel(key, "enough") == "cancelling"
    assert await bench.status(key) == "cancelling"
    await bench.run_to_end(key)
    assert bench.gate_node.cancelled == ["a"]
    assert (await bench.event_types(key))[2:] == [ASKED, "node.cancelled", "run.cancelled"]
    assert await bench.payloads(key, "run.cancelled") == [{"reason": "enough"}]
    stored = await bench.stored_run(key)
    assert {row.name: row.value for row in stored.rows} == {"a": b'{"status":"cancelled","attempt":1}'}
    assert (stored.projection.current_node, stored.projection.error) == (None, None)


@pytest.mark.rule("run-03")
async def test_a_run_that_waits_for_nothing_is_cancelled_at_once() -> None:
    bench, key = await EngineHarness().with_run(GATE, at_once=False)
    assert await bench.cancel(key) == "cancelled"
    assert await bench.event_types(key) == ["run.started", "run.cancelled"]
    assert bench.gate_node.calls == []


@pytest.mark.rule("run-03")
async def test_cancelling_often_or_after_the_end_changes_nothing_and_is_answered() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    assert await bench.cancel(key) == "cancelling"
    answers = await asyncio.gather(*(bench.cancel(key, f"r{n}") for n in range(20)))
    assert set(answers) <= {"cancelling", "cancelled"}
    await bench.run_to_end(key)
    log = await bench.event_types(key)
    assert await bench.cancel(key) == "cancelled"
    assert await bench.event_types(key) == log
    assert log.count(ASKED) == 1
    done = await bench.execute(workflow([node("a")]))
    assert await bench.cancel(done) == "completed"
    assert await bench.cancel(CALLER.run("run-gone")) is None


async def test_a_node_that_ends_as_the_cancel_comes_counts_as_it_ended() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    bench.gate_node.release("a")
    assert await bench.cancel(key) in ("cancelling", "cancelled")
    await bench.run_to_end(key)
    kinds = await bench.event_types(key)
    assert kinds[-1] == "run.cancelled"
    assert kinds.count("node.completed") + kinds.count("node.cancelled") == 1
    assert kinds.count("node.started") == 1


class SlowLog(WrappedLog):
    """A log whose appends wait while the gate is shut."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.gate = asyncio.Event()
        self.gate.set()

    async def append(self, key: RunKey, expected: int, batch: Any, *fence: Any) -> Any:
        await self.gate.wait()
        return await self._log.append(key, expected, batch, *fence)


async def test_a_caller_who_went_away_does_not_hurt_the_run() -> None:
    bench = EngineHarness(wrap=SlowLog)
    key = await waiting(bench)
    bench.log.gate.clear()
    asking = asyncio.create_task(bench.cancel(key))
    await run_ready_tasks()
    asking.cancel()
    await asyncio.wait((asking,))
    bench.log.gate.set()
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[2:] == [ASKED, "node.cancelled", "run.cancelled"]


async def test_a_cancel_while_a_limit_ends_the_run_is_answered_by_the_end() -> None:
    stubborn = UncancellableNode()
    bench = EngineHarness(waiting_node_type("test.stubborn", stubborn.run))
    key = await bench.start(workflow([node("a", "test.stubborn")]), configurable={"runTimeoutMs": 100})
    await until(lambda: stubborn.end is not None)
    bench.clock.advance(101)
    await until(lambda: stubborn.told)
    asked = [asyncio.create_task(bench.control.cancel_run(CALLER, key.run_id, {}, "k")) for _ in range(2)]
    await run_ready_tasks()
    assert not any(task.done() for task in asked)
    assert stubborn.end is not None
    stubborn.end.set()
    outcomes = await asyncio.gather(*asked)
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert sorted(outcome.replayed for outcome in outcomes) == [False, True]
    assert (await bench.event_types(key))[2:] == ["cap.breached", "node.completed", "run.failed"]


async def test_a_node_stopped_before_its_first_step_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runner, "STOP_GRACE_S", 1_000.0)
    bench = EngineHarness()
    nodes = [node("a", "test.gate"), node("b", "test.gate")]
    key = await bench.execute(workflow(nodes), configurable={"recursionLimit": 1})
    assert (await bench.event_types(key))[1:] == ["node.started", "cap.breached", "node.cancelled", "run.failed"]


async def test_a_cancel_is_answered_when_the_host_closes() -> None:
    bench = EngineHarness(wrap=SlowLog)
    key = await waiting(bench)
    bench.log.gate.clear()
    asking = [asyncio.create_task(bench.cancel(key)) for _ in range(2)]
    await run_ready_tasks()
    closing = asyncio.create_task(bench.close())
    await run_ready_tasks()
    bench.log.gate.set()
    await closing
    first, second = await asyncio.gather(*asking, return_exceptions=True)
    assert first == "cancelling"
    assert isinstance(second, StoreUnavailable)


async def test_a_run_that_is_over_sends_its_callers_to_the_store() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    live = bench.executor._live[key]
    await bench.run_to_end(key, release="a")
    with pytest.raises(RunNotLive):
        await live.request(CancelRequested(), None)


async def test_a_run_that_cannot_be_woken_cannot_be_cancelled_either() -> None:
    bench = await EngineHarness().open()
    header = RunHeader("run-old", CALLER.partition, CALLER.owner, "gone", "0" * 64, 0)
    await bench.store.log.create(header)
    assert await bench.executor.recover() == 0
    with pytest.raises(ClientFault, match="cannot execute the run: the definition") as refused:
        await bench.cancel(header.key)
    assert refused.value.code == "service_unavailable"


async def test_a_run_that_ends_while_it_is_being_woken_answers_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    other = bench.successor()

    async def too_late(run: RunKey, to_cancel: bool) -> None:
        await bench.run_to_end(key, release="a")

    monkeypatch.setattr(other.executor, "_load", too_late)
    assert await other.cancel(key) == "completed"


async def test_a_cancel_with_a_key_is_answered_word_for_word() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    first = await bench.control.cancel_run(CALLER, key.run_id, {"reason": "r"}, "k")
    await bench.run_to_end(key)
    again = await bench.control.cancel_run(CALLER, key.run_id, {"reason": "r"}, "k")
    assert (first.status, first.replayed, again.status, again.replayed) == ("cancelling", False, "cancelling", True)
    with pytest.raises(ClientFault, match=r"^idempotency_key_mismatch: "):
        await bench.control.cancel_run(CALLER, key.run_id, {"reason": "other"}, "k")
    assert msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)).count(b"cancelled") >= 1


@pytest.mark.rule("idem-01")
async def test_a_record_of_an_older_version_answers_for_its_key() -> None:
    """Such a record of a cancel says when it was made nowhere but in its own row."""
    bench, key = await EngineHarness().with_run(workflow([node("a", "test.gate")]))
    claim = IdempotencyClaim(bench.log, bench.clock, CALLER, f"cancelRun/{key.run_id}", "k", {})
    await bench.log.save_record(claim.make_record({"replayed": False, "run_id": key.run_id, "status": "cancelling"}))
    done = await bench.control.cancel_run(CALLER, key.run_id, {}, "k")
    assert (done.run_id, done.status, done.replayed) == (key.run_id, "cancelling", True)
    assert await bench.status(key) == "running"
    await bench.close()
