"""The shape of an envelope: the members that every one has, whatever its kind."""

import re
from typing import Any, Final

import msgspec

from weftwork.protocol.decode import MAX_DEPTH
from weftwork.protocol.envelope.mould import Mould
from weftwork.protocol.envelope.outcome import Detail, Invalid
from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.schema import document as schema_document

CODE: Final = "invalid_envelope_shape"
ENVELOPE: Final = Mould(schema_document("ai-envelope"))

_encode = msgspec.json.Encoder().encode
_INSTANT: Final = re.compile(
    r"\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|[12]\d))"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


def encoded(document: Any) -> bytes | None:
    """The document as JSON; None if it is nothing that JSON can say, or is nested deeper than the one decoder takes."""
    try:
        text = _encode(document)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    # There is no depth without brackets, and mostly there are few of them.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _is_deeper(document, MAX_DEPTH):
        return None
    return text


def is_instant(text: str) -> bool:
    """env-05 (RFC 0021, meta): whether this is a time with its zone, by a pattern that never tries twice."""
    if _INSTANT.fullmatch(text) is None:
        return False
    if not text.startswith("02-29", 5):
        return True
    year = int(text[:4])
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def check_shape(document: Any) -> Invalid | None:
    """env-04 (RFC 0021, ai-envelope.schema.json): what keeps a document from being an envelope."""
    if not ENVELOPE.fits(document):
        return refused(CODE, ENVELOPE.details(document, ""))
    if not is_instant(document["meta"]["ts"]):
        message = "must be a time as ISO 8601 writes it, such as 2026-01-31T08:05:09Z"
        return refused(CODE, (Detail("/meta/ts", "#/$defs/meta/properties/ts/format", "format", message),))
    return None


def refused(code: str, details: tuple[Detail, ...]) -> Invalid:
    """Invalid for these details; the first of them is the reason."""
    first = details[0]
    return Invalid(code, f"{code}: {first.instance_path or 'the document'} {first.message}", details)


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
