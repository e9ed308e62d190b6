"""Generates a text, a value or an envelope with a model, for AI nodes and for nodes in Python.

Every envelope in an answer goes through the gate. The conversation with the model goes on until the wanted thing is
there: clarifications are asked of people, schemas are sent on request, and mistakes are sent back with a correction.
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
"""The kind of a value that only one node knows the shape of."""
DEFAULT_SHAPE_NAME: Final = "structured-output"
MAX_SHAPE_NAME: Final = 128
MAX_TURNS: Final = 32
"""Answers for one envelope, whatever they hold."""


class GeneratedText(msgspec.Struct, frozen=True):
    """A text, and the envelopes that stood in it."""

    answer: ModelAnswer
    envelopes: tuple[Accepted, ...] = ()


class GeneratedValue(msgspec.Struct, frozen=True):
    """A value of the wanted shape."""

    value: Any
    answer: ModelAnswer


class GeneratedEnvelope(msgspec.Struct, frozen=True):
    """An envelope of the wanted kind, or the model's word that it could not make one."""

    accepted: Accepted
    answer: ModelAnswer
    others: tuple[Accepted, ...] = ()


async def generate_text(
    context: NodeContext, call: NodeCall, request: ModelRequest, said: tuple[EmitEvent | AppendLog, ...] = ()
) -> GeneratedText | Failed:
    """A text. Envelopes in it go through the gate like any other; a question in it is asked, and the model goes on
    with its answer. `said` is told along with the first answer."""
    asked = request
    found: list[Accepted] = []
    rounds = 0
    for number in range(MAX_TURNS):
        told = said if not number else ()
        answer = await context.generate(asked, partial(_events_of_answer, call.node_id, request, told))
        if answer.stop == "content-filter":
            return Failed("envelope_refusal", REFUSAL_MESSAGE, retryable=False)
        turn = _ModelTurn(context, call, call.contract, rounds)
        documents = find_envelopes(answer.text) if answer.stop == "stop" else None
        for document in documents.documents if documents is not None else ():
            known = context.envelope_kind(document["type"]) is not None
            checked = context.check_envelope(document, turn.emission(answer)) if known else None
            if not isinstance(checked, CheckedEnvelope):
                # It only looks like one: text is text.
                continue
            failed = await turn.send(checked, answer)
            if failed is not None and failed.code != CORRELATION_CONFLICT:
                return failed
        found += turn.others
        rounds = turn.rounds if turn.clarified or turn.rounds > rounds else rounds + 1
        if not turn.fragments or rounds > context.limits.schema_rounds:
            return GeneratedText(answer, tuple(found))
        asked = _next_request(asked, answer, turn.fragments)
    return _out_of_turns()


