"""Branches of random runs that reach outside: of effects, questions, models and child runs, after any disturbance.

The branch keeps its prefix, nothing that the prefix has recorded happens again, and the branch ends.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.forks.test_branches import fork, shape
from tests.engine.replay.replay_harness import check_rows
from tests.engine.replay.test_random_replays import play_children, play_interrupts, play_models
from tests.harness.definitions import example_count
from tests.harness.engine_harness import run
from tests.simulation.effects.effect_schedule import FAULTY_TURNS, RECEIPT, EffectSchedule
from tests.simulation.effects.effect_workflows import GatedExternalSystem, Identity, key_maker, random_workflow
from tests.simulation.interrupts.interrupt_schedule import InterruptSchedule
from tests.simulation.models.model_schedule import ModelSchedule
from tests.simulation.random_schedule import RandomSchedule
from weftwork.protocol.fold import fold, fork_facts
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND, EffectRef, effect_key
from weftwork.protocol.run.events import FORKED, Fact
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

SAMPLES = 4
ACTIVE = ("running", "retrying", "suspended", "pending")


class BranchedEffects(EffectSchedule):
    """A schedule of a run and its branches. Whoever is asked about an effect knows what all of them have done."""

    lineage: tuple[str, ...] = ()
    """The runs whose logs the current branch has parts of."""

    def _truthful_answer(self, node_id: str, data: dict[str, Any], visit: int) -> Any:
        if self.lineage and data.get("customKind") == UNKNOWN_OUTCOME_KIND:
            about = data["payload"]
            place = f"{node_id}[{about['item']}]" if "item" in about else node_id
            identity = (place, visit, about.get("step", ""))
            keys = {key_maker("acme", run_id)(identity) for run_id in self.lineage}
            if keys & set(self.external_system.received_keys):
                return {"outcome": "done", "output": RECEIPT if "step" in about else {"round": visit}}
        return super()._truthful_answer(node_id, data, visit)

    async def check_idle(self) -> None:
        if not self.lineage:
            await super().check_idle()
        else:
            await RandomSchedule.check_idle(self)


async def take_up(schedule: RandomSchedule) -> None:
    """The next host, on which nothing gets in the way any more."""
    schedule.faults_enabled = False
    schedule.max_delay_turns = 0
    await schedule._start_successor()
    schedule.documents = []


async def branch_of(
    schedule: RandomSchedule, source: RunKey, from_seq: int, make: Callable[[], Awaitable[RunKey]] | None = None
) -> RunKey:
    """A branch that has ended, and whose prefix is that of its source. `make` creates it, unless it is any branch."""
    engine = schedule.engine
    before = await shape(engine, source)
    if isinstance(schedule, InterruptSchedule):
        # A branch hears again what was answered in its prefix, and nothing of what was answered after it.
        known = (await engine.state(source, from_seq)).resolutions
        heard = {key: msgspec.structs.replace(each, data=None) for key, each in known.items()}
        schedule.asking_nodes.received_answers = heard
        counts = schedule.asking_nodes.effect_counts
        lineage = [each.header.run_id for each in await schedule.runs()]

        def has_happened(node_id: str, step: str) -> bool:
            visit = schedule.visits.get(node_id, 0)
            return any(counts[effect_key("acme", each, node_id, visit, f"step:{step}")] for each in lineage)

        schedule._has_happened = has_happened  # pyright: ignore[reportAttributeAccessIssue]
    schedule.key = key = await (fork(engine, source, from_seq) if make is None else make())
    await RandomSchedule.finish(schedule)
    events = await shape(engine, key)
    assert mended(events[:from_seq], key, source) == before[:from_seq]
    assert await engine.status(key) in TERMINAL_STATUSES
    assert await shape(engine, source) == before
    await check_rows(engine, key)
    return key


def mended(prefix: list[tuple[Any, ...]], key: RunKey, source: RunKey) -> list[tuple[Any, ...]]:
    """A prefix with the run id of the source in its chunks."""
    return [
        (*each[:-1], each[-1].replace(key.run_id.encode(), source.run_id.encode(), 1))
        if each[2] == "output.chunk"
        else each
        for each in prefix
    ]


def is_recorded(state: RunState, identity: Identity) -> bool:
    """Whether the log knows the outcome of an effect."""
    place, visit, step = identity
    name, _, item = place.rstrip("]").partition("[")
    node = state.nodes.get(name)
    if node is None:
        return False
    if node.visits != visit or node.status not in ACTIVE:
        return node.visits >= visit
    effect = node.effects.get(EffectRef(step, item))
    return bool(item and int(item) in node.map_items) or (effect is not None and effect.status in ("done", "failed"))


async def check_effects(schedule: BranchedEffects, key: RunKey, past: RunState) -> Counter[str]:
    """Nothing that the prefix has recorded happens in the branch. Whatever it has begun is asked about, once it can be
    needed. Returns how often which was seen."""
    received, seen = Counter(schedule.external_system.received_keys), Counter[str]()
    asked = {
        (each["nodeId"], each["data"]["payload"].get("item", ""), each["data"]["payload"].get("step", ""))
        for each in await asked_by(schedule, key)
    }
    for identity, effect in schedule.expected.items():
        count = received[key_maker("acme", key.run_id)(identity)]
        name, _, item = identity[0].rstrip("]").partition("[")
        known = past.nodes.get(name)
        begun = known.effects.get(EffectRef(identity[2], item)) if known is not None else None
        if is_recorded(past, identity):
            seen["recorded"] += 1
            assert count == 0, f"{identity} happened again"
        elif begun is not None and begun.status == "open" and known is not None and known.visits == identity[1]:
            seen[f"begun {effect}"] += 1
            assert effect == "once" or count == 0, f"{identity} has another key"
            if effect == "once" and await schedule.engine.status(key) == "completed":
                assert (name, item, identity[2]) in asked, f"nobody was asked about {identity}"
        assert effect != "once" or count <= 1, f"{identity} happened {count} times"
        seen["new"] += count > 0
    return seen


async def asked_by(schedule: RandomSchedule, key: RunKey) -> list[dict[str, Any]]:
    """The questions about effects in a log, with their nodes."""
    found: list[dict[str, Any]] = []
    for each in await schedule.engine.events(key):
        if each.type == "interrupt.requested":
            payload = msgspec.json.decode(each.payload)
            if payload["data"].get("customKind") == UNKNOWN_OUTCOME_KIND:
                found.append({**payload, "nodeId": each.node_id})
    return found


async def check_effect_branches(seed: int, samples: int = SAMPLES) -> Counter[str]:
    dice = random.Random(seed)
    schedule = BranchedEffects(GatedExternalSystem(), dice)
    await schedule.play(random_workflow(dice), turns=FAULTY_TURNS)
    seen = Counter[str]()
    await take_up(schedule)
    try:
        source, lineage = schedule.key, (schedule.key.run_id,)
        for _ in range(samples):
            from_seq = dice.randrange(1, len(await schedule.engine.events(source)))
            past = await schedule.engine.state(source, from_seq)
            schedule.lineage = lineage
            key = await branch_of(schedule, source, from_seq)
            seen += await check_effects(schedule, key, past)
            if dice.random() < 0.4:
                # The next one is a branch of this branch.
                source, lineage = key, (*lineage, key.run_id)
    finally:
        await schedule.stop()
    return seen


@pytest.mark.slow
@pytest.mark.rule("fork-01", "fork-04", "fork-08")
@settings(max_examples=example_count(12, 600), deadline=None)
@given(st.integers(0, 2**48))
async def test_no_recorded_effect_happens_again_in_a_branch(seed: int) -> None:
    await check_effect_branches(seed)


def test_the_branches_are_worth_it() -> None:
    """They have recorded effects, effects with unknown outcomes, and effects of their own."""
    seen = Counter[str]()
    for seed in range(24):
        seen += run(lambda seed=seed: check_effect_branches(seed))
    assert min(seen[each] for each in ("recorded", "begun once", "begun idempotent", "new")) > 3, seen


def check_many_effect_branches(count: int) -> None:
    for seed in range(count):
        run(lambda seed=seed: check_effect_branches(seed))


def _forget_effects(state: RunState, fact: Fact) -> None:
    fork_facts.continue_from_past(state, fact)
    for node in state.nodes.values():
        node.effects = {}


def _free_effects(state: RunState, fact: Fact) -> None:
    fork_facts.continue_from_past(state, fact)
    for node in state.nodes.values():
        for effect in node.effects.values():
            effect.status = "free" if effect.status == "open" else effect.status


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ((fold, "_CHANGES", {**fold._CHANGES, FORKED: _forget_effects}), "happened again|nobody was asked"),
        ((fold, "_CHANGES", {**fold._CHANGES, FORKED: _free_effects}), "nobody was asked"),
        ((fork_facts, "keep_effect_keys", lambda node, source_id: None), "has another key"),
    ],
    ids=["records", "questions", "keys"],
)
def test_a_branch_that_repeats_effects_is_seen(
    monkeypatch: pytest.MonkeyPatch, patch: tuple[Any, str, Any], message: str
) -> None:
    monkeypatch.setattr(*patch)
    with pytest.raises(AssertionError, match=message):
        check_many_effect_branches(60)


async def check_branches(schedule: RandomSchedule, dice: random.Random, samples: int = SAMPLES) -> None:
    """Branches of the runs of a schedule that has been played, and branches of those."""
    await take_up(schedule)
    if isinstance(schedule, ModelSchedule):
        schedule.model.is_deterministic = True
    try:
        sources = [each.header.key for each in await schedule.runs()]
        for _ in range(samples):
            source = dice.choice(sources)
            from_seq = dice.randrange(len(await schedule.engine.events(source)))
            key = await branch_of(schedule, source, from_seq)
            if dice.random() < 0.4:
                sources.append(key)
    finally:
        await schedule.stop()


@pytest.mark.slow
@pytest.mark.rule("fork-01", "fork-04")
@pytest.mark.parametrize("play", [play_interrupts, play_models, play_children])
@settings(max_examples=example_count(8, 400), deadline=None)
@given(seed=st.integers(0, 2**48))
async def test_a_branch_of_a_run_that_waits_for_others_ends(
    play: Callable[[random.Random], Awaitable[RandomSchedule]], seed: int
) -> None:
    dice = random.Random(seed)
    await check_branches(await play(dice), dice)
