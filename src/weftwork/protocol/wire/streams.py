"""Event streams: the events of each mode, resumption by cursor, and the form of a frame.

Theory of operation. A reader keeps a cursor, the last frame id that it received. The id of a frame is the sequence of
its stored event, and a resumed stream continues strictly after the cursor. A reader that reconnects at any point
therefore receives every frame exactly once. Only `debug` has two frames for one event: an `output.chunk` and the
message chunk projected from it. The second has the id N.5, so a stream can be resumed between them. The content of a
frame does not depend on when it is read.

Sources: OpenWOP stream-modes, readings (state.snapshot and ai.message.chunk frames), RFC 0094 D.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.pieces import Piece, Placeholder
from weftwork.protocol.run.events import MAX_CACHED_DOCUMENT, OUTPUT_CHUNK, Event
from weftwork.protocol.run.header import EVENT_SCHEMA_VERSION, TERMINAL_STATUSES
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.timestamps import iso

StreamMode = Literal["updates", "values", "messages", "debug"]
MODES: Final[tuple[StreamMode, ...]] = ("updates", "values", "messages", "debug")
MAX_BUFFER_MS: Final = 5000
KEEPALIVE: Final = b": keepalive\n\n"
ANNOTATED_TYPE: Final = "run.annotated"
"""An event type that exists only in streams and is never stored."""

SNAPSHOT_TYPES: Final[frozenset[str]] = frozenset(
    """
    run.started run.completed run.failed run.cancelled run.paused run.resumed run.annotated workspace.updated
    node.started node.completed node.failed node.skipped node.suspended node.dispatched approval.requested
    approval.received clarification.requested clarification.resolved interrupt.requested interrupt.resolved
    artifact.created eval.started eval.scored eval.completed deployment.promoted deployment.rolled-back
    deployment.canary.adjusted deployment.state.changed proposal.created proposal.activated goal.evaluated
    goal.closed import.applied
    """.split()
)
"""sse-02 (OpenWOP stream-modes): the event types after which `values` sends a new snapshot."""

UPDATE_TYPES: Final[frozenset[str]] = (SNAPSHOT_TYPES - {"node.started"}) | frozenset(DISPLAY_KINDS)
"""sse-01 (OpenWOP stream-modes, readings): the event types of `updates`. `debug` includes all types, `messages` none of
these. Events of media and surfaces are in `updates` because clients display them, but they do not change a snapshot."""

FLUSH_TYPES: Final[frozenset[str]] = frozenset({"run.completed", "run.failed", "run.cancelled", "node.suspended"})
"""sse-03 (OpenWOP stream-modes): the event types that are sent at once even if the stream is buffered."""

CURSOR_PATTERN: Final = r"(-1|[0-9]{1,16})(\.5)?"
_CURSOR = re.compile(CURSOR_PATTERN)


class Cursor(msgspec.Struct, frozen=True, order=True):
    """The position of a reader: after the event `sequence` and, if `chunk`, after the chunk projected from it."""

    sequence: int = -1
    chunk: bool = True


START: Final = Cursor()


class StreamFrame(msgspec.Struct, frozen=True):
    """One server-sent event before encoding. A frame without an id does not move the reader's cursor."""

    id: str
    event: str
    data: bytes
    flush: bool = False

    def encode(self) -> bytes:
        name = b"id: %b\n" % self.id.encode() if self.id else b""
        return b"%bevent: %b\ndata: %b\n\n" % (name, self.event.encode(), self.data)


def parse_modes(text: str | None) -> frozenset[StreamMode]:
    """sse-04 (OpenWOP stream-modes): one mode or several separated by commas; `values` cannot be combined."""
    if text is None:
        return frozenset({"updates"})
    names = text.split(",")
    known: frozenset[StreamMode] = frozenset([mode for mode in MODES if mode in names])
    if len(known) != len(set(names)) or ("values" in known and len(known) > 1):
        message = "streamMode must be values, or one or more of updates, messages and debug separated by commas."
        raise ClientFault("unsupported_stream_mode", message, {"supported": list(MODES)})
    return known


def parse_buffer(text: str | None) -> int:
    """sse-05 (OpenWOP stream-modes): milliseconds from 0 to 5000; 0 means no batching."""
    if text is None:
        return 0
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > MAX_BUFFER_MS:
        raise invalid(f"bufferMs must be an integer from 0 to {MAX_BUFFER_MS}.", parameter="bufferMs")
    return int(text)


def parse_cursor(text: str | None) -> Cursor:
    """sse-06 (OpenWOP stream-modes): the last id that the reader received. Raises for a text that is not a frame id."""
    if text is None or text == "":
        return START
    match = _CURSOR.fullmatch(text)
    if match is None:
        text = "Last-Event-ID must be the id of a frame of this stream, such as 12 or 12.5."
        raise invalid(text, parameter="Last-Event-ID")
    return Cursor(int(match[1]), match[2] is not None or match[1] == "-1")


def wants_json(accept: str | None) -> bool:
    """sse-12 (OpenWOP stream-modes): whether the client accepts JSON but not an event stream."""
    if accept is None:
        return False
    kinds = {part.split(";")[0].strip().lower() for part in accept.split(",")}
    return "application/json" in kinds and "text/event-stream" not in kinds


