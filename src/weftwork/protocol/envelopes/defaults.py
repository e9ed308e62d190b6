"""What the engine fills in: identity, origin and trust of an envelope that a model sent.

Everything is derived from where the envelope stands in the run, so that the same emission has the same ids whenever
it is made again. Source: RFC 0021 (engine-filled fields), readings (Trust precedence).
"""

import hashlib
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import Trust
from weftwork.protocol.timestamps import iso

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
    correlation = _fill_correlation_id(document, origin)
    meta: Any = document.get("meta", {})
    if is_object(meta):
        meta = {"source": "ai-generation", "ts": iso(origin.at), **meta}
        if origin.trust == "untrusted":
            meta["contentTrust"] = "untrusted"
    complete = {"nodeId": origin.node_id, **document, "correlationId": correlation, "meta": meta}
    complete["envelopeId"] = f"env-{_digest(str(correlation))}"
    # A node id that is too long for the wire stands on the event anyway.
    return complete if len(str(complete["nodeId"])) <= MAX_ID else {**complete, "nodeId": origin.node_id[:MAX_ID]}


def _fill_correlation_id(document: dict[str, Any], origin: EnvelopeOrigin) -> Any:
    """What is no id stays as it is, for the gate to refuse."""
    given, kind = document.get("correlationId"), document.get("type")
    if given is None and "correlationId" not in document:
        return derive_correlation_id(origin, f"{origin.index}:{_digest(kind if isinstance(kind, str) else '')[:8]}")
    if isinstance(given, str) and 0 < len(given) <= MAX_ID:
        return derive_correlation_id(origin, f"id:{_digest(given)[:16]}")
    return given


def derive_correlation_id(origin: EnvelopeOrigin, name: str) -> str:
    """env-21 (RFC 0021, correlation): the run, the node, the turn and the name of the envelope in it; shortened where
    that is too long."""
    whole = f"{origin.run_id}:{origin.node_id}:{origin.turn}:{name}"
    return whole if len(whole) <= MAX_ID else f"{origin.run_id[:64]}:{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
