"""A replay of a run whose code has not changed has the log of its source."""

from typing import Any

import pytest

from tests.engine.replay.replay_harness import check_equal, replay
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness

CHAIN = workflow([node("a"), node("b"), node("c")], [edge("a", "b"), edge("b", "c")])
LOOP = workflow(
    [node("a", "core.loop", config={"times": 3}), node("b"), node("c")],
    [edge("a", "b", sourceOutput="body"), edge("b", "a"), edge("a", "c", sourceOutput="done")],
)
ASSIGN = node("b", "core.setVariable", config={"name": "n", "value": 3})
BRANCHES = workflow(
    [node("a"), ASSIGN, node("c"), node("d", "core.merge")],
    [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")],
    [variable("n", "number", defaultValue=0)],
)


@pytest.mark.parametrize("document", [CHAIN, LOOP, BRANCHES])
async def test_a_replay_of_pure_nodes_is_its_source(document: dict[str, Any]) -> None:
    engine, source = await EngineHarness().with_ended_run(document)
    for from_seq in range(len(await engine.events(source))):
        await check_equal(engine, source, await replay(engine, source, from_seq))
