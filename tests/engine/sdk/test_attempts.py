"""Attempts on the live path: what the log says of each answer stands in the commit of that answer."""

from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness
from tests.harness.scripted_model import AnswerPiece, ScriptedModel
from weftwork.engine.sdk.answer_attempts import AnswerAttempts
from weftwork.ports.models import AnswerEnd
from weftwork.protocol.models.answers import TokenUsage

SCHEMA = {"type": "object", "required": ["valid"], "properties": {"valid": {"type": "boolean"}}}
TASK = workflow([node("a", "core.ai.structuredOutput", config={"outputSchema": SCHEMA, "prompt": "Well?"})])
GOOD = '{"valid": true}'
CUT: list[AnswerPiece] = ['{"val', AnswerEnd("length", TokenUsage(1, 1), detail="max_tokens")]
BAD = '{"valid": "canary-77"}'
PROSE = "It is valid, canary-77."


async def ended(*answers: Any) -> tuple[list[str], dict[str, Any], ScriptedModel, EngineHarness]:
    model = ScriptedModel(*answers)
    bench = EngineHarness(models=model)
    key = await bench.start(TASK)
    events = await bench.run_to_end(key)
    told = [event.type for event in events if event.type.startswith(("envelope.", "cap.", "node."))]
    failed = await bench.payloads(key, "node.failed")
    refused = any(event.type == "envelope.refusal" for event in events)
    says = ("envelope.refusal",) if refused else ("weftwork.model.answered",)
    assert not any(b"canary-77" in event.payload for event in events if event.type not in says)
    return told[1:], failed[0]["error"] if failed else {}, model, bench


@pytest.mark.rule("rel-20")
async def test_every_attempt_is_told_and_what_is_cut_off_gets_more_room() -> None:
    told, _, model, _ = await ended(CUT, BAD, GOOD)
    again = "envelope.retry.attempted"
    assert told == ["envelope.truncated", again, again, "node.completed"]
    rooms = [request.max_tokens for request in model.requests]
    assert rooms[0] is None
    assert rooms[1] == rooms[2]
    first, second, third = (request.system for request in model.requests)
    assert first == second
    assert third.startswith(first)
    assert third != first


@pytest.mark.rule("rel-21")
@pytest.mark.parametrize(
    ("answers", "code", "total"),
    [([BAD] * 3, "envelope_invalid", 3), ([PROSE] * 4, "envelope_invalid", 4), ([CUT] * 3, "", 3)],
)
async def test_the_end_of_all_attempts_is_told_before_the_node_fails(answers: list[Any], code: str, total: int) -> None:
    told, error, model, bench = await ended(*answers)
    assert told[-3:] == ["envelope.retry.exhausted", "cap.breached", "node.failed"]
    assert error["code"] == (code or "envelope_truncation_unrecoverable")
    assert len(model.requests) == total
    assert bench.runtime.limits.schema_rounds == 2


@pytest.mark.rule("rel-20")
async def test_a_refusal_is_final() -> None:
    refusal: list[AnswerPiece] = ["Sorry, canary-77.", AnswerEnd("stop", refusal="No, canary-77.", detail="safety")]
    told, error, model, _ = await ended(refusal, GOOD)
    assert told == ["envelope.refusal", "node.failed"]
    assert (error["code"], len(model.requests)) == ("envelope_refusal", 1)


@pytest.mark.rule("rel-21")
async def test_a_limit_that_nobody_looked_at_would_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerAttempts, "_may_retry", lambda self, judged, attempt: attempt < 9)

    _, _, model, _ = await ended(*[BAD] * 12)
    assert len(model.requests) == 9


CHAT = workflow(
    [
        node(
            "a",
            "core.ai.callPrompt",
            config={"prompt": "Well?"},
            envelopeContract={"accepts": [], "refusalMode": "discard-and-warn"},
        )
    ],
    metadata={"envelopeKinds": {"vendor.acme.plan": {"schema": {}}}},
)


@pytest.mark.rule("env-08")
@pytest.mark.parametrize(
    ("said", "end"),
    [
        ('{"type": "schema.request", "payload": {"envelopeType": "vendor.acme.plan"}}', "run.failed"),
        ('{"type": "vendor.acme.plan", "payload": {}}', "run.completed"),
    ],
)
async def test_a_model_that_goes_on_and_on_is_asked_a_few_times(said: str, end: str) -> None:
    model = ScriptedModel(*[said] * 40)
    bench = EngineHarness(models=model)
    key = await bench.start(CHAT)
    events = await bench.run_to_end(key)
    assert events[-1].type == end
    assert len(model.requests) == bench.runtime.limits.schema_rounds + 1
    breaches = [each["kind"] for each in await bench.payloads(key, "cap.breached")]
    assert breaches == (["schema"] if end == "run.failed" else [])
