"""Generates a text, a value or an envelope with a model, for AI nodes and for nodes in Python.

Every envelope in an answer goes through the gate. The conversation with the model continues until there is a usable
result: clarifications become interrupts, schemas are sent on request, and invalid answers are sent back with a
correction.
"""

from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.sdk.answer_attempts import REFUSAL_MESSAGE, AnswerAttempts, AnswerSpec
from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed
from weftwork.ports.nodes import CheckedEnvelope, Emission, NodeCall, NodeContext
from weftwork.protocol.envelopes.checks import CORRELATION_CONFLICT
from weftwork.protocol.envelopes.completion import MismatchedAnswer, refusal_event, retry_exhausted_event
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract
from weftwork.protocol.envelopes.handling import clarification_interrupt, envelope_failure
from weftwork.protocol.envelopes.instructions import (
    coercion_instructions,
    correction,
    discarded_kind_text,
    envelope_directive,
    output_directive,
    schema_response_text,
    unknown_kind_text,
    unreadable_correction,
)
from weftwork.protocol.envelopes.kinds import (
    CLARIFICATION_KIND,
    ERROR_KIND,
    SCHEMA_REQUEST_KIND,
    UNIVERSAL_KINDS,
    KindDefinition,
)
from weftwork.protocol.envelopes.outcome import Accepted, Gated, Invalid
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, reassemble
from weftwork.protocol.envelopes.text.extraction import (
    Extraction,
    extract_envelopes,
    extract_value,
    find_envelopes,
    looks_like_envelope,
)
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.privacy.trust import wrap_untrusted
from weftwork.protocol.run.payloads import CapBreached

STRUCTURED_KIND: Final = "vendor.weftwork.structured-output"
"""The envelope kind of a value whose schema is defined by one node."""
DEFAULT_SHAPE_NAME: Final = "structured-output"
MAX_SHAPE_NAME: Final = 128
MAX_TURNS: Final = 32
"""Model turns for one result, counting clarifications, schema requests and corrections alike."""


class GeneratedText(msgspec.Struct, frozen=True):
    """A text, and the accepted envelopes in it."""

    answer: ModelAnswer
    envelopes: tuple[Accepted, ...] = ()


class GeneratedValue(msgspec.Struct, frozen=True):
    """A value that matches the schema."""

    value: Any
    answer: ModelAnswer


class GeneratedEnvelope(msgspec.Struct, frozen=True):
    """An envelope of the requested kind, or an error envelope in which the model says why it could not make one."""

    accepted: Accepted
    answer: ModelAnswer
    others: tuple[Accepted, ...] = ()


async def generate_text(
    context: NodeContext, call: NodeCall, request: ModelRequest, first_events: tuple[EmitEvent | AppendLog, ...] = ()
) -> GeneratedText | Failed:
    """Generate a text. Envelopes in it go through the gate; a clarification is asked as an interrupt, and the model
    continues with the answer. `first_events` are recorded together with the first answer."""
    next_request = request
    accepted: list[Accepted] = []
    rounds = 0
    for number in range(MAX_TURNS):
        events = first_events if not number else ()
        answer = await context.generate(next_request, partial(_events_of_answer, call.node_id, request, events))
        if answer.stop == "content-filter":
            return Failed("envelope_refusal", REFUSAL_MESSAGE, retryable=False)
        turn = _ModelTurn(context, call, call.contract, rounds)
        documents = find_envelopes(answer.text) if answer.stop == "stop" else None
        for document in documents.documents if documents is not None else ():
            known = context.envelope_kind(document["type"]) is not None
            checked = context.check_envelope(document, turn.emission(answer)) if known else None
            if not isinstance(checked, CheckedEnvelope):
                # The JSON looks like an envelope and is not one, so it is part of the text.
                continue
            failed = await turn.send(checked, answer)
            if failed is not None and failed.code != CORRELATION_CONFLICT:
                return failed
        accepted += turn.others
        rounds = turn.rounds if turn.clarified or turn.rounds > rounds else rounds + 1
        if not turn.fragments or rounds > context.limits.schema_rounds:
            return GeneratedText(answer, tuple(accepted))
        next_request = _next_request(next_request, answer, turn.fragments)
    return _out_of_turns()


