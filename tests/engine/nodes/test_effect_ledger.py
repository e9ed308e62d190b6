"""The effect ledger: claimed before, recorded after, never twice, also where processes die or race."""

import asyncio
import base64
import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.child_workflows import CrashingLog
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, WrappedLog, run, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, answer, answer_until_ended, effect_node_type
from weftwork.engine.decide import effect_claims
from weftwork.engine.decide.decision import NOTHING
from weftwork.engine.decide.inputs import EffectClaimed
from weftwork.engine.nodes import effect_ledger
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import NodeState
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND, EffectRef, effect_key
from weftwork.protocol.run.header import RunKey

PAY = workflow([node("a", "test.pay")])
STEPS = workflow([node("a", "test.steps")])
RETRY = {"maxRetries": 5, "retryDelayMs": 1}
CLAIMED, RECORDED = "weftwork.effect.claimed", "weftwork.effect.recorded"


@pytest.mark.rule("eff-05", "eff-06")
async def test_a_step_is_claimed_before_and_recorded_after() -> None:
    world = ExternalSystem()
    bench, key = await EngineHarness(world.step_node("x", "y")).with_run(STEPS)
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
    bench, key = await EngineHarness(world.effect_node()).with_ended_run(PAY)
    kinds = ["run.started", "node.started", CLAIMED, "node.completed", "run.completed"]
    assert await bench.event_types(key) == kinds
    assert world.received_keys == [await key_of(bench, key)]


async def key_of(bench: EngineHarness, key: Any, provider: str = "node", ordinal: int = 0) -> str:
    """The recipe, written out once more."""
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
    bench, key = await EngineHarness(effect_node_type("test.flaky", body)).with_ended_run(looped)
    assert keys == [
        (visit, await key_of(bench, key, "node", visit), await key_of(bench, key, "step:s", visit))
        for visit in (0, 0, 1, 1)
    ]


@pytest.mark.rule("eff-02", "eff-03", "node-14")
async def test_an_unknown_outcome_is_a_question_for_a_person() -> None:
    world = ExternalSystem(blocked=True)
    bench, key = await EngineHarness(world.effect_node()).with_run(PAY)
    await until(lambda: world.received_keys)
    after = await bench.restart()
    await run_ready_tasks()
    assert (len(world.received_keys), await after.status(key)) == (1, "waiting-input")
    (asked,) = await after.payloads(key, "interrupt.requested")
    assert (asked["kind"], asked["data"]["customKind"]) == ("custom", UNKNOWN_OUTCOME_KIND)
    with pytest.raises(ClientFault, match="does not match"):
        await answer(after, key, {"outcome": "maybe"})
    await answer(after, key, {"outcome": "done", "output": {"receipt": 9}})
    await after.run_to_end(key)
    assert (await after.payloads(key, "node.completed"))[0]["outputs"] == {"receipt": 9}
    assert [each["attempt"] for each in await after.payloads(key, "node.started")] == [1]
    assert len(world.received_keys) == 1


@pytest.mark.parametrize("outcome", ["done", "failed", "again"])
async def test_each_answer_about_a_step_does_what_it_says(outcome: str) -> None:
    world = ExternalSystem(blocked=True)
    bench, key = await EngineHarness(world.step_node("x")).with_run(STEPS)
    await until(lambda: world.received_keys)
    await bench.crash()
    world.blocked_until = None
    after = await bench.take_over()
    await run_ready_tasks()
    assert (len(world.received_keys), await after.status(key)) == (1, "waiting-input")
    await answer(after, key, {"outcome": outcome, "output": 5})
    await after.run_to_end(key)
    status = await after.status(key)
    if outcome == "failed":
        assert (status, (await after.payload(key, "node.failed"))["error"]["code"]) == ("failed", "effect_failed")
    else:
        (done,) = await after.payloads(key, "node.completed")
        assert (status, done["outputs"]["x"]) == ("completed", 5 if outcome == "done" else {"receipt": 2})
    assert len(world.received_keys) == (2 if outcome == "again" else 1)
    # It was really executed again, so it is the next attempt.
    assert [each["attempt"] for each in await after.payloads(key, "node.started")] == [1, 2]


async def test_an_idempotent_step_is_sent_again_under_the_same_key() -> None:
    world = ExternalSystem(blocked=True)
    bench, key = await EngineHarness(world.step_node("x", effect="idempotent")).with_run(STEPS)
    await until(lambda: world.received_keys)
    await bench.crash()
    world.blocked_until = None
    after = await bench.take_over()
    await after.run_to_end(key)
    assert (len(world.received_keys), len(set(world.received_keys))) == (2, 1)
    assert await after.payloads(key, "interrupt.requested") == []
    # Whoever sends it again has claimed it again.
    assert (await after.event_types(key)).count(CLAIMED) == 2


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
    after = await bench.take_over()
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
    assert (await after.payload(key, "node.completed"))["outputs"]["results"][0] == ("seen" if whole else {"s": "seen"})
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


CASES = [(at, written) for at in range(8) for written in (False, True)]


