"""Guards of the live path that only show when something comes twice, too late, in pieces or from an item."""

import pytest

from tests.engine.models.test_envelopes import ASKS, GOOD, ONE, outcomes, sending
from tests.harness.definitions import header_of, node, plan_of, workflow
from tests.harness.engine_harness import EngineHarness
from weftwork.engine.decide import envelopes
from weftwork.engine.decide.inputs import EnvelopeEmitted, ModelAnswered
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT
from weftwork.protocol.envelopes.handling import JudgedEnvelope
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run import model_payloads
from weftwork.protocol.run.events import CANCEL_REQUESTED, Fact


@pytest.mark.rule("env-16")
@pytest.mark.parametrize("guarded", [True, False])
async def test_a_piece_alone_is_refused(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr("weftwork.engine.models.envelope_gate.is_partial", lambda document: False)
    piece = {**GOOD, "correlationId": "c", "partial": {"isPartial": True, "index": 0, "total": 2}}
    bench = EngineHarness(sending(piece))
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert ((await outcomes(bench, key))[0]["status"] == "invalid") is guarded


def test_nothing_is_decided_twice_or_for_a_run_that_is_to_end() -> None:
    plan = plan_of(workflow([node("a")]))
    state = RunState(plan, header_of(plan), {})
    apply(state, Fact(0, "run.started", {}, 1))
    apply(state, Fact(1, "node.started", {"typeId": "core.noop"}, 1, "a"))
    answered = ModelAnswered("a", model_payloads.ModelAnswered("a", "/0.0"), (), None)
    accepted = Accepted("error", "e", "c", {"code": "c", "message": "m"})
    sent = EnvelopeEmitted("a", JudgedEnvelope("a", "error", "c", "e", accepted), OPEN_CONTRACT, None, None)
    (kept,) = envelopes.record_answer(state, answered).events
    assert envelopes.record_envelope(state, sent).events
    apply(state, Fact(2, kept.type, kept.payload, 1, "a"))
    assert envelopes.record_answer(state, answered).events == ()
    apply(state, Fact(3, CANCEL_REQUESTED, {}, 1))
    assert envelopes.record_envelope(state, sent).events == ()


async def test_a_question_of_an_item_makes_its_map_answer_for_it() -> None:
    body = {"typeId": "test.send", "config": {}}
    mapped = node("m", "core.flow.map", config={"body": body}, inputs={"items": {"type": "static", "value": [1]}})
    bench = EngineHarness(sending(ASKS))
    key = await bench.start(workflow([mapped]))
    await bench.run_to_end(key)
    assert await bench.payloads(key, "interrupt.requested") == []
    assert "map_body_suspended" in str((await bench.payloads(key, "node.failed"))[0]["error"])
