"""The file of a debug bundle, from any host: read strictly and with bounds, checked, and shown line by line.

Every text in it was written by others and is made safe to print.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.event_stream import frame_of_document
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.option_values import read_or_refuse
from weftwork.cli.console.table import align
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_elapsed, format_size, format_time
from weftwork.cli.render.event_line import run_event_line
from weftwork.cli.render.run_details import error_rows, time_rows
from weftwork.cli.render.run_progress import RunProgress
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_array, is_object

MAX_FILE: Final = 32 * 2**20
"""Bytes: four times the largest bundle that a host of ours writes."""
MAX_VALUES: Final = 4_000_000
_MAX_PROBLEMS: Final = 20
_MEDIA_MEMBERS: Final = ("mimeType", "bytes", "alt", "name", "url")
_RUN_MEMBERS: Final = ("runId", "workflowId", "status", "hostStatus", "createdAt", "startedAt", "endedAt", "error")


class BundleFile:
    """A document that is a bundle, as far as it is one. Whatever is asked for is there, if only as nothing."""

    def __init__(self, name: str, document: dict[str, Any], size: int) -> None:
        self.name = name
        self.document = document
        self.size = size
        self.run: dict[str, Any] = as_object(document.get("run"))
        self.events: list[Any] = [as_object(event) for event in as_list(document.get("events"))]
        self.spans: list[dict[str, Any]] = [as_object(span) for span in as_list(document.get("spans"))]
        self.host = as_object(document.get("host"))
        self.media: list[dict[str, Any]] = []
        for event in self.events:
            if str(event.get("type")).startswith("media."):
                payload = as_object(event.get("payload"))
                told = {name: payload[name] for name in _MEDIA_MEMBERS if name in payload}
                self.media.append({"sequence": event.get("sequence"), "type": event.get("type"), **told})
        cost = as_object(as_object(document.get("metrics")).get("openwopCost"))
        self.tokens = as_object(cost.get("tokens"))
        """Of all calls to models."""
        self.problems = [*_omissions(self), *_violations(document), *_contradictions(self)]

    def summary(self) -> dict[str, Any]:
        """What it says of itself, and what is not as it should be."""
        told = {name: self.document.get(name) for name in ("bundleVersion", "generatedAt", "host")}
        return {
            "file": self.name,
            "bytes": self.size,
            **told,
            "run": {name: self.run[name] for name in _RUN_MEMBERS if name in self.run},
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
    data = read_or_refuse(name, MAX_FILE)
    where = "standard input" if name == "-" else clean(name, 200)
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{where} is larger than {MAX_FILE // 2**20} MiB, which no bundle is.")
    try:
        document = decode(data, MAX_VALUES)
    except ClientFault as fault:
        raise click.ClickException(f"{where} is no debug bundle: {fault.message}") from None
    if not is_object(document) or "bundleVersion" not in document or not is_array(document.get("events")):
        raise click.ClickException(f"{where} is no debug bundle; `weftwork bundle RUN` saves one.")
    return BundleFile(name, document, len(data))


def _omissions(found: BundleFile) -> Iterator[str]:
    """What was left out when it was made."""
    if omitted := [clean(each, 60) for each in as_list(found.run.get("omitted"))[:_MAX_PROBLEMS]]:
        yield f"these members of the run were too large for the bundle: {', '.join(omitted)}"
    reason = found.document.get("truncatedReason")
    if found.document.get("truncated") is True and reason != "run_truncated_to_size_cap":
        why = f" ({clean(reason, 80)})" if isinstance(reason, str) else ""
        yield f"it was cut{why}: it has only the first {len(found.events)} events"
    if found.document.get("spansTruncated") is True:
        yield f"there were more spans than the {len(found.spans)} that it has"


def _violations(document: dict[str, Any]) -> Iterator[str]:
    found = schema.check("debug-bundle", document)
    for each in found[:_MAX_PROBLEMS]:
        yield f"not as bundles are, at {clean(each.pointer or '/', 100)}: it {each.message}"
    if len(found) > _MAX_PROBLEMS:
        yield f"and {len(found) - _MAX_PROBLEMS} more such"


def _contradictions(found: BundleFile) -> Iterator[str]:
    """What no schema says."""
    is_masked = found.document.get("redactionApplied") is True
    if is_masked and found.document.get("redactionMode") == "passthrough":
        yield "it says that secrets are masked and also that nothing is: take it for unmasked"
    elif not is_masked:
        yield "it says that secrets are not masked: pass it on with care"
    told = as_object(found.document.get("metrics")).get("eventCount")
    if told is not None and told != len(found.events):
        yield f"it says that it has {clean(told, 20)} events and has {len(found.events)}"
    sequences = [event.get("sequence", event.get("seq")) for event in found.events]
    if sequences != list(range(len(sequences))):
        yield "its events are not numbered one after the other from 0: some are missing or changed"
    if any("base64" in as_object(event.get("payload")) for event in found.events):
        yield "it holds media as text, which a bundle should name by their URLs"


_INDENT: Final = "  "
_MAX_DEPTH: Final = 8
"""Steps to the right of a span below others."""
_MAX_URL: Final = 8_192


def bundle_head(found: BundleFile) -> Iterator[tuple[str, str]]:
    """How the run stood, when and by whom the bundle was made, and what is in it."""
    run, document = found.run, found.document
    yield "run", clean(run.get("runId", "?"), 200)
    yield "workflow", clean(run.get("workflowId", "?"), 200)
    own, status = run.get("hostStatus"), clean(run.get("status", "?"), 60)
    yield "status", status if own in (None, run.get("status")) else f"{status}, which the host calls {clean(own, 60)}"
    yield from time_rows(run.get("startedAt", run.get("createdAt")), run.get("endedAt"))
    yield from error_rows(run.get("error"), 100)
    made = " ".join(clean(found.host.get(each, ""), 60) for each in ("name", "version")).strip()
    when = format_time(document.get("generatedAt"))
    yield "made", ", ".join(each for each in (f"by {made}" if made else "", f"{when} UTC" if when else "") if each)
    counted = (
        f"{len(found.events)} events, {len(found.spans)} spans, {len(found.media)} media, {format_size(found.size)}"
    )
    yield "bundle", f"{clean(document.get('bundleVersion'), 20)}: {counted}"
    if found.tokens:
        given, written = (clean(found.tokens.get(each, 0), 20) for each in ("input", "output"))
        yield "tokens", f"{given} in, {written} out"


def event_lines(found: BundleFile, kept: list[Any]) -> Iterator[str]:
    """A line for each event, as they are printed of a live run."""
    tree = RunProgress(str(found.run.get("runId", "")))
    wanted = {id(event) for event in kept}
    for event in found.events:
        frame = frame_of_document(event, "")
        tree.apply(frame)
        if id(event) in wanted:
            yield run_event_line(tree, frame)


def span_lines(found: BundleFile, most: int | None) -> list[str]:
    """Each span below the one that it belongs to, and how long it took."""
    rows: list[list[str]] = []
    # A span names its parent, which comes before it.
    depths: dict[str, int] = {}
    for span in found.spans[:most]:
        depth = depths[str(span.get("spanId"))] = depths.get(str(span.get("parentSpanId")), -1) + 1
        node = as_object(span.get("attributes")).get("openwop.node_id", "")
        took = format_elapsed(span.get("startedAt"), span.get("endedAt")) or "not ended"
        name = _INDENT * min(depth, _MAX_DEPTH) + clean(span.get("name", "?"), 100)
        rows.append([name, clean(node, 60) if node else "", took, clean(span.get("status", ""), 20)])
    return [*align(rows, _INDENT), *_more_line(len(found.spans), most)]


def media_lines(found: BundleFile, most: int | None) -> list[str]:
    """What the run has shown: the kind, the type, the size and what it is of, and below it where it is."""
    lines: list[str] = []
    for media in found.media[:most]:
        count = media.get("bytes")
        told = [clean(media.get("type"), 40), clean(media.get("mimeType", "?"), 80)]
        told += [format_size(count)] if isinstance(count, int) else []
        told += [f'"{clean(media[name], 200)}"' for name in ("alt", "name") if name in media]
        lines.append(_INDENT + _INDENT.join(told))
        lines.append(_INDENT * 2 + (clean(media["url"], _MAX_URL) if "url" in media else "has no URL"))
    return [*lines, *_more_line(len(found.media), most)]


def _more_line(count: int, most: int | None) -> list[str]:
    return [f"{_INDENT}and {count - most} more; --all shows them"] if most is not None and count > most else []
