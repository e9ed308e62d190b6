"""Generates a text, a value or an envelope with a model, for AI nodes and for nodes in Python.

Every envelope in an answer goes through the gate. The conversation with the model continues until there is a usable
result: clarifications become interrupts, schemas are sent on request, and invalid answers are sent back with a
correction. `ModelTurn` does this for each turn.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.sdk.answer_attempts import (
    REFUSAL_MESSAGE,
    AnswerAttempts,
    AnswerSpec,
    attempts_exhausted,
    with_instruction,
)
from weftwork.engine.sdk.model_turn import ModelTurn
from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed
from weftwork.ports.nodes import CheckedEnvelope, NodeCall, NodeContext
from weftwork.protocol.envelopes.answer_documents import (
    UniversalEnvelope,
    is_described,
    is_universal,
    may_hold_envelopes,
    read_text,
    read_value,
)
from weftwork.protocol.envelopes.checks import CORRELATION_CONFLICT
from weftwork.protocol.envelopes.completion import (
    MismatchedAnswer,
    attempts_allowed,
    refusal_event,
    retry_attempted_event,
    retry_exhausted_event,
)
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract
from weftwork.protocol.envelopes.instructions import (
    coercion_instructions,
    correction,
    envelope_directive,
    output_directive,
    text_correction,
    unreadable_correction,
    violation_summary,
)
from weftwork.protocol.envelopes.kinds import ERROR_KIND, SURFACE_KIND, KindDefinition
from weftwork.protocol.envelopes.outcome import Accepted, Invalid
from weftwork.protocol.envelopes.reassembly import reassemble
from weftwork.protocol.envelopes.text.extraction import (
    Extraction,
    extract_envelopes,
    is_prose,
    looks_like_envelope,
)
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.interrupts import Resolution
from weftwork.protocol.run.model_payloads import EnvelopeRecoveryApplied
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
    """A value that matches the schema; or None, and the error with which the model says why it could not make one."""

    value: Any
    answer: ModelAnswer
    error: dict[str, Any] | None = None
    """The payload of the error envelope."""


class GeneratedEnvelope(msgspec.Struct, frozen=True):
    """An envelope of the requested kind, or an error envelope in which the model says why it could not make one."""

    accepted: Accepted
    answer: ModelAnswer
    others: tuple[Accepted, ...] = ()
    reply: Resolution | None = None
    """What a person answered, if the envelope is a surface that suspended the node."""


async def generate_text(
    context: NodeContext, call: NodeCall, request: ModelRequest, prompt_events: tuple[EmitEvent | AppendLog, ...] = ()
) -> GeneratedText | Failed:
    """ai-07: generate a text. Envelopes in it go through the gate; a clarification is asked as an interrupt, and the
    model continues with the answer. `prompt_events` describe the request and precede the first answer; they are
    recorded once per attempt of the node (prompt-09)."""
    if prompt_events and call.node_id not in call.composed_prompts:
        for event in prompt_events:
            context.emit_event(event)
    request = conversation = next_request = _with_system(request, context.prompt_directive)
    accepted: tuple[Accepted, ...] = ()
    rounds, calls, attempt = 0, 0, 1
    for _ in range(MAX_TURNS):
        turn = ModelTurn(context, call, call.contract, rounds)
        along = partial(_events_of_text, turn, request, attempt)
        answer = await context.generate(next_request, along)
        if answer.stop == "content-filter":
            return Failed("envelope_refusal", REFUSAL_MESSAGE, retryable=False)
        if answer.stop != "stop" or not may_hold_envelopes(answer.text):
            return GeneratedText(answer, accepted)
        violations = _check_text(turn, answer)
        if violations and attempt < _attempts(context, rounds):
            attempt += 1
            next_request = with_instruction(conversation, text_correction(violations), conversation.max_tokens)
            continue
        if unusable := [each for each in violations if _is_unusable(each)]:
            return attempts_exhausted(call.node_id, context.limits, calls + attempt, unusable)
        failed = await turn.send(answer)
        if failed is not None:
            return failed
        # An error that the model reported before it knew the answers to its questions no longer counts.
        accepted += tuple(each for each in turn.accepted if not (turn.clarified and each.type == ERROR_KIND))
        rounds += attempt - 1 + turn.used_rounds
        if not turn.fragments or rounds > context.limits.schema_rounds:
            return GeneratedText(answer, accepted)
        conversation = next_request = _next_request(conversation, answer, turn.fragments)
        # As in `_generate`, a call that the model answered with a question is not one of the attempts.
        calls, attempt = calls + attempt - turn.clarified, 1
    return _out_of_turns()


def _check_text(turn: ModelTurn, answer: ModelAnswer) -> list[Violation]:
    """Check the envelopes in a text; returns what the model has to correct: conflicts between their ids, faults of
    their pieces, and all faults of universal kinds in an answer that is JSON and not prose. Other JSON that looks like
    an envelope but is not a valid one, or has an unknown kind, is part of the text."""
    turn.begin()
    found = read_text(answer.text)
    known = tuple(each for each in found.documents if turn.knows(each["type"])) if found is not None else ()
    prose = is_prose(answer.text)
    violations: list[Violation] = []
    for document in reassemble(known, turn.origin):
        faults = turn.check(answer, document)
        is_answer = not prose and is_universal(document)
        violations += [each for each in faults if is_answer or _is_unusable(each)]
    return violations


def _is_unusable(violation: Violation) -> bool:
    """Whether the node fails if the model does not correct this. Without a correction of other violations, the
    envelope is part of the text."""
    return violation.rule == CORRELATION_CONFLICT or violation.pointer.startswith("/partial")


def output_shape(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a value's shape, which is the title of its schema, and the schema without `$id`. References never
    leave the schema, so it needs no `$id`."""
    title = schema.get("title")
    name = title[:MAX_SHAPE_NAME] if isinstance(title, str) and title else DEFAULT_SHAPE_NAME
    return name, {keyword: value for keyword, value in schema.items() if keyword != "$id"}


