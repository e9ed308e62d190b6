"""The effect ledger: claimed before it happens, recorded after, asked about when nobody knows, never twice."""

import asyncio
from typing import Any

import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, answer, effect_node_type
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND

PAY = workflow([node("a", "test.pay")])
STEPS = workflow([node("a", "test.steps")])
RETRY = {"maxRetries": 5, "retryDelayMs": 1}
CLAIMED, RECORDED = "weftwork.effect.claimed", "weftwork.effect.recorded"


@pytest.mark.rule("eff-05", "eff-06")
async def test_a_step_is_claimed_before_and_recorded_after() -> None:
    world = ExternalSystem()
    bench = EngineHarness(world.step_node("x", "y"))
    key = await bench.start(STEPS)
    world.blocked_until = asyncio.get_running_loop().create_future()
    await until(lambda: world.received_keys)
    assert (await bench.event_types(key))[-2:] == ["node.started", CLAIMED]
    world.blocked_until.set_result(None)
    await bench.run_to_end(key)
    kinds = await bench.event_types(key)
    assert kinds[2:] == [CLAIMED, RECORDED, CLAIMED, RECORDED, "node.completed", "run.completed"]
    assert await bench.payloads(key, CLAIMED) == [{"nodeId": "a", "step": "x"}, {"nodeId": "a", "step": "y"}]
    assert (await bench.payloads(key, RECORDED))[1] == {"nodeId": "a", "step": "y", "output": {"receipt": 2}}
    assert len(set(world.received_keys)) == 2


@pytest.mark.rule("eff-05")
async def test_a_once_node_is_claimed_as_a_whole() -> None:
    world = ExternalSystem()
    bench = EngineHarness(world.effect_node())
    key = await bench.start(PAY)
    await bench.run_to_end(key)
    assert await bench.event_types(key) == [
        *("run.started", "node.started", CLAIMED, "node.completed", "run.completed")
    ]
    assert world.received_keys == [await key_of(bench, key)]


async def key_of(bench: EngineHarness, key: Any, provider: str = "node", ordinal: int = 0) -> str:
    """The recipe, written out once more."""
    import base64
    import hashlib

    text = f"openwop:activity:v2\0acme\0{key.run_id}\0a\0{ordinal}\0{provider}"
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.mark.rule("eff-01")
async def test_the_key_is_the_same_in_every_attempt_and_another_in_every_round() -> None:
    keys: list[tuple[int, str, str]] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        keys.append((call.visit, context.effect_key(), context.effect_key("s")))
        return Failed("busy", "Not now.") if call.attempt == 1 else Completed({"round": call.visit})

    again = edge("a", "a", condition={"type": "expression", "expression": "nodes.a.outputs.round < 1.0"})
    looped = workflow([node("a", "test.flaky", settings=RETRY)], [again])
    bench = EngineHarness(effect_node_type("test.flaky", body))
    key = await bench.start(looped)
    await bench.run_to_end(key)
    assert keys == [
        (visit, await key_of(bench, key, "node", visit), await key_of(bench, key, "step:s", visit))
        for visit in (0, 0, 1, 1)
    ]


@pytest.mark.rule("eff-02", "eff-03", "node-14")
async def test_an_unknown_outcome_is_a_question_for_a_person() -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench = EngineHarness(world.effect_node())
    key = await bench.start(PAY)
    await until(lambda: world.received_keys)
    await bench.crash()
    after = bench.successor()
    await after.executor.recover()
    await run_ready_tasks()
    assert (len(world.received_keys), await after.status(key)) == (1, "waiting-input")
    (asked,) = await after.payloads(key, "interrupt.requested")
    assert (asked["kind"], asked["data"]["customKind"]) == ("custom", UNKNOWN_OUTCOME_KIND)
    with pytest.raises(ClientFault, match="does not fit"):
        await answer(after, key, {"outcome": "maybe"})
    await answer(after, key, {"outcome": "done", "output": {"receipt": 9}})
    await after.run_to_end(key)
    assert (await after.payloads(key, "node.completed"))[0]["outputs"] == {"receipt": 9}
    assert [each["attempt"] for each in await after.payloads(key, "node.started")] == [1]
    assert len(world.received_keys) == 1


@pytest.mark.parametrize("outcome", ["done", "failed", "again"])
async def test_each_answer_about_a_step_does_what_it_says(outcome: str) -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench = EngineHarness(world.step_node("x"))
    key = await bench.start(STEPS)
    await until(lambda: world.received_keys)
    await bench.crash()
    world.blocked_until = None
    after = bench.successor()
    await after.executor.recover()
    await run_ready_tasks()
    assert (len(world.received_keys), await after.status(key)) == (1, "waiting-input")
    await answer(after, key, {"outcome": outcome, "output": 5})
    await after.run_to_end(key)
    status = await after.status(key)
    if outcome == "failed":
        (failed,) = await after.payloads(key, "node.failed")
        assert (status, failed["error"]["code"]) == ("failed", "effect_failed")
    else:
        (done,) = await after.payloads(key, "node.completed")
        assert (status, done["outputs"]["x"]) == ("completed", 5 if outcome == "done" else {"receipt": 2})
    assert len(world.received_keys) == (2 if outcome == "again" else 1)
    # It was really executed again, so it is the next attempt.
    assert [each["attempt"] for each in await after.payloads(key, "node.started")] == [1, 2]


async def test_an_idempotent_step_is_sent_again_under_the_same_key() -> None:
    world = ExternalSystem()
    world.blocked_until = asyncio.get_running_loop().create_future()
    bench = EngineHarness(world.step_node("x", effect="idempotent"))
    key = await bench.start(STEPS)
    await until(lambda: world.received_keys)
    await bench.crash()
    world.blocked_until = None
    after = bench.successor()
    await after.executor.recover()
    await after.run_to_end(key)
    assert (len(world.received_keys), len(set(world.received_keys))) == (2, 1)
    assert await after.payloads(key, "interrupt.requested") == []
    # Whoever sends it again has claimed it again.
    assert (await after.event_types(key)).count(CLAIMED) == 2
