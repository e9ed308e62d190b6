"""Completes what a model sent before anything in it is judged: fills in what the author of an envelope left out, and
reassembles envelopes that came in several pieces.

Identity, origin and trust are derived from the position of the envelope in the run, so that the same emission has the
same ids whenever it is made again. Source: RFC 0021 (engine-filled fields), readings (Trust precedence).

Theory of operation. The pieces of one envelope share a correlation id and may arrive in any order. If all payloads are
texts, they are parts of one JSON text. Any other payload is the whole payload so far, and the last one is the final
one. If one piece is untrusted, so is the envelope. An envelope whose pieces contradict each other stays refused until
the turn ends.
"""

import hashlib
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.checks import (
    INVALID_SHAPE,
    check_shape,
    correlation_conflict,
    encode_document,
    invalid_at,
)
from weftwork.protocol.envelopes.outcome import Invalid
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.privacy.trust import combine_trust
from weftwork.protocol.run.events import Trust
from weftwork.protocol.timestamps import iso

MAX_PIECES: Final = 2_000
"""Of one envelope."""
MAX_BYTES: Final = 1_048_576
"""Of all the pieces that are kept of one envelope, as JSON."""
MAX_INCOMPLETE: Final = 64
"""Envelopes of which pieces are kept."""


MAX_ID: Final = 128


class EnvelopeOrigin(msgspec.Struct, frozen=True):
    """Where in a run an envelope was sent."""

    run_id: str
    node_id: str
    turn: str
    """Tells apart the rounds, attempts and answers of the node."""
    index: int
    """Tells apart the envelopes of one answer."""
    at: int
    trust: Trust


def fill_defaults(document: Any, origin: EnvelopeOrigin) -> Any:
    """env-20 (RFC 0021, engine-filled fields): the envelope with what its author left out.

    Ids of a model tell apart the envelopes of one answer and no more: models like to call everything they send "1".
    What the model says about trust never raises it: what went into the turn decides. What is no object stays as it
    is, for the gate to refuse.
    """
    if not is_object(document):
        return document
    correlation: Any = document.get("correlationId")
    if "correlationId" not in document:
        kind = document.get("type")
        name = f"{origin.index}:{_digest(kind if isinstance(kind, str) else '')[:8]}"
        correlation = derive_correlation_id(origin, name)
    elif isinstance(correlation, str) and 0 < len(correlation) <= MAX_ID:
        correlation = derive_correlation_id(origin, f"id:{_digest(correlation)[:16]}")
    meta: Any = document.get("meta", {})
    if is_object(meta):
        meta = {"source": "ai-generation", "ts": iso(origin.at), **meta}
        if origin.trust == "untrusted":
            meta["contentTrust"] = "untrusted"
    complete = {"nodeId": origin.node_id, **document, "correlationId": correlation, "meta": meta}
    complete["envelopeId"] = f"env-{_digest(str(correlation))}"
    # A node id that is too long for the wire stands on the event anyway.
    return complete if len(str(complete["nodeId"])) <= MAX_ID else {**complete, "nodeId": origin.node_id[:MAX_ID]}


def derive_correlation_id(origin: EnvelopeOrigin, name: str) -> str:
    """env-21 (RFC 0021, correlation): the run, the node, the turn and the name of the envelope in it; shortened where
    that is too long."""
    whole = f"{origin.run_id}:{origin.node_id}:{origin.turn}:{name}"
    return whole if len(whole) <= MAX_ID else f"{origin.run_id[:64]}:{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class _PartialEnvelope(msgspec.Struct):
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
