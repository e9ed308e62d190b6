"""An ended run leaves nothing behind: it goes as soon as nobody holds it, without a search for garbage."""

import gc
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks, until
from weftwork.engine.host.executor import Executor
from weftwork.engine.nodes import node_runner
from weftwork.engine.run import live_run
from weftwork.engine.run.live_run import LiveRun
from weftwork.protocol.errors import ClientFault

WAITING = workflow([node("a"), node("b", "test.gate")], [edge("a", "b")])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Weak references to every live run, with the collector switched off."""
    references: list[Any] = []
    honest = Executor._make_live

    def make(executor: Executor, state: Any) -> LiveRun:
        made = honest(executor, state)
        references.extend((ref(made), ref(made._activity._runner)))
        return made

    monkeypatch.setattr(Executor, "_make_live", make)
    gc.collect()
    gc.disable()
    try:
        yield references
    finally:
        gc.enable()


async def completed(bench: EngineHarness) -> None:
    await bench.run_to_end(await bench.start(workflow([node("a")])))


async def failed(bench: EngineHarness) -> None:
    await bench.run_to_end(await bench.start(workflow([node("a", "core.fail")])))


async def waited(bench: EngineHarness) -> None:
    key = await bench.start(WAITING, configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    bench.gate_node.release("b")
    await bench.run_to_end(key)


async def cancelled(bench: EngineHarness) -> None:
    key = await bench.start(WAITING, configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    await bench.cancel(key)
    await bench.run_to_end(key)


async def timed_out(bench: EngineHarness) -> None:
    await bench.run_to_end(await bench.start(WAITING, configurable={"runTimeoutMs": 1000}))


async def refused(bench: EngineHarness) -> None:
    key = await bench.start(WAITING, scopeId="s")
    with pytest.raises(ClientFault):
        await bench.service.create_run(CALLER, {"workflowId": WAITING["id"], "scopeId": "s"}, exclusive=True)
    await until(lambda: bench.gate_node.waiting)
    bench.gate_node.release("b")
    await bench.run_to_end(key)


STORIES = [completed, failed, waited, cancelled, timed_out, refused]


async def left(bench: EngineHarness, story: Any, made: list[Any]) -> list[Any]:
    await story(bench)
    await run_ready_tasks()
    assert made
    return [reference() for reference in made if reference() is not None]


@pytest.mark.parametrize("story", STORIES)
async def test_an_ended_run_goes_at_once(made: list[Any], story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runner, "STOP_GRACE_S", 0.01)

    assert await left(EngineHarness(), story, made) == []


async def test_a_run_that_its_parts_held_would_stay(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "weak_reporter", lambda send: send)

    assert await left(EngineHarness(), completed, made) != []
