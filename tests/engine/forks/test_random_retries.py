"""Retries of random runs that failed or were cancelled: everything before the failure is kept, nothing happens again,
and the retry ends, although processes of its host die at its appends."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Set
from typing import Any, Self

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.forks.test_branches import shape
from tests.engine.forks.test_random_branches import BranchedEffects, branch_of, check_effects, mended, take_up
from tests.engine.forks.test_retries import retries_of
from tests.engine.replay.replay_harness import check_rows
from tests.engine.replay.test_random_replays import play_children, play_interrupts, play_models
from tests.harness.definitions import edge, example_count, node
from tests.harness.engine_harness import CALLER, run
from tests.harness.external_system import effect_node_type
from tests.simulation.effects.effect_schedule import CUTTING_ERRORS, FAULTY_TURNS
from tests.simulation.effects.effect_workflows import GatedExternalSystem, key_maker, random_workflow
from tests.simulation.models.model_schedule import ModelSchedule
from tests.simulation.random_schedule import RandomSchedule, Weights
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold import fold, fork_facts
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.replay.fork_points import RetryPoint, RetrySearch, log_entry
from weftwork.protocol.run.events import CANCEL_REQUESTED, FORKED, Event, Fact
from weftwork.protocol.run.header import RunKey

BREAKS = "breaks"
DEPOSIT = (BREAKS, 0, "deposit")
RETRY_WEIGHTS: Weights = {"release": 55, "answer": 8, "wake": 12, "crash": 9, "kill": 9, "pause": 4, "resume": 8}
"""What happens to a retry. Nobody cancels it, and each of its processes ends in a crash."""
MAX_REQUESTS = 50
CANCELS = (CANCEL_REQUESTED, "node.cancelled", "run.cancelled")
RETRYABLE = ("failed", "cancelled")


class BreakableSystem(GatedExternalSystem):
    """An external system with a node that has an effect, and then fails until it is repaired."""

    is_broken = True

    def types(self, concurrency: int = 0) -> list[WaitingNode]:
        return [*super().types(concurrency), effect_node_type("test.breaks", self._run_breaking)]

    async def _run_breaking(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        await self._step(call, context, DEPOSIT[2], "once")
        return Failed("broken", "Not now.", retryable=False) if self.is_broken else Completed({"round": 0.0})


class RetriedEffects(BranchedEffects):
    """A schedule of a run that fails, and of its retries."""

    external_system: BreakableSystem

    async def start(self, *documents: dict[str, Any], **more: Any) -> Self:
        await super().start(*documents, **more)
        self.expected = {each: effect for each, effect in self.expected.items() if each[0] != BREAKS}
        self.expected[DEPOSIT] = "once"
        return self

    async def check_end(self) -> None:
        """A run may fail here. What holds of it is proved elsewhere."""


def with_breaking_node(dice: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """The workflow with a node that fails, beside its other nodes, or before or after some of them."""
    names = [each["id"] for each in document["nodes"]]
    place = dice.randrange(len(names) + 1)
    before, after = names[:place], names[place:]
    edges = [edge(each, BREAKS) for each in before if dice.random() < 0.5]
    edges += [edge(BREAKS, each) for each in after if dice.random() < 0.5]
    nodes = [*document["nodes"], node(BREAKS, "test.breaks")]
    return {**document, "nodes": nodes, "edges": [*document["edges"], *edges]}


def failure_of(events: list[Event]) -> int:
    """The sequence from which on a retry drops the log: read without the search for the fork point, which is what is to
    be proved."""
    end = events[-1]
    if end.type == "run.cancelled":
        return next(each.sequence for each in events if each.type in CANCELS)
    failed = msgspec.json.decode(end.payload).get("failedNodeId")
    return max(each.sequence for each in events if (each.type, each.node_id) == ("node.failed", failed))


async def request_retry(schedule: RandomSchedule, source: RunKey) -> tuple[RunKey, frozenset[tuple[str, str]]]:
    """The retry, and the effects that it may repeat, as node and step. A caller who got no answer asks again."""
    body: dict[str, Any] = {}
    repeated: list[tuple[str, str]] = []
    for _ in range(MAX_REQUESTS):
        try:
            key = f"again-{source.run_id}-{len(repeated)}"
            outcome = await retries_of(schedule.engine).retry_run(CALLER, source.run_id, body, key)
        except StoreUnavailable:
            continue
        except ClientFault as fault:
            named = (fault.details or {})["repeatedEffects"]
            repeated += [(each["nodeId"], each.get("step", "")) for each in named]
            body = {"repeatEffects": True}
            continue
        return CALLER.run(outcome.run_id), frozenset(repeated)
    raise AssertionError("the retry is never answered")


async def check_effect_retries(seed: int) -> Counter[str]:
    """A run that has failed, its retry, and perhaps the retry of that. Returns how often which was seen."""
    dice = random.Random(seed)
    schedule = RetriedEffects(BreakableSystem(), dice)
    await schedule.play(with_breaking_node(dice, random_workflow(dice)), turns=FAULTY_TURNS)
    seen = Counter[str]()
    schedule.lineage = (schedule.key.run_id,)
    allowed: set[tuple[str, str]] = set()
    await take_up(schedule)
    schedule.action_weights = RETRY_WEIGHTS
    try:
        while await schedule.engine.status(schedule.key) in RETRYABLE and len(schedule.lineage) < 4:
            schedule.external_system.is_broken = len(schedule.lineage) == 1 and dice.random() < 0.3
            seen += await check_effect_retry(schedule, allowed)
    finally:
        await schedule.stop()
    return seen


async def check_effect_retry(schedule: RetriedEffects, allowed: set[tuple[str, str]]) -> Counter[str]:
    """A retry of the last run of the schedule. `allowed`: the effects that a caller has allowed to be repeated."""
    source = schedule.key
    before, failure = await shape(schedule.engine, source), failure_of(await schedule.engine.events(source))
    past = await schedule.engine.state(source, failure)
    schedule.faults_enabled = True
    schedule.action_counts.clear()
    schedule.key, repeated = await request_retry(schedule, source)
    key = schedule.key
    await schedule.run_random(FAULTY_TURNS)
    await schedule.finish()
    crashes = schedule.action_counts["crashes"]
    await take_up(schedule)
    engine = schedule.engine
    own = await shape(engine, key)
    # A run that was cancelled before anything else has happened is started over.
    if failure > 0:
        assert own[failure][2] == FORKED, "something before the failure is dropped, or a part of the failure is kept"
    assert mended(own[:failure], key, source) == before[:failure]
    assert await shape(engine, source) == before
    state = await engine.state(key)
    # A cancelled run may have a node that had failed before: its retry fails with it, and can be retried again.
    had_failed = BREAKS in past.nodes and past.nodes[BREAKS].status == "failed"
    is_broken = schedule.external_system.is_broken or had_failed
    codes = (*CUTTING_ERRORS, "broken") if is_broken else CUTTING_ERRORS
    assert state.status == "completed" or (state.error or {}).get("code") in codes, state.error
    await check_rows(engine, key)
    seen = await check_effects(schedule, key, past)
    schedule.lineage = (*schedule.lineage, key.run_id)
    check_once_in_all(schedule, allowed | repeated)
    allowed |= repeated
    return seen + Counter({"retries": 1, "crashes": crashes, "allowed": len(repeated), state.status: 1})


def check_once_in_all(schedule: RetriedEffects, allowed: Set[tuple[str, str]]) -> None:
    """An effect that must happen once does so in the run and its retries together, unless it was allowed again."""
    received = Counter(schedule.external_system.received_keys)
    for identity, effect in schedule.expected.items():
        keys = [key_maker("acme", run_id)(identity) for run_id in schedule.lineage]
        count = sum(received[key] for key in keys)
        name = identity[0].partition("[")[0]
        assert effect != "once" or count <= 1 or (name, identity[2]) in allowed, f"{identity} happened {count} times"


@pytest.mark.slow
@pytest.mark.rule("retry-01", "retry-02", "retry-03", "eff-02")
@settings(max_examples=example_count(12, 600), deadline=None)
@given(st.integers(0, 2**48))
async def test_a_retry_keeps_what_was_before_the_failure_and_repeats_no_effect(seed: int) -> None:
    await check_effect_retries(seed)


def check_many_effect_retries(count: int) -> Counter[str]:
    seen = Counter[str]()
    for seed in range(count):
        seen += run(lambda seed=seed: check_effect_retries(seed))
    return seen


def test_the_retries_are_worth_it() -> None:
    """They have recorded effects, effects with unknown outcomes, effects of their own, and processes that die."""
    seen = check_many_effect_retries(24)
    assert min(seen[each] for each in ("completed", "failed", "recorded", "begun once", "new", "crashes")) > 1, seen


def _forget_effects(state: RunState, fact: Fact) -> None:
    fork_facts.continue_from_past(state, fact)
    for each in state.nodes.values():
        each.effects = {}


def _from_start(self: RetrySearch, sequence: int, node_id: str | None) -> RetryPoint:
    return RetryPoint(self._started.get(node_id or "", sequence), node_id)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ((fold, "_CHANGES", {**fold._CHANGES, FORKED: _forget_effects}), "happened again|nobody was asked|times"),
        ((RetrySearch, "_at", _from_start), "before the failure is dropped"),
    ],
    ids=["records", "fork points"],
)
def test_a_retry_that_loses_or_repeats_something_is_seen(
    monkeypatch: pytest.MonkeyPatch, patch: tuple[Any, str, Any], message: str
) -> None:
    monkeypatch.setattr(*patch)
    with pytest.raises(AssertionError, match=message):
        check_many_effect_retries(60)


async def check_retries(schedule: RandomSchedule) -> int:
    """Retries of the runs of a schedule that has been played. Returns how many there were."""
    await take_up(schedule)
    if isinstance(schedule, ModelSchedule):
        schedule.model.is_deterministic = True
    count = 0
    try:
        for stored in await schedule.runs():
            source = stored.header.key
            if stored.projection.status not in RETRYABLE or stored.header.parent is not None:
                continue
            search = RetrySearch()
            for each in await schedule.engine.events(source):
                search.add(log_entry(each))
            from_seq = search.point(stored.projection.status).from_seq

            async def make(schedule: RandomSchedule = schedule, source: RunKey = source) -> RunKey:
                return (await request_retry(schedule, source))[0]

            await branch_of(schedule, source, from_seq, make)
            count += 1
    finally:
        await schedule.stop()
    return count


@pytest.mark.slow
@pytest.mark.rule("retry-02")
@pytest.mark.parametrize("play", [play_interrupts, play_models, play_children])
@settings(max_examples=example_count(8, 400), deadline=None)
@given(seed=st.integers(0, 2**48))
async def test_a_retry_of_a_run_that_waits_for_others_ends(
    play: Callable[[random.Random], Awaitable[RandomSchedule]], seed: int
) -> None:
    dice = random.Random(seed)
    await check_retries(await play(dice))
