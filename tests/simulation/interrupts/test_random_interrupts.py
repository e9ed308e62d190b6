"""Random workflows that wait for people, in any weather: nothing is lost, late, early, said twice or left standing."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count, node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, waiting_node_type
from tests.harness.external_system import effect_node_type
from tests.simulation.interrupts.interrupt_schedule import ACTION_WEIGHTS, InterruptSchedule
from tests.simulation.interrupts.interrupt_workflows import HOUR, deterministic_answer, random_workflow
from tests.simulation.random_schedule import Weights
from weftwork.engine.decide.inputs import PauseRequested, ResumeRequested
from weftwork.engine.host.alarm import Alarm
from weftwork.engine.host.executor import Executor
from weftwork.engine.run import state_rows
from weftwork.engine.run.append import BatchBuilder
from weftwork.engine.run.live_run import LiveRun
from weftwork.engine.run.pending_commit import PendingCommit
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import Interrupt

pytestmark = pytest.mark.slow


async def storm(seed: int, weights: Weights | None = None, faults: bool | None = None) -> InterruptSchedule:
    """One run from its creation to its end."""
    dice = random.Random(seed)
    document = random_workflow(dice)
    found = InterruptSchedule(dice, weights, dice.random() < 0.6 if faults is None else faults)
    limits = {"runTimeoutMs": dice.choice([50, HOUR])} if dice.random() < 0.15 else {}
    return await found.play(document, **limits)


@pytest.mark.rule("park-01", "park-02", "int-06", "int-16", "int-17", "int-18", "fold-01")
@settings(max_examples=example_count(40, 2000), deadline=None)
@given(st.integers(0, 2**48))
@example(8914)  # a deadline, parked while the alarm is set for a time one millisecond later
@example(10166)  # a voter changes a vote, and then sends the first answer again
async def test_whatever_happens_a_run_that_waits_comes_to_its_end(seed: int) -> None:
    await storm(seed)


@pytest.mark.rule("int-17", "int-18", "park-02")
@settings(max_examples=example_count(15, 800), deadline=None)
@given(st.integers(0, 2**48))
async def test_deadlines_and_reminders_strike_to_the_millisecond(seed: int) -> None:
    weights: Weights = {"answer": 2, "wrong": 2, "wake": 9, "crash": 2, "kill": 2, "pause": 2, "resume": 3, "hangup": 1}
    await storm(seed, weights, faults=False)


@pytest.mark.rule("fold-01", "park-01")
@settings(max_examples=example_count(15, 800), deadline=None)
@given(st.integers(0, 2**48))
async def test_a_run_goes_on_from_every_commit_of_its_log(seed: int) -> None:
    first = await storm(seed)
    count = len(first.history.batches)
    second = await first.from_prefix(random.Random(seed).randint(1, count))
    try:
        await second.finish()
        await second.check_end()
    finally:
        await second.stop()


def told(found: InterruptSchedule, state: RunState) -> Any:
    """How a run ended, without what crashes add to it and without its id."""
    nodes = {name: (each.status, each.outputs, each.error) for name, each in sorted(state.nodes.items())}
    whole = (state.status, state.error, state.outputs, state.variables, sorted(state.loop_rounds.items()), nodes)
    return repr(whole).replace(found.key.run_id, "RUN")


@pytest.mark.rule("int-06", "fold-01")
@settings(max_examples=example_count(15, 800), deadline=None)
@given(st.integers(0, 2**48))
async def test_the_same_answers_lead_to_the_same_end_in_any_order(seed: int) -> None:
    document = random_workflow(random.Random(seed), times=False)
    rough = {name: often for name, often in ACTION_WEIGHTS.items() if name not in ("wrong", "cancel")}

    async def lived(weights: Weights, faults: bool) -> str:
        found = InterruptSchedule(random.Random(seed + faults), weights, faults)
        found.answer, found.names_interrupts = deterministic_answer, True
        await found.play(document)
        return told(found, await found.folded())

    assert await lived({"answer": 1, "wake": 1}, False) == await lived(rough, True)


async def _wake_nobody(self: Any, run: Any) -> bool:
    return True


_add, _commit = BatchBuilder.add, LiveRun._commit


def _keep_votes_in_memory(self: BatchBuilder, drafts: tuple[Draft, ...], room: int | None = None) -> bool:
    votes = [draft for draft in drafts if draft.type in ("approval.granted", "approval.rejected")]
    added = _add(self, tuple(draft for draft in drafts if draft not in votes), room)
    for draft in votes:
        found = self._state.interrupts[draft.interrupt_id or ""]
        action = "accept" if draft.type == "approval.granted" else "reject"
        found.votes = {**found.votes, draft.payload["principal"]: action}
    return added


async def _acknowledge_early(self: LiveRun, work: PendingCommit) -> bool:
    if work.request is not None:
        work.request.answer(self.state.status)
    return await _commit(self, work)


def storms() -> None:
    for seed in range(200):
        run(lambda seed=seed: storm(seed))


@pytest.mark.parametrize(
    ("place", "name", "sabotage", "said"),
    [
        (state_rows, "next_wake_at", lambda *arguments: None, "when a parked run wakes"),
        (Alarm, "schedule", lambda *arguments: None, "nobody wakes"),
        (Executor, "_wake_and_settle", _wake_nobody, r"nobody wakes|looked|left though"),
        (BatchBuilder, "add", _keep_votes_in_memory, r"is not the fold|was taken, and is lost|votes"),
        (LiveRun, "_commit", _acknowledge_early, "was taken, and is lost"),
        (LiveRun, "park_if_idle", lambda self: None, "stays in memory"),
    ],
    ids=[
        *("a parked run without a time to wake", "an alarm that is not set", "an alarm that skips"),
        *("votes in memory alone", "an answer that is acknowledged too early", "a run that rests too late"),
    ],
)
def test_a_host_without_this_guard_is_seen(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, sabotage: Any, said: str
) -> None:
    monkeypatch.setattr(place, name, sabotage)
    with pytest.raises(AssertionError, match=said):
        storms()


@pytest.mark.rule("run-12", "eff-04")
async def test_what_cannot_be_interrupted_may_do_its_steps_before_a_pause() -> None:
    held = asyncio.get_running_loop().create_future()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await held
        await context.step("send", "once", run_ready_tasks)
        return Completed({})

    bench = EngineHarness(effect_node_type("test.send", body, "once"))
    key = await bench.start(workflow([node("send", "test.send"), node("end")]))
    await run_ready_tasks()
    await bench.executor.request(key, PauseRequested("immediate"), None)
    held.set_result(None)
    for _ in range(10):
        await run_ready_tasks()
    assert await bench.status(key) == "paused"
    await bench.executor.request(key, ResumeRequested(), None)
    await bench.run_to_end(key)


@pytest.mark.rule("conv-04", "int-19")
async def test_whoever_speaks_too_early_is_told_so_even_if_it_is_right_a_moment_later() -> None:
    def says(kind: str) -> Any:
        async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
            await context.ask(Interrupt(f"conversation.{kind}", kind, {"conversationId": "c"}))
            return Completed({})

        return waiting_node_type(f"test.{kind}", body)

    bench = EngineHarness(says("close"), says("start"))
    key = await bench.start(workflow([node("close", "test.close"), node("start", "test.start")]))
    await bench.run_to_end(key)
