"""A node that waits for children is called again whenever it may have something to do, also after a crash."""

import asyncio
from typing import Any

import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.child_workflows import (
    GATE,
    GATED,
    QUICK,
    calling_workflow,
    child_keys,
    harness_crashing_after,
    restart,
    settle,
    start_run,
)
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run
from weftwork.engine.decide.decision import NOTHING
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    CancelChild,
    Completed,
    EmitEvent,
    Failed,
    NewChild,
    NodeOutcome,
    StartChild,
)
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def _after_the_end() -> str:
    bench, key = await start_run(calling_workflow("held"), GATED, bench=harness_crashing_after("weftwork.child.ended"))
    bench.gate_node.release("h")
    await settle()
    assert bench.log.reached
    assert await bench.event_types(key) == [
        "run.started",
        "node.started",
        "weftwork.child.started",
        "weftwork.child.ended",
    ]
    return await (await restart(bench)).status(key)


@pytest.mark.rule("kin-05")
def test_a_node_whose_child_has_ended_goes_on_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(_after_the_end) == "completed"
    monkeypatch.setattr("weftwork.engine.decide.transitions.recheck_children", lambda *_: NOTHING)
    assert run(_after_the_end) == "running"


def scripted(script: Any) -> WaitingNode:
    return WaitingNode(NodeDeclaration("test.script", "As the test says.", instant=False), script)


SCRIPT = workflow([node("call", "test.script")], id="script")


async def new(context: NodeContext, key: str, workflow_id: str = "gate", **more: Any) -> StartChild:
    made = await context.prepare_child(key, workflow_id, {}, **more)
    assert isinstance(made, NewChild)
    return StartChild(made)


async def _cancels_one(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """Two children; one is dropped with a word, the other one is enough."""
    if not call.children:
        return AwaitsChildren((await new(context, "a"), await new(context, "b")))
    if call.children["a"].status not in ("cancelling", "cancelled"):
        return AwaitsChildren((CancelChild("a"), EmitEvent("acme.dropped", {})))
    return Completed({}) if not call.open_children else AwaitsChildren()


async def test_what_a_look_does_is_done_once_though_no_word_of_it_came_back() -> None:
    node_type = scripted(_cancels_one)
    bench, key = await start_run(SCRIPT, GATE, bench=harness_crashing_after("acme.dropped", node_type, dies=False))
    _, second = await child_keys(bench, key)
    assert bench.log.reached
    await pass_time(bench, 5000)
    assert len(await bench.payloads(key, "acme.dropped")) == 1
    await bench.answer(second, {"action": "accept"}, "g")
    await settle()
    assert await bench.status(key) == "completed"
    said = [each["status"] for each in await bench.payloads(key, "weftwork.child.status")]
    assert said.count("cancelling") == 1


async def test_a_detached_child_that_was_stored_without_a_word_is_executed() -> None:
    async def alone(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({}, (await new(context, "a", "quick", awaited=False),))

    bench, key = await start_run(
        SCRIPT, QUICK, bench=harness_crashing_after("weftwork.child.started", scripted(alone), dies=False)
    )
    await pass_time(bench, 5000)
    (child,) = await child_keys(bench, key)
    assert await bench.status(child) == "completed"


async def _misused(outcome: Any) -> str:
    async def script(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await outcome(context)

    bench, key = await start_run(SCRIPT, GATE, bench=EngineHarness(scripted(script)))
    (failed,) = await bench.payloads(key, "node.failed")
    return failed["error"]["message"]


async def test_children_that_nobody_could_wait_for_are_not_started() -> None:
    async def same(context: NodeContext) -> NodeOutcome:
        return AwaitsChildren((await new(context, "a"), await new(context, "a")))

    async def left(context: NodeContext) -> NodeOutcome:
        return Completed({}, (await new(context, "a"),))

    assert await _misused(same) == "Two child runs of the node have the same key."
    assert await _misused(left) == "A node that completes waits for no child run."


async def test_what_a_failing_node_says_is_said_along_with_its_failure() -> None:
    async def script(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Failed("acme", "No.", effects=(EmitEvent("acme.said", {"a": 1}),))

    bench, key = await start_run(SCRIPT, bench=EngineHarness(scripted(script)))
    assert await bench.event_types(key) == ["run.started", "node.started", "acme.said", "node.failed", "run.failed"]


async def test_a_parent_with_other_work_hears_of_its_child_all_the_same() -> None:
    both = workflow(
        [node("call", "core.subWorkflow", config={"workflowId": "quick"}), node("h", "test.gate"), node("z")],
        [edge("call", "z"), edge("h", "z")],
        id="both",
    )

    bench, key = await start_run(both, QUICK)
    assert isinstance(bench.executor._live[key], LiveRun)
    assert "weftwork.child.ended" in await bench.event_types(key)
    bench.gate_node.release("h")
    await settle()
    assert await bench.status(key) == "completed"


async def test_a_guarded_parent_is_kept_with_what_it_has_learnt_to_hide() -> None:
    document = calling_workflow("held")
    document["variables"] = [variable("secret", sensitive=True)]

    bench, _ = await start_run(GATED)
    key = await bench.start(document, inputs={"secret": "hunter2-hunter2"})
    await settle()
    kept = bench.executor._loader._parked[True][key]
    assert kept.redactor is not None
    assert "hunter2" not in kept.redactor.visible_value("it is hunter2-hunter2")
    await bench.close()


async def _asks_with_an_open_child(call: NodeCall, context: NodeContext) -> NodeOutcome:
    if not call.children:
        return AwaitsChildren((await new(context, "a"), await new(context, "b", "quick")))
    if call.children["b"].has_ended:
        await context.ask(Interrupt("custom", "sure", {"customKind": "pick"}))
        if call.children["a"].status not in ("cancelling", "cancelled"):
            return AwaitsChildren((CancelChild("a"),))
    return AwaitsChildren() if call.open_children else Completed({})


async def test_a_node_that_was_answered_while_it_has_children_is_called_after_a_crash() -> None:
    node_type = scripted(_asks_with_an_open_child)
    bench, key = await start_run(SCRIPT, GATE, QUICK, bench=harness_crashing_after("node.resumed", node_type))
    await pass_time(bench, 1000)
    asking = asyncio.create_task(bench.answer(key, "yes", "call"))
    await settle()
    assert bench.log.reached
    asking.cancel()
    assert (await (await restart(bench)).status(key)) == "completed"


def test_a_node_that_has_had_children_is_not_begun_anew_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if not call.children:
            return AwaitsChildren((await new(context, "a", "quick"),))
        if call.open_children:
            return AwaitsChildren()
        await context.ask(Interrupt("custom", "sure", {"customKind": "pick"}))
        return Completed({})

    declared = NodeDeclaration(
        "test.script", "As the test says.", effect="idempotent", instant=False, resumes_after_crash=False
    )

    async def work() -> int:
        bench, key = await start_run(
            SCRIPT, QUICK, bench=harness_crashing_after("node.resumed", WaitingNode(declared, script))
        )
        await pass_time(bench, 1000)
        asking = asyncio.create_task(bench.answer(key, "yes", "call"))
        await settle()
        asking.cancel()
        after = await restart(bench)
        assert len(await child_keys(after, key)) == 1
        return (await after.event_types(key)).count("node.started")

    assert run(work) == 1
    monkeypatch.setattr("weftwork.engine.run.activity.Activity._is_reexecuted", lambda *_: True)
    assert run(work) == 2
