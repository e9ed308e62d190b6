"""The file of a bundle, ours or another host's: read strictly, bounded, and looked through for what is not well."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from weftwork.cli.plain import shown
from weftwork.protocol import schema
from weftwork.protocol.decode import decode
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json_value import is_array, is_object

MAX_FILE: Final = 32 * 2**20
"""Bytes: four times the largest bundle that a host of ours writes."""
MAX_VALUES: Final = 4_000_000
_PROBLEMS: Final = 20
_RUN: Final = ("runId", "workflowId", "status", "hostStatus", "createdAt", "startedAt", "endedAt", "error")


class BundleFile:
    """A document that is a bundle, as far as it is one. Whatever is asked for is there, if only as nothing."""

    def __init__(self, name: str, document: dict[str, Any], size: int) -> None:
        self.name = name
        self.document = document
        self.size = size
        self.run: dict[str, Any] = _object(document.get("run"))
        self.events: list[Any] = [_object(event) for event in _array(document.get("events"))]
        self.spans: list[dict[str, Any]] = [_object(span) for span in _array(document.get("spans"))]
        self.host = _object(document.get("host"))
        self.media = [_media(event) for event in self.events if str(event.get("type")).startswith("media.")]
        self.problems = [*_missing(document, self), *_violations(document), *_contradictions(document, self)]

    @property
    def tokens(self) -> dict[str, Any]:
        """Of all calls to models."""
        cost = _object(_object(self.document.get("metrics")).get("openwopCost"))
        return _object(cost.get("tokens"))

    def summary(self) -> dict[str, Any]:
        """What it says of itself, and what is not as it should be."""
        told = {name: self.document.get(name) for name in ("bundleVersion", "generatedAt", "host")}
        return {
            "file": self.name,
            "bytes": self.size,
            **told,
            "run": {name: self.run[name] for name in _RUN if name in self.run},
            "events": len(self.events),
            "types": dict(sorted(Counter(str(event.get("type")) for event in self.events).items())),
            "spans": len(self.spans),
            "tokens": self.tokens or None,
            "media": self.media,
            "truncated": self.document.get("truncated") is True,
            "truncatedReason": self.document.get("truncatedReason"),
            "problems": self.problems,
        }


def read_bundle(name: str) -> BundleFile:
    """The bundle in a file, or on standard input. Raises UsageError or ClickException for what is none."""
    data = _read(name)
    where = "standard input" if name == "-" else shown(name, 200)
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{where} is larger than {MAX_FILE // 2**20} MiB, which no bundle is.")
    try:
        document = decode(data, MAX_VALUES)
    except ClientFault as fault:
        raise click.ClickException(f"{where} is no debug bundle: {fault.message}") from None
    if not is_object(document) or "bundleVersion" not in document or not is_array(document.get("events")):
        raise click.ClickException(f"{where} is no debug bundle; `weftwork bundle RUN` saves one.")
    return BundleFile(name, document, len(data))


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_FILE + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such name"
        raise click.UsageError(f"{shown(name, 200)} cannot be read: {why}.") from None


def _media(event: dict[str, Any]) -> dict[str, Any]:
    payload = _object(event.get("payload"))
    told = {name: payload[name] for name in ("mimeType", "bytes", "alt", "name", "url") if name in payload}
    return {"sequence": event.get("sequence"), "type": event.get("type"), **told}


def _missing(document: dict[str, Any], found: BundleFile) -> list[str]:
    """What was left out when it was made."""
    lines: list[str] = []
    if omitted := [shown(each, 60) for each in _array(found.run.get("omitted"))[:_PROBLEMS]]:
        lines.append(f"these members of the run were too large for the bundle: {', '.join(omitted)}")
    if document.get("truncated") is True:
        reason = document.get("truncatedReason")
        why = f" ({shown(reason, 80)})" if isinstance(reason, str) else ""
        if reason != "run_truncated_to_size_cap":
            lines.append(f"it was cut{why}: it has only the first {len(found.events)} events")
    if document.get("spansTruncated") is True:
        lines.append(f"there were more spans than the {len(found.spans)} that it has")
    return lines


def _violations(document: dict[str, Any]) -> list[str]:
    found = schema.check("debug-bundle", document)
    lines = [f"not as bundles are, at {shown(each.pointer or '/', 100)}: it {each.message}" for each in found]
    return [*lines[:_PROBLEMS], *([f"and {len(lines) - _PROBLEMS} more such"] if len(lines) > _PROBLEMS else [])]


def _contradictions(document: dict[str, Any], found: BundleFile) -> list[str]:
    """What no schema says."""
    lines: list[str] = []
    if document.get("redactionApplied") is True and document.get("redactionMode") == "passthrough":
        lines.append("it says that secrets are masked and also that nothing is: take it for unmasked")
    elif document.get("redactionApplied") is not True:
        lines.append("it says that secrets are not masked: pass it on with care")
    told = _object(document.get("metrics")).get("eventCount")
    if told is not None and told != len(found.events):
        lines.append(f"it says that it has {shown(told, 20)} events and has {len(found.events)}")
    sequences = [event.get("sequence", event.get("seq")) for event in found.events]
    if sequences != list(range(len(sequences))):
        lines.append("its events are not numbered one after the other from 0: some are missing or changed")
    if any("base64" in _object(event.get("payload")) for event in found.events):
        lines.append("it holds media as text, which a bundle should name by their URLs")
    return lines


def _object(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def _array(value: Any) -> list[Any]:
    return value if is_array(value) else []
