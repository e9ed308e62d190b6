"""Streams: which events a reader sees, where a resumed reader goes on, and how one frame looks.

Theory. A reader holds a cursor, the last id it saw. Every frame that stands for one stored event has
that event's sequence as its id, so "resume strictly after the id" is exact: for any cut, what was
read before and what is read after make the whole stream. Only `debug` shows two frames for one event
(an `output.chunk` and the message chunk projected from it); the second has the id N.5, so a cut
between the two is exact as well. Nothing in a frame depends on when it is read.

Sources: OpenWOP stream-modes, readings (state.snapshot and ai.message.chunk frames), RFC 0094 D.
"""

import re
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.run.events import MAX_CACHED_DOCUMENT, Event
from weftwork.protocol.run.header import EVENT_SCHEMA_VERSION, TERMINAL_STATUSES
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.timestamps import iso

StreamMode = Literal["updates", "values", "messages", "debug"]
MODES: Final[tuple[StreamMode, ...]] = ("updates", "values", "messages", "debug")
MAX_BUFFER_MS: Final = 5000
KEEPALIVE: Final = b": keepalive\n\n"
ANNOTATED_TYPE: Final = "run.annotated"
"""A type that is shown and never stored."""

UPDATE_TYPES: Final[frozenset[str]] = frozenset(
    """
    run.started run.completed run.failed run.cancelled run.paused run.resumed run.annotated workspace.updated
    node.completed node.failed node.skipped node.suspended node.dispatched approval.requested approval.received
    clarification.requested clarification.resolved interrupt.requested interrupt.resolved artifact.created
    eval.started eval.scored eval.completed deployment.promoted deployment.rolled-back deployment.canary.adjusted
    deployment.state.changed proposal.created proposal.activated goal.evaluated goal.closed import.applied
    """.split()
)
"""sse-01 (OpenWOP stream-modes): the types that `updates` shows; `debug` shows all, `messages` none of them."""

SNAPSHOT_TYPES: Final[frozenset[str]] = UPDATE_TYPES | {"node.started"}
"""sse-02 (OpenWOP stream-modes): the types after which `values` shows a new snapshot."""

FLUSH_TYPES: Final[frozenset[str]] = frozenset({"run.completed", "run.failed", "run.cancelled", "node.suspended"})
"""sse-03 (OpenWOP stream-modes): a buffered reader gets these at once."""

CURSOR_PATTERN: Final = r"(-1|[0-9]{1,16})(\.5)?"
_CURSOR = re.compile(CURSOR_PATTERN)


class Cursor(msgspec.Struct, frozen=True, order=True):
    """Where a reader stands: after this sequence, and after its projected chunk if `chunk`."""

    sequence: int = -1
    chunk: bool = True


START: Final = Cursor()


class StreamFrame(msgspec.Struct, frozen=True):
    """One server-sent event before encoding. Without an id it leaves its reader's cursor where it is."""

    id: str
    event: str
    data: bytes
    flush: bool = False

    def encode(self) -> bytes:
        name = b"id: %b\n" % self.id.encode() if self.id else b""
        return b"%bevent: %b\ndata: %b\n\n" % (name, self.event.encode(), self.data)


def parse_modes(text: str | None) -> frozenset[StreamMode]:
    """sse-04 (OpenWOP stream-modes): one mode or a list of modes; `values` stands alone."""
    if text is None:
        return frozenset({"updates"})
    names = text.split(",")
    known: frozenset[StreamMode] = frozenset([mode for mode in MODES if mode in names])
    if len(known) != len(set(names)) or ("values" in known and len(known) > 1):
        message = "streamMode takes one of the supported modes, or several without `values`."
        raise ClientFault("unsupported_stream_mode", message, {"supported": list(MODES)})
    return known


def parse_buffer(text: str | None) -> int:
    """sse-05 (OpenWOP stream-modes): whole milliseconds, 0 to 5000; 0 means no batching."""
    if text is None:
        return 0
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > MAX_BUFFER_MS:
        raise invalid(f"bufferMs must be a whole number from 0 to {MAX_BUFFER_MS}.", parameter="bufferMs")
    return int(text)


def parse_cursor(text: str | None) -> Cursor:
    """sse-06 (OpenWOP stream-modes): the id the reader saw last; what is not an id of ours is refused."""
    if text is None or text == "":
        return START
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise invalid("Last-Event-ID must be the id of a frame of this stream.", parameter="Last-Event-ID")
    return Cursor(int(match[1]), match[2] is not None or match[1] == "-1")


def wants_json(accept: str | None) -> bool:
    """sse-12 (OpenWOP stream-modes): JSON for those who accept it and do not accept an event stream."""
    if accept is None:
        return False
    kinds = {part.split(";")[0].strip().lower() for part in accept.split(",")}
    return "application/json" in kinds and "text/event-stream" not in kinds