def output_shape(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of the shape that a value is to have, which is the title of its schema, and the schema without `$id`:
    references never leave it, so the name that it goes by elsewhere is of no use."""
    title = schema.get("title")
    name = title[:MAX_SHAPE_NAME] if isinstance(title, str) and title else DEFAULT_SHAPE_NAME
    return name, {keyword: value for keyword, value in schema.items() if keyword != "$id"}


async def generate_value(
    context: NodeContext, call: NodeCall, request: ModelRequest, schema: dict[str, Any], name: str
) -> GeneratedValue | Failed:
    """A value that fits a schema, which has no `$id` and has passed the check for callers' schemas."""
    kind = KindDefinition(STRUCTURED_KIND, 1, schema)
    contract = EnvelopeContract(frozenset({STRUCTURED_KIND}))

    def check(answer: ModelAnswer, document: Any) -> list[Violation]:
        return check_value(schema, document, "")

    wish = AnswerSpec(
        name,
        partial(extract_value, clean=True),
        check,
        partial(_correction, name, schema),
        schema,
        coercion_instructions(name, schema),
    )
    asked = _with_directive(msgspec.structs.replace(request, response_schema=schema), output_directive(schema))
    result = await AnswerAttempts(context, call.node_id, wish).ask(asked)
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
    """An envelope of a kind. Questions are asked, schemas given and mistakes sent back on the way there."""
    wanted = context.envelope_kind(envelope_type)
    if wanted is None:
        message = "This host does not know the kind of envelope that the node wants."
        return Failed("unknown_envelope_kind", message, {"envelopeType": envelope_type}, retryable=False)
    accepts = (contract.accepts or frozenset[str]()) | {wanted.name}
    contract = msgspec.structs.replace(contract, accepts=accepts)
    reasons = "reasoning" in wanted.schema.get("properties", {})
    asked = _with_directive(request, envelope_directive(wanted.name, wanted.version, wanted.schema, reasons))
    asked = msgspec.structs.replace(asked, payload_schema=wanted.schema)
    rounds = 0
    others: list[Accepted] = []
    for _ in range(MAX_TURNS):
        turn = _ModelTurn(context, call, contract, rounds)
        attempts = AnswerAttempts(context, call.node_id, turn.answer_spec(wanted), rounds)
        result = await attempts.ask(asked)
        if isinstance(result, Failed):
            return result
        _, answer = result
        rounds += attempts.retries
        for checked in turn.checked:
            failed = await turn.send(checked, answer)
            if failed is not None and failed.code != CORRELATION_CONFLICT:
                return failed
        if turn.clarified:
            # What the model sent beside its question it made without the answer.
            others += [each for each in turn.others if each.type not in (wanted.name, ERROR_KIND)]
            asked = _next_request(asked, answer, turn.fragments)
            continue
        others += turn.others
        known = next((each for each in others if each.type == wanted.name), None)
        known = known or next((each for each in others if each.type == ERROR_KIND), None)
        if known is not None:
            return GeneratedEnvelope(known, answer, tuple(each for each in others if each is not known))
        rounds = turn.rounds if turn.rounds > rounds else rounds + 1
        if rounds > context.limits.schema_rounds:
            return _out_of_rounds(context, call.node_id, rounds)
        asked = _next_request(asked, answer, turn.fragments)
    return _out_of_turns()


class _ModelTurn(msgspec.Struct, eq=False):
    """The envelopes of one answer, one after the other."""

    _context: NodeContext
    _call: NodeCall
    _contract: EnvelopeContract
    rounds: int = 0
    _sent: int = 0
    checked: list[CheckedEnvelope] = []
    """The envelopes of the newest answer that have passed the check; of a complete answer, all of them."""
    clarified: bool = False
    others: list[Accepted] = []
    fragments: list[str] = []
    """The message to the model in its next turn."""

    def emission(self, answer: ModelAnswer) -> Emission:
        return Emission(answer.turn, self._sent, self.rounds, self._contract)

    def answer_spec(self, wanted: KindDefinition) -> AnswerSpec:
        def check(answer: ModelAnswer, document: Any) -> list[Violation]:
            checked = self._context.check_envelope(_as_envelope(document, wanted), self.emission(answer))
            if isinstance(checked, Invalid):
                return _violations(checked)
            self.checked.append(checked)
            return []

        correct = partial(_correction, wanted.name, wanted.schema)
        return AnswerSpec(
            wanted.name,
            self._read,
            check,
            correct,
            wanted.schema,
            coercion_instructions(wanted.name, wanted.schema),
        )

    def _read(self, text: str) -> Extraction | None:
        self.checked = []
        found = extract_envelopes(text, clean=True)
        if found is None:
            return None
        origin = EnvelopeOrigin(self._call.run_id, self._call.node_id, "pieces", 0, self._context.started_at, "trusted")
        return msgspec.structs.replace(found, documents=reassemble(found.documents, origin))

    async def send(self, envelope: CheckedEnvelope, answer: ModelAnswer) -> Failed | None:
        """Send an envelope through the gate and do what its kind asks for; or why the node fails by it."""
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
            said = encode_stored(resolution.value).decode()
            fenced = wrap_untrusted(resolution.value, type="answers") if resolution.untrusted else said
            self.fragments.append(f"Answers to your questions, by id:\n{fenced}")
        elif outcome.type == SCHEMA_REQUEST_KIND:
            self.rounds += 1
            known = self._context.envelope_kind(outcome.payload["envelopeType"])
            self.fragments.append(
                schema_response_text(known.name, known.version, known.schema)
                if known is not None
                else unknown_kind_text(UNIVERSAL_KINDS)
            )
        elif outcome.type == ERROR_KIND or outcome.type not in UNIVERSAL_KINDS:
            self.others.append(outcome)
        return None


def _as_envelope(document: Any, wanted: KindDefinition) -> Any:
    """A model may send the bare payload of what it was asked for."""
    if not looks_like_envelope(document):
        return {"type": wanted.name, "schemaVersion": wanted.version, "payload": document}
    # The model was shown the schema of this version.
    return {"schemaVersion": wanted.version, **document} if document["type"] == wanted.name else document


def _violations(outcome: Invalid) -> list[Violation]:
    found = [Violation(each.instance_path, each.keyword, each.message) for each in outcome.details]
    return found or [Violation("", outcome.code, outcome.reason)]


def _correction(name: str, schema: dict[str, Any], unfit: MismatchedAnswer) -> str:
    return correction(unfit.violations, name, schema) if unfit.violations else unreadable_correction(name)


def _events_of_answer(
    node_id: str, request: ModelRequest, said: tuple[EmitEvent | AppendLog, ...], answer: ModelAnswer
) -> tuple[EmitEvent | AppendLog, ...]:
    if answer.stop != "content-filter":
        return said
    prompts = [request.system, *(message.text for message in request.messages)]
    refusal = refusal_event(node_id, answer.provider, answer.model, answer.refusal, answer.safety_category, prompts)
    return (*said, EmitEvent.of(refusal))


def _with_directive(request: ModelRequest, directive: str) -> ModelRequest:
    """env-27 (RFC 0021): what is to be an envelope is shown to nobody before the gate has judged it."""
    return msgspec.structs.replace(request, system=f"{request.system}\n\n{directive}".strip(), stream=False)


def _next_request(request: ModelRequest, answer: ModelAnswer, fragments: list[str]) -> ModelRequest:
    """The next turn: what the model said, and what the host has to say to it."""
    said = Message("assistant", answer.text)
    # As the user: what people answered has no more weight than what they asked for.
    told = Message("user", "\n\n".join(fragments) or "Go on.")
    return msgspec.structs.replace(request, messages=(*request.messages, said, told))


def _failure_of_outcome(outcome: Any) -> Failed:
    failure = envelope_failure(outcome)
    if failure is None:
        return Failed("envelope_contract_violation", "The model sent nothing that this node takes.", retryable=False)
    return Failed(failure.code, failure.message, failure.details or None, cause=failure.cause)


def _out_of_rounds(context: NodeContext, node_id: str, rounds: int) -> Failed:
    limit = context.limits.schema_rounds
    breach = CapBreached("schema", limit, max(rounds, limit + 1), node_id)
    message = "The model sent no envelope of the wanted kind in as many turns as it has."
    exhausted = retry_exhausted_event(node_id, max(rounds, 1), "type-mismatch", message)
    return Failed("envelope_invalid", message, effects=(EmitEvent.of(exhausted), EmitEvent.of(breach)))


def _out_of_turns() -> Failed:
    return Failed("envelope_invalid", f"The model came to no end in {MAX_TURNS} turns.", retryable=False)
