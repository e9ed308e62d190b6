"""Turns outcomes of the gate into events: first the record of the outcome, then the events of the envelope's kind.

All events of an outcome are committed together, so the log holds either all of them or none. A clarification request
from a model becomes an interrupt. Source: RFC 0021 (projection, clarification).
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.protocol.envelopes.gate_rules import EnvelopeContract, RecordedOutcome
from weftwork.protocol.envelopes.kinds import (
    ERROR_KIND,
    MEDIA_KINDS,
    SCHEMA_REQUEST_KIND,
    SCHEMA_RESPONSE_KIND,
    SURFACE_KIND,
    UNIVERSAL_KINDS,
)
from weftwork.protocol.envelopes.outcome import Accepted, Breached, EnvelopeOutcome, Gated, Invalid
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.privacy.secret_matcher import SecretMatcher, redact_value
from weftwork.protocol.run.events import Draft, Trust
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.model_payloads import EnvelopeRecorded
from weftwork.protocol.run.payloads import ArtifactCreated, CapBreached, LogAppended
from weftwork.protocol.surfaces.actions import answer_schema, target_of
from weftwork.protocol.surfaces.surface import Surface

NODE_CAPS: Final = frozenset({"envelopes", "schema", "clarification"})
"""Caps whose breach fails the node instead of the run."""
_NODE_SCOPED: Final = frozenset({"schema", "clarification"})


RECORDED_META: Final = ("rendering", "label", "traceparent")
"""The members of an envelope's `meta` that its record keeps."""


class JudgedEnvelope(msgspec.Struct, frozen=True):
    """An outcome to be recorded, with the names of its envelope."""

    node_id: str
    type: str
    correlation_id: str
    envelope_id: str
    outcome: Accepted | Gated | Breached
    schema_version: int = 0
    floor: int | None = None
    """The advertised version of the kind, if the envelope has an older one."""
    meta: dict[str, Any] = {}
    """The members of the envelope's `meta` that are recorded; see `recorded_meta`."""


def recorded_meta(meta: Mapping[str, Any], secrets: SecretMatcher | None) -> dict[str, Any]:
    """env-23 (RFC 0021, meta): the rendering hint, the label and the trace of an envelope, with secrets masked. They
    have no effect on the outcome, so only readers of the record see them."""
    members = {name: meta[name] for name in RECORDED_META if name in meta}
    return members if secrets is None else {name: redact_value(each, secrets)[0] for name, each in members.items()}


class EnvelopeFailure(msgspec.Struct, frozen=True):
    code: str
    message: str
    details: dict[str, Any]
    cause: str | None = None
    """The correlation id of the envelope, if its outcome is recorded."""


def outcome_events(judged: JudgedEnvelope, contract: EnvelopeContract) -> tuple[Draft, ...]:
    """env-23 (RFC 0021, projection): the record of the outcome, followed by the events of its kind. All of them
    name the envelope as their cause.

    The caller adds two events itself: the interrupt of a clarification request, and the failure of the node.
    """
    drafts = (Draft.of(_record_payload(judged), judged.node_id), *_handler_events(judged, contract))
    return with_cause(drafts, judged.correlation_id, judged.outcome.content_trust)


def with_cause(drafts: tuple[Draft, ...], correlation_id: str, trust: Trust) -> tuple[Draft, ...]:
    """env-24 (RFC 0021, projection): set the envelope as the cause of its events, and give them its trust."""
    return tuple(msgspec.structs.replace(draft, causation_id=correlation_id, content_trust=trust) for draft in drafts)


