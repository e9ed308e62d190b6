"""An executor acts only on runs that it has taken, and no more once another one has taken them."""

import asyncio
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run_ready_tasks, until
from weftwork.adapters.memory.election import MemoryElection
from weftwork.adapters.memory.run_ports import MemoryEventLog
from weftwork.engine.host import load_retries, run_loader
from weftwork.engine.host.executor import Executor
from weftwork.engine.host.load_retries import UNLOADABLE_RETRY_MS, LoadRetries
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.header import RunKey

APPEND = MemoryEventLog.append
GATES = workflow([node("g", "test.gate"), node("h", "test.gate")], [edge("g", "h")])


class CountingLog(WrappedLog):
    """Counts the calls of each method."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            self.calls.append(name)
            return await getattr(self._log, name)(*arguments)

        return call


async def test_a_run_has_the_fence_of_its_executor_from_the_start_and_is_never_taken() -> None:
    bench = EngineHarness(wrap=CountingLog)
    key = await bench.start(GATES)
    await until(lambda: bench.gate_node.waiting)
    assert await bench.store.ownership.fence_of(key) == bench.runtime.fence.epoch > 0
    bench.gate_node.release("g")
    await until(lambda: "h" in bench.gate_node.waiting)
    bench.gate_node.release("h")
    await bench.run_to_end(key)
    assert not {"take", "fence_of", "retry_later"} & {*bench.log.calls}


async def test_a_parked_run_is_taken_once_after_a_restart_and_not_when_it_is_loaded_again() -> None:
    bench, key = await EngineHarness().with_settled_run(
        workflow([node("wait", "core.delay", config={"ms": 9_000_000})])
    )
    after = await bench.restart(wrap=CountingLog)
    assert "take" not in after.log.calls, "a run that waits for a time is not loaded at start"
    for _ in range(2):
        await after.executor._wake(key)
        await until(lambda: not after.executor.live_count)
        after.executor._loader.take_parked(key)
    assert after.log.calls.count("take") == 1
    assert await after.store.ownership.fence_of(key) == after.runtime.fence.epoch


async def two_executors() -> tuple[EngineHarness, EngineHarness, RunKey]:
    """An executor that waits at a gate, and one that has taken its run meanwhile and waits there as well."""
    first, key = await EngineHarness().with_gated_run(GATES)
    second = await first.take_over()
    await until(lambda: second.gate_node.waiting)
    return first, second, key


def started(bench: EngineHarness) -> list[str]:
    return [call.node_id for call in bench.gate_node.calls]


async def append_with_any_fence(self: Any, *arguments: Any) -> Any:
    return await APPEND(self, *arguments[:3])


@fails_without(MemoryEventLog, "append", append_with_any_fence)
async def test_an_executor_that_was_replaced_starts_nothing_more() -> None:
    first, second, key = await two_executors()
    first.gate_node.release("g")
    await run_ready_tasks()
    assert started(first) == ["g"], "the end of the node is refused, so the next one does not start"
    assert first.executor.live_count == 0
    assert await first.event_types(key) == ["run.started", "node.started"]
    second.gate_node.release("g")
    await until(lambda: "h" in second.gate_node.waiting)
    second.gate_node.release("h")
    await second.run_to_end(key)
    assert started(second) == ["g", "h"]


async def test_a_request_to_an_executor_that_was_replaced_is_refused_and_writes_nothing() -> None:
    first, second, key = await two_executors()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="another process executes this run"):
            await first.control.cancel_run(CALLER, key.run_id, {})
    assert started(first) == ["g"]
    assert await second.status(key) == "running"
    assert await first.store.ownership.fence_of(key) == second.runtime.fence.epoch


async def test_readers_of_an_executor_that_was_replaced_continue_with_the_store() -> None:
    first, second, key = await two_executors()
    first.gate_node.release("g")
    await run_ready_tasks()
    second.gate_node.release("g")
    await until(lambda: "h" in second.gate_node.waiting)
    stored = await first.executor.read_run(key)
    assert stored is not None
    assert stored.projection.current_node == "h"


@fails_without(Executor, "find_work", lambda self: asyncio.sleep(0))
async def test_a_run_that_a_replaced_executor_created_is_found() -> None:
    first, second, _ = await two_executors()
    await second.executor.start_recovery()
    key = await first.start(GATES)
    before = len(started(second))
    await second.executor.find_work()
    await until(lambda: len(started(second)) > before)
    assert await second.store.ownership.fence_of(key) == second.runtime.fence.epoch


@fails_without(Executor, "release_runs", lambda self: None)
async def test_a_host_that_lost_the_election_stops_all_runs() -> None:
    bench, key = await EngineHarness().with_gated_run(GATES)
    asking = asyncio.create_task(bench.control.cancel_run(CALLER, key.run_id, {}))
    bench.executor.release_runs()
    with pytest.raises(StoreUnavailable):
        await asking
    await run_ready_tasks()
    assert bench.executor.live_count == 0
    assert bench.gate_node.cancelled == ["g"]
    assert await bench.event_types(key) == ["run.started", "node.started"]
    with pytest.raises(StoreUnavailable):
        await bench.control.cancel_run(CALLER, key.run_id, {})
    after = await bench.take_over()
    await until(lambda: after.gate_node.waiting)


async def test_an_election_in_memory_replaces_the_process_that_was_elected() -> None:
    bench = await EngineHarness().open()
    first = bench.store.election
    other = MemoryElection(bench.store._state, bench.store.elections)
    epoch = await first.take()
    with pytest.raises(Exception, match="another process executes the runs"):
        await other.take()
    assert not first.lost.is_set()
    assert await other.take(force=True) > epoch
    assert first.lost.is_set()
    await first.release()
    with pytest.raises(Exception, match="another process executes the runs"):
        await first.take()
    await other.release()
    assert await first.take() > epoch + 1


class OutageAtTake(WrappedLog):
    """A store that fails once a run is taken, for as long as `away`."""

    away = True
    taken = False

    async def take(self, *arguments: Any) -> Any:
        self.taken = True
        return await self._log.take(*arguments)

    async def read_whole(self, *arguments: Any) -> Any:
        if self.taken and self.away:
            raise StoreUnavailable("away")
        return await self._log.read_whole(*arguments)


@fails_without(LoadRetries, "add", lambda self, run: None)
async def test_a_run_that_was_taken_before_an_outage_is_loaded_after_it() -> None:
    bench, key = await EngineHarness().with_gated_run(GATES)
    await bench.crash()
    after = bench.successor(wrap=OutageAtTake)
    recovering = after.executor.start_recovery()
    await run_ready_tasks()
    assert await after.store.ownership.fence_of(key) == after.runtime.fence.epoch
    after.clock.advance(STORE_RETRY_MS)
    await run_ready_tasks()
    after.log.away = False
    for _ in range(3):
        after.clock.advance(STORE_RETRY_MS)
        await run_ready_tasks()
    assert recovering.done()
    await until(lambda: after.gate_node.waiting)


@fails_without(load_retries.LoadRetries, "postpone", lambda self, run: asyncio.sleep(0))
async def test_a_run_that_cannot_be_loaded_stays_taken_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await EngineHarness().with_gated_run(GATES)
    await bench.crash()
    broken = True
    fold = run_loader.fold_whole

    async def fold_whole(*arguments: Any, **named: Any) -> Any:
        if broken:
            raise ValueError("damaged")
        return await fold(*arguments, **named)

    monkeypatch.setattr(run_loader, "fold_whole", fold_whole)
    after = await bench.take_over()
    assert after.executor.recovery.progress.skipped == 1
    epoch = after.runtime.fence.epoch
    assert await after.store.ownership.fence_of(key) == epoch
    for _ in range(2):
        now = after.clock.now()
        assert await after.store.ownership.due_retries(epoch, now + UNLOADABLE_RETRY_MS, 10) == [key]
        assert await after.store.ownership.due_retries(epoch, now, 10) == []
        after.clock.advance(UNLOADABLE_RETRY_MS)
        await run_ready_tasks()
    assert not after.gate_node.waiting
    broken = False
    after.clock.advance(UNLOADABLE_RETRY_MS)
    await until(lambda: after.gate_node.waiting)
    assert await after.store.ownership.due_retries(epoch, 2**62, 10) == []
    assert [run.header.run_id for run in (await after.store.queries.list_runs(key.partition, RunQuery())).runs] == [
        key.run_id
    ]
