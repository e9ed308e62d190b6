"""Deleting a run, and deleting runs by their age, on an engine without edges."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.harness.cases import fails_without, present
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, fault_of, run_ready_tasks, until
from tests.harness.retained_runs import GATE, NOOP, OTHER, TESTER, open_sqlite_store, retention_of, store_long_run
from weftwork.engine.api import retention as module
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.retention import DAY_MS, DELETE_BATCH, MAX_PER_CALL, PruneResult, Retention
from weftwork.engine.host.executor import Executor
from weftwork.engine.host.sweeper import SWEEP_INTERVAL_MS, Sweeper
from weftwork.engine.streams.feeds import Feeds
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.samples import NOW, batch, make_run


async def refusal(retention: Retention, run_id: str, key: str | None = None, caller: Principal = CALLER) -> ClientFault:
    return await fault_of(retention.delete_run(caller, run_id, key))


@pytest.mark.rule("run-08")
@fails_without(Executor, "forget", lambda executor, key: True)
async def test_a_deleted_run_is_unknown_to_every_operation() -> None:
    bench, ended = await EngineHarness().with_run(NOOP)
    retention = retention_of(bench)
    assert await bench.executor.read_run(ended) is not None
    assert await retention.delete_run(CALLER, ended.run_id) is False
    assert (await refusal(retention, ended.run_id)).code == "not_found"
    service = bench.service
    reads = (service.get_run,), (service.projection,), (service.get_event, 0)
    calls: list[Any] = [*reads, (bench.streams.join, -1), (bench.control.cancel_run, {})]
    for call, *rest in calls:
        assert (await fault_of(call(CALLER, ended.run_id, *rest))).code == "not_found"
    assert await service.run_spans(CALLER, ended.run_id) == []
    assert (await service.list_runs(CALLER, RunQuery()))["runs"] == []
    assert bench.feeds.readers == 0


@pytest.mark.rule("run-08")
async def test_a_live_run_is_refused_with_its_status() -> None:
    bench, live = await EngineHarness().with_run(GATE)
    retention = retention_of(bench)
    found = await refusal(retention, live.run_id, "k")
    assert (found.code, found.status, found.details) == ("conflict", 409, {"runStatus": "running"})
    assert await bench.cancel(live) == "cancelling"
    await bench.run_to_end(live)
    assert await retention.delete_run(CALLER, live.run_id, "k") is False


@pytest.mark.rule("auth-03")
@pytest.mark.parametrize("caller", [OTHER, TESTER], ids=["another tenant", "a test key"])
async def test_a_run_of_others_is_not_there(caller: Principal) -> None:
    bench, ended = await EngineHarness().with_run(NOOP)
    assert (await refusal(retention_of(bench), ended.run_id, None, caller)).code == "not_found"
    assert await bench.status(ended) == "completed"


@pytest.mark.rule("idem-03")
async def test_a_repeat_with_the_same_key_is_answered_as_the_first() -> None:
    bench = EngineHarness()
    first, second = await bench.start(NOOP), await bench.start(NOOP)
    retention = retention_of(bench)
    assert [await retention.delete_run(CALLER, first.run_id, "k") for _ in range(3)] == [False, True, True]
    assert (await refusal(retention, first.run_id, "other")).code == "not_found"
    assert await retention.delete_run(CALLER, second.run_id, "k") is False
    assert (await refusal(retention, first.run_id, "no key")).code == "validation_error"


async def test_the_key_of_a_deleted_run_makes_no_second_one() -> None:
    bench = EngineHarness()
    await bench.start(NOOP)
    asked = {"workflowId": "noop"}
    made = await bench.service.create_run(CALLER, asked, "k")
    await retention_of(bench).delete_run(CALLER, made.run_id)
    again = await bench.service.create_run(CALLER, asked, "k")
    assert (again.run_id, again.replayed) == (made.run_id, True)
    assert await bench.store.log.read_run(CALLER.run(made.run_id)) is None


async def test_a_run_that_ends_and_is_deleted_at_once_stays_deleted() -> None:
    """The delete comes while the last commit is under way: it waits for it, and the host does not remember the run."""

    class SlowLog(WrappedLog):
        def __init__(self, log: Any) -> None:
            super().__init__(log)
            self.go = asyncio.Event()

        async def append(self, *arguments: Any) -> Any:
            answer = await self._log.append(*arguments)
            await self.go.wait()
            return answer

    bench, live = await EngineHarness(wrap=SlowLog).with_gated_run(GATE)
    bench.gate_node.release("a")
    for _ in range(50):
        await asyncio.sleep(0)
    assert await bench.status(live) == "completed", "the store knows, the host does not"
    deleting = asyncio.create_task(retention_of(bench).delete_run(CALLER, live.run_id))
    await run_ready_tasks()
    assert not deleting.done()
    bench.log.go.set()
    assert await deleting is False
    await run_ready_tasks()
    with pytest.raises(ClientFault):
        await bench.service.get_run(CALLER, live.run_id)


async def test_what_the_host_executes_is_not_deleted_whatever_the_store_says() -> None:
    """An append that was reported as failed may have ended the run in the store; the host has yet to look there."""

    bench, live = await EngineHarness().with_run(GATE)
    await bench.store.log.append(live, 1, batch(live, 1, status="failed"))
    found = await refusal(retention_of(bench), live.run_id)
    assert (found.code, found.status, found.details) == ("conflict", 409, {"runStatus": "failed", "retryAfter": 1})
    assert await retention_of(bench).prune(NOW * 2) == PruneResult(0, False)
    assert await bench.status(live) == "failed"


class SlowReads(WrappedLog):
    """Answers reads of runs once it may."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.go = asyncio.Event()
        self.go.set()

    async def read_run(self, *arguments: Any) -> Any:
        await self.go.wait()
        return await self._log.read_run(*arguments)


