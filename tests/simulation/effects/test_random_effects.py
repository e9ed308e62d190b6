"""Random graphs of nodes that touch the world, in any weather: nothing happens twice, and nobody is asked in vain."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import edge, example_count, node, variable, workflow
from tests.harness.engine_harness import run
from tests.simulation.effects.effect_schedule import FAULTY_TURNS, EffectSchedule, RivalExecutors
from tests.simulation.effects.effect_workflows import GatedExternalSystem, random_workflow
from weftwork.engine.decide import effect_claims, run_control, transitions
from weftwork.engine.nodes import effect_ledger
from weftwork.engine.run import live_run, pending_commit
from weftwork.engine.run.pending_commit import Inbox

pytestmark = pytest.mark.slow


async def storm(
    seed: int, document: dict[str, Any] | None = None, answers: bool = True, reads_back: bool = False, **drawn: float
) -> None:
    dice = random.Random(seed)
    schedule = EffectSchedule(GatedExternalSystem(), dice)
    schedule.has_person = answers
    schedule.reads_back = reads_back
    await schedule.play(document or random_workflow(random.Random(seed), **drawn), turns=FAULTY_TURNS)


@pytest.mark.rule("eff-02", "eff-04", "eff-05", "eff-06")
@settings(max_examples=example_count(25, 2400), deadline=None)
@given(st.integers(0, 2**48))
async def test_with_somebody_who_looks_every_run_ends_and_nothing_happens_twice(seed: int) -> None:
    await storm(seed, reads_back=seed % 2 == 0)


@pytest.mark.rule("eff-02", "eff-05")
@settings(max_examples=example_count(15, 1000), deadline=None)
@given(st.integers(0, 2**48))
async def test_with_nobody_there_nothing_happens_twice(seed: int) -> None:
    await storm(seed, answers=False, reads_back=seed % 2 == 0)


async def rivalry(document: dict[str, Any], seed: int, *, fenced: bool) -> None:
    dice = random.Random(seed)
    rivals = RivalExecutors(dice, document, fenced=fenced)
    await rivals.run_both(dice.randrange(12), dice.choice)
    await rivals.finish()


@pytest.mark.rule("eff-05")
@settings(max_examples=example_count(25, 2400), deadline=None)
@given(st.integers(0, 2**48))
async def test_two_executors_of_one_run_do_nothing_twice(seed: int) -> None:
    """Without loops if claims alone keep them apart: two may count their rounds differently."""
    fenced = seed % 2 == 0
    document = random_workflow(random.Random(seed), limits=0, **({} if fenced else {"loops": 0}))
    await rivalry(document, seed, fenced=fenced)


HIDDEN = [variable("hidden", "string", sensitive=True)]
SENDS = {"typeId": "test.steps", "config": {"steps": {"x": "once"}}, "inputs": {}}
LINE = workflow([node(name, "test.steps", config=SENDS["config"]) for name in "ab"], [edge("a", "b")], HIDDEN)
MAP = workflow([node("a", "core.flow.map", config={"items": [0, 1], "body": SENDS, "concurrency": 1})], [], HIDDEN)
TWICE = "happened 2 times"
IN_VAIN = "nobody had to be asked|a host went away and left"


def storms(document: dict[str, Any] | None = None, seeds: int = 60, **drawn: Any) -> None:
    for seed in range(seeds):
        run(lambda seed=seed: storm(seed, document, True, **drawn))


def rivalries(seeds: int = 120) -> None:
    for seed in range(seeds):
        document = random_workflow(random.Random(seed), limits=0, loops=0)
        run(lambda seed=seed, document=document: rivalry(document, seed, fenced=False))


async def _skip_claim(self: Any, place: Any) -> None: ...


def _interrupt_always(state: Any, _: Any, policy: str) -> bool:
    return policy == "immediate" or not state.running


@pytest.mark.parametrize(
    ("places", "name", "sabotage", "said", "drawn"),
    [
        ([effect_ledger.EffectLedger], "_claim", _skip_claim, TWICE, {"whole": 1, "limits": 0}),
        ([effect_ledger.EffectLedger], "_reported_outcome", lambda *_: {"outcome": "again"}, TWICE, {}),
        ([run_control, transitions], "may_interrupt", _interrupt_always, IN_VAIN, {}),
        ([live_run.LiveRun], "_has_no_open_effect", lambda self: True, "a host went away and left", {}),
    ],
    ids=[
        *("an effect without a claim", "an effect that nobody is asked about"),
        *("a pause that cuts an effect off", "a host that does not wait for an effect"),
    ],
)
def test_a_host_without_this_guard_is_seen(
    monkeypatch: pytest.MonkeyPatch, places: list[Any], name: str, sabotage: Any, said: str, drawn: dict[str, Any]
) -> None:
    for place in places:
        monkeypatch.setattr(place, name, sabotage)
    with pytest.raises(AssertionError, match=said):
        storms(**drawn)


def test_word_of_an_entry_that_never_was_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node runs before its start is durable; if that is lost, the next entry has the same number."""
    storms(LINE, seeds=10)
    monkeypatch.setattr(Inbox, "drop_stale", lambda self, state: None)
    with pytest.raises(AssertionError, match=f"the run stands still|{IN_VAIN}"):
        storms(LINE)


def test_a_claim_that_is_not_ones_own_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    rivalries(seeds=20)
    real = effect_claims.holds_claim
    monkeypatch.setattr(
        pending_commit, "holds_claim", lambda state, given: None if real(state, given) is None else True
    )
    with pytest.raises(AssertionError, match=TWICE):
        rivalries()