def output_shape(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a value's shape, which is the title of its schema, and the schema without `$id`. References never
    leave the schema, so it needs no `$id`."""
    title = schema.get("title")
    name = title[:MAX_SHAPE_NAME] if isinstance(title, str) and title else DEFAULT_SHAPE_NAME
    return name, {keyword: value for keyword, value in schema.items() if keyword != "$id"}


async def generate_value(
    context: NodeContext, call: NodeCall, request: ModelRequest, schema: dict[str, Any], name: str
) -> GeneratedValue | Failed:
    """Generate a value that matches a schema. The schema has no `$id` and has passed the check for callers' schemas."""
    kind = KindDefinition(STRUCTURED_KIND, 1, schema)
    contract = EnvelopeContract(frozenset({STRUCTURED_KIND}))

    def check(answer: ModelAnswer, document: Any) -> list[Violation]:
        return check_value(schema, document, "")

    spec = AnswerSpec(
        name,
        partial(extract_value, clean=True),
        check,
        partial(_correction, name, schema),
        schema,
        coercion_instructions(name, schema),
    )
    with_directive = _with_directive(msgspec.structs.replace(request, response_schema=schema), output_directive(schema))
    result = await AnswerAttempts(context, call.node_id, spec).ask(with_directive)
    if isinstance(result, Failed):
        return result
    complete, answer = result
    # `check` has applied the schema of the kind, and the envelope around the value is the host's own.
    envelope = {"type": STRUCTURED_KIND, "schemaVersion": 1, "payload": complete.documents[0]}
    checked = CheckedEnvelope(envelope, is_validated=True)
    outcome = await context.emit_envelope(checked, Emission(answer.turn, 0, 0, contract, (kind,)))
    if isinstance(outcome, Accepted):
        return GeneratedValue(outcome.payload, answer)
    return _failure_of_outcome(outcome)


async def generate_envelope(
    context: NodeContext,
    call: NodeCall,
    request: ModelRequest,
    envelope_type: str,
    contract: EnvelopeContract,
) -> GeneratedEnvelope | Failed:
    """Generate an envelope of a kind. On the way there, clarifications become interrupts, schema requests are answered
    and invalid answers are corrected."""
    kind = context.envelope_kind(envelope_type)
    if kind is None:
        message = "This host does not define the envelope kind that the node requests."
        return Failed("unknown_envelope_kind", message, {"envelopeType": envelope_type}, retryable=False)
    accepts = (contract.accepts or frozenset[str]()) | {kind.name}
    contract = msgspec.structs.replace(contract, accepts=accepts)
    reasons = "reasoning" in kind.schema.get("properties", {})
    next_request = _with_directive(request, envelope_directive(kind.name, kind.version, kind.schema, reasons))
    next_request = msgspec.structs.replace(next_request, payload_schema=kind.schema)
    rounds = 0
    others: list[Accepted] = []
    for _ in range(MAX_TURNS):
        turn = _ModelTurn(context, call, contract, rounds)
        attempts = AnswerAttempts(context, call.node_id, turn.answer_spec(kind), rounds)
        result = await attempts.ask(next_request)
        if isinstance(result, Failed):
            return result
        _, answer = result
        rounds += attempts.retries
        for checked in turn.checked:
            failed = await turn.send(checked, answer)
            if failed is not None and failed.code != CORRELATION_CONFLICT:
                return failed
        if turn.clarified:
            # The model sent these envelopes without knowing the answer to its question, so results are dropped.
            others += [each for each in turn.others if each.type not in (kind.name, ERROR_KIND)]
            next_request = _next_request(next_request, answer, turn.fragments)
            continue
        others += turn.others
        result_envelope = next((each for each in others if each.type == kind.name), None)
        result_envelope = result_envelope or next((each for each in others if each.type == ERROR_KIND), None)
        if result_envelope is not None:
            return GeneratedEnvelope(
                result_envelope, answer, tuple(each for each in others if each is not result_envelope)
            )
        rounds = turn.rounds if turn.rounds > rounds else rounds + 1
        if rounds > context.limits.schema_rounds:
            return _out_of_rounds(context, call.node_id, rounds)
        next_request = _next_request(next_request, answer, turn.fragments)
    return _out_of_turns()


class _ModelTurn(msgspec.Struct, eq=False):
    """Processes the envelopes of one answer in their order."""

    _context: NodeContext
    _call: NodeCall
    _contract: EnvelopeContract
    rounds: int = 0
    _sent: int = 0
    checked: list[CheckedEnvelope] = []
    """The envelopes of the newest answer that have passed the check; all of them if the answer is complete."""
    clarified: bool = False
    others: list[Accepted] = []
    fragments: list[str] = []
    """The message to the model in its next turn."""

    def emission(self, answer: ModelAnswer) -> Emission:
        return Emission(answer.turn, self._sent, self.rounds, self._contract)

    def answer_spec(self, kind: KindDefinition) -> AnswerSpec:
        def check(answer: ModelAnswer, document: Any) -> list[Violation]:
            checked = self._context.check_envelope(_as_envelope(document, kind), self.emission(answer))
            if isinstance(checked, Invalid):
                return _violations(checked)
            self.checked.append(checked)
            return []

        correct = partial(_correction, kind.name, kind.schema)
        return AnswerSpec(
            kind.name,
            self._read,
            check,
            correct,
            kind.schema,
            coercion_instructions(kind.name, kind.schema),
        )

    def _read(self, text: str) -> Extraction | None:
        self.checked = []
        extraction = extract_envelopes(text, clean=True)
        if extraction is None:
            return None
        origin = EnvelopeOrigin(self._call.run_id, self._call.node_id, "pieces", 0, self._context.started_at, "trusted")
        return msgspec.structs.replace(extraction, documents=reassemble(extraction.documents, origin))

    async def send(self, envelope: CheckedEnvelope, answer: ModelAnswer) -> Failed | None:
        """Send an envelope through the gate and act on its kind; returns a failure if the node has to fail."""
        outcome = await self._context.emit_envelope(envelope, self.emission(answer))
        self._sent += 1
        if envelope_failure(outcome) is not None:
            return _failure_of_outcome(outcome)
        if not isinstance(outcome, Accepted):
            if isinstance(outcome, Gated):
                self.fragments.append(discarded_kind_text(outcome.type, outcome.allowed))
            return None
        if outcome.type == CLARIFICATION_KIND:
            resolution = await self._context.ask(clarification_interrupt(outcome))
            self.clarified = True
            text = encode_stored(resolution.value).decode()
            fenced = wrap_untrusted(resolution.value, type="answers") if resolution.untrusted else text
            self.fragments.append(f"Answers to your questions, by id:\n{fenced}")
        elif outcome.type == SCHEMA_REQUEST_KIND:
            self.rounds += 1
            kind = self._context.envelope_kind(outcome.payload["envelopeType"])
            self.fragments.append(
                schema_response_text(kind.name, kind.version, kind.schema)
                if kind is not None
                else unknown_kind_text(UNIVERSAL_KINDS)
            )
        elif outcome.type == ERROR_KIND or outcome.type not in UNIVERSAL_KINDS:
            self.others.append(outcome)
        return None


def _as_envelope(document: Any, kind: KindDefinition) -> Any:
    """The document as an envelope. A model may send the bare payload of the requested kind."""
    if not looks_like_envelope(document):
        return {"type": kind.name, "schemaVersion": kind.version, "payload": document}
    # The model got the schema of this version, so this is the default version.
    return {"schemaVersion": kind.version, **document} if document["type"] == kind.name else document


def _violations(outcome: Invalid) -> list[Violation]:
    violations = [Violation(each.instance_path, each.keyword, each.message) for each in outcome.details]
    return violations or [Violation("", outcome.code, outcome.reason)]


def _correction(name: str, schema: dict[str, Any], mismatch: MismatchedAnswer) -> str:
    return correction(mismatch.violations, name, schema) if mismatch.violations else unreadable_correction(name)


def _events_of_answer(
    node_id: str, request: ModelRequest, events: tuple[EmitEvent | AppendLog, ...], answer: ModelAnswer
) -> tuple[EmitEvent | AppendLog, ...]:
    if answer.stop != "content-filter":
        return events
    prompts = [request.system, *(message.text for message in request.messages)]
    refusal = refusal_event(node_id, answer.provider, answer.model, answer.refusal, answer.safety_category, prompts)
    return (*events, EmitEvent.of(refusal))


def _with_directive(request: ModelRequest, directive: str) -> ModelRequest:
    """env-27 (RFC 0021): an answer that has to be an envelope is not streamed before the gate has judged it."""
    return msgspec.structs.replace(request, system=f"{request.system}\n\n{directive}".strip(), stream=False)


def _next_request(request: ModelRequest, answer: ModelAnswer, fragments: list[str]) -> ModelRequest:
    """The request of the next turn: the conversation so far, the answer of the model, and the host's reply."""
    reply = Message("assistant", answer.text)
    # With role "user", not "system", because the fragments can contain answers of people.
    instructions = Message("user", "\n\n".join(fragments) or "Continue.")
    return msgspec.structs.replace(request, messages=(*request.messages, reply, instructions))


def _failure_of_outcome(outcome: Any) -> Failed:
    failure = envelope_failure(outcome)
    if failure is None:
        message = "The model sent no envelope that this node accepts."
        return Failed("envelope_contract_violation", message, retryable=False)
    return Failed(failure.code, failure.message, failure.details or None, cause=failure.cause)


def _out_of_rounds(context: NodeContext, node_id: str, rounds: int) -> Failed:
    limit = context.limits.schema_rounds
    breach = CapBreached("schema", limit, max(rounds, limit + 1), node_id)
    message = f"The model sent no envelope of the requested kind within its limit of {limit} rounds."
    exhausted = retry_exhausted_event(node_id, max(rounds, 1), "type-mismatch", message)
    return Failed("envelope_invalid", message, effects=(EmitEvent.of(exhausted), EmitEvent.of(breach)))


def _out_of_turns() -> Failed:
    return Failed("envelope_invalid", f"The model did not finish within {MAX_TURNS} turns.", retryable=False)
