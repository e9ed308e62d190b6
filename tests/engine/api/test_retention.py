"""Deleting runs by their age, on an engine without edges."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from tests.harness.retained_runs import GATE, open_sqlite_store, retention_of, store_long_run
from weftwork.engine.api import retention as module
from weftwork.engine.api.retention import DAY_MS, DELETE_BATCH, MAX_PER_CALL, PruneResult, Retention
from weftwork.engine.host.sweeper import SWEEP_INTERVAL_MS, Sweeper
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.samples import NOW, batch, make_run


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
    bench = EngineHarness()
    live = await bench.start(GATE)
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
    with pytest.raises(ClientFault) as caught:
        await retention.prune(0, "no tenant")
    assert caught.value.code == "validation_error"


@pytest.mark.rule("run-11")
@pytest.mark.parametrize("limit", [1, DELETE_BATCH - 1, DELETE_BATCH, DELETE_BATCH + 1, MAX_PER_CALL])
async def test_pruning_goes_slice_by_slice_to_the_end(limit: int) -> None:
    bench = EngineHarness()
    await bench.store.open()
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

    bench = EngineHarness()
    await bench.store.open()
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
    said = [record for record in caplog.records if record.message == "runs past their time deleted"]
    assert [record.__dict__["count"] for record in said] == ([MAX_PER_CALL + 5] if days else [])


async def test_a_sweeper_goes_on_when_the_store_is_away(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = EngineHarness()
    await bench.store.open()
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
    assert "store unavailable, sweeping later" in caplog.text


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
