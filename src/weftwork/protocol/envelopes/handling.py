"""What an outcome of the gate adds to the log: its record first, then the events of its kind.

All of it is committed together, so the events of a handler are in the log exactly if the record is. A clarification
that a model asks for becomes an interrupt for people. Source: RFC 0021 (projection, clarification).
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.protocol.envelopes.gate_rules import EnvelopeContract, RecordedOutcome
from weftwork.protocol.envelopes.kinds import (
    ERROR_KIND,
    MEDIA_KINDS,
    SCHEMA_REQUEST_KIND,
    SCHEMA_RESPONSE_KIND,
    UNIVERSAL_KINDS,
)
from weftwork.protocol.envelopes.outcome import Accepted, Breached, EnvelopeOutcome, Gated, Invalid
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.run.events import Draft, Trust
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.model_payloads import EnvelopeRecorded
from weftwork.protocol.run.payloads import ArtifactCreated, CapBreached, LogAppended

NODE_CAPS: Final = frozenset({"envelopes", "schema", "clarification"})
"""Kinds of breaches that fail a node, and not the run as a whole."""
_NODE_SCOPED: Final = frozenset({"schema", "clarification"})


class JudgedEnvelope(msgspec.Struct, frozen=True):
    """An outcome that is to be recorded, and for which envelope."""

    node_id: str
    type: str
    correlation_id: str
    envelope_id: str
    outcome: Accepted | Gated | Breached
    schema_version: int = 0
    floor: int | None = None
    """The advertised version of its kind, where it was written for an older one."""
    rendering: dict[str, Any] | None = None
    """Of media: the hint for those who show it."""


class EnvelopeFailure(msgspec.Struct, frozen=True):
    code: str
    message: str
    details: dict[str, Any]
    cause: str | None = None
    """The correlation id of an envelope that is recorded."""


def outcome_events(judged: JudgedEnvelope, contract: EnvelopeContract) -> tuple[Draft, ...]:
    """env-23 (RFC 0021, projection): the record of an outcome and the events of its handler, all of them caused by it.

    Not among them: the question of a clarification, and the failure of the node, which whoever runs the node adds.
    """
    drafts = (Draft.of(_record_payload(judged), judged.node_id), *_handler_events(judged, contract))
    return with_cause(drafts, judged.correlation_id, judged.outcome.content_trust)


def with_cause(drafts: tuple[Draft, ...], correlation_id: str, trust: Trust) -> tuple[Draft, ...]:
    """env-24 (RFC 0021, projection): events that follow from an envelope name it as their cause and carry its trust."""
    return tuple(msgspec.structs.replace(draft, causation_id=correlation_id, content_trust=trust) for draft in drafts)


def envelope_failure(outcome: EnvelopeOutcome) -> EnvelopeFailure | None:
    """env-25 (RFC 0021, outcomes): how a node fails by an outcome; None if it goes on."""
    match outcome:
        case Accepted():
            return None
        case Invalid(code, reason, details):
            places = [each.instance_path for each in details]
            return EnvelopeFailure(code, f"The envelope was refused: {reason}", {"pointers": places} if places else {})
        case Gated():
            if outcome.refusal_mode == "discard-and-warn":
                return None
            details = {"refusedType": outcome.type, "acceptedTypes": list(outcome.allowed)}
            message = "The model sent an envelope of a kind that is not taken here."
            return EnvelopeFailure("envelope_contract_violation", message, details, outcome.correlation_id or None)
        case Breached(kind, limit, observed, reason):
            details = {"kind": kind, "limit": limit, "observed": observed}
            return EnvelopeFailure("cap_breached", reason, details, outcome.correlation_id or None)


def recorded_outcome(payload: dict[str, Any], trust: Trust | None) -> RecordedOutcome:
    """The record again, from the event."""
    kind: str = payload["type"]
    stands, correlation_id = trust or "trusted", payload["correlationId"]
    match payload["status"]:
        case "accepted":
            outcome: EnvelopeOutcome = Accepted(
                kind,
                payload["envelopeId"],
                correlation_id,
                payload.get("payload"),
                stands,
                payload.get("schemaVersion", 0),
                payload.get("redactionCount", 0),
                payload.get("drift", False),
            )
        case "gated":
            outcome = Gated(
                payload["code"],
                payload["reason"],
                kind,
                tuple(payload["allowedKinds"]),
                payload["refusalMode"],
                payload.get("payload"),
                stands,
                correlation_id,
            )
        case _:
            limit, observed, reason = payload["limit"], payload["observed"], payload["reason"]
            outcome = Breached(payload["capKind"], limit, observed, reason, stands, correlation_id)
    return RecordedOutcome(kind, outcome)


def _record_payload(judged: JudgedEnvelope) -> EnvelopeRecorded:
    known = judged.node_id, judged.correlation_id, judged.envelope_id, judged.type, judged.schema_version
    match judged.outcome:
        case Accepted() as accepted:
            return EnvelopeRecorded(
                *known,
                "accepted",
                accepted.payload,
                redaction_count=accepted.redactions,
                rendering=UNSET if judged.rendering is None else judged.rendering,
                drift=accepted.drift or UNSET,
                floor=UNSET if judged.floor is None or not accepted.drift else judged.floor,
            )
        case Gated() as gated:
            return EnvelopeRecorded(
                *known,
                "gated",
                UNSET if gated.payload is None else gated.payload,
                code=gated.code,
                reason=gated.reason,
                allowed_kinds=list(gated.allowed),
                refusal_mode=gated.refusal_mode,
            )
        case Breached(kind, limit, observed, reason):
            return EnvelopeRecorded(*known, "breached", reason=reason, cap_kind=kind, limit=limit, observed=observed)


def _handler_events(judged: JudgedEnvelope, contract: EnvelopeContract) -> tuple[Draft, ...]:
    node_id = judged.node_id
    match judged.outcome:
        case Breached(kind, limit, observed):
            # lim-15 (RFC 0021, limits): a limit of one node names it, that of a turn does not.
            named = node_id if kind in _NODE_SCOPED else UNSET
            return (Draft.of(CapBreached(kind, limit, observed, named), node_id),)
        case Gated() as gated:
            if gated.refusal_mode == "fail-node":
                return ()
            fields = {"refusedType": gated.type, "acceptedTypes": list(gated.allowed)}
            return (_log_event(node_id, "warn", "An envelope of a kind that is not taken here was set aside.", fields),)
        case Accepted(payload=content):
            if judged.type == ERROR_KIND:
                fields = {"code": content["code"], "message": content["message"]}
                return (_log_event(node_id, "error", "The model reports that it could not do what was asked.", fields),)
            if judged.type in (SCHEMA_REQUEST_KIND, SCHEMA_RESPONSE_KIND):
                word = "asks for" if judged.type == SCHEMA_REQUEST_KIND else "has understood"
                fields = {"envelopeType": content["envelopeType"]}
                return (_log_event(node_id, "debug", f"The model {word} the schema of a kind.", fields),)
            if judged.type in MEDIA_KINDS:
                return _media_events(judged, content)
            if judged.type in contract.artifacts and judged.type not in UNIVERSAL_KINDS:
                made = ArtifactCreated(judged.envelope_id, judged.type, node_id, "1", content)
                return (Draft.of(made, node_id),)
            return ()


def _media_events(judged: JudgedEnvelope, content: dict[str, Any]) -> tuple[Draft, ...]:
    """media-88 (readings, Media events): an event of the kind itself, which is what readers look for, with exactly the
    payload of the envelope. Without a description it is told that some will not know what is shown."""
    event = Draft(judged.type, content, judged.node_id)
    if content.get("alt"):
        return (event,)
    fields = {"type": judged.type, "envelopeId": judged.envelope_id}
    return event, _log_event(judged.node_id, "warn", "Media were shown without a description (alt).", fields)


def _log_event(node_id: str, level: str, message: str, fields: dict[str, Any]) -> Draft:
    return Draft.of(LogAppended(level, message, node_id, fields), node_id)


def clarification_interrupt(accepted: Accepted) -> Interrupt:
    """env-22 (RFC 0021, clarification): the questions in their order, with their ids, in the closed form of an
    interrupt; their context and the model's reasoning stay in the record.

    A schema that is outside the dialect for answers is left out: that question takes free text.
    """
    payload: dict[str, Any] = accepted.payload
    data: dict[str, Any] = {"questions": [_question(each) for each in payload["questions"]]}
    if "contextType" in payload:
        data["contextType"] = payload["contextType"]
    return Interrupt("clarification", f"envelope:{accepted.correlation_id}", data)


def _question(given: dict[str, Any]) -> dict[str, Any]:
    question = {"id": given["id"], "question": given["question"]}
    if "schema" in given and not check_caller_schema(given["schema"], ""):
        question["schema"] = given["schema"]
    return question
