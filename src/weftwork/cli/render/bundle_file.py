"""Reads, checks and renders the file of a debug bundle from any host.

The file is untrusted: it is decoded strictly, its size is limited, and every text is made printable.
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
"""Bytes. Four times the size of the largest bundle that weftwork writes."""
MAX_VALUES: Final = 4_000_000
_MAX_PROBLEMS: Final = 20
_MEDIA_MEMBERS: Final = ("mimeType", "bytes", "alt", "name", "url")
_RUN_MEMBERS: Final = ("runId", "workflowId", "status", "hostStatus", "createdAt", "startedAt", "endedAt", "error")


class BundleFile:
    """A decoded bundle. Members that are missing or have the wrong type are empty here, and listed in `problems`."""

    def __init__(self, name: str, document: dict[str, Any], size: int) -> None:
        self.name = name
        self.document = document
        self.size = size
        self.run: dict[str, Any] = as_object(document.get("run"))
        self.events: list[Any] = [as_object(event) for event in as_list(document.get("events"))]
        self.spans: list[dict[str, Any]] = [as_object(span) for span in as_list(document.get("spans"))]
        self.annotations: list[dict[str, Any]] = [as_object(each) for each in as_list(document.get("annotations"))]
        self.host = as_object(document.get("host"))
        self.media: list[dict[str, Any]] = []
        for event in self.events:
            if str(event.get("type")).startswith("media."):
                payload = as_object(event.get("payload"))
                members = {name: payload[name] for name in _MEDIA_MEMBERS if name in payload}
                self.media.append({"sequence": event.get("sequence"), "type": event.get("type"), **members})
        cost = as_object(as_object(document.get("metrics")).get("openwopCost"))
        self.tokens = as_object(cost.get("tokens"))
        """Token counts of all model calls."""
        self.problems = [*_omissions(self), *_violations(document), *_contradictions(self)]

    def summary(self) -> dict[str, Any]:
        """The bundle's counts, its run and its problems, for --json."""
        origin = {name: self.document.get(name) for name in ("bundleVersion", "generatedAt", "host")}
        return {
            "file": self.name,
            "bytes": self.size,
            **origin,
            "run": {name: self.run[name] for name in _RUN_MEMBERS if name in self.run},
            "eventCount": len(self.events),
            "eventTypes": dict(sorted(Counter(str(event.get("type")) for event in self.events).items())),
            "spanCount": len(self.spans),
            "tokens": self.tokens or None,
            "media": self.media,
            "annotationCount": len(self.annotations),
            "truncated": self.document.get("truncated") is True,
            "truncatedReason": self.document.get("truncatedReason"),
            "problems": self.problems,
        }


