"""Sorts the documents in a model's answer: envelopes, the requested value, and ids that are used twice.

Any answer can contain envelopes of the universal kinds, even the answer to a request for a value with a schema of its
own. The `type` distinguishes such an envelope from the value. A schema that declares the members `type` and
`payload` itself describes objects that look like envelopes; a value that matches such a schema is the value.

Models sometimes write the members of the payload next to `type`. The kinds with a dot in their name are not used for
anything else, so an object with such a type is an envelope without its payload, which the model has to correct. `error`
is also used as the `type` of other objects.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.checks import correlation_conflict
from weftwork.protocol.envelopes.kinds import ERROR_KIND, SCHEMA_RESPONSE_KIND, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.outcome import Invalid
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, reassemble
from weftwork.protocol.envelopes.text.extraction import (
    Extraction,
    extract_envelopes,
    extract_value,
    looks_like_envelope,
    repair_document,
)
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.values import is_array, is_object

_MAX_SUBSCHEMAS: Final = 1_000
_DISTINCT_KINDS: Final = frozenset(UNIVERSAL_KINDS) - {ERROR_KIND}
_HINTS: Final = ("payload", *sorted(_DISTINCT_KINDS))
"""Every text with an envelope contains one of these."""
_DEFINITIONS: Final = "#/$defs/"


class UniversalEnvelope(msgspec.Struct, frozen=True):
    """An envelope of a universal kind in the answer to a request for a value."""

    document: Any | Invalid
    """The envelope; or the reason why its pieces cannot be joined."""


def read_value(text: str, schema: dict[str, Any], origin: EnvelopeOrigin) -> Extraction | None:
    """env-28 (RFC 0021, universal kinds): the documents in an answer that should be a value with this schema. None if
    the answer contains no JSON.

    The documents are the envelopes of universal kinds (`UniversalEnvelope`) in their order, followed by the value if
    there is one. The model wrote a value next to a question or a request for a schema without the reply to it, so
    this value is left out; a value next to an error is left out if it does not match.
    """
    found = extract_value(text, clean=True)
    if found is None or not may_hold_envelopes(text) or is_described(schema, found.documents[0]):
        return found
    envelopes = extract_envelopes(text, clean=True)
    documents = envelopes.documents if envelopes is not None else ()
    universal = tuple(each for each in documents if is_universal(each))
    if envelopes is None or not universal:
        return found
    values = [each for each in documents if not is_universal(each)][:1]
    kinds = {each["type"] for each in universal}
    if not kinds <= {SCHEMA_RESPONSE_KIND, ERROR_KIND}:
        values = []
    elif ERROR_KIND in kinds:
        values = [each for each in values if not check_value(schema, each, "")]
    joined = (UniversalEnvelope(each) for each in reassemble(universal, origin))
    return msgspec.structs.replace(envelopes, documents=(*joined, *values))


def may_hold_envelopes(text: str) -> bool:
    """False only if there is no envelope in the text. Most texts contain none, and then nothing is parsed."""
    return any(hint in text for hint in _HINTS)


def read_text(text: str) -> Extraction | None:
    """rel-03 (RFC 0021, transports): the envelopes in a text that may also be plain prose; None if there are none.

    Prose may contain examples of JSON, so nothing in it is repaired. A text that starts as a broken document instead of
    prose is repaired, and envelopes of universal kinds are taken from it.
    """
    if not may_hold_envelopes(text):
        return None
    found = extract_envelopes(text, clean=None)
    if found is not None:
        documents = tuple(each for each in found.documents if looks_like_envelope(each) or is_universal(each))
    elif (found := repair_document(text)) is not None:
        documents = tuple(filter(is_universal, found.documents))
    else:
        return None
    return msgspec.structs.replace(found, documents=documents) if documents else None


def is_universal(document: Any) -> bool:
    """Whether the document is an envelope of a universal kind, possibly without its payload."""
    if not is_object(document) or not isinstance(kind := document.get("type"), str):
        return False
    return kind in _DISTINCT_KINDS or (kind == ERROR_KIND and "payload" in document)


def check_answer_id(envelope: dict[str, Any], kinds_by_id: dict[str, str]) -> Invalid | None:
    """env-29 (readings, Correlation ids of models): a conflict if an envelope of another kind in the same answer has
    the correlation id of this one. `kinds_by_id` holds the envelopes of the answer so far; this one is added."""
    correlation_id = envelope.get("correlationId")
    if not isinstance(correlation_id, str):
        return None
    kind = kinds_by_id.setdefault(correlation_id, envelope["type"])
    return correlation_conflict() if kind != envelope["type"] else None


def is_described(schema: dict[str, Any], value: Any) -> bool:
    """Whether the schema describes objects that look like this envelope, or this list of envelopes, and the value
    matches it."""
    objects: list[Any] = value if is_array(value) else [value]
    has_payload = any(is_object(each) and "payload" in each for each in objects)
    return declares_envelope(schema, has_payload) and not check_value(schema, value, "")


def declares_envelope(schema: Any, has_payload: bool = True) -> bool:
    """Whether a schema declares `type`, and with `has_payload` also `payload`, for the value itself or for the items of
    a list."""
    members = {"type", "payload"} if has_payload else {"type"}
    definitions: Any = schema.get("$defs") if is_object(schema) else None
    pending: list[Any] = [schema]
    for _ in range(_MAX_SUBSCHEMAS):
        if not pending:
            return False
        each = pending.pop()
        if not is_object(each):
            continue
        properties = each.get("properties")
        if is_object(properties) and properties.keys() >= members:
            return True
        pending.extend(each.get(keyword) for keyword in ("items", "if", "then", "else"))
        for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            branches = each.get(keyword)
            pending.extend(branches if is_array(branches) else ())
        reference = each.get("$ref")
        if isinstance(reference, str) and is_object(definitions):
            pending.append(definitions.get(reference.removeprefix(_DEFINITIONS)))
    return False