async def generate_value(
    context: NodeContext, call: NodeCall, request: ModelRequest, schema: dict[str, Any], name: str
) -> GeneratedValue | Failed:
    """ai-07: generate a value that matches a schema. The schema has no `$id` and has passed the check for callers'
    schemas."""
    kind = KindDefinition(STRUCTURED_KIND, 1, schema)

    def answer_spec(turn: ModelTurn) -> AnswerSpec:
        def read(text: str) -> Extraction | None:
            turn.begin()
            return read_value(text, schema, turn.origin)

        def check(answer: ModelAnswer, document: Any) -> list[Violation]:
            if isinstance(document, UniversalEnvelope):
                return turn.check(answer, document.document)
            if violations := check_value(schema, document, ""):
                return violations
            # The schema of the kind has just been applied, and the envelope around the value is the host's own.
            envelope = {"type": STRUCTURED_KIND, "schemaVersion": 1, "payload": document}
            turn.checked.append(CheckedEnvelope(envelope, is_validated=True))
            return []

        return _answer_spec(name, schema, read, check)

    with_schema = msgspec.structs.replace(request, response_schema=schema)
    goal = _Goal(kind, EnvelopeContract(frozenset({STRUCTURED_KIND})), answer_spec, (kind,))
    generated = await _generate(context, call, _with_directive(context, with_schema, output_directive(schema)), goal)
    if isinstance(generated, Failed):
        return generated
    accepted, answer = generated.accepted, generated.answer
    if accepted.type == ERROR_KIND:
        return GeneratedValue(None, answer, accepted.payload)
    return GeneratedValue(accepted.payload, answer)


