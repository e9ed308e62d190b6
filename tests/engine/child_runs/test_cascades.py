"""Cancelling children: with their parent, with a node that ends before them, and when siblings were enough."""

import asyncio
from typing import Any

import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.child_workflows import GATE, GATED, SUB_WORKFLOW, calling_workflow, child_keys, settle, start_run
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run
from weftwork.engine.decide import transitions
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.run.append import BatchBuilder
from weftwork.ports.node_outcome import AwaitsChildren, CancelChild, Completed, NewChild, NodeOutcome, StartChild
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration


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
    await bench.crash()
    after = bench.successor()
    await after.executor.recover()
    await settle()
    assert await after.status(child) == "cancelled"
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
    await settle()
    assert await bench.status(key) == "cancelling"
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
    bench.gate_node.release("h")
    await settle()
    assert await bench.status(key) == "completed"
    (ended,) = await bench.payloads(key, "node.completed")
    assert ended["outputs"] == {"won": ["1"], "statuses": ["cancelled", "completed", "cancelled"]}
    first = (await child_keys(bench, key))[0]
    (said,) = await bench.payloads(first, "run.cancelled")
    assert said == {"reason": "join-decided", "parentRunId": key.run_id}


async def _out_of_time() -> str:
    document = calling_workflow("gate")
    document["nodes"][0]["settings"] = {"timeoutMs": 5000}
    bench, key = await start_run(document, GATE)
    (child,) = await child_keys(bench, key)
    await pass_time(bench, 5000)
    await settle()
    assert await bench.status(key) == "failed"
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "node_timeout"
    return await bench.status(child)


@pytest.mark.rule("kin-08")
def test_a_node_that_ends_before_its_child_has_it_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(_out_of_time) == "cancelled"
    monkeypatch.setattr(transitions, "cancel_open_children", lambda state, draft, cause=None: draft)
    # The run fails as well, and that is another reason.
    monkeypatch.setattr(BatchBuilder, "_cascade", lambda append: None)
    assert run(_out_of_time) == "waiting-approval"


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
    await settle()
    assert await bench.status(key) == "waiting-approval"
    await pass_time(bench, 4_000)
    assert await bench.status(key) == "waiting-approval"
    await pass_time(bench, 1_000)
    assert await bench.status(key) == "failed"
