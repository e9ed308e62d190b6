"""Deleting a run, on an engine without edges."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks, until
from tests.harness.retained_runs import GATE, NOOP, OTHER, TESTER, open_sqlite_store, retention_of, store_long_run
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.retention import PruneResult, Retention
from weftwork.ports.storage.event_log import EventLog, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault
from weftwork.testing.storage.samples import NOW, batch


async def refusal(retention: Retention, run_id: str, key: str | None = None, caller: Principal = CALLER) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        await retention.delete_run(caller, run_id, key)
    return caught.value


@pytest.mark.rule("run-08")
async def test_a_deleted_run_is_unknown_to_every_operation() -> None:
    bench = EngineHarness()
    ended = await bench.start(NOOP)
    retention = retention_of(bench)
    assert await bench.executor.read_run(ended) is not None
    assert await retention.delete_run(CALLER, ended.run_id) is False
    assert (await refusal(retention, ended.run_id)).code == "not_found"
    service = bench.service
    for call in (
        service.get_run(CALLER, ended.run_id),
        service.projection(CALLER, ended.run_id),
        service.get_event(CALLER, ended.run_id, 0),
        bench.streams.join(CALLER, ended.run_id, -1),
        bench.control.cancel_run(CALLER, ended.run_id, {}),
    ):
        with pytest.raises(ClientFault) as caught:
            await call
        assert caught.value.code == "not_found"
    assert await service.run_spans(CALLER, ended.run_id) == []
    assert (await service.list_runs(CALLER, RunQuery()))["runs"] == []
    assert bench.feeds.readers == 0


@pytest.mark.rule("run-08")
async def test_a_host_that_remembers_an_ended_run_would_go_on_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: what the executor keeps of runs that ended lately is not forgotten."""

    bench = EngineHarness()
    ended = await bench.start(NOOP)
    monkeypatch.setattr(bench.executor, "forget", lambda _: True)
    await retention_of(bench).delete_run(CALLER, ended.run_id)
    assert (await bench.service.get_run(CALLER, ended.run_id))["status"] == "completed"


@pytest.mark.rule("run-08")
async def test_a_live_run_is_refused_with_its_status() -> None:
    bench = EngineHarness()
    live = await bench.start(GATE)
    retention = retention_of(bench)
    found = await refusal(retention, live.run_id, "k")
    assert (found.code, found.status, found.details) == ("conflict", 409, {"runStatus": "running"})
    assert await bench.cancel(live) == "cancelling"
    await bench.run_to_end(live)
    assert await retention.delete_run(CALLER, live.run_id, "k") is False


@pytest.mark.rule("auth-03")
@pytest.mark.parametrize("caller", [OTHER, TESTER], ids=["another tenant", "a test key"])
async def test_a_run_of_others_is_not_there(caller: Principal) -> None:
    bench = EngineHarness()
    ended = await bench.start(NOOP)
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

    class SlowLog:
        def __init__(self, log: EventLog) -> None:
            self._log = log
            self.go = asyncio.Event()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._log, name)

        async def append(self, *arguments: Any) -> Any:
            answer = await self._log.append(*arguments)
            await self.go.wait()
            return answer

    bench = EngineHarness(wrap=SlowLog)
    live = await bench.start(GATE)
    await until(lambda: bench.gate_node.waiting)
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

    bench = EngineHarness()
    live = await bench.start(GATE)
    await bench.store.log.append(live, 1, batch(live, 1, status="failed"))
    with pytest.raises(StoreUnavailable):
        await retention_of(bench).delete_run(CALLER, live.run_id)
    assert await retention_of(bench).prune(NOW * 2) == PruneResult(0, False)
    assert await bench.status(live) == "failed"


@pytest.mark.rule("run-08")
@pytest.mark.parametrize("guarded", [True, False], ids=["as it is", "without the end of its feed"])
async def test_a_reader_of_a_deleted_run_comes_to_an_end(monkeypatch: pytest.MonkeyPatch, guarded: bool) -> None:
    bench = EngineHarness()
    ended = await bench.start(NOOP)
    reader, _ = await bench.streams.join(CALLER, ended.run_id, -1)
    assert [event.sequence for event in await reader.next(0, 1)] == [0]
    if not guarded:
        monkeypatch.setattr(bench.feeds, "end", lambda _: None)
    await retention_of(bench).delete_run(CALLER, ended.run_id)
    assert await reader.next(0) == []
    assert reader.ended is guarded
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
    clearing = retention._purge_task
    assert clearing is not None
    await store.close()
    await asyncio.wait((clearing,))
    clearing.result()
    assert "store unavailable, clearing away later" in caplog.text