async def generate_envelope(
    context: NodeContext,
    call: NodeCall,
    request: ModelRequest,
    envelope_type: str,
    contract: EnvelopeContract,
    asks: bool = True,
) -> GeneratedEnvelope | Failed:
    """ai-07: generate an envelope of a kind. With `asks`, a surface with a button suspends the node."""
    kind = context.envelope_kind(envelope_type)
    if kind is None:
        message = "This host does not define the envelope kind that the node requests."
        return Failed("unknown_envelope_kind", message, {"envelopeType": envelope_type}, retryable=False)

    def answer_spec(turn: ModelTurn) -> AnswerSpec:
        def read(text: str) -> Extraction | None:
            turn.begin()
            found = extract_envelopes(text, clean=True)
            if found is None:
                return None
            return msgspec.structs.replace(found, documents=reassemble(found.documents, turn.origin))

        def check(answer: ModelAnswer, document: Any) -> list[Violation]:
            whole = document if isinstance(document, Invalid) else _as_envelope(document, kind)
            return turn.check(answer, whole)

        return _answer_spec(kind.name, kind.schema, read, check)

    accepts = (contract.accepts or frozenset[str]()) | {kind.name}
    goal = _Goal(kind, msgspec.structs.replace(contract, accepts=accepts), answer_spec, asks=asks)
    reasons = "reasoning" in kind.schema.get("properties", {})
    directive = envelope_directive(kind.name, kind.version, kind.schema, reasons)
    with_directive = _with_directive(context, request, directive, streams=kind.name == SURFACE_KIND)
    return await _generate(context, call, msgspec.structs.replace(with_directive, payload_schema=kind.schema), goal)


class _Goal(msgspec.Struct, frozen=True):
    """The envelope that a conversation with a model has to result in."""

    kind: KindDefinition
    contract: EnvelopeContract
    answer_spec: Callable[[ModelTurn], AnswerSpec]
    kinds: tuple[KindDefinition, ...] = ()
    """Kinds that only this conversation accepts."""
    asks: bool = True
    """Whether a surface with a button suspends the node."""


async def _generate(
    context: NodeContext, call: NodeCall, request: ModelRequest, goal: _Goal
) -> GeneratedEnvelope | Failed:
    """Continue the conversation until the model has sent an envelope of the kind, or an error."""
    rounds, calls, next_request, others = 0, 0, request, list[Accepted]()
    for _ in range(MAX_TURNS):
        turn = ModelTurn(context, call, goal.contract, rounds, goal.kinds, _result_kind=goal.kind.name, _asks=goal.asks)
        attempts = AnswerAttempts(context, call.node_id, goal.answer_spec(turn), rounds, calls)
        result = await attempts.ask(next_request)
        if isinstance(result, Failed):
            return result
        _, answer = result
        calls += attempts.retries
        failed = await turn.send(answer)
        if failed is not None:
            return failed
        rounds += attempts.retries + turn.used_rounds
        if turn.clarified:
            # The model sent these envelopes without knowing the answer to its question, so results are dropped.
            others += [each for each in turn.accepted if each.type not in (goal.kind.name, ERROR_KIND)]
            next_request = _next_request(next_request, answer, turn.fragments)
            continue
        calls += 1
        others += turn.accepted
        found = next((each for each in others if each.type == goal.kind.name), None)
        found = found or next((each for each in others if each.type == ERROR_KIND), None)
        if found is not None:
            rest = tuple(each for each in others if each is not found)
            return GeneratedEnvelope(found, answer, rest, turn.replies.get(found.envelope_id))
        if rounds > context.limits.schema_rounds:
            return _out_of_rounds(context, call.node_id, rounds, calls)
        next_request = _next_request(next_request, answer, turn.fragments)
    return _out_of_turns()


def _answer_spec(
    name: str,
    schema: dict[str, Any],
    read: Callable[[str], Extraction | None],
    check: Callable[[ModelAnswer, Any], list[Violation]],
) -> AnswerSpec:
    correct = partial(_correction, name, schema)
    return AnswerSpec(name, read, check, correct, schema, coercion_instructions(name, schema))


