"""Replays of random runs, from every point: whatever happened to a run, its replay is the same."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.replay.replay_harness import check_equal, replay
from tests.harness.definitions import example_count
from tests.harness.engine_harness import EngineHarness
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
from weftwork.ports.node_outcome import NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.run_queries import RunQuery

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
@settings(max_examples=example_count(int(__import__("os").environ.get("N", "15")), 1200), deadline=None)
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