async def nothing(*arguments: Any) -> None: ...


@pytest.mark.rule("run-08")
@fails_without(Executor, "settle", nothing, errors=(ClientFault,))
async def test_a_run_that_another_request_is_loading_is_deleted_after_that() -> None:
    bench, ended = await EngineHarness(wrap=SlowReads).with_run(NOOP)
    bench.executor._recent_runs.forget(ended)
    bench.log.go.clear()
    cancelling = asyncio.create_task(bench.cancel(ended))
    deleting = asyncio.create_task(retention_of(bench).delete_run(CALLER, ended.run_id))
    await run_ready_tasks()
    assert not cancelling.done()
    bench.log.go.set()
    assert await deleting is False
    await asyncio.wait((cancelling,))
    assert await bench.store.log.read_run(ended) is None


@pytest.mark.rule("run-08")
async def test_deletes_that_race_with_each_other_and_with_loads_succeed_once() -> None:
    bench, ended = await EngineHarness().with_run(NOOP)
    retention = retention_of(bench)
    for number in range(8):
        bench.executor._recent_runs.forget(ended)
        requests = [retention.delete_run(CALLER, ended.run_id) for _ in range(3)]
        loads = [bench.control.cancel_run(CALLER, ended.run_id, {}) for _ in range(number)]
        ends = await asyncio.gather(*loads, *requests, return_exceptions=True)
        deleted, refused = [end for end in ends[number:] if end is False], [end for end in ends if end is not False]
        assert len(deleted) == 1, ends
        assert {end.code for end in refused if isinstance(end, Exception) and isinstance(end, ClientFault)} <= {
            "not_found",
            "conflict",
        }
        assert not [end for end in ends if isinstance(end, StoreUnavailable)]
        ended = await bench.start(NOOP)
        await bench.run_to_end(ended)


@pytest.mark.rule("run-08")
@fails_without(Feeds, "end", lambda feeds, key: None)
async def test_a_reader_of_a_deleted_run_comes_to_an_end() -> None:
    bench, ended = await EngineHarness().with_run(NOOP)
    reader, _ = await bench.streams.join(CALLER, ended.run_id, -1)
    assert [event.sequence for event in await reader.next(0, 1)] == [0]
    await retention_of(bench).delete_run(CALLER, ended.run_id)
    assert await reader.next(0) == []
    assert reader.ended
    bench.streams.leave(CALLER, ended.run_id)


async def test_what_a_long_run_leaves_is_cleared_away_behind_the_caller(tmp_path: Path) -> None:
    store, retention = await open_sqlite_store(tmp_path)
    for number in range(3):
        await retention.delete_run(CALLER, await store_long_run(store, f"run-{number}"))
    assert retention._purge_task is not None, "it goes on when the caller has its answer"
    await asyncio.wait((retention._purge_task,))
    assert retention._purge_task is None
    assert await store.retention.purge() is False
    await store.close()


async def test_clearing_away_is_resumed_after_a_stop(tmp_path: Path) -> None:
    store, retention = await open_sqlite_store(tmp_path)
    await retention.delete_run(CALLER, await store_long_run(store, "run-a"))
    retention.close()
    await store.close()
    store, retention = await open_sqlite_store(tmp_path)
    assert await store.retention.purge() is True, "something is left"
    await retention.delete_expired()
    assert await store.retention.purge() is False
    await store.close()


async def test_a_store_that_is_away_is_cleared_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, retention = await open_sqlite_store(tmp_path)
    await retention.delete_run(CALLER, await store_long_run(store, "run-a"))
    clearing = present(retention._purge_task)
    await store.close()
    await asyncio.wait((clearing,))
    clearing.result()
    assert "store unavailable, removal of deleted runs postponed" in caplog.text


