"""Annotations: feedback on a run by people or programs. They are stored outside the event log and do not affect the
run.

The texts are untrusted: the host limits, stores and returns them, and never interprets them. Source: RFC 0056.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.timestamps import iso

_MEMBERS: Final = schema.document("annotation-create")["properties"]
SIGNAL_KINDS: Final[tuple[str, ...]] = tuple(_MEMBERS["signal"]["properties"]["kind"]["enum"])
TARGET_KINDS: Final[tuple[str, ...]] = ("run", *(name.removesuffix("Id") for name in _MEMBERS["target"]["properties"]))
"""fb-04 (readings, Advertising): the kinds that discovery lists, from the schema that requests are checked against."""

MAX_ANNOTATIONS: Final = 1000
"""Annotations per run."""
MAX_TEXT: Final = 4096
MAX_LABEL: Final = 256
"""Characters of a note or a correction, and of a label."""
MAX_BYTES: Final = 28 * 1024
"""Bytes of the stored document. With the framing of a stream, a document of this size is still sent in one write."""

_TEXT_LIMITS: Final[dict[str, int]] = {"note": MAX_TEXT, "signal/correction": MAX_TEXT, "signal/label": MAX_LABEL}
"""The length limit of each free text, by path."""


def annotation_texts(body: dict[str, Any]) -> dict[str, str]:
    """The free texts of an annotation, by path."""
    members = {**body, **{f"signal/{name}": text for name, text in body["signal"].items()}}
    return {path: members[path] for path in _TEXT_LIMITS if path in members}


def check_annotation(body: Any) -> None:
    """fb-01 (RFC 0056): require a signal with the member that its kind needs, and texts within their limits. Raises
    ClientFault otherwise."""
    schema.require("annotation-create", body)
    for path, text in annotation_texts(body).items():
        if len(text) > _TEXT_LIMITS[path]:
            raise invalid(f"The text must have at most {_TEXT_LIMITS[path]} characters.", f"/{path}")


def annotation_document(
    annotation_id: str, run_id: str, principal: str, now: int, body: dict[str, Any], texts: dict[str, Any]
) -> bytes:
    """fb-02 (RFC 0056): the document to store, with the members of the host and of the caller.

    `body` has passed `check_annotation`. `texts` holds its free texts after redaction. Raises ClientFault for a
    document larger than MAX_BYTES.
    """
    signal: dict[str, Any] = dict(body["signal"])
    if "rating" in signal:
        # JSON Schema accepts 4.0 as an integer.
        signal["rating"] = int(signal["rating"])
    for path, text in texts.items():
        if path != "note":
            signal[path.removeprefix("signal/")] = text
    document: dict[str, Any] = {
        "annotationId": annotation_id,
        "target": {"runId": run_id, **body.get("target", {})},
        "signal": signal,
        "actor": {"principalRef": principal},
        "createdAt": iso(now),
    }
    if "note" in texts:
        document["note"] = texts["note"]
    encoded = msgspec.json.encode(document)
    if len(encoded) > MAX_BYTES:
        raise invalid(f"The stored annotation must have at most {MAX_BYTES} bytes.", maxBytes=MAX_BYTES)
    return encoded


def annotation_limit_fault() -> ClientFault:
    """fb-03: the error for a run that has reached its limit of annotations. Not retryable."""
    message = f"The run has reached the limit of {MAX_ANNOTATIONS} annotations."
    return ClientFault("annotation_limit_reached", message, {"maxAnnotations": MAX_ANNOTATIONS})
