"""Two ways to the same run at the same time: it is executed once, and never forgotten."""

import asyncio
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, background_tasks, run, run_ready_tasks, until
from weftwork.engine.host.executor import Executor
from weftwork.engine.nodes.node_runner import NodeRunner
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.header import RunKey

GATE = workflow([node("a", "test.gate")])
AWAY = StoreUnavailable("no disk")


def lose_one_answer(bench: EngineHarness, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The next run is stored, and its creator told otherwise."""
    honest = bench.store.log.create

    async def create(*given: Any) -> Any:
        await honest(*given)
        monkeypatch.setattr(bench.store.log, "create", honest)
        raise error

    monkeypatch.setattr(bench.store.log, "create", create)


async def only_run(bench: EngineHarness) -> RunKey:
    (key,) = await bench.store.queries.unfinished_runs(None, 10)
    return key


def woken_twice(monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the node of a run is called that a cancel and a doubt both wake."""

    async def work() -> int:
        bench = EngineHarness()
        lose_one_answer(bench, monkeypatch, AWAY)
        with pytest.raises(StoreUnavailable):
            await bench.start(GATE)
        key = await only_run(bench)
        await bench.executor._wake(key)
        await until(lambda: bench.gate_node.calls)
        bench.clock.advance(1000)
        await run_ready_tasks()
        calls = len(bench.gate_node.calls)
        bench.gate_node.release("a")
        await bench.run_to_end(key)
        return calls

    return run(work)


def test_a_run_that_is_woken_twice_is_executed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert woken_twice(monkeypatch) == 1


def test_without_a_look_at_the_live_ones_it_would_be_executed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wake(executor: Executor, key: RunKey) -> Any:
        return await executor._load(key)

    monkeypatch.setattr(Executor, "_wake", wake)
    assert woken_twice(monkeypatch) == 2


async def test_a_creation_that_is_given_up_in_the_middle_goes_on_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    lose_one_answer(bench, monkeypatch, asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await bench.start(GATE)
    key = await only_run(bench)
    await run_ready_tasks()
    bench.clock.advance(1000)
    await until(lambda: bench.gate_node.waiting)
    bench.gate_node.release("a")
    await bench.run_to_end(key)


async def test_a_new_run_goes_on_although_somebody_else_failed_to_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    honest, gate = bench.store.log.create, asyncio.Event()

    async def create(*given: Any) -> Any:
        created = await honest(*given)
        await gate.wait()
        return created

    async def away(key: RunKey, *rest: Any) -> Any:
        gate.set()
        await run_ready_tasks()
        raise AWAY

    monkeypatch.setattr(bench.store.log, "create", create)
    creating = asyncio.create_task(bench.start(GATE))
    await run_ready_tasks()
    key = await only_run(bench)
    with monkeypatch.context() as broken:
        broken.setattr(bench.store.log, "read", away)
        with pytest.raises(StoreUnavailable):
            await bench.executor._wake(key)
    assert await creating == key
    bench.clock.advance(1000)
    await until(lambda: bench.gate_node.waiting)
    bench.gate_node.release("a")
    await bench.run_to_end(key)
    assert len(bench.gate_node.calls) == 1


@pytest.mark.parametrize("woken", [False, True])
async def test_an_error_of_ours_after_the_commit_fails_the_run(monkeypatch: pytest.MonkeyPatch, woken: bool) -> None:
    def broken(*given: Any) -> None:
        raise RuntimeError("canary-77ab")

    bench = EngineHarness()
    if not woken:
        monkeypatch.setattr(NodeRunner, "launch", broken)
    key = await bench.start(GATE)
    if woken:
        await bench.crash()
        bench = bench.successor()
        monkeypatch.setattr(NodeRunner, "launch", broken)
        await bench.executor.recover()
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "host_invariant_broken"
    await run_ready_tasks()
    assert (bench.executor.live_count, bench.executor.live_in(key.partition)) == (0, 0)


@pytest.mark.parametrize("stored", [False, True])
def test_after_its_end_an_executor_begins_nothing(monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    async def work() -> None:
        bench = EngineHarness()
        honest, gate = bench.store.log.create, asyncio.Event()

        async def create(*given: Any) -> Any:
            await gate.wait()
            created = await honest(*given)
            if not stored:
                raise AWAY
            return created

        monkeypatch.setattr(bench.store.log, "create", create)
        creating = asyncio.create_task(bench.start(GATE))
        await run_ready_tasks()
        await bench.close()
        gate.set()
        await asyncio.wait((creating,))
        bench.clock.advance(1000)
        await run_ready_tasks()
        assert (bench.gate_node.calls, bench.executor.live_count) == ([], 0)
        assert background_tasks() == set()
        assert (await only_run(bench)).partition == CALLER.partition

    run(work)
