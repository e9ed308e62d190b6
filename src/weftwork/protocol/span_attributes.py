"""What spans say of envelopes and of calls to models: names, numbers and codes, never what was said.

Sources: RFC 0021 (projection of outcomes), RFC 0032 (reliability), OpenWOP observability (cost attributes).
"""

from typing import Any, Final

from weftwork.protocol.credential_patterns import mask_text
from weftwork.protocol.trust import TRUSTED

MAX_ATTRIBUTE: Final = 256
"""Characters of a text in an attribute."""

RELIABILITY: Final[dict[str, dict[str, str]]] = {
    "envelope.retry.attempted": {
        "attempt": "openwop.envelope.retry.attempt",
        "reason": "openwop.envelope.retry.reason",
    },
    "envelope.retry.exhausted": {
        "totalAttempts": "openwop.envelope.retry.total_attempts",
        "finalReason": "openwop.envelope.retry.final_reason",
    },
    "envelope.refusal": {"safetyCategory": "openwop.envelope.refusal.safety_category"},
    "envelope.truncated": {
        "stopReason": "openwop.envelope.truncated.stop_reason",
        "outputTokenCount": "openwop.envelope.truncated.output_token_count",
    },
    "envelope.nlToFormat.engaged": {"fallbackCalls": "openwop.envelope.nl_to_format.fallback_calls"},
    "envelope.recovery.applied": {
        "path": "openwop.envelope.recovery.path",
        "byteOffset": "openwop.envelope.recovery.byte_offset",
    },
}
"""trace-06 (RFC 0032): members of the events that a node span tells; the texts of refusals and errors are none."""

_ENVELOPE: Final[dict[str, tuple[str, ...]]] = {
    "type": ("envelope_type", "openwop.envelope_kind"),
    "status": ("envelope_outcome",),
    "correlationId": ("envelope_correlation_id",),
    "schemaVersion": ("envelope_schema_version",),
    "floor": ("envelope_schema_version_floor",),
    "envelopeId": ("envelope_id", "openwop.envelope_id"),
}
_TOKENS: Final = {"inputTokens": "openwop.cost.tokens.input", "outputTokens": "openwop.cost.tokens.output"}
_TOTAL: Final = "openwop.cost.tokens.total"
_PROVIDER: Final = "openwop.cost.provider"


def envelope_attributes(payload: dict[str, Any], trust: str | None) -> dict[str, Any]:
    """trace-05 (RFC 0021): an outcome of the gate without its payload; drift is told only where there is some."""
    attributes: dict[str, Any] = {}
    for member, names in _ENVELOPE.items():
        if (value := _plain(payload.get(member))) is not None:
            attributes |= dict.fromkeys(names, value)
    if payload.get("drift") is True:
        attributes["envelope_schema_version_drift"] = True
    attributes["envelope_content_trust"] = trust or TRUSTED
    return attributes


def reliability_attributes(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """trace-06: of one of the six events."""
    found = {name: _plain(payload.get(member)) for member, name in RELIABILITY[kind].items()}
    return {name: value for name, value in found.items() if value is not None}


def add_cost(attributes: dict[str, Any], payload: dict[str, Any]) -> None:
    """trace-07 (OpenWOP observability): tokens of one more call, and who was called; nothing else of it is told."""
    for member, name in _TOKENS.items():
        attributes[name] = attributes.get(name, 0) + count_of(payload.get(member))
    attributes[_TOTAL] = sum(attributes[name] for name in _TOKENS.values())
    if (provider := _plain(payload.get("provider"))) is not None:
        attributes[_PROVIDER] = provider


def count_of(value: Any) -> int:
    """A number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _plain(value: Any) -> str | int | bool | None:
    """A value as an attribute may hold it; None for anything else."""
    if isinstance(value, str):
        return mask_text(value)[:MAX_ATTRIBUTE]
    return value if isinstance(value, bool | int) else None
