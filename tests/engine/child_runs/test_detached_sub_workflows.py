"""Children that live on without their parent, because nobody waits for them or they are not cancelled with it."""

import pytest

from tests.harness.definitions import node
from tests.harness.engine_harness import EngineHarness, quiet, run, until
from tests.harness.run_tree import ACCEPT, begin, calling, ended, flow, gate, only_child, waits


@pytest.mark.parametrize("cascade", [True, False])
def test_a_child_that_nobody_waits_for_goes_its_own_way(cascade: bool) -> None:
    async def work() -> None:
        bench = EngineHarness()
        call = calling("gate", waitForCompletion=False, propagateCancellation=cascade)
        key = await begin(bench, flow("parent", call, node("hold", "test.gate")), gate())
        await until(lambda: bench.stage.waiting)
        child = await only_child(bench, key)
        assert [await bench.status(each) for each in (key, child)] == ["running", "waiting-approval"]
        (done,) = await bench.payloads(key, "node.completed")
        assert done["outputs"] == {"childRunId": child.run_id, "childStatus": "running"}
        await bench.cancel(key)
        await bench.end(key)
        await quiet()
        assert await bench.status(child) == ("cancelled" if cascade else "waiting-approval")

    run(work)


def test_a_child_that_nobody_waits_for_may_outlive_its_parent() -> None:
    async def work() -> None:
        bench = EngineHarness()
        key = await begin(bench, flow("parent", calling("gate", waitForCompletion=False)), gate())
        assert (await ended(bench, key))["status"] == "completed"
        child = await only_child(bench, key)
        assert await waits(bench, child)
        await bench.answer(child, ACCEPT)
        assert (await ended(bench, child))["status"] == "completed"

    run(work)


def test_a_child_that_is_awaited_and_not_cancelled_along_lives_on() -> None:
    async def work() -> None:
        bench = EngineHarness()
        key = await begin(bench, flow("parent", calling("gate", propagateCancellation=False)), gate())
        child = await only_child(bench, key)
        await bench.cancel(key)
        await bench.end(key)
        assert await waits(bench, child)
        await bench.answer(child, ACCEPT)
        assert (await ended(bench, child))["status"] == "completed"

    run(work)