@pytest.mark.rule("eff-05", "eff-06")
@pytest.mark.parametrize("effect", ["once", "idempotent"])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("at", "written"), CASES)
async def test_wherever_the_process_dies_nothing_happens_twice(
    at: int, written: bool, whole: bool, effect: Any
) -> None:
    assert await _die(at, written, whole, effect)


async def _die(at: int, written: bool, whole: bool, effect: Any) -> bool:
    world = ExternalSystem()
    types = world.effect_node(effect) if whole else world.step_node("x", "y", effect=effect)
    bench = EngineHarness(types, wrap=lambda log: CrashingLog(log, at + 1, written))
    document = workflow([node("a", "test.pay" if whole else "test.steps"), node("b")], [edge("a", "b")])
    key = await bench.start(document)
    for _ in range(20):
        await run_ready_tasks()
        if bench.log.died.is_set():
            break
    await bench.crash()
    before = len(world.received_keys)
    after = await bench.take_over()
    await run_ready_tasks()
    silent = len(world.received_keys)
    asked = await answer_until_ended(after, key, lambda _: _looked(world, after, key))
    assert await after.status(key) == "completed"
    effects_expected = 1 if whole else 2
    if effect == "idempotent":
        return len(set(world.received_keys)) == effects_expected and asked == 0
    # Before a person said so, nothing that may have happened happened again.
    assert silent - before <= effects_expected - len(set(world.received_keys[:before]))
    return len(world.received_keys) == len(set(world.received_keys)) == effects_expected


async def _looked(world: ExternalSystem, bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    state = await bench.state(key)
    (open_one,) = [place for place, known in state.nodes["a"].effects.items() if known.status == "open"]
    assert next(iter(state.interrupts.values())).data["payload"].get("step", "") == open_one.step
    provider = f"step:{open_one.step}" if open_one.step else "node"
    mine = effect_key("acme", state.header.run_id, "a", 0, provider)
    return {"outcome": "done", "output": {"receipt": "seen"}} if mine in world.received_keys else {"outcome": "again"}


@pytest.mark.parametrize("broken", ["no claim", "no question"])
def test_the_proof_sees_an_effect_that_is_not_guarded(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    if broken == "no claim":

        async def nothing(self: Any, place: Any) -> None: ...

        monkeypatch.setattr(effect_ledger.EffectLedger, "_claim", nothing)
    else:
        monkeypatch.setattr(
            effect_ledger.EffectLedger, "_reported_outcome", lambda self, place, known: {"outcome": "again"}
        )
    failed = 0
    for at, written in CASES:
        for whole in (True, False):
            try:
                failed += not asyncio.run(_die(at, written, whole, "once"))
            except (AssertionError, KeyError):
                failed += 1
    assert failed


@pytest.mark.rule("eff-05")
@pytest.mark.parametrize("whole", [True, False])
@fails_without(
    "weftwork.engine.run.pending_commit.holds_claim",
    lambda state, given, real=effect_claims.holds_claim: real(state, given) is not None,
)
async def test_two_executors_of_one_run_fire_once(whole: bool) -> None:
    """Both have the run in memory, with the same fence, as if the election had failed; the log lets one of them."""
    world = ExternalSystem()
    gate = asyncio.Event()
    node_type = world.effect_node() if whole else world.step_node("x")
    body = node_type.run

    async def waits(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await gate.wait()
        return await body(call, context)

    held = effect_node_type(node_type.declaration.type_id, waits, node_type.declaration.effect)
    first = EngineHarness(held)
    key = await first.start(workflow([node("g", "test.gate"), node("a", held.declaration.type_id)], [edge("g", "a")]))
    await until(lambda: first.gate_node.waiting)
    second = first.successor()
    second.runtime.fence.epoch = first.runtime.fence.epoch
    await second.executor._wake(key)
    await until(lambda: second.gate_node.waiting)
    gate.set()
    # Both go on from the same place: the gate ends in both, and each appends what follows.
    first.gate_node.release("g")
    second.gate_node.release("g")
    for _ in range(40):
        await run_ready_tasks()
    assert len(world.received_keys) == 1
    assert await first.status(key) == "completed"
    assert [b.executor.live_count for b in (first, second)] == [0, 0]


def test_a_commit_that_was_thought_lost_is_still_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is durable, but the answer is not heard: the effect happens all the same, and once."""

    class LostReplyLog(WrappedLog):
        appends = 0

        async def append(self, *arguments: Any) -> Any:
            taken = await self._log.append(*arguments)
            self.appends += 1
            if self.appends in lost:
                raise StoreUnavailable("the answer is lost")
            return taken

    async def work(at: int) -> None:
        world = ExternalSystem()
        bench = EngineHarness(world.step_node("x", "y"), wrap=LostReplyLog)
        lost.add(at)
        key = await bench.execute(STEPS)
        assert (await bench.status(key), len(world.received_keys)) == ("completed", 2)
        assert await bench.payloads(key, "interrupt.requested") == []

    for at in range(1, 7):
        lost: set[int] = set()
        run(lambda at=at: work(at))
