"""The effect ledger where processes die, two of them want the same, or a commit is thought lost."""

import asyncio
from typing import Any

import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, until
from tests.harness.external_system import ExternalSystem, answer_until_ended, effect_node_type
from weftwork.engine.decide import effect_claims
from weftwork.engine.nodes import effect_ledger
from weftwork.ports.node_outcome import NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.header import RunKey

PAY = workflow([node("a", "test.pay")])
STEPS = workflow([node("a", "test.steps")])
RETRY = {"maxRetries": 5, "retryDelayMs": 1}
CLAIMED, RECORDED = "weftwork.effect.claimed", "weftwork.effect.recorded"


class CrashingLog:
    """A log that dies with its process at the n-th append: before it is written, or after."""

    def __init__(self, log: Any, at: int, written: bool) -> None:
        self._log, self._left, self._written = log, at, written
        self.cut = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *arguments: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            if self._left == -1 and self._written:
                await self._log.append(*arguments)
            self.cut = True
            await asyncio.get_running_loop().create_future()
        return await self._log.append(*arguments)


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
    bench = EngineHarness(types, wrap=lambda log: CrashingLog(log, at, written))
    document = workflow([node("a", "test.pay" if whole else "test.steps"), node("b")], [edge("a", "b")])
    key = await bench.start(document)
    for _ in range(20):
        await run_ready_tasks()
        if bench.log.cut:
            break
    await bench.crash()
    before = len(world.received_keys)
    after = bench.successor(wrap=lambda log: log)
    await after.executor.recover()
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
    call = next(iter(state.interrupts.values()))
    assert call.data["payload"].get("step", "") == open_one.step
    from weftwork.protocol.run.effects import effect_key

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
@pytest.mark.parametrize("guarded", [True, False])
async def test_two_executors_of_one_run_fire_once(monkeypatch: pytest.MonkeyPatch, whole: bool, guarded: bool) -> None:
    """Both have the run in memory and want to do the same thing; the log lets one of them."""
    if not guarded:
        real = effect_claims.holds_claim
        monkeypatch.setattr(
            "weftwork.engine.run.pending_commit.holds_claim", lambda state, given: real(state, given) is not None
        )

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
    await second.executor.recover()
    await until(lambda: second.gate_node.waiting)
    gate.set()
    # Both go on from the same place: the gate ends in both, and each appends what follows.
    first.gate_node.release("g")
    second.gate_node.release("g")
    for _ in range(40):
        await run_ready_tasks()
    assert (len(world.received_keys) == 1) == guarded
    if guarded:
        assert await first.status(key) == "completed"
        assert [b.executor.live_count for b in (first, second)] == [0, 0]


def test_a_commit_that_was_thought_lost_is_still_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is durable, but the answer is not heard: the effect happens all the same, and once."""

    class LostReplyLog:
        def __init__(self, log: Any) -> None:
            self._log, self.appends = log, 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._log, name)

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
        key = await bench.start(STEPS)
        await bench.run_to_end(key)
        assert (await bench.status(key), len(world.received_keys)) == ("completed", 2)
        assert await bench.payloads(key, "interrupt.requested") == []

    for at in range(1, 7):
        lost: set[int] = set()
        run(lambda at=at: work(at))
