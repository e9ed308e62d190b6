"""Branches of runs with child runs: what a child has said stays, and a child that had not ended starts again."""

import random

import pytest

from tests.engine.forks.test_branches import fork
from tests.harness.child_workflows import GATED, child_keys, start_run
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, settle
from tests.simulation.child_runs.child_run_workflows import PARENT_TYPE, ParentNodes
from weftwork.protocol.fold import fork_facts

QUICK = workflow([node("z")], id="quick")
CHILDREN = [
    {"key": key, "workflow": name, "awaited": True, "cascade": True} for key, name in (("a", "quick"), ("b", "held"))
]
CONFIG = {"children": CHILDREN, "width": 2, "need": 3, "leave": False, "slow": 0.0, "fails": False, "asks": True}
ASKS_MEANWHILE = workflow([node("n", PARENT_TYPE, config=CONFIG)], id="top")


@pytest.mark.rule("fork-04")
@pytest.mark.parametrize("guarded", [True, False])
async def test_a_node_that_asks_while_a_child_is_open_starts_that_child_again(
    guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not guarded:
        monkeypatch.setattr(fork_facts, "_forget_open_children", lambda state, node: None)
    bench = EngineHarness(*ParentNodes(random.Random(0)).types())
    bench, source = await start_run(ASKS_MEANWHILE, GATED, QUICK, bench=bench)
    assert await bench.status(source) == "waiting-input"
    await bench.answer(source, {}, "n")
    await bench.release("h")
    assert await bench.status(source) == "completed"
    branch = await fork(bench, source, (await bench.event_types(source)).index("node.suspended") + 1)
    await settle()
    assert await bench.status(branch) == "waiting-input"
    await bench.answer(branch, {}, "n")
    await settle()
    # Without the guard it waits for the child of its source.
    assert len(await child_keys(bench, branch)) == (1 if guarded else 0)
    if guarded:
        await bench.release("h")
        assert await bench.status(branch) == "completed"
    await bench.crash()
