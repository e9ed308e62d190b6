"""Replays through the facade, and replays of forks: of branches, of retries, and of replays with a difference."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.engine.forks.test_branches import fork
from tests.engine.replay.replay_harness import check_equal, compared, replay
from tests.engine.replay.test_divergence import WORK, Worker, World, with_code, worked
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, example_count, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.random_workflows import FLAKY, INPUTS, random_workflow
from weftwork.engine.replay.lockstep import Lockstep
from weftwork.engine.replay.replay_log import ReplayLog
from weftwork.protocol.run.header import RunKey


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
@example(169)
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


WHOLE_DECISIONS = Lockstep, "_length_before_fork", lambda self, count: count


async def check_branches(engine: EngineHarness, source: RunKey) -> list[str]:
    """Replays of the branches from all events of a run are these branches. Returns the types around each fork point."""
    types = await engine.event_types(source)
    around: list[str] = []
    try:
        for from_seq in range(1, len(types)):
            branch = await fork(engine, source, from_seq)
            await run_ready_tasks()
            for start in range(len(await engine.events(branch))):
                await check_equal(engine, branch, await replay(engine, branch, start))
            around.append(f"{types[from_seq - 1]} {types[from_seq]}")
    finally:
        await engine.crash()
    return around


@pytest.mark.rule("replay-06")
@fails_without(*WHOLE_DECISIONS)
async def test_the_prefix_of_a_branch_can_end_between_nodes_that_are_skipped_together() -> None:
    never = [edge("a", name, condition={"type": "expression", "expression": "false"}) for name in "bc"]
    document = workflow([node(name) for name in "abc"], never)
    engine, source = await EngineHarness().with_ended_run(document)
    assert "node.skipped node.skipped" in await check_branches(engine, source)


@pytest.mark.rule("replay-06")
@fails_without(*WHOLE_DECISIONS)
async def test_the_prefix_of_a_branch_can_end_within_a_cancellation() -> None:
    waiting = [node(name, "core.approvalGate", config={"title": "Go on?"}) for name in "ab"]
    engine, source = await EngineHarness().with_settled_run(workflow([*waiting, node("c", "test.gate")]))
    await engine.cancel(source)
    await run_ready_tasks()
    around = await check_branches(engine, source)
    assert {"node.cancelled node.cancelled", "node.cancelled run.cancelled"} <= {*around}


@pytest.mark.rule("replay-06", "fork-07")
async def test_the_prefix_of_a_branch_can_end_within_an_answer() -> None:
    talk = node("talk", "core.conversationGate", config={"turnCount": 2})
    engine, source = await EngineHarness().with_settled_run(workflow([talk]))
    for turn in ("one", "two"):
        await engine.answer(source, {"content": turn}, "talk")
        await run_ready_tasks()
    around = await check_branches(engine, source)
    assert "interrupt.resolved conversation.exchanged" in around


@pytest.mark.rule("fork-04")
@fails_without(ReplayLog, "note_fork", lambda self, event, state: None)
async def test_readers_see_that_deadlines_count_from_the_fork_in_the_replay_of_a_branch() -> None:
    ask = node("ask", "core.approvalGate", config={"title": "Go on?", "timeoutMs": 60_000})
    engine, source = await EngineHarness().with_settled_run(workflow([ask, node("x", "test.gate")]))
    await engine.advance(1000)
    branch = await fork(engine, source, 5)
    await run_ready_tasks()
    assert (await engine.event_types(branch))[4:6] == ["node.suspended", "weftwork.run.forked"]
    await engine.advance(1000)
    try:
        for from_seq in range(6):
            await check_equal(engine, branch, await replay(engine, branch, from_seq))
    finally:
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
