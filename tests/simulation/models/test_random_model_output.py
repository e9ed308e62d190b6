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
from tests.simulation.models.model_schedule import KINDS, MODEL_ACTION_WEIGHTS, PLAN, ModelSchedule, random_workflow
from tests.simulation.random_schedule import Weights
from weftwork.engine import node_events
from weftwork.engine.decide import envelopes, transitions
from weftwork.engine.decide.inputs import EnvelopeEmitted, ModelAnswered
from weftwork.engine.models import model_calls
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.privacy.secret_matcher import HoldBack

pytestmark = pytest.mark.slow

DEADLY: Weights = {"wake": 30, "answer": 30, "kill": 30, "crash": 20}


async def storm(seed: int, weights: Weights | None = None, faults: bool | None = None) -> None:
    """One run from its creation to its end."""
    dice = random.Random(seed)
    weights = weights or dice.choice([MODEL_ACTION_WEIGHTS, DEADLY])
    found = ModelSchedule(dice, weights, dice.random() < 0.5 if faults is None else faults)
    await found.play(random_workflow(dice))


@pytest.mark.rule("env-15", "env-23", "env-26", "model-01", "rel-13", "rel-15", "rel-20", "evt-07", "fold-01")
@settings(max_examples=example_count(12, 1200), deadline=None)
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


class Amnesia(dict[str, Any]):
    """Holds everything, and finds nothing."""

    def get(self, name: str, default: Any = None) -> Any:
        return default


_generate, _record_answer, _record_envelope = (
    model_calls.EntryModelCalls.generate,
    envelopes.record_answer,
    envelopes.record_envelope,
)
_release = HoldBack.release


def _record_again(state: RunState, given: EnvelopeEmitted) -> Any:
    known, state.envelopes = state.envelopes, {}
    try:
        return _record_envelope(state, given)
    finally:
        state.envelopes = known


async def _ask_again(self: Any, request: Any, along: Any) -> Any:
    node = self._state.nodes[self._node_id]
    node.model_answers = Amnesia(node.model_answers)
    return await _generate(self, request, along)


def _record_answer_again(state: RunState, given: ModelAnswered) -> Any:
    node = state.nodes[given.node_id]
    known, node.model_answers = node.model_answers, {}
    try:
        return _record_answer(state, given)
    finally:
        node.model_answers = known


def _leave_question_to_the_node(state: RunState, given: EnvelopeEmitted) -> Any:
    """As if no commit held both."""
    return _record_envelope(state, msgspec.structs.replace(given, interrupt=None))


def _record_without_cost(state: RunState, given: ModelAnswered) -> Any:
    return _record_answer(state, msgspec.structs.replace(given, along=()))


def storms(faults: bool) -> None:
    # What is held back for ever is rare: the first ten seeds show it.
    for seed in (*range(130, 140), *range(130)):
        run(lambda seed=seed: storm(seed, DEADLY, faults))


@pytest.mark.parametrize(
    ("patches", "faults", "said"),
    [
        ([(transitions, "record_envelope", _record_again)], True, "recorded twice"),
        (
            [
                (model_calls.EntryModelCalls, "generate", _ask_again),
                (transitions, "record_answer", _record_answer_again),
            ],
            False,
            "is answered twice",
        ),
        ([(transitions, "record_envelope", _leave_question_to_the_node)], False, "was handled"),
        ([(transitions, "record_answer", _record_without_cost)], False, "without cost"),
        ([(node_events.BufferedEvents, "flush", lambda self: None)], False, r"showed|waited|does not end"),
        (
            [(HoldBack, "release", lambda self, piece, last=False: _release(self, piece))],
            False,
            "showed something else",
        ),
    ],
    ids=[
        *("a record that is made again", "an answer that is asked for again", "a handler apart from its record"),
        *("an answer without its cost", "chunks after their answer", "what is held back for ever"),
    ],
)
def test_a_host_without_this_guard_is_seen(
    monkeypatch: pytest.MonkeyPatch, patches: list[tuple[Any, str, Any]], faults: bool, said: str
) -> None:
    for patch in patches:
        monkeypatch.setattr(*patch)
    with pytest.raises(AssertionError, match=said):
        storms(faults)
