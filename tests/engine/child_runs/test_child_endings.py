"""How children end, what that does to the node that waits, and which live on; each is there once over crashes."""

import asyncio
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.engine.child_runs.test_child_maps import DOUBLING, mapping
from tests.engine.child_runs.test_sub_workflows import adding, number
from tests.engine.run.test_pause import pause, resume
from tests.harness.cases import fails_without
from tests.harness.child_workflows import CrashingLog
from tests.harness.definitions import edge, node, variable
from tests.harness.engine_harness import CALLER, EngineHarness, run, run_ready_tasks, until
from tests.harness.retained_runs import retention_of
from tests.harness.run_tree import (
    ACCEPT,
    all_waiting,
    approval_workflow,
    child_keys,
    completed_snapshot,
    ended_run,
    only_child_key,
    restart,
    sequence,
    snapshot_of,
    start_run,
    sub_workflow_node,
    waiting_parent,
)
from weftwork.engine.decide import transitions
from weftwork.engine.decide.decision import NOTHING
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

FAILING = sequence("fail", node("f", "core.fail", config={"code": "bolts_missing", "message": "There are no bolts."}))
LATE = [variable("v", defaultValue="late")]
HELD = sequence("held", node("hold", "test.gate"), variables=LATE)
RETRIED = {"maxRetries": 2, "retryDelayMs": 10}


async def test_a_child_that_fails_fails_the_parent_by_name() -> None:
    parent = sequence("parent", sub_workflow_node("fail", outputMapping={"v": "v"}))
    bench, key, found = await ended_run(parent, FAILING)
    child = await only_child_key(bench, key)
    assert (found["status"], found["variables"]) == ("failed", {})
    assert found["error"] == {
        "code": "child_run_failed",
        "message": f"The child run {child.run_id} failed with bolts_missing.",
        "details": {
            "childRunId": child.run_id,
            "childStatus": "failed",
            "error": {"code": "bolts_missing", "message": "There are no bolts."},
        },
    }


async def test_a_failure_that_is_absorbed_lets_the_parent_go_on() -> None:
    ports = {
        "status": {"type": "connection", "nodeId": "call", "outputKey": "childStatus"},
        "code": {"type": "expression", "expression": "nodes.call.outputs.error.code"},
    }
    after = node("after", "core.identity", inputs=ports)
    parent = sequence("parent", sub_workflow_node("fail", onChildFailure="absorb", outputMapping={"v": "v"}), after)
    _, _, found = await ended_run(parent, FAILING)
    assert (found["status"], found["variables"]) == ("completed", {})
    assert found["outputs"] == {"after": {"status": "failed", "code": "bolts_missing"}}
    # It can take another way, too.
    parent = sequence("parent", sub_workflow_node("fail"), node("rescue"), edges=[edge("call", "rescue", "any_failed")])
    assert (await ended_run(parent, FAILING))[2]["status"] == "completed"


async def test_a_retry_starts_another_child() -> None:
    bench = EngineHarness()
    parent = sequence("parent", sub_workflow_node("held", settings=RETRIED, outputMapping={"v": "v"}))
    key = await start_run(bench, parent, HELD)
    for tries in (1, 2):
        await until(lambda: bench.gate_node.waiting)
        assert len(await child_keys(bench, key)) == tries
        await bench.release("hold", Failed("down", "Down.") if tries == 1 else Completed({}))
        await bench.advance(1_000)
    found = await completed_snapshot(bench, key)
    assert (found["status"], found["variables"]) == ("completed", {"v": "late"})
    statuses = [(await snapshot_of(bench, each))["status"] for each in await child_keys(bench, key)]
    assert statuses == ["failed", "completed"]
    assert [each["status"] for each in found["childRuns"]] == statuses


@pytest.mark.parametrize("absorb", [False, True])
async def test_a_child_that_somebody_cancels_is_not_tried_again(absorb: bool) -> None:
    more = {"onChildFailure": "absorb"} if absorb else {}
    parent = sequence("parent", sub_workflow_node("gate", settings=RETRIED, **more))
    bench, key, child = await waiting_parent(parent, approval_workflow())
    await bench.cancel(child, "by hand")
    found = await completed_snapshot(bench, key)
    assert await child_keys(bench, key) == [child]
    told = {"childRunId": child.run_id, "childStatus": "cancelled"}
    if absorb:
        assert found["outputs"] == {"call": told}
    else:
        assert (found["error"]["code"], found["error"]["details"]) == ("child_run_cancelled", told)


