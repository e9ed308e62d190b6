"""Annotations: feedback on a run by people or programs. A side resource: never in the log, never folded.

The texts are untrusted: they are bounded, stored and returned, and never interpreted. Source: RFC 0056.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.timestamps import iso

_MEMBERS: Final = schema.document("annotation-create")["properties"]
SIGNAL_KINDS: Final[tuple[str, ...]] = tuple(_MEMBERS["signal"]["properties"]["kind"]["enum"])
TARGET_KINDS: Final[tuple[str, ...]] = ("run", *(name.removesuffix("Id") for name in _MEMBERS["target"]["properties"]))
"""fb-04 (readings, Advertising): what discovery shows, taken from the schema that requests are checked with."""

MAX_ANNOTATIONS: Final = 1000
"""Per run."""
MAX_TEXT: Final = 4096
MAX_LABEL: Final = 256
"""Characters of a note or a correction, and of a label."""
MAX_BYTES: Final = 28 * 1024
"""Of the whole document: with what a stream puts around it, it still leaves in one piece."""

_TEXT_LIMITS: Final[dict[str, int]] = {"note": MAX_TEXT, "signal/correction": MAX_TEXT, "signal/label": MAX_LABEL}
"""Path of each text -> its bound."""


def annotation_texts(given: dict[str, Any]) -> dict[str, str]:
    """What was written freely, by path."""
    found = {**given, **{f"signal/{name}": text for name, text in given["signal"].items()}}
    return {path: found[path] for path in _TEXT_LIMITS if path in found}


def check_annotation(given: Any) -> None:
    """fb-01 (RFC 0056): a signal with the member its kind needs, and texts within their bounds."""
    schema.require("annotation-create", given)
    for path, text in annotation_texts(given).items():
        if len(text) > _TEXT_LIMITS[path]:
            raise invalid(f"The text at the pointer takes {_TEXT_LIMITS[path]} or fewer characters.", f"/{path}")


def annotation_document(
    annotation_id: str, run_id: str, principal: str, now: int, given: dict[str, Any], shown: dict[str, Any]
) -> bytes:
    """fb-02 (RFC 0056): the document that is kept: the host's own members beside the caller's.

    `given` has passed `check_annotation`, and `shown` are its texts as everybody may see them. Raises ClientFault
    for a document that is too large.
    """
    signal: dict[str, Any] = dict(given["signal"])
    if "rating" in signal:
        # JSON has one kind of number: 4.0 is the whole number 4.
        signal["rating"] = int(signal["rating"])
    for path, text in shown.items():
        if path != "note":
            signal[path.removeprefix("signal/")] = text
    document: dict[str, Any] = {
        "annotationId": annotation_id,
        "target": {"runId": run_id, **given.get("target", {})},
        "signal": signal,
        "actor": {"principalRef": principal},
        "createdAt": iso(now),
    }
    if "note" in shown:
        document["note"] = shown["note"]
    encoded = msgspec.json.encode(document)
    if len(encoded) > MAX_BYTES:
        raise invalid(f"An annotation takes {MAX_BYTES} or fewer bytes as it is kept.", maxBytes=MAX_BYTES)
    return encoded


def annotation_limit_fault() -> ClientFault:
    """fb-03: the run has as many annotations as it may; a wait would not help."""
    message = f"A run takes {MAX_ANNOTATIONS} or fewer annotations, and this one has so many."
    return ClientFault("annotation_limit_reached", message, {"maxAnnotations": MAX_ANNOTATIONS})
