"""A node that waits for children is called again when it may have something to do; cancels reach children."""

import asyncio
from typing import Any

import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.cases import fails_without
from tests.harness.child_workflows import (
    GATE,
    GATED,
    QUICK,
    SUB_WORKFLOW,
    calling_workflow,
    child_keys,
    harness_crashing_after,
    restart,
    start_run,
)
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, settle
from weftwork.engine.decide import transitions
from weftwork.engine.decide.decision import NOTHING
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.run.append import BatchBuilder
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


@pytest.mark.rule("kin-05")
@fails_without(transitions, "recheck_children", lambda *_: NOTHING, match="running")
async def test_a_node_whose_child_has_ended_goes_on_after_a_crash() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED, bench=harness_crashing_after("weftwork.child.ended"))
    await bench.release("h")
    assert bench.log.reached
    kinds = ["run.started", "node.started", "weftwork.child.started", "weftwork.child.ended"]
    assert await bench.event_types(key) == kinds
    assert await (await restart(bench)).status(key) == "completed"


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
    assert await bench.settled_status(key) == "completed"
    said = [each["status"] for each in await bench.payloads(key, "weftwork.child.status")]
    assert said.count("cancelling") == 1


async def test_a_detached_child_that_was_stored_without_a_word_is_executed() -> None:
    async def alone(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({}, (await new(context, "a", "quick", awaited=False),))

    bench = harness_crashing_after("weftwork.child.started", scripted(alone), dies=False)
    bench, key = await start_run(SCRIPT, QUICK, bench=bench)
    await pass_time(bench, 5000)
    (child,) = await child_keys(bench, key)
    assert await bench.status(child) == "completed"


async def _misused(outcome: Any) -> str:
    async def script(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await outcome(context)

    bench, key = await start_run(SCRIPT, GATE, bench=EngineHarness(scripted(script)))
    return (await bench.payload(key, "node.failed"))["error"]["message"]


async def test_children_that_nobody_could_wait_for_are_not_started() -> None:
    async def same(context: NodeContext) -> NodeOutcome:
        return AwaitsChildren((await new(context, "a"), await new(context, "a")))

    async def left(context: NodeContext) -> NodeOutcome:
        return Completed({}, (await new(context, "a"),))

    assert await _misused(same) == "Two child runs of the node have the same key."
    assert await _misused(left) == "The node completed although it started a child run that it waits for."


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
    await bench.release("h")
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


@fails_without("weftwork.engine.run.activity.Activity._is_reexecuted", lambda *_: True, match="2 == 1")
async def test_a_node_that_has_had_children_is_not_begun_anew_after_a_crash() -> None:
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

    bench = harness_crashing_after("node.resumed", WaitingNode(declared, script))
    bench, key = await start_run(SCRIPT, QUICK, bench=bench)
    await pass_time(bench, 1000)
    asking = asyncio.create_task(bench.answer(key, "yes", "call"))
    await settle()
    asking.cancel()
    after = await restart(bench)
    assert len(await child_keys(after, key)) == 1
    assert (await after.event_types(key)).count("node.started") == 1


async def _cancelled(**config: Any) -> tuple[list[str], list[dict[str, Any]]]:
    top = workflow([node("up", SUB_WORKFLOW, config={"workflowId": "calls-gate", **config})], id="top")
    bench, key = await start_run(top, GATE, calling_workflow("gate"))
    (middle,) = await child_keys(bench, key)
    (low,) = await child_keys(bench, middle)
    assert await bench.cancel(key, "enough") == "cancelled"
    await settle()
    logs = [await bench.payloads(each, "run.cancelled") for each in (key, middle, low)]
    return [await bench.status(each) for each in (key, middle, low)], [log[0] for log in logs if log]


@pytest.mark.rule("kin-06")
async def test_a_cancelled_run_takes_all_below_it_along(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, said = await _cancelled()
    assert statuses == ["cancelled"] * 3
    assert said[0] == {"reason": "enough"}
    assert [each["reason"] for each in said[1:]] == ["parent-cancelled"] * 2
    assert all(each["parentRunId"].startswith("run-") for each in said[1:])
    statuses, said = await _cancelled(propagateCancellation=False)
    assert statuses == ["cancelled", "waiting-approval", "waiting-approval"]
    monkeypatch.setattr(BatchBuilder, "_cascade", lambda append: None)
    statuses, said = await _cancelled()
    assert statuses == ["cancelled", "waiting-approval", "waiting-approval"]


@pytest.mark.rule("kin-06")
async def test_a_cascade_goes_on_after_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await start_run(calling_workflow("gate"), GATE)
    (child,) = await child_keys(bench, key)
    monkeypatch.setattr(ChildMessages, "queue_cancels", lambda kin: None)
    await bench.cancel(key)
    await settle()
    monkeypatch.undo()
    assert await bench.status(child) == "waiting-approval"
    after = await bench.restart()
    assert await after.settled_status(child) == "cancelled"
    assert await after.store.child_runs.cancel_requests(None, 10) == []


@pytest.mark.rule("kin-06")
async def test_children_are_cancelled_before_the_nodes_of_their_parent_have_stopped() -> None:
    both = workflow([node("call", SUB_WORKFLOW, config={"workflowId": "gate"}), node("h", "test.stubborn")], id="both")

    async def never(call: NodeCall, context: NodeContext) -> NodeOutcome:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if ending.is_set():
                    raise

    ending = asyncio.Event()
    stubborn = WaitingNode(NodeDeclaration("test.stubborn", "Does not stop.", instant=False), never)
    bench, key = await start_run(both, GATE, bench=EngineHarness(stubborn))
    (child,) = await child_keys(bench, key)
    assert await bench.cancel(key) == "cancelling"
    assert await bench.settled_status(key) == "cancelling"
    assert await bench.status(child) == "cancelled"
    ending.set()
    await bench.close()


def racer(*ids: str) -> WaitingNode:
    """Starts a child of each workflow; the first that completes is enough."""

    async def race(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if not call.children:
            new = [await context.prepare_child(str(at), name, {}) for at, name in enumerate(ids)]
            return AwaitsChildren(tuple(StartChild(each) for each in new if isinstance(each, NewChild)))
        done = [key for key, child in call.children.items() if child.status == "completed"]
        if done and call.open_children:
            return AwaitsChildren(
                tuple(CancelChild(key) for key, child in call.children.items() if not child.has_ended)
            )
        statuses = [child.status for child in call.children.values()]
        return Completed({"won": done, "statuses": statuses}) if not call.open_children else AwaitsChildren()

    return WaitingNode(NodeDeclaration("test.race", "The first is enough.", instant=False), race)


RACE = workflow([node("call", "test.race")], id="race")


@pytest.mark.rule("kin-07")
async def test_those_that_are_not_needed_are_cancelled_and_waited_for() -> None:
    bench, key = await start_run(RACE, GATE, GATED, bench=EngineHarness(racer("gate", "held", "gate")))
    assert await bench.status(key) == "waiting-approval"
    await bench.release("h")
    assert await bench.status(key) == "completed"
    (ended,) = await bench.payloads(key, "node.completed")
    assert ended["outputs"] == {"won": ["1"], "statuses": ["cancelled", "completed", "cancelled"]}
    first = (await child_keys(bench, key))[0]
    assert await bench.payload(first, "run.cancelled") == {"reason": "join-decided", "parentRunId": key.run_id}


# The run fails as well, and that is another reason to cancel the child.
@pytest.mark.rule("kin-08")
@fails_without(
    [transitions, "cancel_open_children", lambda state, draft, cause=None: draft],
    [BatchBuilder, "_cascade", lambda append: None],
    match="waiting-approval",
)
async def test_a_node_that_ends_before_its_child_has_it_cancelled() -> None:
    document = calling_workflow("gate")
    document["nodes"][0]["settings"] = {"timeoutMs": 5000}
    bench, key = await start_run(document, GATE)
    (child,) = await child_keys(bench, key)
    await pass_time(bench, 5000)
    assert await bench.settled_status(key) == "failed"
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_timeout"
    assert await bench.status(child) == "cancelled"


async def test_time_in_which_a_node_waited_for_a_person_does_not_count_for_its_children() -> None:
    async def asks_first(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await context.ask(Interrupt("custom", "sure", {"customKind": "pick"}))
        if not call.children:
            new = await context.prepare_child("a", "gate", {})
            return AwaitsChildren((StartChild(new),)) if isinstance(new, NewChild) else new
        return AwaitsChildren() if call.open_children else Completed({})

    asker = WaitingNode(NodeDeclaration("test.asker", "Asks first.", instant=False), asks_first)
    document = workflow([node("call", "test.asker", settings={"timeoutMs": 5000})])
    bench, key = await start_run(document, GATE, bench=EngineHarness(asker))
    await pass_time(bench, 60_000)
    await bench.answer(key, "yes", "call")
    assert await bench.settled_status(key) == "waiting-approval"
    await pass_time(bench, 4_000)
    assert await bench.status(key) == "waiting-approval"
    await pass_time(bench, 1_000)
    assert await bench.status(key) == "failed"