def _as_envelope(document: Any, kind: KindDefinition) -> Any:
    """The document as an envelope. A model may send the bare payload of the requested kind."""
    if not looks_like_envelope(document):
        if is_universal(document) and not is_described(kind.schema, document):
            return document
        return {"type": kind.name, "schemaVersion": kind.version, "payload": document}
    # The model got the schema of this version, so this is the default version.
    return {"schemaVersion": kind.version, **document} if document["type"] == kind.name else document


def _correction(name: str, schema: dict[str, Any], mismatch: MismatchedAnswer) -> str:
    return correction(mismatch.violations, name, schema) if mismatch.violations else unreadable_correction(name)


def _events_of_text(
    turn: ModelTurn,
    request: ModelRequest,
    attempt: int,
    answer: ModelAnswer,
) -> tuple[EmitEvent | AppendLog, ...]:
    """The events about the answer to a request for a text, committed together with it."""
    node_id = turn.node_id
    if answer.stop == "content-filter":
        prompts = [request.system, *(message.text for message in request.messages)]
        refusal = refusal_event(node_id, answer.provider, answer.model, answer.refusal, answer.safety_category, prompts)
        return (EmitEvent.of(refusal),)
    if answer.stop != "stop" or not may_hold_envelopes(answer.text):
        return ()
    if violations := _check_text(turn, answer):
        if attempt >= _attempts(turn.context, turn.rounds):
            return ()
        error = violation_summary(violations)
        return (EmitEvent.of(retry_attempted_event(node_id, attempt + 1, "schema-violation", error)),)
    found = read_text(answer.text)
    if found is not None and found.path == "jsonrepair":
        return (EmitEvent.of(EnvelopeRecoveryApplied(node_id, found.path, found.offset)),)
    return ()


def _attempts(context: NodeContext, rounds: int) -> int:
    """Model calls for one answer, including the first, after this many rounds of the conversation."""
    limits = context.limits
    return attempts_allowed(max(limits.schema_rounds - rounds, 0), limits.max_retry_attempts)


def _with_directive(context: NodeContext, request: ModelRequest, directive: str, streams: bool = False) -> ModelRequest:
    """env-27 (RFC 0021): an answer that has to be an envelope is not streamed before the gate has judged it. A surface
    is (RFC 0102): readers see it grow, and cannot act on it."""
    whole = f"{context.prompt_directive}\n\n{directive}".lstrip()
    return _with_system(request if streams else msgspec.structs.replace(request, stream=False), whole)


def _with_system(request: ModelRequest, directive: str) -> ModelRequest:
    """The request with this text at the end of its system prompt."""
    if not directive:
        return request
    return msgspec.structs.replace(request, system=f"{request.system}\n\n{directive}" if request.system else directive)


def _next_request(request: ModelRequest, answer: ModelAnswer, fragments: list[str]) -> ModelRequest:
    """The request of the next turn: the conversation so far, the answer of the model, and the host's reply."""
    reply = Message("assistant", answer.text)
    # With role "user", not "system", because the fragments can contain answers of people.
    instructions = Message("user", "\n\n".join(fragments) or "Continue.")
    return msgspec.structs.replace(request, messages=(*request.messages, reply, instructions))


def _out_of_rounds(context: NodeContext, node_id: str, rounds: int, calls: int) -> Failed:
    limit = context.limits.schema_rounds
    breach = CapBreached("schema", limit, max(rounds, limit + 1), node_id)
    message = f"The model did not send what was requested within its limit of {limit} rounds."
    exhausted = retry_exhausted_event(node_id, calls, "type-mismatch", message)
    return Failed("envelope_invalid", message, effects=(EmitEvent.of(exhausted), EmitEvent.of(breach)))


def _out_of_turns() -> Failed:
    return Failed("envelope_invalid", f"The model did not finish within {MAX_TURNS} turns.", retryable=False)
