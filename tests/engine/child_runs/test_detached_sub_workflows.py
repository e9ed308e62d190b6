"""Children that live on without their parent, because nobody waits for them or they are not cancelled with it."""

import pytest

from tests.harness.definitions import node
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from tests.harness.run_tree import (
    ACCEPT,
    all_waiting,
    approval_workflow,
    completed_snapshot,
    only_child_key,
    sequence,
    start_run,
    sub_workflow_node,
)


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
    await run_ready_tasks()
    assert await bench.status(child) == ("cancelled" if cascade else "waiting-approval")


async def test_a_child_that_nobody_waits_for_may_outlive_its_parent() -> None:
    bench = EngineHarness()
    key = await start_run(
        bench, sequence("parent", sub_workflow_node("gate", waitForCompletion=False)), approval_workflow()
    )
    assert (await completed_snapshot(bench, key))["status"] == "completed"
    child = await only_child_key(bench, key)
    assert await all_waiting(bench, child)
    await bench.answer(child, ACCEPT)
    assert (await completed_snapshot(bench, child))["status"] == "completed"


async def test_a_child_that_is_awaited_and_not_cancelled_along_lives_on() -> None:
    bench = EngineHarness()
    key = await start_run(
        bench, sequence("parent", sub_workflow_node("gate", propagateCancellation=False)), approval_workflow()
    )
    child = await only_child_key(bench, key)
    await bench.cancel(key)
    await bench.run_to_end(key)
    assert await all_waiting(bench, child)
    await bench.answer(child, ACCEPT)
    assert (await completed_snapshot(bench, child))["status"] == "completed"