def is_complete(projection: Projection, seen: int) -> bool:
    """poll-02 (OpenWOP rest-endpoints): the run is over and nothing lies beyond the last sequence the reader has."""
    return projection.status in TERMINAL_STATUSES and seen >= projection.last_sequence


def event_frame(event: Event) -> StreamFrame:
    """sse-07 (OpenWOP stream-modes): id = sequence, event = type, data = the whole document on one line."""
    return StreamFrame(str(event.sequence), event.type, event.document, event.type in FLUSH_TYPES)


def event_frames(event: Event, modes: frozenset[StreamMode], after: Cursor) -> list[StreamFrame]:
    """sse-01 (OpenWOP stream-modes): the frames this reader gets for one event, which is not before its cursor."""
    shown: list[StreamFrame] = []
    if event.sequence > after.sequence and ("debug" in modes or ("updates" in modes and event.type in UPDATE_TYPES)):
        shown.append(event_frame(event))
    if event.type == "output.chunk" and ("messages" in modes or "debug" in modes):
        # Beside its own output.chunk the projected frame needs an id between two sequences.
        twice = "debug" in modes
        if event.sequence > after.sequence or (event.sequence == after.sequence and twice and not after.chunk):
            shown.append(chunk_frame(event, f"{event.sequence}.5" if twice else str(event.sequence)))
    return shown


def encoded_frames(event: Event, modes: frozenset[StreamMode], after: Cursor) -> bytes:
    """The frames of one event as this reader gets them; empty if there are none. Made once for all in its modes."""
    if event.sequence <= after.sequence:
        # Where this reader was cut: what it gets of this event depends on where.
        return _encode_frames(event_frames(event, modes, after))
    kept = event.frames
    if kept is None:
        kept = event.frames = {}
    body = kept.get(modes)
    if body is None:
        body = _encode_frames(event_frames(event, modes, after))
        if len(body) <= MAX_CACHED_DOCUMENT:
            kept[modes] = body
    return body


def _encode_frames(several: list[StreamFrame]) -> bytes:
    return b"".join([frame.encode() for frame in several])


def chunk_frame(event: Event, frame_id: str) -> StreamFrame:
    """sse-08 (readings): `ai.message.chunk`, readable as an event document and as a bare chunk payload."""
    payload: dict[str, Any] = msgspec.json.decode(event.payload)
    document: dict[str, Any] = {
        "eventId": f"{event.event_id}-chunk",
        "runId": event.run_id,
        "type": "ai.message.chunk",
        "sequence": event.sequence,
        "timestamp": iso(event.timestamp),
        "schemaVersion": event.schema_version,
        **({"contentTrust": event.content_trust} if event.content_trust is not None else {}),
        **{name: payload[name] for name in ("nodeId", "chunk", "isLast", "meta") if name in payload},
        "payload": payload,
    }
    return StreamFrame(frame_id, "ai.message.chunk", msgspec.json.encode(document))


def snapshot_frame(snapshot: dict[str, Any], sequence: int, timestamp: int) -> StreamFrame:
    """sse-09 (readings): `state.snapshot`, the snapshot's own fields together with an event document's."""
    document = {
        **snapshot,
        "eventId": f"{snapshot['runId']}-state-{sequence}",
        "type": "state.snapshot",
        "sequence": sequence,
        "timestamp": iso(timestamp),
        "schemaVersion": 1,
        "payload": snapshot,
    }
    return StreamFrame(str(sequence), "state.snapshot", msgspec.json.encode(document))


def annotated_frame(run_id: str, annotation_id: str, annotation: bytes, sequence: int, timestamp: int) -> StreamFrame:
    """sse-13 (readings, run.annotated frames): what was said of a run, as an event document that is in no log.

    It has no id: a reader who resumes goes on behind the last stored event it saw, as if this had not been there.
    """
    document = {
        "eventId": f"{annotation_id}-annotated",
        "runId": run_id,
        "type": ANNOTATED_TYPE,
        "sequence": sequence,
        "timestamp": iso(timestamp),
        "schemaVersion": EVENT_SCHEMA_VERSION,
        "payload": msgspec.Raw(annotation),
    }
    return StreamFrame("", ANNOTATED_TYPE, msgspec.json.encode(document))


def shows_annotations(modes: frozenset[StreamMode]) -> bool:
    """sse-13 (OpenWOP stream-modes): whether an annotation is shown in these modes; in `values` as a snapshot."""
    if "values" in modes:
        return ANNOTATED_TYPE in SNAPSHOT_TYPES
    return "debug" in modes or ("updates" in modes and ANNOTATED_TYPE in UPDATE_TYPES)


def batch_frame(batch: list[StreamFrame]) -> StreamFrame:
    """sse-10 (OpenWOP stream-modes): one `batch` frame; its id is the highest id inside."""
    return StreamFrame(batch[-1].id, "batch", b"[%b]" % b",".join(frame.data for frame in batch))
