"""Trust in random workflows: an event is untrusted if, and only if, what it carries came from outside."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from tests.simulation.trust_workflows import CORRELATION, MIXING_TYPES, UNTRUSTED_WORD, random_workflow, words_in
from weftwork.engine.decide import interrupts
from weftwork.engine.run import append
from weftwork.protocol.fold import facts, fold
from weftwork.protocol.fold.data_flow import CONTENT_FREE_TYPES
from weftwork.protocol.fold.state import NodeState
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES

_CARRY = frozenset(
    {
        *("node.completed", "node.failed", "variable.changed", "channel.written", "log.appended", "artifact.created"),
        *("run.completed", "interrupt.resolved"),
    }
)
"""Events that show all that their node was given; of failures, those of the node itself."""
BOOM = {"code": "boom"}


async def story(document: dict[str, Any], dice: random.Random) -> tuple[list[Event], int]:
    """The log of a run, and how often it was taken up by another process."""
    bench, moved = EngineHarness(*MIXING_TYPES), 0
    key = await bench.start(document)
    for _ in range(60):
        await run_ready_tasks()
        if await bench.status(key) in TERMINAL_STATUSES:
            break
        if dice.random() < 0.5:
            await bench.crash()
            bench, moved = bench.successor(), moved + 1
            await bench.executor.recover()
            await run_ready_tasks()
        state = await bench.state(key)
        for asked in list(state.open_interrupts.values()):
            said = {**CORRELATION, "words": [UNTRUSTED_WORD]} if asked.kind == "external-event" else {"words": []}
            await bench.answer(key, said, asked.node_id)
            await run_ready_tasks()
    events = await bench.run_to_end(key)
    await bench.close()
    return events, moved


def wrong(events: list[Event]) -> list[tuple[int, str]]:
    """Events whose stamp is not what their own words say."""
    found: list[tuple[int, str]] = []
    for event in events:
        payload = msgspec.json.decode(event.payload)
        holds = UNTRUSTED_WORD in words_in(payload)
        shows = event.type in _CARRY and payload.get("error", BOOM)["code"] == "boom"
        if shows and holds is not (event.content_trust == "untrusted"):
            found.append((event.sequence, event.type))
        if event.type in CONTENT_FREE_TYPES and event.content_trust is not None:
            found.append((event.sequence, event.type))
        # Nothing may be believed that is not to be, whatever it is.
        if holds and event.content_trust != "untrusted":
            found.append((event.sequence, event.type))
    return found


def told(seed: int) -> tuple[dict[str, Any], list[Event]]:
    dice = random.Random(seed)
    document = random_workflow(dice)
    events, _ = run(lambda: story(document, dice))
    return document, events


@pytest.mark.rule("trust-02")
@pytest.mark.rule("trust-03")
@pytest.mark.rule("trust-06")
@settings(max_examples=example_count(80, 10_000), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_an_event_is_untrusted_if_what_it_carries_came_from_outside_and_only_then(seed: int) -> None:
    document, events = told(seed)
    assert wrong(events) == [], document


def test_the_workflows_are_worth_it() -> None:
    """They loop, ask, write, fail, and have untrusted and trusted events of every type that carries something."""
    seen: set[tuple[str, bool]] = set()
    rounds = moved = 0
    for seed in range(150):
        dice = random.Random(seed)
        events, again = run(lambda dice=dice: story(random_workflow(dice), dice))
        moved += again
        seen |= {(event.type, event.content_trust == "untrusted") for event in events}
        starts = [event.node_id for event in events if event.type == "node.started"]
        rounds += len(starts) > len(set(starts))
    assert {(kind, trust) for kind in _CARRY for trust in (True, False)} <= seen
    assert not {(kind, True) for kind in CONTENT_FREE_TYPES} & seen
    assert rounds > 20
    assert moved > 20


@pytest.mark.parametrize(
    ("place", "name", "sabotage"),
    [
        (append, "carries_untrusted", lambda state, draft: False),
        (fold, "mark_untrusted", lambda state, fact: None),
        (facts, "is_given_untrusted", lambda state, node_id: False),
        (NodeState, "previous_untrusted", property(lambda self: False, lambda self, value: None)),
        (interrupts, "EXTERNAL_EVENT", "nothing"),
    ],
    ids=["stamps", "facts", "starts", "rounds", "answers"],
)
def test_the_proof_goes_red_without_each_guard(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, sabotage: Any
) -> None:
    monkeypatch.setattr(place, name, sabotage)
    assert any(wrong(told(seed)[1]) for seed in range(200))
