"""The file of a recorded history: a run with its options, its definition and its events, as one JSON document. Pure.

Theory of operation. A history is what `weftwork.testing.replay` executes again. Everything in it was read over HTTP, so
values that the log hides are masks in it. A node that reads a mask would get another value than in the recorded run, so
the file lists where the masks are, and a replay does not call the nodes that they can reach.

An event is one line of the file, so that a history can be reviewed and compared like code.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import partition
from weftwork.protocol.json.canonical import encode_recorded, encode_stored
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.privacy.secret_matcher import MARKER_PREFIX
from weftwork.protocol.run.events import Event, Trust
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.timestamps import iso, parse_iso

HISTORY_VERSION: Final = 1
MAX_HISTORY_BYTES: Final = 64 * 2**20
MAX_HISTORY_VALUES: Final = 5_000_000
MASKED_NOTE: Final = (
    "The host hides sensitive values of this run, so they are masked here. A replay takes over the recorded outcome of "
    "each node that such a value can reach, and does not call its code."
)
MASK: Final = MARKER_PREFIX.encode()
"""The beginning of every mask."""


class Masked(msgspec.Struct, frozen=True):
    """Where a history has masks instead of values."""

    inputs: tuple[str, ...] = ()
    """The names of the inputs."""
    events: tuple[int, ...] = ()
    """The sequences of the events."""
    note: str = MASKED_NOTE


class HistoryRun(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The members of a snapshot that are fixed when a run is created, and its status."""

    run_id: str
    workflow_id: str
    created_at: str
    status: str
    owner: Owner
    inputs: dict[str, Any] = {}
    configurable: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    engine_version: str = "1"
    event_log_schema_version: int = 1


class HistoryEvent(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An event document of the protocol."""

    event_id: str
    run_id: str
    type: str
    sequence: int
    timestamp: str
    payload: dict[str, Any]
    node_id: str | None = None
    causation_id: str | None = None
    interrupt_id: str | None = None
    content_trust: Trust | None = None
    schema_version: int = 1
    engine_version: str = "1"


class HistoryFile(msgspec.Struct, frozen=True, rename="camel"):
    """The members of the file, in order. `events` comes last."""

    history_version: int
    recorded_at: str
    host: dict[str, str]
    run: HistoryRun
    masked: Masked | None
    definition: dict[str, Any]
    events: tuple[HistoryEvent, ...]


class History(msgspec.Struct, frozen=True):
    """A history that was read, in the forms of the engine. Without masks, `masked` is absent."""

    header: RunHeader
    status: str
    definition: dict[str, Any]
    events: tuple[Event, ...]
    masked: Masked | None
    host: dict[str, str]


def encode_history(
    snapshot: dict[str, Any], events: list[dict[str, Any]], definition: dict[str, Any], host: dict[str, str], now: int
) -> bytes:
    """hist-01 (host): the file for a run, from its snapshot, its event documents and its definition. Raises ClientFault
    if they are not those of a run of the protocol."""
    inputs = snapshot.get("inputs")
    named = tuple(name for name, value in inputs.items() if _has_mask(value)) if is_object(inputs) else ()
    sequences = tuple(int(each.get("sequence", 0)) for each in events if _has_mask(each.get("payload")))
    members = HistoryRun.__struct_encode_fields__
    document = {
        "historyVersion": HISTORY_VERSION,
        "recordedAt": iso(now),
        "host": host,
        "run": {name: snapshot[name] for name in members if name in snapshot},
        "masked": msgspec.to_builtins(Masked(named, sequences)) if named or sequences else None,
        "definition": definition,
    }
    read_history(msgspec.json.encode({**document, "events": events}))
    head = msgspec.json.format(msgspec.json.encode(document), indent=2).removesuffix(b"\n}")
    lines = b",\n".join([b"    " + msgspec.json.encode(each) for each in events])
    return head + b',\n  "events": [\n' + lines + b"\n  ]\n}\n"


def read_history(data: bytes) -> History:
    """hist-01 (host): the history in a file. Raises ClientFault if it is not one, has no events, or has gaps."""
    document = decode(data, MAX_HISTORY_VALUES)
    version = document.get("historyVersion") if is_object(document) else None
    if version != HISTORY_VERSION:
        raise invalid(f"This is not a history of version {HISTORY_VERSION}.", "/historyVersion")
    try:
        file = msgspec.convert(document, HistoryFile)
    except msgspec.ValidationError as error:
        raise ClientFault("validation_error", f"This is not a history: {error}.") from None
    run = file.run
    if not file.events:
        raise invalid("The history has no events.", _pointer("events"))
    for at, each in enumerate(file.events):
        if each.sequence != at or each.run_id != run.run_id:
            raise invalid(
                f"The events are not the whole log of run {run.run_id} from sequence 0.", _pointer("events", at)
            )
    header = RunHeader(
        run.run_id,
        partition(run.owner.tenant, "live"),
        run.owner,
        run.workflow_id,
        "",
        _time(run.created_at, _pointer("run", "createdAt")),
        run.inputs,
        run.configurable,
        run.tags,
        run.metadata,
        engine_version=_number(run.engine_version),
        event_log_schema_version=run.event_log_schema_version,
    )
    events = tuple([_event(each, at) for at, each in enumerate(file.events)])
    return History(header, run.status, file.definition, events, file.masked, file.host)


def _event(document: HistoryEvent, at: int) -> Event:
    return Event(
        document.run_id,
        document.sequence,
        document.event_id,
        document.type,
        _time(document.timestamp, _pointer("events", at, "timestamp")),
        encode_recorded(document.payload),
        document.node_id,
        document.causation_id,
        document.schema_version,
        _number(document.engine_version),
        document.interrupt_id,
        document.content_trust,
    )


def _pointer(*tokens: str | int) -> str:
    return "".join(f"/{each}" for each in tokens)


def _time(text: str, pointer: str) -> int:
    time = parse_iso(text)
    if time is None:
        raise invalid("This is not a time in UTC, such as 2026-01-31T08:05:09.042Z.", pointer)
    return time


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 1


def _has_mask(value: Any) -> bool:
    return MASK in encode_stored(value)