def envelope_failure(outcome: EnvelopeOutcome) -> EnvelopeFailure | None:
    """env-25 (RFC 0021, outcomes): the failure that an outcome causes for its node; None if the node continues."""
    match outcome:
        case Accepted():
            return None
        case Invalid(code, reason, details):
            pointers = [each.instance_path for each in details]
            return EnvelopeFailure(
                code, f"The envelope is invalid: {reason}", {"pointers": pointers} if pointers else {}
            )
        case Gated():
            if outcome.refusal_mode == "discard-and-warn":
                return None
            details = {"refusedType": outcome.type, "acceptedTypes": list(outcome.allowed)}
            message = (
                "The model sent an envelope of a kind that is not accepted. Add the kind to the `accepts` list of the "
                "node's envelope contract, or ask the model for an accepted kind."
            )
            return EnvelopeFailure("envelope_contract_violation", message, details, outcome.correlation_id or None)
        case Breached(kind, limit, observed, reason):
            details = {"kind": kind, "limit": limit, "observed": observed}
            return EnvelopeFailure("cap_breached", reason, details, outcome.correlation_id or None)


def recorded_outcome(payload: dict[str, Any], trust: Trust | None) -> RecordedOutcome:
    """Rebuild the recorded outcome from the payload and trust of its event."""
    kind: str = payload["type"]
    content_trust, correlation_id = trust or "trusted", payload["correlationId"]
    match payload["status"]:
        case "accepted":
            outcome: EnvelopeOutcome = Accepted(
                kind,
                payload["envelopeId"],
                correlation_id,
                payload.get("payload"),
                content_trust,
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
                content_trust,
                correlation_id,
            )
        case _:
            limit, observed, reason = payload["limit"], payload["observed"], payload["reason"]
            outcome = Breached(payload["capKind"], limit, observed, reason, content_trust, correlation_id)
    return RecordedOutcome(kind, outcome)


def _record_payload(judged: JudgedEnvelope) -> EnvelopeRecorded:
    names = judged.node_id, judged.correlation_id, judged.envelope_id, judged.type, judged.schema_version
    match judged.outcome:
        case Accepted() as accepted:
            return EnvelopeRecorded(
                *names,
                "accepted",
                accepted.payload,
                redaction_count=accepted.redactions,
                drift=accepted.drift or UNSET,
                floor=UNSET if judged.floor is None or not accepted.drift else judged.floor,
                **judged.meta,
            )
        case Gated() as gated:
            return EnvelopeRecorded(
                *names,
                "gated",
                UNSET if gated.payload is None else gated.payload,
                code=gated.code,
                reason=gated.reason,
                allowed_kinds=list(gated.allowed),
                refusal_mode=gated.refusal_mode,
                **judged.meta,
            )
        case Breached(kind, limit, observed, reason):
            caps: dict[str, Any] = {"cap_kind": kind, "limit": limit, "observed": observed}
            return EnvelopeRecorded(*names, "breached", reason=reason, **caps, **judged.meta)


def _handler_events(judged: JudgedEnvelope, contract: EnvelopeContract) -> tuple[Draft, ...]:
    node_id = judged.node_id
    match judged.outcome:
        case Breached(kind, limit, observed):
            # lim-15 (RFC 0021, limits): the breach of a per-node cap names the node; that of a per-turn cap does not.
            capped_node = node_id if kind in _NODE_SCOPED else UNSET
            return (Draft.of(CapBreached(kind, limit, observed, capped_node), node_id),)
        case Gated() as gated:
            if gated.refusal_mode == "fail-node":
                return ()
            fields = {"refusedType": gated.type, "acceptedTypes": list(gated.allowed)}
            return (_log_event(node_id, "warn", "An envelope of a kind that is not accepted was discarded.", fields),)
        case Accepted(payload=content):
            if judged.type == ERROR_KIND:
                fields = {"code": content["code"], "message": content["message"]}
                return (_log_event(node_id, "error", "The model reported an error.", fields),)
            if judged.type in (SCHEMA_REQUEST_KIND, SCHEMA_RESPONSE_KIND):
                verb = "requested" if judged.type == SCHEMA_REQUEST_KIND else "acknowledged"
                fields = {"envelopeType": content["envelopeType"]}
                return (_log_event(node_id, "debug", f"The model {verb} the schema of a kind.", fields),)
            if judged.type in MEDIA_KINDS:
                return _media_events(judged, content)
            if judged.type == SURFACE_KIND:
                # readings, Media events: the type of the event is the kind, and its payload that of the envelope.
                return (Draft(SURFACE_KIND, content, node_id),)
            if judged.type in contract.artifacts and judged.type not in UNIVERSAL_KINDS:
                artifact = ArtifactCreated(judged.envelope_id, judged.type, node_id, "1", content)
                return (Draft.of(artifact, node_id),)
            return ()


