"""Models that say anything, in any weather: each envelope has one outcome, and what follows from it happens once."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count, node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from tests.harness.scripted_model import ScriptedModel
from tests.simulation.models.model_schedule import KINDS, MODEL_ACTION_WEIGHTS, PLAN, ModelSchedule
from weftwork.engine import node_events
from weftwork.engine.decide import envelopes, transitions
from weftwork.engine.decide.inputs import EnvelopeEmitted, ModelAnswered
from weftwork.engine.models import model_calls
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.privacy.secret_matcher import HoldBack

pytestmark = pytest.mark.slow

DEADLY = {"wake": 30, "answer": 30, "kill": 30, "crash": 20}


async def storm(seed: int, moves: dict[str, int] | None = None, fates: bool | None = None) -> ModelSchedule:
    """One run from its creation to its end."""
    dice = random.Random(seed)
    found = ModelSchedule(
        dice, moves or dice.choice([MODEL_ACTION_WEIGHTS, DEADLY]), dice.random() < 0.5 if fates is None else fates
    )
    try:
        await found.run_until_ended(60)
    finally:
        await found.engine.crash()
    return found


@pytest.mark.rule("env-15", "env-23", "env-26", "model-01", "rel-13", "rel-15", "rel-20", "evt-07", "fold-01")
@settings(max_examples=example_count(60), deadline=None)
@given(st.integers(0, 2**48))
async def test_whatever_models_say_and_hosts_suffer_each_envelope_has_one_outcome(seed: int) -> None:
    await storm(seed)


@pytest.mark.rule("env-26", "rel-20")
async def test_a_judgement_comes_out_the_same_when_its_own_envelopes_are_recorded() -> None:
    """Two kinds under one id: what was asked for by the first is not forgotten because of the second."""
    twice = [
        {
            "type": "clarification.request",
            "correlationId": "c",
            "payload": {"questions": [{"id": "a", "question": "A?"}]},
        },
        {"type": "schema.request", "correlationId": "c", "payload": {"envelopeType": PLAN}},
    ]
    good = {"type": PLAN, "payload": {"steps": []}}

    model = ScriptedModel(*(msgspec.json.encode(each).decode() for each in (twice, good, good, good)))
    bench = EngineHarness(models=model)
    config = {"envelopeType": PLAN, "userMessage": "Plan it."}
    document = workflow([node("ask", "core.ai.generateEnvelope", config=config)], metadata={"envelopeKinds": KINDS})
    key = await bench.start(document)
    await run_ready_tasks()
    asked = await bench.status(key) == "waiting-input"
    if asked:
        await bench.answer(key, {"answers": {"a": "Ann"}})
    await bench.run_to_end(key)
    heard = any("Ann" in message.content for request in model.requests for message in request.messages)
    assert heard == asked, "somebody was asked, and nobody hears the answer"


def storms(seeds: int = 200, moves: dict[str, int] | None = None, fates: bool = False) -> None:
    for seed in range(seeds):
        run(lambda seed=seed: storm(seed, moves or DEADLY, fates))


def test_a_record_that_is_made_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    send = envelopes.record_envelope

    def forgetful(state: RunState, given: EnvelopeEmitted) -> Any:
        known, state.envelopes = state.envelopes, {}
        try:
            return send(state, given)
        finally:
            state.envelopes = known

    monkeypatch.setattr(transitions, "record_envelope", forgetful)
    with pytest.raises(AssertionError, match="recorded twice"):
        storms(fates=True)


class Amnesia(dict[str, Any]):
    """Holds everything, and finds nothing."""

    def get(self, name: str, default: Any = None) -> Any:
        return default


def test_an_answer_that_is_asked_for_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    generate, keep = model_calls.EntryModelCalls.generate, envelopes.record_answer

    async def forgetful(self: Any, request: Any, along: Any) -> Any:
        node = self._state.nodes[self._node_id]
        node.model_answers = Amnesia(node.model_answers)
        return await generate(self, request, along)

    def trusting(state: RunState, given: ModelAnswered) -> Any:
        node = state.nodes[given.node_id]
        known, node.model_answers = node.model_answers, {}
        try:
            return keep(state, given)
        finally:
            node.model_answers = known

    monkeypatch.setattr(model_calls.EntryModelCalls, "generate", forgetful)
    monkeypatch.setattr(transitions, "record_answer", trusting)
    with pytest.raises(AssertionError, match="is answered twice"):
        storms()


def test_a_handler_apart_from_its_record_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question of a clarification left to the node, as if no commit held both."""
    send = envelopes.record_envelope

    def apart(state: RunState, given: EnvelopeEmitted) -> Any:
        return send(state, msgspec.structs.replace(given, interrupt=None))

    monkeypatch.setattr(transitions, "record_envelope", apart)
    with pytest.raises(AssertionError, match="was handled"):
        storms()


def test_what_follows_from_an_answer_and_does_not_stand_with_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = envelopes.record_answer

    def cheap(state: RunState, given: ModelAnswered) -> Any:
        return keep(state, msgspec.structs.replace(given, along=()))

    monkeypatch.setattr(transitions, "record_answer", cheap)
    with pytest.raises(AssertionError, match="without cost"):
        storms(20)


def test_chunks_that_come_after_their_answer_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_events.BufferedEvents, "flush", lambda self: None)
    with pytest.raises(AssertionError, match=r"showed|waited|does not end"):
        storms(20)


def test_what_is_held_back_for_ever_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = HoldBack.release
    monkeypatch.setattr(HoldBack, "release", lambda self, piece, last=False: cut(self, piece))
    with pytest.raises(AssertionError, match="showed something else"):
        storms(fates=False)
