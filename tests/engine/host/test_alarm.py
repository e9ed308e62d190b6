"""The alarm that wakes runs which wait for people: each at its time, whatever else cannot be woken or has changed."""

import pytest

from tests.engine.decide.test_answers import asks
from tests.engine.run.test_waiting_runs import PICK, pass_time, times
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.ports.node_outcome import Completed, NodeOutcome, Suspended
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def test_what_cannot_be_woken_keeps_nobody_else_from_it() -> None:
    def late(name: str, after: int) -> InstantNode:
        def ask(call: NodeCall) -> NodeOutcome:
            return Completed({}) if "q" in call.answers else Suspended(Interrupt("custom", "q", PICK, None, after))

        return InstantNode(NodeDeclaration(name, "Asks.", config={"type": "object"}), ask)

    bench = EngineHarness(late("test.gone", 5), late("test.there", 10))
    lost = [await bench.start({**workflow([node("ask", "test.gone")]), "id": "lost"}) for _ in range(150)]
    found = [await bench.start({**workflow([node("ask", "test.there")]), "id": "found"}) for _ in range(250)]
    await bench.crash()
    bench = bench.successor(types=(late("test.there", 10),))
    await bench.executor.recover()
    began = bench.clock.now()
    await pass_time(bench, 10)
    await until_ended(bench, found)
    assert {(await times(bench, key, "interrupt.resolved"))[0] - began for key in found} == {10}
    assert {await bench.status(key) for key in lost} == {"waiting-input"}
    bench = bench.successor(types=(late("test.gone", 5), late("test.there", 10)))
    await bench.executor.recover()
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
    bench = EngineHarness(
        asks(Interrupt("custom", "q", PICK, remind_after_ms=(900,))), limits=Limits(max_run_duration_ms=before)
    )
    key = await bench.start(workflow([node("ask", "test.ask")]))
    await bench.crash()
    bench = bench.successor(limits=Limits(max_run_duration_ms=after))
    await bench.executor.recover()
    await pass_time(bench, 4000)
    assert await bench.status(key) == ("failed" if after == 1000 else "waiting-input")
    await pass_time(bench, 2000)
    assert await bench.status(key) == ("waiting-input" if after == 0 else "failed")
    assert (await bench.stored_run(key)).projection.wake_at is None
