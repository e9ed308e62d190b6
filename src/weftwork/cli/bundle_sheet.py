"""A bundle for people, line by line. Everything in it was written by others and is made safe to print."""

from collections.abc import Iterator
from typing import Any, Final

from weftwork.cli.bundle_file import BundleFile
from weftwork.cli.elapsed import between, clock
from weftwork.cli.event_line import line_in
from weftwork.cli.plain import shown
from weftwork.cli.progress import size
from weftwork.cli.sse import batched
from weftwork.cli.table import aligned
from weftwork.cli.tree import RunTree
from weftwork.protocol.json_value import is_object

_INDENT: Final = "  "
_DEEPEST: Final = 8
"""Steps to the right of a span below others."""
_URL: Final = 8_192


def head_lines(found: BundleFile) -> list[str]:
    """How the run stood, when and by whom the bundle was made, and what is in it."""
    return aligned([[name, text] for name, text in _head(found)])


def _head(found: BundleFile) -> Iterator[tuple[str, str]]:
    run, document = found.run, found.document
    yield "run", shown(run.get("runId", "?"), 200)
    yield "workflow", shown(run.get("workflowId", "?"), 200)
    own, status = run.get("hostStatus"), shown(run.get("status", "?"), 60)
    yield "status", status if own in (None, run.get("status")) else f"{status}, which the host calls {shown(own, 60)}"
    begun = run.get("startedAt", run.get("createdAt"))
    if clock(begun):
        yield "started", f"{clock(begun)} UTC"
    if clock(run.get("endedAt")):
        took = between(begun, run.get("endedAt"))
        yield "ended", f"{clock(run.get('endedAt'))} UTC" + (f", took {took}" if took else "")
    error = run.get("error")
    if is_object(error):
        yield "error", f"{shown(error.get('code', '?'), 100)}: {shown(error.get('message', ''))}"
        if is_object(error.get("details")) and error["details"]:
            yield "details", shown(error["details"])
    made = " ".join(shown(found.host.get(each, ""), 60) for each in ("name", "version")).strip()
    when = clock(document.get("generatedAt"))
    yield "made", ", ".join(each for each in (f"by {made}" if made else "", f"{when} UTC" if when else "") if each)
    counted = f"{len(found.events)} events, {len(found.spans)} spans, {len(found.media)} media, {size(found.size)}"
    yield "bundle", f"{shown(document.get('bundleVersion'), 20)}: {counted}"
    if found.tokens:
        given, written = (shown(found.tokens.get(each, 0), 20) for each in ("input", "output"))
        yield "tokens", f"{given} in, {written} out"


def event_lines(found: BundleFile, kept: list[Any]) -> Iterator[str]:
    """A line for each event, as they are printed of a live run."""
    tree = RunTree(str(found.run.get("runId", "")))
    wanted = {id(event) for event in kept}
    for event in found.events:
        frame = batched(event, "")
        tree.apply(frame)
        if id(event) in wanted:
            yield line_in(tree, frame)


def span_lines(found: BundleFile, most: int | None) -> list[str]:
    """Each span below the one that it belongs to, and how long it took."""
    depths = _depths(found.spans)
    rows: list[list[str]] = []
    for span, depth in zip(found.spans[:most], depths, strict=False):
        attributes = span.get("attributes")
        node = attributes.get("openwop.node_id", "") if is_object(attributes) else ""
        took = between(span.get("startedAt"), span.get("endedAt")) or "not ended"
        name = _INDENT * min(depth, _DEEPEST) + shown(span.get("name", "?"), 100)
        rows.append([name, shown(node, 60) if node else "", took, shown(span.get("status", ""), 20)])
    return [*aligned(rows, _INDENT), *_more(len(found.spans), most)]


def media_lines(found: BundleFile, most: int | None) -> list[str]:
    """What the run has shown: the kind, the type, the size and what it is of, and below it where it is."""
    lines: list[str] = []
    for media in found.media[:most]:
        count = media.get("bytes")
        told = [shown(media.get("type"), 40), shown(media.get("mimeType", "?"), 80)]
        told += [size(count)] if isinstance(count, int) else []
        told += [f'"{shown(media[name], 200)}"' for name in ("alt", "name") if name in media]
        lines.append(_INDENT + _INDENT.join(told))
        lines.append(_INDENT * 2 + (shown(media["url"], _URL) if "url" in media else "has no URL"))
    return [*lines, *_more(len(found.media), most)]


def _more(count: int, most: int | None) -> list[str]:
    return [f"{_INDENT}and {count - most} more; --all shows them"] if most is not None and count > most else []


def _depths(spans: list[dict[str, Any]]) -> list[int]:
    """How far each is below the first; a span names its parent, which comes before it."""
    known: dict[str, int] = {}
    found: list[int] = []
    for span in spans:
        depth = known.get(str(span.get("parentSpanId")), -1) + 1
        known[str(span.get("spanId"))] = depth
        found.append(depth)
    return found