def is_complete(projection: Projection, seen: int) -> bool:
    """poll-02 (OpenWOP rest-endpoints): whether the run has ended and the reader has its last event."""
    return projection.status in TERMINAL_STATUSES and seen >= projection.last_sequence


def event_frame(event: Event) -> StreamFrame:
    """sse-07 (OpenWOP stream-modes): id = sequence, event = type, data = the whole document on one line."""
    return StreamFrame(str(event.sequence), event.type, event.document, event.type in FLUSH_TYPES)


def event_frames(event: Event, modes: frozenset[StreamMode], after: Cursor) -> list[StreamFrame]:
    """sse-01 (OpenWOP stream-modes): the frames of one event for a reader in `modes` whose cursor is `after`.

    The event must not be before the cursor.
    """
    frames: list[StreamFrame] = []
    if event.sequence > after.sequence and ("debug" in modes or ("updates" in modes and event.type in UPDATE_TYPES)):
        frames.append(event_frame(event))
    if event.type == OUTPUT_CHUNK and ("messages" in modes or "debug" in modes):
        # In `debug` the stream also has the output.chunk, so the projected frame needs an id between two sequences.
        twice = "debug" in modes
        if event.sequence > after.sequence or (event.sequence == after.sequence and twice and not after.chunk):
            frames.append(chunk_frame(event, f"{event.sequence}.5" if twice else str(event.sequence)))
    return frames


def encoded_frames(event: Event, modes: frozenset[StreamMode], after: Cursor) -> bytes:
    """The encoded frames of `event_frames`, cached on the event for all readers in the same modes."""
    if event.sequence <= after.sequence:
        # The reader resumes inside this event, so the frames depend on its cursor and cannot be shared.
        return _encode_frames(event_frames(event, modes, after))
    cache = event.frames
    if cache is None:
        cache = event.frames = {}
    body = cache.get(modes)
    if body is None:
        body = _encode_frames(event_frames(event, modes, after))
        if len(body) <= MAX_CACHED_DOCUMENT:
            cache[modes] = body
    return body


def _encode_frames(frames: list[StreamFrame]) -> bytes:
    return frames[0].encode() if len(frames) == 1 else b"".join([frame.encode() for frame in frames])


def chunk_frame(event: Event, frame_id: str) -> StreamFrame:
    """sse-08 (readings): `ai.message.chunk`, with the members of an event document and of a chunk payload."""
    payload: dict[str, Any] = msgspec.json.decode(event.payload)
    document: dict[str, Any] = {
        "eventId": f"{event.event_id}-chunk",
        "runId": event.run_id,
        "type": "ai.message.chunk",
        "sequence": event.sequence,
        "timestamp": iso(event.timestamp),
        "schemaVersion": event.schema_version,
    }
    if event.content_trust is not None:
        document["contentTrust"] = event.content_trust
    for name in ("nodeId", "chunk", "isLast", "meta"):
        if name in payload:
            document[name] = payload[name]
    document["payload"] = payload
    return StreamFrame(frame_id, "ai.message.chunk", msgspec.json.encode(document))


def snapshot_frame(
    run_id: str, snapshot: Sequence[Piece], sequence: int, timestamp: int
) -> Iterator[bytes | memoryview]:
    """sse-09 (readings): the frame `state.snapshot`, with the members of a run snapshot and of an event document.

    `snapshot` is the encoded snapshot. The frame contains it twice, and tokens of interrupts not at all.
    """
    members: list[bytes | memoryview] = [piece for piece in snapshot if not isinstance(piece, Placeholder)]
    members[-1] = members[-1][:-1]
    event = {
        "eventId": f"{run_id}-state-{sequence}",
        "type": "state.snapshot",
        "sequence": sequence,
        "timestamp": iso(timestamp),
        "schemaVersion": EVENT_SCHEMA_VERSION,
    }
    yield b"id: %d\nevent: state.snapshot\ndata: " % sequence
    yield from members
    yield b',%b,"payload":' % msgspec.json.encode(event)[1:-1]
    yield from members
    yield b"}}\n\n"


def annotated_frame(run_id: str, annotation_id: str, annotation: bytes, sequence: int, timestamp: int) -> StreamFrame:
    """sse-13 (readings, run.annotated frames): an annotation as an event document that is not in the log.

    The frame has no id, so it does not move the reader's cursor, and a resumed stream does not repeat it.
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
    """sse-13 (OpenWOP stream-modes): whether streams in these modes report annotations; `values` does by a snapshot."""
    if "values" in modes:
        return ANNOTATED_TYPE in SNAPSHOT_TYPES
    return "debug" in modes or ("updates" in modes and ANNOTATED_TYPE in UPDATE_TYPES)


def batch_frame(batch: list[StreamFrame]) -> StreamFrame:
    """sse-10 (OpenWOP stream-modes): one `batch` frame, whose id is that of the last frame in it."""
    return StreamFrame(batch[-1].id, "batch", b"[%b]" % b",".join(frame.data for frame in batch))
