"""Effects of the items of a map."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, answer
from weftwork.engine.decide import effect_claims
from weftwork.engine.decide.decision import NOTHING
from weftwork.engine.decide.inputs import EffectClaimed
from weftwork.protocol.fold.state import NodeState
from weftwork.protocol.run.effects import EffectRef


@pytest.mark.parametrize("whole", [True, False])
async def test_items_of_a_map_have_effects_of_their_own(whole: bool) -> None:
    """Three payments at once, two of them under way when the process dies: each is asked about, none repeated."""

    world = ExternalSystem()
    types = world.effect_node() if whole else world.step_node("s", type_id="test.pay")
    body = {"typeId": "test.pay", "inputs": {}}
    config = {"items": [1, 2, 3, 4], "body": body, "concurrency": 2}
    bench = EngineHarness(types)
    world.blocked_until = asyncio.get_running_loop().create_future()
    key = await bench.start(workflow([node("a", "core.flow.map", config=config)]))
    await until(lambda: len(world.received_keys) == 2)
    await bench.crash()
    world.blocked_until = None
    after = bench.successor()
    await after.executor.recover()
    answers = 0
    for _ in range(50):
        await run_ready_tasks()
        status = await after.status(key)
        if status == "waiting-input":
            answers += 1
            await answer(after, key, {"outcome": "done", "output": "seen"})
        elif status != "running":
            break
    assert (await after.status(key), answers) == ("completed", 2)
    assert len(world.received_keys) == len(set(world.received_keys)) == 4
    (done,) = await after.payloads(key, "node.completed")
    assert done["outputs"]["results"][0] == ("seen" if whole else {"s": "seen"})
    assert {each.get("item") for each in await after.payloads(key, "weftwork.effect.claimed")} == {"0", "1", "2", "3"}


@pytest.mark.rule("eff-05")
def test_an_item_that_somebody_else_has_recorded_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an item did is forgotten when it is recorded, and looks as if nobody had begun it."""
    running = NodeState("running", entry_sequence=3, map_items={0: "done"})
    state: Any = SimpleNamespace(running={"a": running}, stop=None, pausing=None)
    late, fresh = (EffectClaimed("a", EffectRef("x", item), "event", None, 3) for item in "01")
    assert (effect_claims.claim_effect(state, late), effect_claims.holds_claim(state, late)) == (NOTHING, False)
    assert effect_claims.claim_effect(state, fresh).events
    monkeypatch.setattr(effect_claims, "_is_recorded", lambda node, place: False)
    assert effect_claims.claim_effect(state, late).events
