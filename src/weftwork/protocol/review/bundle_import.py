"""Reads a debug bundle of any OpenWOP host, and builds the imported run from it. Pure.

Theory of operation. The bundle is untrusted. `read_bundle` checks it completely, so that nothing that reads runs has to
expect a malformed event: each event matches its schemas and can be shown, and sequences have no gap. A problem names
its place and repeats no value. `build_run` then creates the run with the id and the owner that the host gives it.

Status, times, outputs and error come from the events. The other members of the snapshot, such as variables and node
states, are those that the exporting host has computed, because the definition of the workflow may be unknown here.
Interrupts are left out: none of them can be answered.

All events are untrusted content, and the run is inside an untrusted boundary, so that forks of it are as well.

Sources: OpenWOP debug-bundle, RFC 0021 (trust).
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from weftwork.protocol.errors import ClientFault, Fault, invalid
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object, map_texts
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_headers import safe_file_name
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.media.inline_media import decode_base64
from weftwork.protocol.models.answers import mask_answers
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.credential_redaction import mask_credentials
from weftwork.protocol.privacy.trust import TRUST_OPTION
from weftwork.protocol.review.debug_bundle import BUNDLE_VERSION
from weftwork.protocol.review.spans import SPAN_EVENT_TYPES, RunSpans, span_fact
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import OUTPUT_CHUNK, TERMINAL_TYPES, UNTRUSTED, Event
from weftwork.protocol.run.header import (
    STATUSES,
    TERMINAL_STATUSES,
    Import,
    Owner,
    RunHeader,
    RunKey,
    Status,
)
from weftwork.protocol.run.projection import Projection, RowKind, StateRow
from weftwork.protocol.timestamps import parse_iso
from weftwork.protocol.workflow import run_options

MAX_IMPORT_BYTES: Final = 12_582_912
"""Bytes of a bundle with its media."""
MAX_IMPORT_VALUES: Final = 2_000_000
MAX_MEDIA_BYTES: Final = 3_145_728
"""Bytes of all media in a bundle, without the encoding."""
MAX_MEDIA: Final = 100
"""Media in a bundle."""
MAX_NAME: Final = 200
"""Characters of the name and the version of the host."""
MAX_PROBLEMS: Final = 20
_EVENT_ID: Final = re.compile(r"[A-Za-z0-9._:~-]{1,128}")
_MEDIA_URL: Final = re.compile(r"[!#-\[\]-~]{16,4096}")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}/[a-z0-9][a-z0-9.+-]{0,63}")
_OBJECT_ROWS: Final[dict[str, RowKind]] = {"nodeStates": "node", "channels": "channel"}
_END_STATUS: Final[dict[str, Status]] = {
    "run.completed": "completed",
    "run.failed": "failed",
    "run.cancelled": "cancelled",
}


class PackedMedia(msgspec.Struct, frozen=True):
    """Bytes of media that the bundle contains, and the URL by which its events and values refer to them."""

    url: str
    media_type: str
    data: bytes
    name: str = ""


class Bundle(msgspec.Struct, frozen=True):
    """A checked bundle."""

    document: dict[str, Any]
    events: tuple[dict[str, Any], ...]
    media: tuple[PackedMedia, ...]
    status: Status
    """The status of the run when it was exported."""
    most_growth: int = MAX_IMPORT_BYTES
    """Bytes by which the URLs of packed media may make the run larger."""

    @property
    def run(self) -> dict[str, Any]:
        return self.document["run"]


class ImportedRun(msgspec.Struct, frozen=True):
    """What the store needs to create the run."""

    header: RunHeader
    first: Batch
    log_bytes: int


def read_bundle(data: bytes, limits: Limits) -> Bundle:
    """imp-02 (OpenWOP debug-bundle): the bundle. Raises ClientFault with the first problems if it is malformed, is
    truncated, contradicts itself, or exceeds a limit of this host."""
    document = decode(data, MAX_IMPORT_VALUES)
    schema.require("debug-bundle", document)
    if document["bundleVersion"] != BUNDLE_VERSION:
        raise invalid(f"This host imports bundles of version {BUNDLE_VERSION} only.", "/bundleVersion")
    _refuse_truncated(document)
    events: list[Any] = document["events"]
    if not events:
        raise invalid("The bundle has no events, so there is nothing to import.", "/events")
    problems = _Problems()
    _check_run(document, problems)
    _check_events(document["run"]["runId"], events, problems)
    problems.refuse()
    _check_readable(document["run"], events)
    status = _recorded_status(document["run"], events[-1]["type"])
    media = _read_media(document.get("media", []))
    size = sum([len(encode_stored(event["payload"])) for event in events])
    if size > limits.max_run_log_bytes:
        text = f"The events have {size:,} bytes, and a run of this host at most {limits.max_run_log_bytes:,}"
        raise ClientFault("payload_too_large", f"{text} (`max_run_log_bytes`).", {"limit": limits.max_run_log_bytes})
    most_growth = min(MAX_IMPORT_BYTES, limits.max_run_log_bytes - size)
    return Bundle(document, tuple(events), media, status, most_growth)


class _Problems:
    """Collects the first problems of a bundle."""

    def __init__(self) -> None:
        self._found: list[Violation] = []

    @property
    def is_full(self) -> bool:
        return len(self._found) >= MAX_PROBLEMS

    def add(self, pointer: str, message: str) -> None:
        self._found.append(Violation(pointer, "import", message))

    def add_all(self, at: str, violations: list[Violation]) -> None:
        self._found += [msgspec.structs.replace(each, pointer=at + each.pointer) for each in violations]

    def refuse(self) -> None:
        """Raises ClientFault if there is a problem."""
        if self._found:
            raise schema.violations_fault("debug-bundle", self._found)


def _refuse_truncated(document: dict[str, Any]) -> None:
    """imp-02: a part of a run would look like a run that did less."""
    omitted = document["run"].get("omitted")
    listed: Any = document.get("metrics", {}).get("eventCount", len(document["events"]))
    if document.get("truncated") is True or omitted or listed > len(document["events"]):
        message = (
            "The bundle is truncated: it does not contain the whole run, so it cannot be imported. "
            "Export the run again without a limit on its events; a run that is too large for a bundle cannot be moved."
        )
        raise invalid(message, "/truncated")


def _check_run(document: dict[str, Any], problems: _Problems) -> None:
    run = document["run"]
    if not is_path_id(run["workflowId"]):
        problems.add("/run/workflowId", "must be the id of a workflow")
    if len(run["runId"]) > 128:
        problems.add("/run/runId", "must have 128 or fewer characters")
    if parse_iso(document["generatedAt"]) is None:
        problems.add("/generatedAt", "must be a time in UTC, such as 2026-01-31T08:05:09.042Z")
    for name in ("name", "version"):
        if len(document["host"][name]) > MAX_NAME:
            problems.add(f"/host/{name}", f"must have {MAX_NAME} or fewer characters")
    if len(run.get("inputs", {})) > run_options.MAX_INPUTS:
        problems.add("/run/inputs", f"must have {run_options.MAX_INPUTS} or fewer members")


def _check_events(run_id: str, events: list[Any], problems: _Problems) -> None:
    """imp-02: each event against its schemas; sequences without gaps from 0; nothing after the end of the run. Events
    of unknown types are kept."""
    seen: set[str] = set()
    for at, event in enumerate(events):
        place = f"/events/{at}"
        if violations := schema.check("run-event", event):
            problems.add_all(place, violations)
        else:
            _check_event(run_id, at, event, seen, problems)
            if event["type"] in TERMINAL_TYPES and at < len(events) - 1:
                problems.add(f"/events/{at + 1}", "must not follow the end of the run")
        if problems.is_full:
            return


def _check_event(run_id: str, at: int, event: dict[str, Any], seen: set[str], problems: _Problems) -> None:
    place = f"/events/{at}"
    if event["sequence"] != at:
        problems.add(f"{place}/sequence", f"must be {at}: sequences begin at 0 and have no gap")
    if event["runId"] != run_id:
        problems.add(f"{place}/runId", "must be the id of the run of the bundle")
    if _EVENT_ID.fullmatch(event["eventId"]) is None:
        problems.add(f"{place}/eventId", "must have only letters, digits and the characters . _ : ~ -")
    if event["eventId"] in seen:
        problems.add(f"{place}/eventId", "must differ from that of every other event")
    seen.add(event["eventId"])
    if parse_iso(event["timestamp"]) is None:
        problems.add(f"{place}/timestamp", "must be a time in UTC, such as 2026-01-31T08:05:09.042Z")
    interrupt_id = event.get("interruptId", "")
    if not isinstance(interrupt_id, str) or len(interrupt_id) > 256:
        problems.add(f"{place}/interruptId", "must be a string of 256 or fewer characters")
    if not is_object(event["payload"]):
        problems.add(f"{place}/payload", "must be of type object")
    else:
        problems.add_all(f"{place}/payload", schema.check_payload(event["type"], event["payload"]))


def _check_readable(run: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """imp-02: everything that reads events for callers can read these. Types of this host have no payload schema."""
    header = RunHeader("run", "partition", Owner("tenant", "key"), run["workflowId"], "", 0)
    spans = RunSpans(header)
    for at, document in enumerate(events):
        event = _event("run", document, encode_stored(document["payload"]))
        try:
            mask_answers([event], header.partition)
            if event.type in SPAN_EVENT_TYPES:
                spans.add(span_fact(event))
        except (LookupError, TypeError, ValueError, AttributeError, Fault):
            message = "This host cannot show an event of this type with this payload."
            raise invalid(message, f"/events/{at}/payload") from None


def _recorded_status(run: dict[str, Any], last_type: str) -> Status:
    """imp-02: the status of the run when it was exported. Raises ClientFault if the log says otherwise."""
    stated: Any = run.get("hostStatus")
    status: Any = stated if stated in STATUSES else run["status"]
    ended = _END_STATUS.get(last_type)
    if (ended is None and status in TERMINAL_STATUSES) or ended not in (None, status):
        raise invalid("The status of the run is not the one at which its events end.", "/run/status")
    return cast(Status, "waiting-input" if status == "waiting-clarification" else status)


def _read_media(listed: Any) -> tuple[PackedMedia, ...]:
    """imp-07: the media in the bundle. Raises ClientFault if the bytes are not those of the digest, or too many."""
    if not is_array(listed) or len(listed) > MAX_MEDIA:
        raise invalid(f"The media must be an array of up to {MAX_MEDIA} objects.", "/media")
    media: list[PackedMedia] = []
    size = 0
    for at, item in enumerate(listed):
        text = item.get("base64") if is_object(item) else None
        data = decode_base64(text) if isinstance(text, str) else None
        if not is_object(item) or data is None:
            raise invalid("The media must have bytes as base64.", f"/media/{at}/base64")
        url, media_type, name = (item.get(member, "") for member in ("url", "mimeType", "name"))
        if not isinstance(url, str) or _MEDIA_URL.fullmatch(url) is None:
            raise invalid("The media must have the URL by which the run refers to it.", f"/media/{at}/url")
        if item.get("sha256") != hashlib.sha256(data).hexdigest():
            raise invalid("The bytes do not have this SHA-256 digest.", f"/media/{at}/sha256")
        is_named = isinstance(media_type, str) and _MEDIA_TYPE.fullmatch(media_type) is not None
        size += len(data)
        if size > MAX_MEDIA_BYTES:
            raise ClientFault(
                "payload_too_large", f"The media have more than {MAX_MEDIA_BYTES:,} bytes.", {"limit": MAX_MEDIA_BYTES}
            )
        media.append(
            PackedMedia(
                url, media_type if is_named else "", data, safe_file_name(name) if isinstance(name, str) else ""
            )
        )
    return tuple(media)


def build_run(
    bundle: Bundle, run: RunKey, owner: Owner, now: int, mode: Any, urls: Mapping[str, str] | None = None
) -> ImportedRun:
    """imp-01, imp-03: the run as it is stored. `urls` are the URLs of the packed media in the bundle and here.

    It is stored as ended at the time of the import: no executor loads such a run, none of its interrupts is open, and
    retention counts from the import.
    """
    change = _changes(urls or {}, bundle.most_growth)
    events = tuple([_event(run.run_id, each, change(_payload(each, run.run_id))) for each in bundle.events])
    header = _header(bundle, run, owner, now, mode, change)
    rows = tuple(_rows(bundle, events, change))
    ended = bundle.status in TERMINAL_STATUSES
    started = next((event.timestamp for event in events if event.type == "run.started"), None)
    last = msgspec.json.decode(events[-1].payload)
    current: Any = bundle.run.get("currentNodeId")
    projection = Projection(
        bundle.status if ended else "cancelled",
        len(events) - 1,
        started,
        now,
        current if isinstance(current, str) and not ended else None,
        encode_stored(last["error"]) if events[-1].type == "run.failed" else None,
        sum(event.type == "node.started" for event in events),
        encode_stored(last.get("outputs", {})) if events[-1].type == "run.completed" else None,
    )
    # Also of this tenant's own assets, if the bundle comes from this host.
    assets = {sha256 for event in events for sha256 in referenced_assets(event.payload, run.partition)}
    assets |= {sha256 for row in rows for sha256 in referenced_assets(row.value, run.partition)}
    batch = Batch(events, projection, rows, assets=tuple(sorted(assets)))
    return ImportedRun(header, batch, sum([event.size for event in events]))


Change = Callable[[Any], bytes]


def _changes(urls: Mapping[str, str], most_growth: int) -> Change:
    """imp-06: encodes a value with its credentials masked and the URLs of packed media replaced. A bundle of another
    host may be less masked than the logs of this one.

    A new URL is never searched for the others. The sender of the bundle chose the old ones:
    a short one that occurs often would make a small bundle a large run, so the growth of all values is limited.
    """
    encoded_urls = [(url.encode(), max(0, len(new) - len(url))) for url, new in urls.items()]
    # The longest first, because a URL may contain another one.
    longest_first = sorted(urls.items(), key=lambda each: len(each[0]), reverse=True)
    growth = 0

    def replace(text: str) -> str:
        return replace_texts(text, longest_first)

    def change(value: Any) -> bytes:
        nonlocal growth
        document = encode_stored(value)
        counts = [document.count(encoded) for encoded, _ in encoded_urls]
        if any(counts):
            growth += sum([count * longer for count, (_, longer) in zip(counts, encoded_urls, strict=True)])
            if growth > most_growth:
                message = "The URLs of the packed media occur so often that the run would be too large for this host."
                raise ClientFault("payload_too_large", message, {"pointer": "/media"})
            value = map_texts(value, replace)
            document = encode_stored(value)
        return encode_stored(mask_credentials(value)) if may_hold_credential(document) else document

    return change


def replace_texts(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """The text with each first member of a pair replaced by the second one, in the order of the pairs. A replacement is
    not searched. No pattern, because one with many alternatives takes quadratic time for hostile texts."""
    for at, (old, new) in enumerate(pairs):
        if old in text:
            return new.join([replace_texts(part, pairs[at + 1 :]) for part in text.split(old)])
    return text


def _payload(event: dict[str, Any], run_id: str) -> dict[str, Any]:
    payload: dict[str, Any] = event["payload"]
    return {**payload, "runId": run_id} if event["type"] == OUTPUT_CHUNK else payload


def _event(run_id: str, document: dict[str, Any], payload: bytes) -> Event:
    """imp-03: an event of the bundle as an event of the imported run. Its payload is external content."""
    engine_version: Any = document.get("engineVersion", "")
    return Event(
        run_id,
        document["sequence"],
        document["eventId"],
        document["type"],
        parse_iso(document["timestamp"]) or 0,
        payload,
        document.get("nodeId"),
        document.get("causationId"),
        document.get("schemaVersion", 1),
        _small_number(engine_version) or 0,
        document.get("interruptId"),
        UNTRUSTED,
    )


def _header(bundle: Bundle, run: RunKey, owner: Owner, now: int, mode: Any, change: Change) -> RunHeader:
    source, host = bundle.run, bundle.document["host"]
    ended = bundle.status in TERMINAL_STATUSES
    digest, version = (_definition_member(source.get("definition"), name) for name in ("digest", "version"))
    imported = Import(
        source["runId"],
        host["name"],
        host["version"],
        parse_iso(bundle.document["generatedAt"]) or 0,
        bundle.status,
        parse_iso(bundle.events[-1]["timestamp"]) if ended else None,
        version,
    )
    options: dict[str, Any] = {
        name: _object(source.get(name), change) for name in ("inputs", "configurable", "metadata")
    }
    return RunHeader(
        run.run_id,
        run.partition,
        owner,
        source["workflowId"],
        digest,
        now,
        options["inputs"],
        {**_legal_options(options["configurable"], mode), TRUST_OPTION: UNTRUSTED},
        _legal_tags(source.get("tags"), change),
        options["metadata"] if _is_legal({}, options["metadata"]) else {},
        assets=tuple(sorted(referenced_assets(encode_stored(list(options.values())), run.partition))),
        imported=imported,
    )


def _definition_member(definition: Any, name: str) -> str:
    """The digest or the version of the definition; empty if the bundle does not have it."""
    value = definition.get(name) if is_object(definition) else None
    return value if isinstance(value, str) and len(value) <= MAX_NAME else ""


def _object(value: Any, change: Change) -> dict[str, Any]:
    return msgspec.json.decode(change(value)) if is_object(value) else {}


def _legal_options(configurable: dict[str, Any], mode: Any) -> dict[str, Any]:
    """The options, or none if this host would refuse them for a new run. Replays are executed with them."""
    try:
        schema.require("run-options", {"configurable": configurable})
        run_options.check_mock_provider(configurable, mode)
    except ClientFault:
        return {}
    return configurable if _is_legal(configurable, {}) else {}


def _is_legal(configurable: dict[str, Any], metadata: dict[str, Any]) -> bool:
    try:
        run_options.check_options(configurable, metadata)
    except ClientFault:
        return False
    return True


def _legal_tags(tags: Any, change: Change) -> tuple[str, ...]:
    """The tags, or none if this host would refuse them for a new run."""
    if not is_array(tags) or schema.check("run-options", {"tags": tags}):
        return ()
    return tuple(msgspec.json.decode(change(tags)))


def _rows(bundle: Bundle, events: tuple[Event, ...], change: Change) -> list[StateRow]:
    """The state rows of the run, except its interrupts and its children."""
    run = bundle.run
    channels: Any = run.get("channels") if is_object(run.get("channels")) else {}
    rows: list[StateRow] = []
    for member, kind in _OBJECT_ROWS.items():
        listed: Any = run.get(member)
        rows += [StateRow(kind, name, change(value)) for name, value in (listed if is_object(listed) else {}).items()]
    variables: dict[str, Any] = run.get("variables", {})
    # The snapshot of this host shows channels among the variables as well.
    rows += [StateRow("variable", name, change(value)) for name, value in variables.items() if name not in channels]
    rows += [
        StateRow("agent", name, change(run[name])) for name in ("agent", "runOrchestrator") if _is_agent(run, name)
    ]
    artifacts: Any = run.get("artifacts")
    for name, value in (artifacts if is_object(artifacts) else {}).items():
        if is_object(value) and _has_artifact(value.get("sequence"), events):
            rows.append(StateRow("artifact", name, change(value)))
    return rows


def _is_agent(run: dict[str, Any], name: str) -> bool:
    return name in run and not schema.check("agent-ref", run[name])


def _has_artifact(sequence: Any, events: tuple[Event, ...]) -> bool:
    """Whether the event of this sequence is about an artifact that can be read."""
    if not isinstance(sequence, int) or not 0 <= sequence < len(events):
        return False
    event = events[sequence]
    version = msgspec.json.decode(event.payload).get("version") if event.type == "artifact.created" else None
    return isinstance(version, int | str) and _small_number(str(version)) is not None


def _small_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
