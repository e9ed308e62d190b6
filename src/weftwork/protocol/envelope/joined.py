"""Joining: the documents of one answer, with envelopes that came in pieces put together."""

from typing import Any

from weftwork.protocol.envelope.fill import Origin, filled
from weftwork.protocol.envelope.outcome import Invalid
from weftwork.protocol.envelope.partial import Pieces
from weftwork.protocol.json_value import is_object


def joined(documents: tuple[Any, ...], origin: Origin) -> tuple[Any, ...]:
    """env-16 (RFC 0021, partial): every envelope whole, where its last piece stood. Pieces that do not make up one stay
    pieces, for the gate to refuse."""
    if not any(is_object(each) and "partial" in each for each in documents):
        return documents
    pieces, whole = Pieces(), list[Any]()
    for document in documents:
        if not (is_object(document) and "partial" in document):
            whole.append(document)
            continue
        taken = pieces.take(filled(document, origin))
        if isinstance(taken, Invalid):
            whole.append(_piece(document))
        elif taken is not None:
            whole.append(taken)
    left = len(pieces.close())
    return (*whole, *(_piece(each) for each in documents[-1:] if left))


def is_piece(document: Any) -> bool:
    """Whether this is only a part of an envelope: nothing may follow from it."""
    partial = document.get("partial") if is_object(document) else None
    return is_object(partial) and partial.get("isPartial") is True


def _piece(document: Any) -> Any:
    return {**document, "partial": {"isPartial": True, "index": 0, "total": -1}} if is_object(document) else document
