"""Replays through the facade, and replays of forks: of branches, of retries, and of replays with a difference."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.forks.test_branches import fork
from tests.engine.replay.replay_harness import check_equal, compared, replay
from tests.engine.replay.test_divergence import WORK, Worker, World, with_code, worked
from tests.harness.definitions import example_count
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.random_workflows import FLAKY, INPUTS, random_workflow


@pytest.mark.rule("replay-01", "fork-01")
async def test_a_replay_is_executed_as_soon_as_it_is_created() -> None:
    world = World()
    engine, source = await worked(world)
    for from_seq in (0, 1, len(await engine.events(source)) - 1):
        key = await fork(engine, source, from_seq, "replay")
        await engine.run_to_end(key)
        await check_equal(engine, source, key)
    assert len(world.calls) == 3


@pytest.mark.rule("replay-01")
@settings(max_examples=example_count(8, 400), deadline=None)
@given(st.integers(0, 2**48))
async def test_a_replay_of_a_branch_is_that_branch(seed: int) -> None:
    dice = random.Random(seed)
    engine = EngineHarness(FLAKY)
    source = await engine.execute(random_workflow(dice, 6), inputs=INPUTS)
    length = len(await engine.events(source))
    branch = await fork(engine, source, dice.randrange(length))
    await engine.run_to_end(branch)
    for from_seq in range(0, len(await engine.events(branch)), 2):
        await check_equal(engine, branch, await replay(engine, branch, from_seq))
    await engine.crash()


async def test_a_branch_of_a_replay_acts_again() -> None:
    world = World()
    engine, source = await worked(world)
    key = await replay(engine, source)
    branch = await fork(engine, key, 1)
    await run_ready_tasks()
    await engine.answer(branch, "again", "asks")
    await engine.run_to_end(branch)
    assert len(world.calls) == 6
    assert await engine.status(branch) == "completed"


async def test_a_branch_of_a_replay_with_a_difference_is_no_replay() -> None:
    world = World()
    engine, source = await EngineHarness(*Worker(world).types()).with_settled_run(WORK)
    changed = with_code(engine, *Worker(world, first=2).types())
    key = await replay(changed, source)
    branch = await fork(changed, key, len(await changed.events(key)) - 1)
    await run_ready_tasks()
    await changed.answer(branch, "yes", "asks")
    await changed.run_to_end(branch)
    assert await changed.status(branch) == "completed"
    again = await replay(changed, branch)
    assert compared(await changed.events(again)) == compared(await changed.events(branch))
