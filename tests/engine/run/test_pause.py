"""Pause and resume: both policies, what is kept, what starts again, what is refused."""

from typing import Any

import msgspec
import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run, run_ready_tasks, until, waiting_node_type
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.decide import run_control
from weftwork.engine.decide.inputs import PauseRequested, ResumeRequested
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration

CHAIN = workflow([node("a", "test.gate"), node("b", "test.gate")], [edge("a", "b")])
DELAY = workflow([node("wait", "core.delay", config={"ms": 1000})])


async def pause(bench: EngineHarness, key: RunKey, idem: str | None = None, **body: Any) -> Any:
    return await RunControl(bench.runtime, bench.executor).pause_run(CALLER, key.run_id, body, idem)


async def resume(bench: EngineHarness, key: RunKey, idem: str | None = None, **body: Any) -> Any:
    return await RunControl(bench.runtime, bench.executor).resume_run(CALLER, key.run_id, body, idem)


@pytest.mark.rule("run-12", "run-13")
async def test_a_drained_pause_lets_the_node_end_and_keeps_the_run_from_ending() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]))
    await until(lambda: bench.gate_node.waiting)
    assert (await pause(bench, key, reason="lunch")).status == "paused"
    assert await bench.status(key) == "running"
    bench.gate_node.release("a", Completed({"o": 1}))
    await run_ready_tasks()
    assert await bench.status(key) == "paused"
    assert (await bench.event_types(key))[-2:] == ["node.completed", "run.paused"]
    assert (await bench.payloads(key, "run.paused")) == [{"drainPolicy": "drain-current-node", "reason": "lunch"}]
    assert (await resume(bench, key)).status == "running"
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-3:] == ["run.paused", "run.resumed", "run.completed"]


@pytest.mark.rule("run-12")
async def test_an_immediate_pause_starts_the_node_anew() -> None:
    bench = EngineHarness()
    key = await bench.start(DELAY)
    bench.clock.advance(600)
    await pause(bench, key, drainPolicy="immediate")
    assert await bench.status(key) == "paused"
    bench.clock.advance(5_000)
    await run_ready_tasks()
    assert await bench.status(key) == "paused"
    await resume(bench, key)
    bench.clock.advance(999)
    await run_ready_tasks()
    assert await bench.status(key) == "running"
    bench.clock.advance(1)
    await bench.run_to_end(key)
    starts = await bench.payloads(key, "node.started")
    assert [each["attempt"] for each in starts] == [1, 2]
    assert await bench.status(key) == "completed"


@pytest.mark.rule("run-12")
async def test_nothing_starts_while_a_run_is_paused_and_it_outlives_a_restart() -> None:
    bench = EngineHarness()
    key = await bench.start(CHAIN)
    await until(lambda: bench.gate_node.waiting)
    await pause(bench, key)
    bench.gate_node.release("a")
    await run_ready_tasks()
    assert await bench.status(key) == "paused"
    await bench.crash()
    after = bench.successor()
    assert await after.executor.recover() == 1
    await run_ready_tasks()
    assert not after.gate_node.calls
    await resume(after, key)
    await until(lambda: after.gate_node.waiting)
    after.gate_node.release("b")
    await after.run_to_end(key)
    assert (await after.event_types(key)).count("node.started") == 2


async def test_a_pause_that_was_asked_for_outlives_a_restart() -> None:
    bench = EngineHarness()
    key = await bench.start(CHAIN)
    await until(lambda: bench.gate_node.waiting)
    await pause(bench, key)
    await bench.crash()
    after = bench.successor()
    await after.executor.recover()
    await until(lambda: after.gate_node.waiting)
    after.gate_node.release("a")
    await run_ready_tasks()
    assert await after.status(key) == "paused"
    await after.crash()


@pytest.mark.rule("run-12", "run-13")
async def test_what_cannot_be_paused_or_resumed_says_how_it_stands() -> None:
    bench = EngineHarness()
    key = await bench.start(CHAIN)
    await until(lambda: bench.gate_node.waiting)
    with pytest.raises(ClientFault) as caught:
        await resume(bench, key)
    assert (caught.value.status, caught.value.details) == (409, {"runStatus": "running"})
    await pause(bench, key, drainPolicy="immediate")
    with pytest.raises(ClientFault) as caught:
        await pause(bench, key)
    details = caught.value.details or {}
    assert (details["runStatus"], "pausedAt" in details) == ("paused", True)
    assert await bench.cancel(key) == "cancelled"
    for ask in (pause, resume):
        with pytest.raises(ClientFault) as caught:
            await ask(bench, key)
        assert (caught.value.status, caught.value.details) == (409, {"runStatus": "cancelled"})
    with pytest.raises(ClientFault) as caught:
        await pause(bench, RunKey(key.partition, "gone"))
    assert caught.value.code == "not_found"


@pytest.mark.rule("idem-01")
async def test_a_repeated_pause_with_the_same_key_is_the_first_one() -> None:
    bench = EngineHarness()
    key = await bench.start(CHAIN)
    await until(lambda: bench.gate_node.waiting)
    first = await pause(bench, key, drainPolicy="immediate", idem="k")
    bench.clock.advance(5)
    again = await pause(bench, key, drainPolicy="immediate", idem="k")
    assert again == msgspec.structs.replace(first, replayed=True)
    assert (await bench.event_types(key)).count("run.paused") == 1
    await bench.close()


@pytest.mark.rule("lim-05")
async def test_the_time_limit_runs_on_while_a_run_is_paused() -> None:
    bench = EngineHarness()
    key = await bench.start(CHAIN, configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
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


@pytest.mark.rule("run-12")
def test_a_node_that_may_not_run_twice_is_never_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> str:
        seen: list[str] = []
        bench = EngineHarness(once(seen))
        key = await bench.start(workflow([node("a", "test.once")]))
        await until(lambda: seen)
        await pause(bench, key, drainPolicy="immediate")
        bench.clock.advance(100)
        await run_ready_tasks()
        assert await bench.status(key) == "paused"
        await resume(bench, key)
        for _ in range(20):
            await run_ready_tasks()
        assert seen == ["a"]
        return await bench.status(key)

    assert run(work) == "completed"
    honest = run_control.pause

    def careless(state: Any, bounds: Any, policy: str, reason: str | None) -> Any:
        made = honest(state, bounds, policy, reason)
        draft = msgspec.structs.replace(made.events[0], type="run.paused")
        return msgspec.structs.replace(made, events=(draft,), interrupt=True)

    monkeypatch.setattr("weftwork.engine.decide.transitions.pause", careless)
    # Even then it does not happen twice: somebody is asked what became of it.
    assert run(work) == "waiting-input"


async def _interrupted_too_late() -> int:
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
        bench.clock.advance(next(passing, 0))
        await run_ready_tasks()
        return await honest(*arguments)

    live = bench.executor._live[key]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.store.log, "append", late)
        live.send(PauseRequested("immediate"))
        live.send(ResumeRequested())
        await bench.run_to_end(key)
    (completed,) = await bench.payloads(key, "run.completed")
    return completed["outputs"]["a"]["o"]


@pytest.mark.rule("run-02")
def test_word_of_an_attempt_that_was_interrupted_comes_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(_interrupted_too_late) == 2
    monkeypatch.setattr(
        "weftwork.engine.decide.transitions.is_running", lambda state, node_id, attempt: node_id in state.running
    )
    assert run(_interrupted_too_late) == 1