def _media_events(judged: JudgedEnvelope, content: dict[str, Any]) -> tuple[Draft, ...]:
    """media-88 (readings, Media events): an event whose type is the kind of the envelope and whose payload is the
    envelope's payload, unchanged. Media without `alt` also gets a warning, because people who cannot see or hear it
    need the description."""
    event = Draft(judged.type, content, judged.node_id)
    if content.get("alt"):
        return (event,)
    fields = {"type": judged.type, "envelopeId": judged.envelope_id}
    return event, _log_event(judged.node_id, "warn", "The media has no description; set `alt`.", fields)


def _log_event(node_id: str, level: str, message: str, fields: dict[str, Any]) -> Draft:
    return Draft.of(LogAppended(level, message, node_id, fields), node_id)


def clarification_interrupt(accepted: Accepted) -> Interrupt:
    """env-22 (RFC 0021, clarification): the interrupt for a clarification request, with its questions in order and
    under their ids. Their context and the model's reasoning are only in the record of the envelope, because the data of
    an interrupt allows no further members.

    A question whose schema is outside the dialect for callers' schemas accepts free text instead.
    """
    payload: dict[str, Any] = accepted.payload
    data: dict[str, Any] = {"questions": [_question(each) for each in payload["questions"]]}
    if "contextType" in payload:
        data["contextType"] = payload["contextType"]
    return Interrupt("clarification", f"envelope:{accepted.correlation_id}", data)


def surface_interrupt(accepted: Accepted, surface: Surface | None) -> Interrupt | None:
    """surf-10 (RFC 0102): the interrupt that a surface alone requests: none without a button, else a custom one whose
    answer is what a button sends. `surface` is that of the accepted payload."""
    if surface is None or not surface.buttons:
        return None
    return bind_surface(Interrupt("custom", f"envelope:{accepted.correlation_id}", {}), accepted, surface)


def surface_request(
    key: str, form: dict[str, Any] | None, timeout_ms: int | None = None, remind_after_ms: tuple[int, ...] = ()
) -> Interrupt:
    """The interrupt of a node that asks with a surface alone, before the gate has accepted the surface."""
    data = {"customKind": SURFACE_KIND}
    return Interrupt("custom", key, data, None, timeout_ms, remind_after_ms, form=form)


def requested_surface_id(data: Any) -> str:
    """The id of the surface that an interrupt of `surface_request` was bound to, from the data of the interrupt."""
    return data["payload"]["envelopeId"]


def surface_envelope(payload: Any) -> dict[str, Any]:
    """The envelope of a surface that a node wrote, before the gate fills in its ids."""
    return {"type": SURFACE_KIND, "schemaVersion": 1, "payload": payload, "meta": {"source": "system"}}


def bind_surface(interrupt: Interrupt, accepted: Accepted, surface: Surface | None) -> Interrupt:
    """surf-31 (RFC 0102): the interrupt with an accepted surface as its form. An answer to it is what a button of the
    surface sends; a clarification and an approval have rules of their own for their answers."""
    bound = msgspec.structs.replace(interrupt, surface=accepted.envelope_id, form=None)
    target = target_of(interrupt.kind)
    if surface is None or target is None or interrupt.kind in ("clarification", "approval"):
        return bound
    if interrupt.kind == "custom":
        named = {"title": surface.title} if isinstance(surface.title, str) else {}
        data = {"customKind": SURFACE_KIND, "payload": {"envelopeId": accepted.envelope_id, **named}}
        bound = msgspec.structs.replace(bound, data=data)
    return msgspec.structs.replace(bound, resume_schema=answer_schema(surface, target))


def _question(source: dict[str, Any]) -> dict[str, Any]:
    question = {"id": source["id"], "question": source["question"]}
    if "schema" in source and not check_caller_schema(source["schema"], ""):
        question["schema"] = source["schema"]
    return question
