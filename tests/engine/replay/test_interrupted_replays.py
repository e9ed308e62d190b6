"""Replays that are interrupted: by the end of the host at any append, by an outage, and by the end of their record."""

import asyncio
from typing import Any

import pytest

from tests.engine.replay.replay_harness import check_equal, check_rows, compared, create_replay, replay
from tests.engine.replay.test_divergence import WORK, Worker, World, with_code, worked
from tests.harness.engine_harness import EngineHarness, RunPorts, run_ready_tasks
from tests.simulation.simulated_log import SimulatedLog
from weftwork.engine.replay import diverged_run, replay_log
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.header import RunKey

MAX_APPENDS = 200


async def interrupted_replay(engine: EngineHarness, types: tuple[Any, ...], key: RunKey, at: int, when: str) -> bool:
    """Execute a replay in a host that dies at that append, and then in another one. False if the replay had ended by
    then."""
    log = SimulatedLog(RunPorts(engine.store))
    dying = EngineHarness(*types, store=engine.store, clock=engine.clock, ids=engine.ids, wrap=lambda ports: log)
    log.kills = {(at, when)}
    waking = asyncio.create_task(dying.executor._wake(key))
    await run_ready_tasks()
    for _ in range(50):
        if log.died or waking.done():
            break
        await run_ready_tasks()
    await dying.crash()
    waking.cancel()
    after = EngineHarness(*types, store=engine.store, clock=engine.clock, ids=engine.ids)
    await after.executor._wake(key)
    await run_ready_tasks()
    await after.crash()
    return log.died


@pytest.mark.rule("replay-06")
@pytest.mark.parametrize("first", [1, 2], ids=["as recorded", "with a difference"])
async def test_a_replay_goes_on_after_the_end_of_the_host_at_any_append(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(replay_log, "MAX_EVENTS", 2)
    monkeypatch.setattr(diverged_run, "MAX_OWN_EVENTS", 1)
    world = World()
    engine, source = await worked(world)
    types = Worker(world, first).types()
    changed = with_code(engine, *types)
    whole = compared(await changed.events(await replay(changed, source, 0, "whole")))
    at = 0
    for when in ("before", "after"):
        for at in range(MAX_APPENDS):
            key = await create_replay(engine, source, 0, f"{when}-{at}")
            died = await interrupted_replay(engine, types, key, at, when)
            assert compared(await engine.events(key)) == whole
            await check_rows(engine, key)
            if not died:
                break
        assert at > 3, "the replay has several appends"
    assert len(world.calls) == 3


async def test_a_replay_ends_where_its_record_ends_and_waits_for_the_same_person() -> None:
    world = World()
    engine, source = await EngineHarness(*Worker(world).types()).with_settled_run(WORK)
    key = await replay(engine, source)
    await run_ready_tasks()
    await check_equal(engine, source, key)
    assert await engine.status(key) == "waiting-input"
    await engine.answer(key, "later", "asks")
    await run_ready_tasks()
    assert await engine.status(key) == "completed"
    assert (await engine.payload(key, "run.completed"))["outputs"] is not None
    assert await engine.status(source) != "completed", "an answer to the replay is none to its source"


async def test_a_replay_whose_source_is_deleted_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    engine, source = await worked(world)
    for from_seq in (0, 5):
        key = await create_replay(engine, source, from_seq)
    await engine.store.retention.delete(source, engine.clock.now())
    for from_seq in (0, 5):
        key = RunKey(source.partition, f"replay-{source.run_id}-{from_seq}")
        await engine.executor._wake(key)
        assert (await engine.payload(key, "run.failed"))["error"]["code"] == "replay_source_missing"
        assert await engine.status(key) == "failed"
        await check_rows(engine, key)


async def test_a_replay_waits_for_a_store_that_is_away() -> None:
    world = World()
    engine, source = await worked(world)
    key = await create_replay(engine, source)
    log = SimulatedLog(RunPorts(engine.store), faulty=("append",))
    away = EngineHarness(
        *Worker(world).types(), store=engine.store, clock=engine.clock, ids=engine.ids, wrap=lambda ports: log
    )
    for fault in ("down", "lost"):
        log.fails = lambda fault=fault: fault
        with pytest.raises(StoreUnavailable):
            await away.executor._wake(key)
    log.fails = lambda: None
    await away.executor._wake(key)
    await check_equal(engine, source, key)


async def test_a_replay_of_a_replay_is_the_first_source() -> None:
    world = World()
    engine, source = await worked(world)
    first = await replay(engine, source, 4)
    second = await replay(engine, first, 2, "again")
    await check_equal(engine, source, second)


async def test_a_replay_of_a_replay_with_a_difference_is_equal_to_it() -> None:
    world = World()
    engine, source = await worked(world)
    changed = with_code(engine, *Worker(world, first=2).types())
    first = await replay(changed, source)
    second = await replay(changed, first, 0, "again")
    assert compared(await engine.events(second)) == compared(await engine.events(first))
