"""Completes envelopes before the gate judges them: fills in missing members and reassembles envelopes that were sent in
several pieces.

Ids, origin and trust are derived from the position of the envelope in the run. The same envelope therefore gets the
same ids each time it is processed. Source: RFC 0021 (engine-filled fields), readings (Trust precedence).

Theory of operation. The pieces of one envelope share a correlation id and may arrive in any order. If all payloads are
strings, they are parts of one JSON text. Otherwise, each payload is a snapshot, and the payload of the last piece is
used. The envelope has the `meta` of all pieces; of a member that several have, the last one counts. It is untrusted if
any of its pieces is. A piece that is sent again unchanged is ignored, even after its envelope is complete. Once pieces
of an envelope contradict each other, all further pieces under the same correlation id are invalid until the turn ends.
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
from weftwork.protocol.envelopes.text.extraction import looks_like_envelope
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.privacy.trust import combine_trust
from weftwork.protocol.run.events import Trust
from weftwork.protocol.timestamps import iso

MAX_PIECES: Final = 2_000
"""Pieces of one envelope."""
MAX_BYTES: Final = 1_048_576
"""Total size of the text pieces of one envelope."""
MAX_INCOMPLETE: Final = 64
"""Incomplete envelopes that are buffered at the same time."""


MAX_ID: Final = 128


class EnvelopeOrigin(msgspec.Struct, frozen=True):
    """The position of an envelope in a run."""

    run_id: str
    node_id: str
    turn: str
    """Identifies the round, attempt and answer of the node."""
    index: int
    """The position of the envelope in the answer."""
    at: int
    trust: Trust


def fill_defaults(document: Any, origin: EnvelopeOrigin) -> Any:
    """env-20 (RFC 0021, engine-filled fields): the envelope with its missing members filled in.

    An id that the model sets identifies an envelope only within one answer, because models often reuse ids such as
    "1". The model cannot raise the trust above the trust of the turn's inputs. A document that is not an object is
    returned unchanged, and the gate rejects it.
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
    complete["envelopeId"] = derive_envelope_id(str(correlation))
    # The event has the full node id, so the member can be cut to the limit of the schema.
    return complete if len(str(complete["nodeId"])) <= MAX_ID else {**complete, "nodeId": origin.node_id[:MAX_ID]}


def derive_envelope_id(correlation_id: str) -> str:
    return f"env-{_digest(correlation_id)}"


def derive_correlation_id(origin: EnvelopeOrigin, name: str) -> str:
    """env-21 (RFC 0021, correlation): an id made of the run, the node, the turn and the name of the envelope in the
    turn. An id longer than `MAX_ID` is replaced by the run and a hash."""
    whole = f"{origin.run_id}:{origin.node_id}:{origin.turn}:{name}"
    return whole if len(whole) <= MAX_ID else f"{origin.run_id[:64]}:{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class _PartialEnvelope(msgspec.Struct):
    type: str
    digests: dict[int, bytes]
    """The pieces so far: a hash of each one by its index."""
    texts: dict[int, str]
    size: int = 0
    total: int = -1
    last: dict[str, Any] | None = None
    meta: dict[int, dict[str, Any]] = {}
    """The `meta` of each piece by its index."""
    trust: Trust | None = None
    refusal: Invalid | None = None


class PartialEnvelopes:
    """Buffers the pieces of the incomplete envelopes of one turn."""

    def __init__(self) -> None:
        self._open: dict[str, _PartialEnvelope] = {}
        self._complete: dict[str, tuple[dict[int, bytes], Any]] = {}
        """The hashes of the pieces of each complete envelope, and the envelope."""

    def add(self, document: Any) -> Any | Invalid | None:
        """env-16 (RFC 0021, partial): add a piece. Returns the whole envelope when its last piece arrives, and None
        before.

        A document that is not a piece is returned unchanged. For a malformed piece, for a piece that contradicts an
        earlier one, and for every later piece under the same correlation id, the result is Invalid. A piece that was
        added before has no effect; if it is the last piece of a complete envelope, the result is that envelope again.
        """
        if not is_object(document) or "partial" not in document:
            return document
        if encode_document(document) is None:
            return document
        invalid = check_shape(document)
        if invalid is not None:
            return invalid
        name, digest = document["correlationId"], hashlib.sha256(encode_stored(document)).digest()
        emission = self._open.get(name)
        if emission is None:
            pieces, whole = self._complete.get(name, ({}, None))
            if pieces.get(_index(document)) == digest:
                return None if document["partial"]["isPartial"] else whole
            if len(self._open) >= MAX_INCOMPLETE:
                return _invalid_partial("maxItems", f"exceeds the limit of {MAX_INCOMPLETE} incomplete envelopes")
            emission = self._open[name] = _PartialEnvelope(document["type"], {}, {})
        if emission.refusal is None:
            has_same_kind = document["type"] == emission.type
            emission.refusal = _add_piece(emission, document, digest) if has_same_kind else correlation_conflict()
        if emission.refusal is not None:
            return emission.refusal
        if emission.last is None or len(emission.digests) < emission.total:
            return None
        del self._open[name]
        whole = _complete_envelope(emission, emission.last)
        self._complete[name] = emission.digests, whole
        return whole

    def close(self) -> dict[str, Invalid]:
        """End the turn: drop all envelopes, and return the reason for each incomplete one by correlation id."""
        missing = _invalid_partial("required", "belongs to an envelope whose other pieces are missing")
        refusals = {name: emission.refusal or missing for name, emission in self._open.items()}
        self._open, self._complete = {}, {}
        return refusals


