"""Outcomes: what the gate says of an envelope. Values, never exceptions; none of them repeats what was sent.

Source: RFC 0021 (outcomes), readings (Envelopes).
"""

from typing import Any, Literal

import msgspec

from weftwork.protocol.run.events import Trust

RefusalMode = Literal["fail-node", "discard-and-warn"]
CapKind = Literal["envelopes", "schema", "clarification"]


class OutcomeDetail(msgspec.Struct, frozen=True, rename="camel"):
    """One broken rule of a schema: where, by which keyword, and what would be right. Holds no submitted value."""

    instance_path: str
    schema_path: str
    keyword: str
    message: str


class Accepted(msgspec.Struct, frozen=True):
    """The envelope is good. `payload` is redacted: what was removed from it is gone for everyone."""

    type: str
    envelope_id: str
    correlation_id: str
    payload: Any
    content_trust: Trust = "trusted"
    schema_version: int = 0
    redactions: int = 0
    drift: bool = False
    """Whether it was written for an older version of its kind than the one it was checked against."""
    event_ids: tuple[str, ...] = ()
    """Of the events that acceptance has recorded."""
    warnings: tuple[str, ...] = ()


class Invalid(msgspec.Struct, frozen=True):
    """The envelope cannot be taken as it is; its author may try again."""

    code: str
    """invalid_envelope_shape, unknown_envelope_kind, envelope_invalid, unknown_schema_version, capability_required,
    envelope_correlation_conflict or untrusted_content_blocks_approval."""
    reason: str
    details: tuple[OutcomeDetail, ...] = ()


class Gated(msgspec.Struct, frozen=True):
    """A kind that this host, or this node, does not take."""

    code: str
    """unknown_envelope_kind: not of this host; envelope_contract_violation: not of this node."""
    reason: str
    type: str
    allowed: tuple[str, ...]
    refusal_mode: RefusalMode = "fail-node"
    payload: Any = None
    """Redacted; of a kind of the protocol that the host does not show, which is kept without being shown."""
    content_trust: Trust = "trusted"
    correlation_id: str = ""


class Breached(msgspec.Struct, frozen=True):
    """One envelope too many."""

    cap_kind: CapKind
    limit: int
    observed: int
    """Always above the limit."""
    reason: str
    content_trust: Trust = "trusted"
    correlation_id: str = ""


EnvelopeOutcome = Accepted | Invalid | Gated | Breached


def outcome_document(outcome: EnvelopeOutcome) -> dict[str, Any]:
    """env-02 (RFC 0021, outcomes): the outcome as a document, with every member that its readers look for."""
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
