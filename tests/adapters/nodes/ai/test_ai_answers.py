"""What nodes make of the answers of models: a value, an envelope or a failure, and what the log says on the way."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.ai import fake_model_context as speaking_module
from tests.adapters.nodes.ai.fake_model_context import FakeModelContext, model_answer
from tests.adapters.nodes.fake_context import node_call, run_node
from tests.harness.cases import each_case
from weftwork.engine.sdk import generation
from weftwork.ports.node_outcome import Completed, EmitEvent, Failed, InterruptPending, NodeOutcome
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract, GateVerdict
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.envelopes.outcome import Accepted, Gated
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.interrupts import Resolution

SCHEMA = {"type": "object", "required": ["valid"], "properties": {"valid": {"type": "boolean"}}}
GOOD = '{"valid": true}'
CANARY = "response-canary-7f3a"
CUT = ModelAnswer('{"partial', "length", "scripted", "scripted-1", detail="max_tokens")
REFUSAL = ModelAnswer("", "content-filter", "scripted", "scripted-1", detail="safety", refusal=f"No. {CANARY}")
TICKET = "vendor.example.ticket"
BILL = "vendor.example.bill"
SENT = '{"type": "vendor.example.ticket", "payload": {"valid": true}}'
ASKS = '{"type": "clarification.request", "payload": {"questions": [{"id": "who", "question": "Who?"}]}}'
ERROR = '{"type": "error", "payload": {"code": "no_data", "message": "There is nothing to see."}}'


def filled(context: FakeModelContext, **config: Any) -> NodeOutcome:
    given = node_call({"outputSchema": SCHEMA, "maxTokens": 50, **config}, {"prompt": "Well?"})
    return run_node("core.ai.structuredOutput", given, context)


def typed(context: FakeModelContext, contract: EnvelopeContract = OPEN_CONTRACT, **config: Any) -> NodeOutcome:
    given = node_call({"envelopeType": TICKET, **config}, {"userMessage": "Well?"})
    return run_node("core.ai.generateEnvelope", replace(given, contract=contract), context)


def speaking(*answers: str | ModelAnswer) -> FakeModelContext:
    """With a host that knows the kind, and another one."""
    return FakeModelContext(*answers, kinds=[KindDefinition(TICKET, 1, SCHEMA), KindDefinition(BILL, 1, SCHEMA)])


def told(context: FakeModelContext, found: NodeOutcome) -> list[str]:
    said = [*context.recorded_events, *(found.effects if isinstance(found, Failed) else ())]
    return [each.type for each in said if isinstance(each, EmitEvent)]


def failed(found: NodeOutcome) -> Failed:
    assert isinstance(found, Failed), found
    return found


def data(found: NodeOutcome) -> Any:
    assert isinstance(found, Completed), found
    return found.outputs["data"]


@pytest.mark.rule("ai-05")
def test_a_value_that_fits_is_given_at_once() -> None:
    context = FakeModelContext(GOOD)
    found = filled(context)
    assert (data(found), told(context, found)) == ({"valid": True}, [])
    (request,) = context.requests
    assert request.response_schema == SCHEMA
    assert '"valid"' in request.system


@pytest.mark.rule("ai-05")
@each_case("bad", f'{{"valid": "{CANARY}"}}', f"Well, {CANARY}")
def test_what_does_not_fit_is_corrected_in_words_of_the_host(bad: str) -> None:
    context = FakeModelContext(bad, GOOD)
    found = filled(context)
    assert (data(found), told(context, found)) == ({"valid": True}, ["envelope.retry.attempted"])
    first, second = context.requests
    assert first.max_tokens == second.max_tokens == 50
    assert second.system.startswith(first.system)
    assert len(second.system) > len(first.system)
    assert CANARY not in second.system
    assert CANARY not in str(context.recorded_events)


@pytest.mark.rule("ai-05")
def test_what_was_cut_short_gets_more_room_and_no_other_word() -> None:
    context = FakeModelContext(CUT, CUT, GOOD)
    found = filled(context)
    assert data(found) == {"valid": True}
    assert told(context, found) == ["envelope.truncated", "envelope.retry.attempted"] * 2
    assert [each.max_tokens for each in context.requests] == [50, 100, 200]
    assert len({(each.system, each.messages) for each in context.requests}) == 1


@pytest.mark.rule("ai-05")
def test_a_refusal_is_final() -> None:
    context = FakeModelContext(REFUSAL, GOOD)
    found = failed(filled(context))
    assert (found.code, found.retryable) == ("envelope_refusal", False)
    assert told(context, found) == ["envelope.refusal"]
    assert CANARY not in str((found.message, found.details))


@pytest.mark.rule("ai-05")
@each_case(
    "answer, code, calls",
    (CUT, "envelope_truncation_unrecoverable", 3),
    ("{}", "envelope_invalid", 3),
    (f"Once upon a time {CANARY}", "envelope_invalid", 4),
    ("", "envelope_invalid", None),
)
def test_attempts_come_to_an_end(answer: str | ModelAnswer, code: str, calls: int | None) -> None:
    context = FakeModelContext(*[answer] * 16)
    found = failed(filled(context))
    assert found.code == code
    assert told(context, found)[-2:] == ["envelope.retry.exhausted", "cap.breached"]
    assert len(context.requests) == calls or calls is None
    assert len(context.requests) <= 4
    assert CANARY not in str(found)


@pytest.mark.rule("ai-05")
def test_prose_is_brought_into_form_once() -> None:
    context = FakeModelContext(*["Once upon a time."] * 3, GOOD)
    found = filled(context, outputSchema={"title": "Verdict", **SCHEMA})
    assert data(found) == {"valid": True}
    assert told(context, found) == [*["envelope.retry.attempted"] * 2, "envelope.nlToFormat.engaged"]
    (engaged,) = [each for each in context.recorded_events if isinstance(each, EmitEvent) and "nlToFormat" in each.type]
    assert engaged.payload["originalEnvelopeType"] == "Verdict"


@pytest.mark.rule("ai-05")
def test_a_fence_is_taken_off_and_costs_no_attempt() -> None:
    context = FakeModelContext(f"```json\n{GOOD}\n```")
    found = filled(context)
    assert (data(found), told(context, found)) == ({"valid": True}, ["envelope.recovery.applied"])


@each_case("kind", "callPrompt", "chatCompletion")
def test_a_text_that_is_cut_short_is_given_as_it_is(kind: str) -> None:
    context = FakeModelContext(replace(CUT, text="Half a sent"))
    found = run_node(f"core.ai.{kind}", node_call({"prompt": "x"}), context)
    assert isinstance(found, Completed)
    assert (found.outputs["content"], found.outputs["finishReason"]) == ("Half a sent", "length")
    assert context.recorded_events == []


@each_case("kind", "callPrompt", "chatCompletion")
def test_a_text_that_is_refused_fails_the_node(kind: str) -> None:
    context = FakeModelContext(REFUSAL)
    found = failed(run_node(f"core.ai.{kind}", node_call({"prompt": "x"}), context))
    assert (found.code, told(context, found)) == ("envelope_refusal", ["envelope.refusal"])


@pytest.mark.rule("ai-06")
@each_case("said", SENT, GOOD, f"Here it is:\n```json\n{SENT}\n```")
def test_an_envelope_passes_the_gate_and_becomes_the_outputs(said: str) -> None:
    context = speaking(said)
    found = typed(context)
    assert isinstance(found, Completed)
    assert (found.outputs["envelopeType"], found.outputs["payload"]) == (TICKET, {"valid": True})
    (sent,) = context.outcomes
    assert isinstance(sent, Accepted)
    assert found.outputs["envelopeId"] == sent.envelope_id


@pytest.mark.rule("ai-06")
def test_a_question_is_asked_and_its_answer_told_to_the_model() -> None:
    context = speaking(ASKS, SENT)
    with pytest.raises(InterruptPending) as asking:
        typed(context)
    question = asking.value.interrupt
    assert question.kind == "clarification"
    assert question.data["questions"] == [{"id": "who", "question": "Who?"}]
    context = speaking(ASKS, SENT)
    context.resolved[question.key] = Resolution({"answers": {"who": "Ada"}})
    assert isinstance(typed(context), Completed)
    first, second = context.requests
    assert "Ada" not in str(first)
    assert "Ada" in str(second.messages)


@pytest.mark.rule("ai-06")
def test_a_schema_is_given_when_the_model_asks_for_it() -> None:
    context = speaking(f'{{"type": "schema.request", "payload": {{"envelopeType": "{TICKET}"}}}}', SENT)
    assert isinstance(typed(context), Completed)
    assert '"valid"' in context.requests[1].messages[-1].content


@pytest.mark.rule("ai-06")
def test_an_error_of_the_model_is_its_answer() -> None:
    context = speaking(ERROR)
    found = typed(context)
    assert isinstance(found, Completed)
    assert (found.outputs["envelopeType"], found.outputs["payload"]["code"]) == ("error", "no_data")


@pytest.mark.rule("ai-06")
def test_a_kind_that_the_contract_does_not_take_fails_the_node() -> None:
    context = speaking(SENT.replace(TICKET, BILL), SENT)
    found = failed(typed(context, EnvelopeContract(frozenset({TICKET}))))
    assert found.code == "envelope_contract_violation"
    assert found.details is not None
    assert found.details["refusedType"] == BILL
    assert {TICKET, "error"} <= set(found.details["acceptedTypes"])
    assert len(context.requests) == 1


@pytest.mark.rule("ai-06")
def test_a_kind_that_the_contract_does_not_take_is_set_aside_if_it_says_so() -> None:
    context = speaking(SENT.replace(TICKET, BILL), SENT)
    found = typed(context, EnvelopeContract(frozenset({TICKET}), "discard-and-warn"))
    assert isinstance(found, Completed)
    gated, accepted = context.outcomes
    assert isinstance(gated, Gated)
    assert isinstance(accepted, Accepted)


def test_a_kind_that_nobody_has_described_is_not_asked_for() -> None:
    context = FakeModelContext(SENT)
    assert failed(typed(context)).code == "unknown_envelope_kind"
    assert context.requests == []


def test_the_words_of_the_test_are_answers() -> None:
    assert model_answer("x").stop == "stop"


def test_behind_the_check_of_a_value_stands_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "check_value", lambda schema, document, at: [])
    assert failed(filled(FakeModelContext('{"valid": 1}'))).code == "envelope_invalid"


def test_without_check_and_gate_anything_would_be_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "check_value", lambda schema, document, at: [])
    monkeypatch.setattr(speaking_module, "accept", passed)
    assert data(filled(FakeModelContext('{"valid": 1}'))) == {"valid": 1}


def test_without_the_gate_a_contract_would_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking_module, "accept", passed)
    context = speaking(SENT.replace(TICKET, BILL), SENT)
    assert isinstance(typed(context, EnvelopeContract(frozenset({TICKET}))), Completed)


def passed(document: Any, rules: Any) -> GateVerdict:
    """A gate that lets everything through."""
    return GateVerdict(Accepted(document["type"], "env-1", document["correlationId"], document["payload"]))