def read_bundle(name: str) -> BundleFile:
    """The bundle in a file or on standard input.

    Raises UsageError if the file cannot be read, ClickException if it is not a bundle.
    """
    data = read_or_refuse(name, MAX_FILE)
    where = "standard input" if name == "-" else clean(name, 200)
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{where} is larger than {MAX_FILE // 2**20} MiB, the maximum size of a bundle.")
    try:
        document = decode(data, MAX_VALUES)
    except ClientFault as fault:
        raise click.ClickException(f"{where} is not a debug bundle: {fault.message}") from None
    if not is_object(document) or "bundleVersion" not in document or not is_array(document.get("events")):
        raise click.ClickException(
            f"{where} is not a debug bundle: it has no `bundleVersion` or no `events`; `weftwork bundle RUN` saves one."
        )
    return BundleFile(name, document, len(data))


def _omissions(bundle: BundleFile) -> Iterator[str]:
    """What the host omitted from the bundle."""
    if omitted := [clean(each, 60) for each in as_list(bundle.run.get("omitted"))[:_MAX_PROBLEMS]]:
        yield f"members of the run that were too large for the bundle: {', '.join(omitted)}"
    reason = bundle.document.get("truncatedReason")
    if bundle.document.get("truncated") is True and reason != "run_truncated_to_size_cap":
        cause = f" ({clean(reason, 80)})" if isinstance(reason, str) else ""
        count, total = len(bundle.events), _event_count(bundle)
        of_total = f" of {total}" if isinstance(total, int) and total > count else ""
        yield f"the bundle is truncated{cause} to the first {count}{of_total} events"
    if bundle.document.get("spansTruncated") is True:
        yield f"the bundle is truncated to the first {len(bundle.spans)} spans"
    if bundle.document.get("annotationsTruncated") is True:
        yield f"the bundle is truncated to the first {len(bundle.annotations)} annotations"


def _violations(document: dict[str, Any]) -> Iterator[str]:
    violations = schema.check("debug-bundle", document)
    for each in violations[:_MAX_PROBLEMS]:
        yield f"the bundle does not match its schema at {clean(each.pointer or '/', 100)}: it {each.message}"
    if len(violations) > _MAX_PROBLEMS:
        yield f"and {len(violations) - _MAX_PROBLEMS} more schema violations"


def _event_count(bundle: BundleFile) -> Any:
    return as_object(bundle.document.get("metrics")).get("eventCount")


def _contradictions(bundle: BundleFile) -> Iterator[str]:
    """Inconsistencies that the schema cannot express."""
    is_redacted = bundle.document.get("redactionApplied") is True
    if is_redacted and bundle.document.get("redactionMode") == "passthrough":
        yield "redactionApplied is true but redactionMode is passthrough; assume that secrets are not redacted"
    elif not is_redacted:
        yield "secrets are not redacted in this bundle; share it with care"
    event_count, is_truncated = _event_count(bundle), bundle.document.get("truncated") is True
    # A truncated bundle gives the number of events of the run. Some hosts give the number of events in the bundle.
    is_larger = isinstance(event_count, int) and event_count > len(bundle.events)
    if event_count is not None and event_count != len(bundle.events) and not (is_truncated and is_larger):
        yield f"metrics.eventCount is {clean(event_count, 20)}, but the bundle has {len(bundle.events)} events"
    sequences = [event.get("sequence", event.get("seq")) for event in bundle.events]
    if sequences != list(range(len(sequences))):
        yield "the sequences of the events are not consecutive from 0: events are missing or were changed"
    if any("base64" in as_object(event.get("payload")) for event in bundle.events):
        yield "the bundle has inline media (base64), which should be URLs"


_INDENT: Final = "  "
_MAX_DEPTH: Final = 8
"""Maximum indentation levels of nested spans."""
_MAX_URL: Final = 8_192
_MAX_NOTE: Final = 4_096


def bundle_head(bundle: BundleFile) -> Iterator[tuple[str, str]]:
    """Rows about the run, the origin of the bundle, and its contents."""
    run, document = bundle.run, bundle.document
    yield "run", clean(run.get("runId", "?"), 200)
    yield "workflow", clean(run.get("workflowId", "?"), 200)
    status, host_status = run.get("status", "?"), run.get("hostStatus")
    suffix = "" if host_status in (None, status) else f" (host status {clean(host_status, 60)})"
    yield "status", clean(status, 60) + suffix
    yield from time_rows(run.get("startedAt", run.get("createdAt")), run.get("endedAt"))
    yield from error_rows(run.get("error"), 100)
    author = " ".join(clean(bundle.host.get(each, ""), 60) for each in ("name", "version")).strip()
    generated = format_time(document.get("generatedAt"))
    yield (
        "created",
        ", ".join(each for each in (f"by {author}" if author else "", f"{generated} UTC" if generated else "") if each),
    )
    counts = [f"{len(bundle.events)} events", f"{len(bundle.spans)} spans", f"{len(bundle.media)} media"]
    counts += [f"{len(bundle.annotations)} annotations"] if bundle.annotations else []
    contents = ", ".join([*counts, format_size(bundle.size)])
    yield "bundle", f"{clean(document.get('bundleVersion'), 20)}: {contents}"
    if bundle.tokens:
        input_tokens, output_tokens = (clean(bundle.tokens.get(each, 0), 20) for each in ("input", "output"))
        yield "tokens", f"{input_tokens} input, {output_tokens} output"


def event_lines(bundle: BundleFile, selected: list[Any]) -> Iterator[str]:
    """One line per selected event, as `weftwork events` prints it."""
    tree = RunProgress(str(bundle.run.get("runId", "")))
    selected_ids = {id(event) for event in selected}
    for event in bundle.events:
        frame = frame_of_document(event, "")
        tree.apply(frame)
        if id(event) in selected_ids:
            yield run_event_line(tree, frame)


def span_lines(bundle: BundleFile, most: int | None) -> list[str]:
    """One line per span with its duration, indented below its parent."""
    rows: list[list[str]] = []
    # A parent span comes before its children.
    depths: dict[str, int] = {}
    for span in bundle.spans[:most]:
        depth = depths[str(span.get("spanId"))] = depths.get(str(span.get("parentSpanId")), -1) + 1
        node = as_object(span.get("attributes")).get("openwop.node_id", "")
        duration = format_elapsed(span.get("startedAt"), span.get("endedAt")) or "not ended"
        name = _INDENT * min(depth, _MAX_DEPTH) + clean(span.get("name", "?"), 100)
        rows.append([name, clean(node, 60) if node else "", duration, clean(span.get("status", ""), 20)])
    return [*align(rows, _INDENT), *_more_line(len(bundle.spans), most)]


def media_lines(bundle: BundleFile, most: int | None) -> list[str]:
    """Two lines per media event: its type, media type, size and description, then its URL."""
    lines: list[str] = []
    for media in bundle.media[:most]:
        count = media.get("bytes")
        parts = [clean(media.get("type"), 40), clean(media.get("mimeType", "?"), 80)]
        parts += [format_size(count)] if isinstance(count, int) else []
        parts += [f'"{clean(media[name], 200)}"' for name in ("alt", "name") if name in media]
        lines.append(_INDENT + _INDENT.join(parts))
        lines.append(_INDENT * 2 + (clean(media["url"], _MAX_URL) if "url" in media else "(no URL)"))
    return [*lines, *_more_line(len(bundle.media), most)]


def annotation_lines(bundle: BundleFile, most: int | None) -> list[str]:
    """One line per annotation: its time, target, signal and author; then the lines of its note."""
    lines: list[str] = []
    for annotation in bundle.annotations[:most]:
        target, signal = as_object(annotation.get("target")), as_object(annotation.get("signal"))
        where = next(
            (f"{name[:-2]} {clean(target[name], 60)}" for name in ("nodeId", "eventId") if name in target), "run"
        )
        values = [f"{clean(name, 40)}={clean(value, 200)}" for name, value in signal.items() if name != "kind"]
        author = clean(as_object(annotation.get("actor")).get("principalRef", "?"), 60)
        when = format_time(annotation.get("createdAt")) or "?"
        parts = [when, where, clean(signal.get("kind", "?"), 40), *values, f"by {author}"]
        lines.append(_INDENT + _INDENT.join(parts))
        if "note" in annotation:
            note = str(annotation["note"])[:_MAX_NOTE].splitlines()
            lines += [_INDENT * 2 + clean(line) for line in note]
    return [*lines, *_more_line(len(bundle.annotations), most)]


def _more_line(count: int, most: int | None) -> list[str]:
    return [f"{_INDENT}and {count - most} more; --all shows them"] if most is not None and count > most else []
