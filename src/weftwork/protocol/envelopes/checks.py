"""Checks an envelope's shape, its version, and its payload.

The shape is the set of members that envelopes of every kind share. The schemas come from the protocol. The host also
enforces payload rules that the schemas do not express: the limits of surfaces, exactly one source per media item, and
which kinds a `schema.request` may name.
"""

import re
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS, SCHEMA_REQUEST_KIND, SURFACE_KIND, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.outcome import Invalid, OutcomeDetail
from weftwork.protocol.envelopes.validator import DocumentValidator
from weftwork.protocol.json.decoder import MAX_DEPTH
from weftwork.protocol.json.schema import MAX_REPORTED
from weftwork.protocol.json.schema import document as schema_document
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.limits import check_limits
from weftwork.protocol.surfaces.surface import CATALOG_VERSIONS

INVALID_SHAPE: Final = "invalid_envelope_shape"

INVALID_PAYLOAD: Final = "envelope_invalid"
UNKNOWN_KIND: Final = "unknown_envelope_kind"
UNKNOWN_VERSION: Final = "unknown_schema_version"
CORRELATION_CONFLICT: Final = "envelope_correlation_conflict"
PAYLOAD_POINTER: Final = "/payload"
SURFACE_SCHEMA: Final = "#/$defs/surface"
ENVELOPE_VALIDATOR: Final = DocumentValidator(schema_document("ai-envelope"))

_encode = msgspec.json.Encoder().encode
_INSTANT: Final = re.compile(
    r"\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|[12]\d))"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+", re.ASCII)


def encode_document(document: Any) -> bytes | None:
    """Encode the document as JSON. None if JSON cannot express it, or if it is nested deeper than the strict decoder
    allows (`MAX_DEPTH`)."""
    try:
        text = _encode(document)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    # Depth needs brackets. Most documents have fewer than MAX_DEPTH of them, so the walk is rarely needed.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _is_deeper(document, MAX_DEPTH):
        return None
    return text


def is_instant(text: str) -> bool:
    """env-05 (RFC 0021, meta): whether the text is a valid time with a time zone. The pattern never backtracks."""
    if _INSTANT.fullmatch(text) is None:
        return False
    if not text.startswith("02-29", 5):
        return True
    year = int(text[:4])
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def check_shape(document: Any, is_validated: bool = False) -> Invalid | None:
    """env-04 (RFC 0021, ai-envelope.schema.json): return why the document is not an envelope, or None if it is one.

    `is_validated` skips the schema check for a document that has already passed it.
    """
    if not is_validated and not ENVELOPE_VALIDATOR.is_valid(document):
        return invalid_outcome(INVALID_SHAPE, ENVELOPE_VALIDATOR.error_details(document, ""))
    if not is_instant(document["meta"]["ts"]):
        message = "must be an ISO 8601 time with a time zone, such as 2026-01-31T08:05:09Z"
        return invalid_at(INVALID_SHAPE, "/meta/ts", "#/$defs/meta/properties/ts/format", "format", message)
    return None


def invalid_outcome(code: str, details: tuple[OutcomeDetail, ...]) -> Invalid:
    """An Invalid outcome with these details. The first detail becomes the reason."""
    first = details[0]
    return Invalid(code, f"{code}: {first.instance_path or 'the document'} {first.message}", details)


def invalid_at(code: str, pointer: str, where: str, rule: str, message: str) -> Invalid:
    return invalid_outcome(code, (OutcomeDetail(pointer, where, rule, message),))


def correlation_conflict() -> Invalid:
    text = "is already used by an envelope of another kind"
    return invalid_at(CORRELATION_CONFLICT, "/correlationId", "#/properties/correlationId", "unique", text)


def _is_deeper(document: Any, depth: int) -> bool:
    level: list[Any] = [document]
    for _ in range(depth + 1):
        inner: list[Any] = []
        for value in level:
            if is_object(value):
                inner += value.values()
            elif is_array(value) or isinstance(value, tuple):
                inner += value
        level = inner
        if not level:
            return False
    return True


def check_version(emitted: int, advertised: int, strict: bool) -> Invalid | None:
    """env-07 (RFC 0021, versions): reject a version newer than the advertised one; if strict, also an older one."""
    if emitted > advertised:
        message = f"must be {advertised} or less"
    elif emitted < advertised and strict:
        message = f"must be {advertised}"
    else:
        return None
    rule = "maximum" if emitted > advertised else "minimum"
    return invalid_at(UNKNOWN_VERSION, "/schemaVersion", "#/properties/schemaVersion", rule, message)


def check_payload(
    kind: str, payload: Any, validator: DocumentValidator, supported: frozenset[str] | None, is_validated: bool = False
) -> Invalid | None:
    """env-06 (RFC 0021, RFC 0055, RFC 0102): return why the payload is not valid for its kind, or None if it is.

    `is_validated` skips the schema check, and the limits of a surface, for a payload that has already passed them.
    `supported` holds the kinds that the host accepts; None accepts any.
    """
    if not is_validated and not validator.is_valid(payload):
        return _check_catalog(kind, payload) or invalid_outcome(
            INVALID_PAYLOAD, validator.error_details(payload, PAYLOAD_POINTER)
        )
    if kind == SURFACE_KIND:
        return None if is_validated else _check_surface(payload)
    if kind in MEDIA_KINDS:
        return _check_media_source(payload)
    if kind == SCHEMA_REQUEST_KIND and supported is not None:
        requested_kind = payload["envelopeType"]
        if requested_kind not in supported and requested_kind not in UNIVERSAL_KINDS:
            text = "must be a kind that this host accepts"
            where = f"{PAYLOAD_POINTER}/envelopeType"
            return invalid_at(UNKNOWN_KIND, where, "#/properties/envelopeType", "enum", text)
    return None


def _check_catalog(kind: str, payload: Any) -> Invalid | None:
    """Report an unknown catalog version as such, because a surface of another catalog would also fail the schema with
    less helpful errors."""
    version = payload.get("catalogVersion") if kind == SURFACE_KIND and is_object(payload) else None
    if not isinstance(version, str) or version in CATALOG_VERSIONS:
        return None
    text = f"must be one of: {', '.join(CATALOG_VERSIONS)}"
    where = "#/properties/catalogVersion/enum"
    return invalid_at(UNKNOWN_VERSION, f"{PAYLOAD_POINTER}/catalogVersion", where, "enum", text)


def _check_surface(payload: dict[str, Any]) -> Invalid | None:
    """surf-03: reject a surface that breaches the limits of this host, with a diagnostic for each breach."""
    breaches = check_limits(payload, PAYLOAD_POINTER)[:MAX_REPORTED]
    details = tuple(OutcomeDetail(each.pointer, SURFACE_SCHEMA, each.rule, each.message) for each in breaches)
    return invalid_outcome(INVALID_PAYLOAD, details) if details else None


def _check_media_source(payload: dict[str, Any]) -> Invalid | None:
    if ("url" in payload) == ("base64" in payload):
        text = "must have exactly one of `url` and `base64`"
        return invalid_at(INVALID_PAYLOAD, PAYLOAD_POINTER, "#/properties", "required", text)
    if "url" in payload and _URI.fullmatch(payload["url"]) is None:
        text = "must be an absolute URL with its scheme, such as https://example.com/a.png"
        return invalid_at(INVALID_PAYLOAD, f"{PAYLOAD_POINTER}/url", "#/properties/url/format", "format", text)
    return None
