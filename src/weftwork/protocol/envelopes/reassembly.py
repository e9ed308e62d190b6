"""Reassembles envelopes that a model sent in several pieces, before anything in them is judged.

Theory of operation. The pieces of one envelope share a correlation id and may arrive in any order. If all payloads are
texts, they are parts of one JSON text. Any other payload is the whole payload so far, and the last one is the final
one. If one piece is untrusted, so is the envelope. An envelope whose pieces contradict each other stays refused until
the turn ends.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.checks import (
    INVALID_SHAPE,
    check_shape,
    correlation_conflict,
    encode_document,
    invalid_at,
)
from weftwork.protocol.envelopes.defaults import EnvelopeOrigin, fill_defaults
from weftwork.protocol.envelopes.outcome import Invalid
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.privacy.trust import combine_trust
from weftwork.protocol.run.events import Trust

MAX_PIECES: Final = 2_000
"""Of one envelope."""
MAX_BYTES: Final = 1_048_576
"""Of all the pieces that are kept of one envelope, as JSON."""
MAX_INCOMPLETE: Final = 64
"""Envelopes of which pieces are kept."""


class _PartialEnvelope(msgspec.Struct):
    """What has come of one envelope."""

    type: str
    indices: set[int]
    texts: dict[int, str]
    size: int = 0
    total: int = -1
    last: dict[str, Any] | None = None
    trust: Trust | None = None
    refusal: Invalid | None = None


class PartialEnvelopes:
    """The pieces of one turn, by correlation id."""

    def __init__(self) -> None:
        self._open: dict[str, _PartialEnvelope] = {}

    def add(self, document: Any) -> Any | Invalid | None:
        """env-16 (RFC 0021, partial): the whole envelope once all its pieces are there, None until then.

        A document that is no piece comes back as it is. One that contradicts another piece is Invalid, and so is all
        that follows it under its id.
        """
        if not is_object(document) or "partial" not in document:
            return document
        if encode_document(document) is None:
            return document
        invalid = check_shape(document)
        if invalid is not None:
            return invalid
        name = document["correlationId"]
        emission = self._open.get(name)
        if emission is None:
            if len(self._open) >= MAX_INCOMPLETE:
                return _invalid_partial(
                    "maxItems", f"is one of more than {MAX_INCOMPLETE} envelopes in pieces at a time"
                )
            emission = self._open[name] = _PartialEnvelope(document["type"], set(), {})
        if emission.refusal is None:
            known = document["type"] == emission.type
            emission.refusal = _add_piece(emission, document) if known else correlation_conflict()
        if emission.refusal is not None:
            return emission.refusal
        if emission.last is None or len(emission.indices) < emission.total:
            return None
        del self._open[name]
        return _complete_envelope(emission, emission.last)

    def close(self) -> dict[str, Invalid]:
        """The turn is over: why the envelopes that are not whole never will be, by correlation id."""
        missing = _invalid_partial("required", "belongs to an envelope of which other pieces never came")
        found = {name: emission.refusal or missing for name, emission in self._open.items()}
        self._open = {}
        return found


def _add_piece(emission: _PartialEnvelope, document: dict[str, Any]) -> Invalid | None:
    partial, payload = document["partial"], document["payload"]
    index, total = int(partial["index"]), int(partial["total"])
    if not partial["isPartial"]:
        if emission.last is not None:
            return _invalid_partial("unique", "comes after one that was the last")
        if total not in (-1, index + 1):
            return _invalid_partial("const", "is the last one, and does not fit the total")
        total = index + 1
        emission.last = document
    if index in emission.indices:
        return _invalid_partial("unique", "has the index of another one")
    if total != -1:
        if emission.total not in (-1, total):
            return _invalid_partial("const", "says another total than one before")
        emission.total = total
    emission.indices.add(index)
    if emission.total != -1 and (max(emission.indices) >= emission.total):
        return _invalid_partial("maximum", "has an index beyond the total")
    if len(emission.indices) > MAX_PIECES or emission.total > MAX_PIECES:
        return _invalid_partial("maxItems", f"is one of more than {MAX_PIECES}")
    if isinstance(payload, str):
        emission.texts[index] = payload
        emission.size += len(payload.encode())
    if emission.size > MAX_BYTES:
        return _invalid_partial("maxLength", f"makes the envelope longer than {MAX_BYTES} bytes")
    emission.trust = combine_trust((emission.trust, document["meta"].get("contentTrust")))
    return None


def _complete_envelope(emission: _PartialEnvelope, last: dict[str, Any]) -> Any | Invalid:
    whole = {name: member for name, member in last.items() if name != "partial"}
    if emission.trust == "untrusted":
        whole["meta"] = {**last["meta"], "contentTrust": emission.trust}
    if emission.total > 1 and len(emission.texts) == emission.total:
        text = "".join(emission.texts[index] for index in range(emission.total))
        try:
            whole["payload"] = decode(text.encode())
        except ClientFault:
            return invalid_at("envelope_invalid", "/payload", "#", "type", "makes no JSON with the other pieces")
    return whole


def _invalid_partial(rule: str, message: str) -> Invalid:
    return invalid_at(INVALID_SHAPE, "/partial", "#/$defs/partial", rule, message)


def reassemble(documents: tuple[Any, ...], origin: EnvelopeOrigin) -> tuple[Any, ...]:
    """env-16 (RFC 0021, partial): every envelope whole, where its last piece stood. Pieces that do not make up one stay
    pieces, for the gate to refuse."""
    if not any(is_object(each) and "partial" in each for each in documents):
        return documents
    pieces = PartialEnvelopes()
    whole: list[Any] = []
    for document in documents:
        if not (is_object(document) and "partial" in document):
            whole.append(document)
            continue
        taken = pieces.add(fill_defaults(document, origin))
        if isinstance(taken, Invalid):
            whole.append(_unusable_piece(document))
        elif taken is not None:
            whole.append(taken)
    left = len(pieces.close())
    return (*whole, *(_unusable_piece(each) for each in documents[-1:] if left))


def is_partial(document: Any) -> bool:
    """Whether this is only a part of an envelope: nothing may follow from it."""
    partial = document.get("partial") if is_object(document) else None
    return is_object(partial) and partial.get("isPartial") is True


def _unusable_piece(document: Any) -> Any:
    return {**document, "partial": {"isPartial": True, "index": 0, "total": -1}} if is_object(document) else document