async def test_a_child_that_is_deleted_leaves_the_parent_as_it_is() -> None:
    """Once the parent has heard of its end, and not before."""

    bench = EngineHarness()
    parent = sequence("parent", sub_workflow_node("held", outputMapping={"v": "v"}), node("then", "test.gate"))
    key = await start_run(bench, parent, HELD)
    child = await only_child_key(bench, key)
    with pytest.raises(ClientFault) as caught:
        await retention_of(bench).delete_run(CALLER, child.run_id)
    assert caught.value.status == 409
    bench.gate_node.release("hold")
    await until(lambda: "then" in bench.gate_node.waiting)
    await bench.advance(1_000)
    assert await retention_of(bench).delete_run(CALLER, child.run_id) is False
    assert "childRuns" not in await snapshot_of(bench, key)
    after = await restart(bench)
    after.gate_node.release("then")
    found = await completed_snapshot(after, key)
    assert (found["status"], found["variables"]) == ("completed", {"v": "late"})


@pytest.mark.parametrize("policy", ["immediate", "drain-current-node"])
async def test_a_child_may_end_while_its_parent_is_paused(policy: str) -> None:
    bench = EngineHarness()
    parent = sequence("parent", sub_workflow_node("held", outputMapping={"v": "v"}), node("then"))
    key = await start_run(bench, parent, HELD)
    await pause(bench, key, drainPolicy=policy)
    assert await bench.status(key) == "paused"
    await bench.release("hold")
    child = await only_child_key(bench, key)
    assert [await bench.status(each) for each in (key, child)] == ["paused", "completed"]
    assert (await snapshot_of(bench, key))["variables"] == {}
    await resume(bench, key)
    found = await completed_snapshot(bench, key)
    assert (found["status"], found["variables"]) == ("completed", {"v": "late"})
    assert await child_keys(bench, key) == [child]


async def test_a_node_whose_time_is_up_lets_its_child_go() -> None:
    calls = sequence("parent", sub_workflow_node("gate", settings={"timeoutMs": 5_000}))
    bench, key, child = await waiting_parent(calls, approval_workflow())
    bench.clock.advance(6_000)
    parent = await completed_snapshot(bench, key)
    assert (parent["status"], parent["error"]["code"]) == ("failed", "node_timeout")
    assert await bench.settled_status(child) == "cancelled"


@pytest.mark.rule("kin-08")
@fails_without(transitions, "cancel_open_children", lambda state, draft, cause=None: draft, match="waiting-approval")
async def test_a_retry_after_the_time_is_up_starts_another_child_and_the_old_one_goes() -> None:
    bench = EngineHarness()
    settings = {"timeoutMs": 5_000, "maxRetries": 1, "retryDelayMs": 10}
    key = await start_run(bench, sequence("parent", sub_workflow_node("gate", settings=settings)), approval_workflow())
    await bench.advance(6_000)
    await bench.advance(1_000)
    first, second = await child_keys(bench, key)
    assert await all_waiting(bench, key, second)
    assert await bench.status(first) == "cancelled"
    await bench.answer(second, ACCEPT)
    found = await completed_snapshot(bench, key)
    assert (found["status"], found["outputs"]["call"]["childRunId"]) == ("completed", second.run_id)


async def test_a_branch_that_fails_leaves_the_children_of_others_alone() -> None:
    """As with nodes of any type: the run fails when all of them have ended."""

    bench = EngineHarness()
    calls = sub_workflow_node("gate", outputMapping={"v": "v"}), sub_workflow_node("fail", "other")
    parent = sequence("parent", *calls, edges=[])
    key = await start_run(bench, parent, approval_workflow(variables=LATE), FAILING)
    child, _ = await child_keys(bench, key)
    assert await all_waiting(bench, key, child)
    await bench.answer(child, ACCEPT)
    found = await completed_snapshot(bench, key)
    assert (found["error"]["code"], found["variables"]) == ("child_run_failed", {"v": "late"})


async def test_a_run_whose_time_is_up_takes_its_children_along() -> None:
    parent = sequence("parent", sub_workflow_node("gate", propagateCancellation=False), settings={"timeout": 5_000})
    bench, key, child = await waiting_parent(parent, approval_workflow())
    bench.clock.advance(6_000)
    assert (await completed_snapshot(bench, key))["error"]["code"] == "run_timeout"
    await bench.run_to_end(child)
    (told,) = await bench.payloads(child, "run.cancelled")
    assert (told["reason"], told["parentRunId"]) == ("parent-failed", key.run_id)


@pytest.mark.parametrize("when", ["waiting", "answered", "ended"])
async def test_a_host_that_starts_again_goes_on_with_the_same_child(when: str) -> None:
    parent = sequence("parent", sub_workflow_node("gate", outputMapping={"v": "v"}))
    bench, key, child = await waiting_parent(parent, approval_workflow(variables=LATE))
    if when != "waiting":
        await bench.answer(child, ACCEPT)
    if when == "ended":
        await run_ready_tasks()
    bench = await restart(bench)
    if when == "waiting":
        assert await all_waiting(bench, key, child)
        await bench.answer(child, ACCEPT)
    found = await completed_snapshot(bench, key)
    assert (found["status"], found["variables"]) == ("completed", {"v": "late"})
    assert await child_keys(bench, key) == [child]


