"""Random graphs, and whatever may go wrong around them: the run ends as if nothing had happened."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.run.test_event_logs import check_caches, check_log
from tests.harness.definitions import edge, example_count, node, variable, workflow
from tests.harness.engine_harness import run
from tests.simulation.fold_driver import choose_randomly, event_counts, final_state
from tests.simulation.random_workflows import random_workflow
from tests.simulation.run_driver import RunDriver, random_instant_types, run_with_faults
from tests.simulation.test_random_runs import ASKING, LOOP, timeless, walked
from weftwork.engine.decide import transitions
from weftwork.engine.decide.inputs import NodeCompleted, NodeFailed
from weftwork.engine.run.pending_commit import Inbox

COUNTING = workflow(
    [
        node(
            "a",
            "core.setVariable",
            config={"name": "n"},
            inputs={"value": {"type": "expression", "expression": "variables.n + 1.0"}},
        )
    ],
    [edge("a", "a", condition={"type": "expression", "expression": "variables.n < 4.0"})],
    [variable("n", "number", defaultValue=0)],
)
"""A node that begins its next round in the same commit in which it ends this one."""
FATES = {"down": 0.06, "conflict": 0.05, "lost": 0.12}


def outcome(state: Any) -> dict[str, Any]:
    """What may not change when nodes were interrupted, which start anew as another attempt."""
    found = final_state(state)
    nodes = {name: (each[0], *each[2:]) for name, each in found["nodes"].items()}
    return {**found, "nodes": nodes, "executions": None}


Ended = tuple[dict[str, Any], Counter[bytes]]


def expected_of(document: dict[str, Any]) -> Ended:
    walk = walked(document)
    return final_state(walk.state), event_counts(timeless(walk.facts))


async def ended(document: dict[str, Any], seed: int, *kills: tuple[int, str]) -> tuple[Ended, int]:
    """How a run ends whose process dies before or after these appends, and how often it did."""
    dice = random.Random(seed)
    gated = await RunDriver(random_instant_types(dice)).start(document, at_once=dice.random() < 0.5)
    gated.engine.log.kills = set(kills)
    state = await gated.finish(choose_randomly(seed))
    found = final_state(state), event_counts(timeless(await gated.facts()))
    await gated.engine.crash()
    return found, gated.crashes


def check_crashes(document: dict[str, Any], expected: Ended, seed: int) -> None:
    for when in ("before", "after"):
        for number in range(12):
            found, crashes = run(lambda number=number, when=when: ended(document, seed, (number, when)))
            assert found == expected
            if not crashes:
                break


@pytest.mark.rule("fold-01", "run-01")
@settings(max_examples=example_count(5, 400), deadline=None)
@given(st.integers(0, 2**48))
def test_a_crash_at_any_append_changes_nothing(seed: int) -> None:
    document = random_workflow(random.Random(seed), 5, ASKING)
    check_crashes(document, expected_of(document), seed)


@pytest.mark.rule("fold-01")
@settings(max_examples=example_count(3, 200), deadline=None)
@given(st.integers(0, 2**48))
def test_a_crash_between_the_items_of_a_map_changes_nothing(seed: int) -> None:
    document = random_workflow(random.Random(seed), 4, {"core.flow.map": 12, "core.delay": 6})
    expected, _ = run(lambda: ended(document, seed))
    check_crashes(document, expected, seed)


async def troubled(
    document: dict[str, Any], seed: int, crashes: bool, pauses: bool, failures: bool, reads_back: bool = False
) -> None:
    dice = random.Random(seed)
    expected = walked(document)
    gated = await RunDriver(random_instant_types(dice), dice.choice([1, 2, 16])).start(document, dice.random() < 0.5)
    if failures:
        lost = "unknown" if reads_back else "lost"
        fates = {lost if fate == "lost" else fate: often for fate, often in FATES.items()}
        gated.fails = lambda: next((fate for fate, often in fates.items() if dice.random() < often), None)
    state = await run_with_faults(gated, dice, crashes, pauses)
    assert outcome(state) == outcome(expected.state)
    check_log(await gated.engine.events(gated.key))
    await check_caches(gated.engine, gated.key)
    await gated.engine.crash()


@pytest.mark.rule("run-12", "run-13")
@settings(max_examples=example_count(25, 1600), deadline=None)
@given(st.integers(0, 2**48), st.booleans(), st.booleans(), st.booleans())
async def test_crashes_pauses_and_a_bad_store_change_nothing(
    seed: int, crashes: bool, pauses: bool, failures: bool
) -> None:
    document = random_workflow(random.Random(seed), 8, ASKING)
    await troubled(document, seed, crashes, pauses, failures, reads_back=seed % 2 == 0)


def lose_answers(document: dict[str, Any]) -> None:
    for seed in range(20):
        run(lambda seed=seed: troubled(document, seed, False, False, True))


def test_word_of_an_older_round_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node says of an entry that is over is taken for the present one."""
    lose_answers(COUNTING)
    monkeypatch.setattr(Inbox, "drop_stale", lambda self, state: None)
    monkeypatch.setattr(transitions, "is_running", lambda state, node_id, entered: node_id in state.running)
    with pytest.raises(AssertionError):
        lose_answers(COUNTING)


def test_a_host_that_waits_for_word_of_an_older_round_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Word of an entry that is over counts as word of the present one, so nobody enters the node again."""
    kinds = NodeCompleted | NodeFailed
    monkeypatch.setattr(Inbox, "drop_stale", lambda self, state: None)
    monkeypatch.setattr(
        Inbox, "reported_nodes", lambda self, state: {i.node_id for i in self._items if isinstance(i, kinds)}
    )
    with pytest.raises(AssertionError):
        lose_answers(COUNTING)


def test_a_host_that_forgot_what_ran_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = expected_of(LOOP)
    check_crashes(LOOP, expected, 3)
    monkeypatch.setattr(
        "weftwork.engine.run.activity.Activity.take_up", lambda self, state, reported, cold, orphans: True
    )
    with pytest.raises(AssertionError):
        check_crashes(LOOP, expected, 3)
