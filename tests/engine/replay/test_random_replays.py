"""Replays of random runs, from every point: whatever happened to a run, its replay is the same."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.replay.replay_harness import check_equal, replay
from tests.harness.definitions import example_count
from tests.harness.engine_harness import EngineHarness
from tests.simulation.random_workflows import FLAKY, random_workflow
from tests.simulation.run_driver import RunDriver, random_instant_types, run_with_faults
from weftwork.ports.node_outcome import NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode

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
@settings(max_examples=example_count(int(__import__("os").environ.get("N","15")), 1200), deadline=None)
@given(st.integers(0, 2**48))
async def test_a_replay_of_any_run_from_any_point_is_its_source(seed: int) -> None:
    await check_replays(seed)
