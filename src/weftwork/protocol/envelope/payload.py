"""What a payload must be beyond its schema. Schemas are the protocol's; these rules are the host's to keep."""

import re
from typing import Any, Final

from weftwork.protocol.envelope.kind import MEDIA, SCHEMA_REQUEST, SURFACE, UNIVERSAL
from weftwork.protocol.envelope.mould import Mould
from weftwork.protocol.envelope.outcome import Detail, Invalid
from weftwork.protocol.envelope.shape import refused
from weftwork.protocol.json_value import is_object

CODE: Final = "envelope_invalid"
UNKNOWN_KIND: Final = "unknown_envelope_kind"
UNKNOWN_VERSION: Final = "unknown_schema_version"
AT: Final = "/payload"
CATALOGS: Final = ("0.9.1",)
FIELD: Final = "field."
RESERVED_ID: Final = "action"
RESERVED_PREFIX: Final = "openwop."
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+", re.ASCII)


def check_version(emitted: int, advertised: int, strict: bool) -> Invalid | None:
    """env-07 (RFC 0021, versions): newer than advertised is refused, older only by a strict host."""
    if emitted > advertised:
        message = f"must be {advertised} or less"
    elif emitted < advertised and strict:
        message = f"must be {advertised}"
    else:
        return None
    rule = "maximum" if emitted > advertised else "minimum"
    return refused(UNKNOWN_VERSION, (Detail("/schemaVersion", "#/properties/schemaVersion", rule, message),))


def check_payload(kind: str, payload: Any, mould: Mould, supported: frozenset[str] | None) -> Invalid | None:
    """env-06 (RFC 0021, RFC 0055, RFC 0102): what keeps a payload from being one of its kind."""
    if not mould.fits(payload):
        return _unknown_catalog(kind, payload) or refused(CODE, mould.details(payload, AT))
    if kind == SURFACE:
        return _reserved_ids(payload["surface"]["components"])
    if kind in MEDIA:
        return _sources(payload)
    if kind == SCHEMA_REQUEST and supported is not None:
        asked = payload["envelopeType"]
        if asked not in supported and asked not in UNIVERSAL:
            text = "must be a kind that this host takes"
            return refused(UNKNOWN_KIND, (Detail(f"{AT}/envelopeType", "#/properties/envelopeType", "enum", text),))
    return None


def _unknown_catalog(kind: str, payload: Any) -> Invalid | None:
    """A surface for another catalog is a question of versions before it is one of form."""
    if kind != SURFACE or not is_object(payload):
        return None
    version = payload.get("catalogVersion")
    if not isinstance(version, str) or version in CATALOGS:
        return None
    text = f"must be one of: {', '.join(CATALOGS)}"
    where = "#/properties/catalogVersion/enum"
    return refused(UNKNOWN_VERSION, (Detail(f"{AT}/catalogVersion", where, "enum", text),))


def _reserved_ids(components: list[dict[str, Any]]) -> Invalid | None:
    """env-19 (RFC 0102, actions): what a form sends has its fields by their ids, and its button under `action`."""
    text = f"must not be `{RESERVED_ID}` and must not begin with `{RESERVED_PREFIX}`"
    found = tuple(
        Detail(f"{AT}/surface/components/{index}/id", "#/$defs/component/anyOf", "not", text)
        for index, component in enumerate(components)
        if component["component"].startswith(FIELD) and _is_reserved(component["id"])
    )
    return refused(CODE, found) if found else None


def _is_reserved(name: str) -> bool:
    return name == RESERVED_ID or name.startswith(RESERVED_PREFIX)


def _sources(payload: dict[str, Any]) -> Invalid | None:
    if ("url" in payload) == ("base64" in payload):
        return refused(CODE, (Detail(AT, "#/properties", "required", "must have exactly one of url and base64"),))
    if "url" in payload and _URI.fullmatch(payload["url"]) is None:
        text = "must be a whole address, with its scheme"
        return refused(CODE, (Detail(f"{AT}/url", "#/properties/url/format", "format", text),))
    return None