@pytest.mark.parametrize("cascade", [True, False])
async def test_a_child_that_nobody_waits_for_goes_its_own_way(cascade: bool) -> None:
    bench = EngineHarness()
    call = sub_workflow_node("gate", waitForCompletion=False, propagateCancellation=cascade)
    key = await start_run(bench, sequence("parent", call, node("hold", "test.gate")), approval_workflow())
    await until(lambda: bench.gate_node.waiting)
    child = await only_child_key(bench, key)
    assert [await bench.status(each) for each in (key, child)] == ["running", "waiting-approval"]
    (done,) = await bench.payloads(key, "node.completed")
    assert done["outputs"] == {"childRunId": child.run_id, "childStatus": "running"}
    await bench.cancel(key)
    await bench.run_to_end(key)
    assert await bench.settled_status(child) == ("cancelled" if cascade else "waiting-approval")


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_child_that_nobody_waits_for_or_cancels_along_outlives_its_parent(awaited: bool) -> None:
    config: dict[str, Any] = {"propagateCancellation": False} if awaited else {"waitForCompletion": False}
    bench = EngineHarness()
    key = await start_run(bench, sequence("parent", sub_workflow_node("gate", **config)), approval_workflow())
    child = await only_child_key(bench, key)
    if awaited:
        await bench.cancel(key)
    assert (await completed_snapshot(bench, key))["status"] == ("cancelled" if awaited else "completed")
    assert await all_waiting(bench, child)
    await bench.answer(child, ACCEPT)
    assert (await completed_snapshot(bench, child))["status"] == "completed"


BOTH: dict[str, Any] = {"inputMapping": {"n": "n"}, "outputMapping": {"n": "n"}}
MIDDLE = sequence("middle", sub_workflow_node("add", **BOTH), variables=[number("n")])
NESTED = sequence("parent", sub_workflow_node("middle", **BOTH), node("end"), variables=[number("n", 5)])
ASKING = sequence("parent", sub_workflow_node("gate", outputMapping={"v": "v"}), node("end"))
STORIES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[int]]] = {
    "nested": ([NESTED, MIDDLE, adding()], {"n": 6}, [1, 1]),
    "asking": ([ASKING, approval_workflow(variables=LATE)], {"v": "late"}, [1]),
    "map": ([mapping([1, 2, 3, 4, 5], 2, output="result"), DOUBLING], {}, [5]),
}
"""Definitions, the variables of the parent in the end, and how many runs there are on each level below it."""


async def lived(name: str, at: int, written: bool, slow: bool) -> bool:
    """A story with a death in it; False if it was over before. `slow`: only commits stop at first."""
    documents, variables, levels = STORIES[name]
    bench = EngineHarness(wrap=lambda log: CrashingLog(log, at, written))
    key = await start_run(bench, *documents)
    died = await _dies(bench, key, bench.log.died)
    if died:
        if slow:
            await run_ready_tasks()
            await bench.advance(300)
        bench = await restart(bench, *documents)
        assert not await _dies(bench, key, asyncio.Event())
    found = await snapshot_of(bench, key)
    assert (found["status"], found["variables"]) == ("completed", variables), found.get("error")
    if name == "map":
        assert found["outputs"] == {"map": {"results": [2, 4, 6, 8, 10], "count": 5}}
    line, counted = [key], []
    while line := [child for each in line for child in await child_keys(bench, each)]:
        counted.append(len(line))
        assert [await bench.status(each) for each in line] == ["completed"] * len(line)
    assert counted == levels
    return died


async def _dies(bench: EngineHarness, key: RunKey, died: asyncio.Event) -> bool:
    """Whether the host dies before the run has ended. Whoever is asked says yes."""
    for _ in range(40):
        await run_ready_tasks()
        if died.is_set() or await bench.status(key) in TERMINAL_STATUSES:
            return died.is_set()
        for each in await child_keys(bench, key):
            if await bench.status(each) == "waiting-approval":
                answer = asyncio.create_task(bench.answer(each, ACCEPT))
                await asyncio.wait([answer, asyncio.create_task(died.wait())], return_when="FIRST_COMPLETED")
        bench.clock.advance(300)
    raise AssertionError(f"it does not go on: {await bench.event_types(key)}")


def everywhere(name: str, written: bool, slow: bool = False) -> int:
    """Every place at which the host can die; returns how many there are."""
    return next(at for at in count() if not run(partial(lived, name, at + 1, written, slow)))


@pytest.mark.rule("kin-02", "kin-04")
@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("name", STORIES)
def test_each_child_is_there_once_wherever_the_host_dies(name: str, written: bool, slow: bool) -> None:
    assert everywhere(name, written, slow) > 3


def test_a_parent_that_hears_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.engine.decide.transitions.receive_results", lambda state, given: NOTHING)
    with pytest.raises(AssertionError, match="does not go on"):
        everywhere("nested", written=True)