async def make_ended(store: Any, count: int, partition: str = "live:acme", days: int = 40) -> list[RunKey]:
    """Runs that ended so many days after 1970, one millisecond after the other."""
    made: list[RunKey] = []
    for number in range(count):
        run_key = await make_run(store, f"run-{partition}-{number}", partition)
        last = batch(run_key, -1, status="completed")
        ended = replace(last.projection, completed_at=days * DAY_MS + number)
        await store.log.append(run_key, -1, replace(last, projection=ended))
        made.append(run_key)
    return made


@pytest.mark.rule("run-11")
async def test_pruning_deletes_what_ended_before_and_nothing_else() -> None:
    bench, live = await EngineHarness().with_run(GATE)
    old = await make_ended(bench.store, 5, days=10)
    young = await make_ended(bench.store, 3, "test:acme", days=20)
    theirs = await make_ended(bench.store, 2, "live:other", days=10)
    retention = retention_of(bench)
    assert await retention.count(10 * DAY_MS + 3) == 5
    assert await retention.prune(10 * DAY_MS + 3, "acme") == PruneResult(3, False)
    assert await retention.count(10 * DAY_MS + 99, "acme") == 2
    assert await retention.prune(30 * DAY_MS, "acme") == PruneResult(5, False)
    left = [key for key in (*old, *young, *theirs, live) if await bench.store.log.read_run(key)]
    assert left == [*theirs, live]
    assert await retention.prune(NOW * 2) == PruneResult(2, False)
    assert await bench.status(live) == "running"
    with pytest.raises(ClientFault, match=r"^validation_error: "):
        await retention.prune(0, "no tenant")


@pytest.mark.rule("run-11")
@pytest.mark.parametrize("limit", [1, DELETE_BATCH - 1, DELETE_BATCH, DELETE_BATCH + 1, MAX_PER_CALL])
async def test_pruning_goes_slice_by_slice_to_the_end(limit: int) -> None:
    bench = await EngineHarness().open()
    await make_ended(bench.store, 2 * DELETE_BATCH + 3)
    retention = retention_of(bench)
    counts: list[int] = []
    more = True
    while more:
        pruned = await retention.prune(NOW, None, limit)
        assert pruned.deleted <= limit
        counts.append(pruned.deleted)
        more = pruned.more
    assert sum(counts) == 2 * DELETE_BATCH + 3
    assert await retention.count(NOW) == 0
    assert len(counts) <= (2 * DELETE_BATCH + 3) // limit + 1


@pytest.mark.rule("run-11")
@pytest.mark.parametrize("days", [0, 7])
async def test_the_sweeper_deletes_what_is_past_its_time(days: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "weftwork.retention")
    bench = await EngineHarness().open()
    today = bench.clock.now() // DAY_MS
    await make_ended(bench.store, MAX_PER_CALL + 5, days=today)
    bench.clock.advance((today + 7) * DAY_MS - bench.clock.now())
    sweeper = Sweeper(bench.store.records, bench.store.retention, bench.clock, retention_of(bench, days).delete_expired)
    sweeper.start()
    await run_ready_tasks()
    assert await bench.store.retention.count_ended(NOW * 2) == MAX_PER_CALL + 5, "not before its time"
    for _ in range(2):
        bench.clock.advance(SWEEP_INTERVAL_MS)
        for _ in range(5000):
            await asyncio.sleep(0)
    left = await bench.store.retention.count_ended(NOW * 2)
    await sweeper.stop()
    assert left == (0 if days else MAX_PER_CALL + 5)
    said = [record for record in caplog.records if record.message == "expired runs deleted"]
    assert [record.__dict__["count"] for record in said] == ([MAX_PER_CALL + 5] if days else [])


async def test_a_sweeper_goes_on_when_the_store_is_away(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await EngineHarness().open()
    retention = retention_of(bench, 1)
    real, calls = Retention.prune, 0

    async def prune(*arguments: Any) -> PruneResult:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise StoreUnavailable("gone")
        return await real(*arguments)

    monkeypatch.setattr(Retention, "prune", prune)
    sweeper = Sweeper(bench.store.records, bench.store.retention, bench.clock, retention.delete_expired)
    sweeper.start()
    await until(lambda: calls == 1)
    await run_ready_tasks()
    bench.clock.advance(SWEEP_INTERVAL_MS)
    await until(lambda: calls == 2)
    await sweeper.stop()
    assert "store unavailable, cleanup postponed" in caplog.text


async def test_a_prune_clears_long_runs_away_in_bounded_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PER_CALL", 3)
    store, retention = await open_sqlite_store(tmp_path)
    for number in range(3):
        await store_long_run(store, f"run-{number}")
    slices: list[PruneResult] = []
    while not slices or slices[-1].more:
        slices.append(await retention.prune(NOW * 2, None, 3))
    assert sum(each.deleted for each in slices) == 3
    assert len(slices) > 5, "each of them did a little"
    assert await store.retention.purge() is False
    await store.close()
