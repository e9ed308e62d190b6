"""Replays of random runs, from every point: whatever happened to a run, its replay is the same."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.replay.replay_harness import check_equal, check_rows, compared, create_replay, replay
from tests.engine.replay.test_interrupted_replays import interrupted_replay
from tests.harness.definitions import NODE_TYPES, example_count
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.child_runs import test_random_child_runs
from tests.simulation.effects import effect_workflows
from tests.simulation.effects.effect_schedule import FAULTY_TURNS, EffectSchedule
from tests.simulation.interrupts import interrupt_workflows
from tests.simulation.interrupts.interrupt_schedule import InterruptSchedule
from tests.simulation.models import model_schedule
from tests.simulation.models.model_schedule import ModelSchedule
from tests.simulation.random_schedule import RandomSchedule
from tests.simulation.random_workflows import FLAKY, random_workflow
from tests.simulation.run_driver import RunDriver, random_instant_types, run_with_faults
from weftwork.engine.replay import diverged_run, replay_log
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.header import TERMINAL_STATUSES

ALL_RUNS = RunQuery(limit=50)
ASKING = {"core.interrupt": 1}


async def _run_flaky(call: NodeCall, context: NodeContext) -> NodeOutcome:
    state: Any = context
    failures = state._state.nodes[call.node_id].failures
    return FLAKY.run(msgspec.structs.replace(call, inputs={**call.inputs, "failures": failures}))


WAITING_FLAKY = WaitingNode(msgspec.structs.replace(FLAKY.declaration, instant=False), _run_flaky)


async def check_replays(seed: int, every: int = 1) -> None:
    dice = random.Random(seed)
    document = random_workflow(dice, more=ASKING)
    driver = await RunDriver(random_instant_types(dice), dice.choice([1, 2, 16])).start(document, dice.random() < 0.5)
    await run_with_faults(driver, dice, crashes=dice.random() < 0.5, pauses=dice.random() < 0.5)
    engine = EngineHarness(WAITING_FLAKY, store=driver.engine.store, clock=driver.engine.clock)
    engine.ids = driver.engine.ids
    source = driver.key
    for from_seq in range(0, len(await engine.events(source)), every):
        await check_equal(engine, source, await replay(engine, source, from_seq))
    await driver.engine.crash()


@pytest.mark.rule("replay-01")
@settings(max_examples=example_count(15, 1200), deadline=None)
@given(st.integers(0, 2**48))
async def test_a_replay_of_any_run_from_any_point_is_its_source(seed: int) -> None:
    await check_replays(seed)


async def check_schedule(schedule: RandomSchedule, dice: random.Random) -> None:
    """Replays of the runs of a schedule that has been played."""
    engine = schedule.engine.successor()
    for stored in (await engine.store.queries.list_runs(schedule.key.partition, ALL_RUNS)).runs:
        source = stored.header.key
        length = len(await engine.events(source))
        for from_seq in {0, *(dice.randrange(length) for _ in range(3))}:
            key = await asyncio.wait_for(replay(engine, source, from_seq), 20)
            await check_equal(engine, source, key)
    await engine.crash()


def without_luck(document: dict[str, Any]) -> dict[str, Any]:
    """The workflow without nodes that fail as often as the world says, and have no record of what it said."""
    for each in document["nodes"]:
        (each["config"].get("body") or each)["config"].pop("busy", None)
    return document


async def play_effects(dice: random.Random) -> RandomSchedule:
    document = without_luck(effect_workflows.random_workflow(dice))
    return await EffectSchedule(effect_workflows.GatedExternalSystem(), dice).play(document, turns=FAULTY_TURNS)


async def play_interrupts(dice: random.Random) -> RandomSchedule:
    document = without_luck(interrupt_workflows.random_workflow(dice))
    return await InterruptSchedule(dice, None, dice.random() < 0.6).play(document)


async def play_models(dice: random.Random) -> RandomSchedule:
    document = model_schedule.random_workflow(dice)
    return await ModelSchedule(dice, model_schedule.MODEL_ACTION_WEIGHTS, dice.random() < 0.5).play(document)


async def play_children(dice: random.Random) -> RandomSchedule:
    return await test_random_child_runs.storm(dice.randrange(2**40))


@pytest.mark.slow
@pytest.mark.rule("replay-01")
@pytest.mark.parametrize("play", [play_effects, play_interrupts, play_models, play_children])
@settings(max_examples=example_count(12, 600), deadline=None)
@given(seed=st.integers(0, 2**48))
async def test_a_replay_of_a_run_that_reaches_outside_is_its_source(
    play: Callable[[random.Random], Awaitable[RandomSchedule]], seed: int
) -> None:
    dice = random.Random(seed)
    await check_schedule(await play(dice), dice)


def changed_type(node_type: NodeType, dice: random.Random) -> NodeType:
    """A type of which some nodes have another outcome than before."""
    if not isinstance(node_type, InstantNode):
        return node_type
    victims = {f"n{dice.randrange(8)}" for _ in range(2)}
    instead = dice.choice([Completed({"output": 77}), Failed("changed", "Changed.", retryable=dice.random() < 0.5)])

    def work(call: NodeCall) -> NodeOutcome:
        return instead if call.node_id in victims else node_type.run(call)

    return InstantNode(node_type.declaration, work)


async def check_changed_replays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    document = random_workflow(dice, more=ASKING)
    driver = await RunDriver(random_instant_types(dice), dice.choice([1, 2, 16])).start(document, dice.random() < 0.5)
    await run_with_faults(driver, dice, crashes=dice.random() < 0.3, pauses=dice.random() < 0.3)
    types = [WAITING_FLAKY, *[changed_type(each, dice) for each in NODE_TYPES.values()]]
    store, clock = driver.engine.store, driver.engine.clock
    engine = EngineHarness(*types, store=store, clock=clock, ids=driver.engine.ids)
    from_seq = dice.randrange(len(await engine.events(driver.key)))
    logs: list[Any] = []
    for name in ("one", "two"):
        key = await replay(engine, driver.key, from_seq, name)
        await run_ready_tasks()
        logs.append(compared(await engine.events(key)))
        assert await engine.status(key) in TERMINAL_STATUSES or await engine.status(key) in ("waiting-input", "paused")
        await check_rows(engine, key)
    assert logs[0] == logs[1]
    monkeypatch.setattr(replay_log, "MAX_EVENTS", 2)
    monkeypatch.setattr(diverged_run, "MAX_OWN_EVENTS", 1)
    key = await create_replay(engine, driver.key, from_seq, "third")
    await interrupted_replay(engine, tuple(types), key, dice.randrange(6), dice.choice(["before", "after"]))
    assert compared(await engine.events(key)) == logs[0]
    await driver.engine.crash()


@pytest.mark.rule("replay-04", "replay-06")
@settings(max_examples=example_count(15, 1200), deadline=None)
@given(st.integers(0, 2**48))
async def test_two_replays_with_other_code_are_equal_also_if_one_is_interrupted(seed: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        await check_changed_replays(seed, monkeypatch)