def _index(document: dict[str, Any]) -> int:
    return int(document["partial"]["index"])


def _add_piece(emission: _PartialEnvelope, document: dict[str, Any], digest: bytes) -> Invalid | None:
    partial, payload = document["partial"], document["payload"]
    index, total = _index(document), int(partial["total"])
    if emission.digests.get(index) == digest:
        return None
    if not partial["isPartial"]:
        if emission.last is not None:
            return _invalid_partial("unique", "is marked as the last piece, but another piece already was")
        if total not in (-1, index + 1):
            return _invalid_partial("const", "is marked as the last piece, but its index is not total - 1")
        total = index + 1
        emission.last = document
    if index in emission.digests:
        return _invalid_partial("unique", "has the same index as another piece")
    if total != -1:
        if emission.total not in (-1, total):
            return _invalid_partial("const", "has another total than an earlier piece")
        emission.total = total
    emission.digests[index] = digest
    if emission.total != -1 and (max(emission.digests) >= emission.total):
        return _invalid_partial("maximum", "makes an index exceed the total")
    if len(emission.digests) > MAX_PIECES or emission.total > MAX_PIECES:
        return _invalid_partial("maxItems", f"exceeds the limit of {MAX_PIECES} pieces per envelope")
    if isinstance(payload, str):
        emission.texts[index] = payload
        emission.size += len(payload.encode())
    if emission.size > MAX_BYTES:
        return _invalid_partial("maxLength", f"makes the envelope larger than {MAX_BYTES} bytes")
    emission.meta[index] = document["meta"]
    emission.trust = combine_trust((emission.trust, document["meta"].get("contentTrust")))
    return None


def _complete_envelope(emission: _PartialEnvelope, last: dict[str, Any]) -> Any | Invalid:
    whole = {name: member for name, member in last.items() if name != "partial"}
    whole["meta"] = {name: value for _, meta in sorted(emission.meta.items()) for name, value in meta.items()}
    if emission.trust == "untrusted":
        whole["meta"]["contentTrust"] = emission.trust
    if emission.total > 1 and len(emission.texts) == emission.total:
        text = "".join(emission.texts[index] for index in range(emission.total))
        try:
            whole["payload"] = decode(text.encode())
        except ClientFault:
            return invalid_at(
                "envelope_invalid", "/payload", "#", "type", "is not JSON when joined with the other pieces"
            )
    return whole


def _invalid_partial(rule: str, message: str) -> Invalid:
    return invalid_at(INVALID_SHAPE, "/partial", "#/$defs/partial", rule, message)


def reassemble(documents: tuple[Any, ...], origin: EnvelopeOrigin) -> tuple[Any | Invalid, ...]:
    """env-16 (RFC 0021, partial): join the pieces in one answer into whole envelopes, each at the position of its last
    piece and with the correlation id that the model gave it.

    A piece that cannot be used, and an envelope without all of its pieces, are replaced by the reason. Documents that
    are not pieces, such as a bare payload with a member `partial`, are unchanged.
    """
    if not any(map(_is_piece, documents)):
        return documents
    pieces = PartialEnvelopes()
    joined: dict[int, Any | Invalid] = {}
    for document in documents:
        result = pieces.add(fill_defaults(document, origin)) if _is_piece(document) else document
        if result is None:
            continue
        if result is not document and not isinstance(result, Invalid) and "correlationId" in document:
            result["correlationId"] = document["correlationId"]
        # By identity, because a repeated last piece returns the same envelope again.
        joined.setdefault(id(result), result)
    return (*joined.values(), *pieces.close().values())


def _is_piece(document: Any) -> bool:
    return looks_like_envelope(document) and "partial" in document


def is_partial(document: Any) -> bool:
    """Whether the document is only a piece of an envelope. A piece must have no effect on the run."""
    partial = document.get("partial") if is_object(document) else None
    return is_object(partial) and partial.get("isPartial") is True
