"""The outcomes of the gate. They are values, not exceptions, and their reasons never quote the submitted document.

Source: RFC 0021 (outcomes), readings (Envelopes).
"""

from typing import Any, Literal

import msgspec

from weftwork.protocol.run.events import Trust

RefusalMode = Literal["fail-node", "discard-and-warn"]
CapKind = Literal["envelopes", "schema", "clarification"]


class OutcomeDetail(msgspec.Struct, frozen=True, rename="camel"):
    """One violation of a schema: its location, the keyword, and the requirement. Contains no submitted value."""

    instance_path: str
    schema_path: str
    keyword: str
    message: str


class Accepted(msgspec.Struct, frozen=True):
    """The envelope is accepted. `payload` is redacted; the removed secrets are stored nowhere."""

    type: str
    envelope_id: str
    correlation_id: str
    payload: Any
    content_trust: Trust = "trusted"
    schema_version: int = 0
    redactions: int = 0
    drift: bool = False
    """Whether the envelope has an older version than the schema it was checked against."""
    event_ids: tuple[str, ...] = ()
    """Ids of the events that were recorded for this envelope."""
    warnings: tuple[str, ...] = ()


class Invalid(msgspec.Struct, frozen=True):
    """The envelope violates a rule. The model may send a corrected one."""

    code: str
    """invalid_envelope_shape, unknown_envelope_kind, envelope_invalid, unknown_schema_version, capability_required,
    envelope_correlation_conflict or untrusted_content_blocks_approval."""
    reason: str
    details: tuple[OutcomeDetail, ...] = ()


class Gated(msgspec.Struct, frozen=True):
    """The host or the node does not accept this kind."""

    code: str
    """unknown_envelope_kind if the host does not accept the kind, envelope_contract_violation if the node does not."""
    reason: str
    type: str
    allowed: tuple[str, ...]
    refusal_mode: RefusalMode = "fail-node"
    payload: Any = None
    """The redacted payload of a display kind that the host cannot display. None for other kinds."""
    content_trust: Trust = "trusted"
    correlation_id: str = ""


class Breached(msgspec.Struct, frozen=True):
    """The envelope exceeds a cap."""

    cap_kind: CapKind
    limit: int
    observed: int
    """Always above the limit."""
    reason: str
    content_trust: Trust = "trusted"
    correlation_id: str = ""


EnvelopeOutcome = Accepted | Invalid | Gated | Breached


def outcome_document(outcome: EnvelopeOutcome) -> dict[str, Any]:
    """env-02 (RFC 0021, outcomes): the outcome as a document, with every member that the RFC defines."""
    match outcome:
        case Accepted():
            document: dict[str, Any] = {
                "status": "accepted",
                "recordedEventIds": list(outcome.event_ids),
                "envelopeId": outcome.envelope_id,
                "normalizedMeta": {"contentTrust": outcome.content_trust},
                "redactedPayload": outcome.payload,
                "redactionCount": outcome.redactions,
            }
            if outcome.warnings:
                document["normalizerWarnings"] = [
                    {"field": "/payload", "reason": each, "originalShape": "unknown"} for each in outcome.warnings
                ]
            return document
        case Invalid():
            details = [msgspec.to_builtins(each) for each in outcome.details]
            return {"status": "invalid", "reason": outcome.reason, "details": details}
        case Gated():
            allowed = list(outcome.allowed)
            gate = {"refusedType": outcome.type, "acceptedTypes": allowed, "refusalMode": outcome.refusal_mode}
            gate["code"] = outcome.code
            return {"status": "gated", "reason": outcome.reason, "allowedKinds": allowed, "gate": gate}
        case Breached():
            return {"status": "breached", "reason": outcome.reason, "capKind": outcome.cap_kind}
