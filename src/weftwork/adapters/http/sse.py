"""Server-sent events: streams one run to one client, at the client's pace.

No frame is encoded before the client has read the previous one, so a client that does not read costs one chunk in its
connection and nothing here. Only a frame larger than a chunk can be cut by that. Its rest is dropped, and when the
connection has room the frame is encoded again from the log, which gives the same bytes.

A snapshot cannot be encoded again, because the run has changed by then. It is kept until it has been sent, and shared
by all readers of the same state (SnapshotCache). While too many bytes of documents are pending, slow readers are
disconnected.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from weftwork.adapters.http.message import Request
from weftwork.adapters.http.response_writer import ResponseAborted, ResponseWriter
from weftwork.adapters.http.snapshots import SnapshotCache
from weftwork.engine.api.keyring import Keyring, Principal
from weftwork.engine.api.runs import EventStreams, Reader
from weftwork.ports.fault_points import fault_point
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.wire import streams, surface_frames

BATCH_BYTES: Final = 16_384
"""A batch of events that reaches this size is sent at once."""
_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


@dataclass(slots=True, eq=False)
class SseStream:
    """Streams one run to one client. Ends after the terminal event, on disconnect, or when the host drains."""

    _streams: EventStreams
    _keyring: Keyring
    _snapshots: SnapshotCache
    _request: Request
    _modes: frozenset[streams.StreamMode]
    _cursor: streams.Cursor
    _buffer_seconds: float
    _keepalive: float
    _deltas: surface_frames.SurfaceDeltas | None = None
    """The surfaces that have been sent. None if the client did not ask for deltas."""
    _next_deltas: surface_frames.SurfaceDeltas | None = None
    """The same, after the body that is being sent."""
    _keepalive_at: float = 0.0
    _writer: ResponseWriter = field(init=False)
    _caller: Principal = field(init=False)
    _run_id: str = field(init=False)

    def __post_init__(self) -> None:
        self._writer = self._request.writer
        self._caller = self._request.caller
        self._run_id = self._request.params["runId"]

    async def run(self) -> None:
        # A client that received an output.chunk but not its projected chunk must receive that event again.
        after = self._cursor.sequence if self._cursor.chunk else self._cursor.sequence - 1
        reader, projection = await self._streams.join(self._caller, self._run_id, after)
        reader.wants_notifications = streams.shows_annotations(self._modes)
        reader.wants_partial_surfaces = surface_frames.shows_partial_surfaces(self._modes)
        last, has_ended = projection.last_sequence, projection.status in TERMINAL_STATUSES
        try:
            headers = [*_HEADERS, (b"traceparent", self._request.traceparent.encode())]
            fault_point("stream.begin")
            await self._writer.start(200, headers, stream=True)
            self._reset_keepalive()
            if "values" not in self._modes:
                await self._request.run_until_disconnect(self._stream_events(reader))
            elif not has_ended or self._cursor.sequence < last:
                await self._request.run_until_disconnect(self._stream_snapshots(reader, last))
        finally:
            self._streams.leave(self._caller, self._run_id)

    async def _stream_events(self, reader: Reader) -> None:
        while not reader.ended:
            self._begin_body()
            first, last, body = await self._next_body(reader)
            at = await self._write_available(body)
            while at < len(body):
                del body
                await self._writer.drained()
                self._begin_body()
                body = await self._reread(reader, first, last)
                at = await self._write_available(body, at)
            del body
            self._deltas = self._next_deltas
            if (reader.wants_notifications or reader.wants_partial_surfaces) and not reader.ended:
                await self._send_notifications(reader)

    def _begin_body(self) -> None:
        # A body that is encoded again must have the same bytes, so deltas start from what was sent before it.
        self._next_deltas = None if self._deltas is None else self._deltas.copy()

    def _event_frames(self, event: Event) -> list[streams.StreamFrame]:
        if self._next_deltas is not None:
            return self._next_deltas.frames(event, self._modes, self._cursor)
        return streams.event_frames(event, self._modes, self._cursor)

    async def _send_notifications(self, reader: Reader) -> None:
        """Send frames that are not in the event log. They cannot be read again, so each is kept until it is sent."""
        notes = [note.frame for note in reader.take_notifications()]
        for frame in [*notes, *reader.take_partial_surfaces()]:
            body = streams.batch_frame([frame]).encode() if self._buffer_seconds else frame.encode()
            at = 0
            while at < len(body):
                await self._writer.drained()
                at = await self._write_available(body, at)

    async def _next_body(self, reader: Reader) -> tuple[int, int, bytes]:
        """The first and last sequence of the next events, and their frames; the frames may be empty."""
        events = await self._next_events(reader)
        if self._buffer_seconds:
            return await self._next_batch(reader, events)
        if not events:
            return 0, 0, b""
        if len(events) == 1 and self._next_deltas is None:
            # Most often, because the events of a run come one by one.
            (event,) = events
            await self._writer.next_turn(event.size, reader.shares_events)
            return event.sequence, event.sequence, streams.encoded_frames(event, self._modes, self._cursor)
        await self._take_turn(reader, events)
        return events[0].sequence, events[-1].sequence, self._encode_events(events)

    async def _next_batch(self, reader: Reader, events: list[Event]) -> tuple[int, int, bytes]:
        """sse-03: collect events until the buffer time is over, the batch is full, or an event must not be delayed."""
        clock = asyncio.get_running_loop()
        until = clock.time() + self._buffer_seconds
        sequences: list[int] = []
        batch: list[streams.StreamFrame] = []
        size, flush = 0, False
        while True:
            for event in events:
                if frames := self._event_frames(event):
                    sequences.append(event.sequence)
                    batch += frames
                    size += event.size
                    flush = flush or any(frame.flush for frame in frames)
            remaining = until - clock.time()
            # A notification is sent after these events, and the reader returns no more events until it is taken.
            if not batch or flush or remaining <= 0 or size >= BATCH_BYTES or reader.ended or reader.has_notification:
                break
            events = await reader.next(remaining)
        if not batch:
            return 0, 0, b""
        await self._writer.next_turn(size, reader.shares_events)
        return sequences[0], sequences[-1], streams.batch_frame(batch).encode()

    async def _take_turn(self, reader: Reader, events: list[Event]) -> None:
        # A page that was read for this reader alone does not wait, because it would stay in memory. Few pages are read
        # at the same time.
        await self._writer.next_turn(sum([event.size for event in events]), reader.shares_events)

    async def _reread(self, reader: Reader, first: int, last: int) -> bytes:
        """The frames of earlier events, encoded again. Raises ResponseAborted if the run was deleted."""
        parts: list[bytes] = []
        batch: list[streams.StreamFrame] = []
        while first <= last:
            page = await reader.reread(first, last)
            if not page:
                # The run was deleted, so the frame that was sent in part cannot be finished.
                raise ResponseAborted
            await self._take_turn(reader, page)
            if self._buffer_seconds:
                batch += [frame for event in page for frame in self._event_frames(event)]
            else:
                parts.append(self._encode_events(page))
            first = page[-1].sequence + 1
        return streams.batch_frame(batch).encode() if batch else b"".join(parts)

    async def _next_events(self, reader: Reader) -> list[Event]:
        """The next events. Only bytes that are sent delay the next keep-alive; events that the mode hides do not."""
        connection = self._writer.connection
        if connection is not None and connection.is_full:
            await self._writer.drained()
        clock = asyncio.get_running_loop()
        now = clock.time()
        if now >= self._keepalive_at:
            await self._write_available(streams.KEEPALIVE)
        return await reader.next(self._keepalive_at - now)

    def _encode_events(self, events: list[Event]) -> bytes:
        if self._next_deltas is not None:
            return b"".join([frame.encode() for event in events for frame in self._event_frames(event)])
        return b"".join([streams.encoded_frames(event, self._modes, self._cursor) for event in events])

    async def _stream_snapshots(self, reader: Reader, last: int) -> None:
        """Send the newest snapshot whenever the state changes. A slow reader skips states, but never the last one."""
        # A run without events has no sequence for the frame, so its first snapshot follows its first event.
        sent, is_final = await self._send_snapshot() if last >= 0 else (-1, False)
        while not reader.ended and not is_final:
            newest_event = await self._wait_for_snapshot(reader, sent)
            if newest_event is not None:
                sent, is_final = await self._send_snapshot(*newest_event)

    async def _wait_for_snapshot(self, reader: Reader, sent: int) -> tuple[int, ...] | None:
        """Wait for events. None if no snapshot is due, else the sequence and timestamp of the newest event.

        The tuple is empty if the run got an annotation but no event: annotations are not in the event log.
        """
        events = await self._next_events(reader)
        due = sent < 0 or any(event.type in streams.SNAPSHOT_TYPES and event.sequence > sent for event in events)
        notifications = reader.take_notifications()
        if events and due:
            return events[-1].sequence, events[-1].timestamp
        return () if notifications and sent >= 0 else None

    async def _send_snapshot(self, *newest_event: int) -> tuple[int, bool]:
        """Send one snapshot. Returns its sequence, and whether it is final."""
        snapshot = await self._snapshots.newest(self._caller, self._run_id, *newest_event)
        self._begin_frames()
        await self._writer.write_frame(snapshot.frame(), self._snapshots.may_wait)
        self._reset_keepalive()
        return snapshot.sequence, snapshot.is_final

    async def _write_available(self, body: bytes, at: int = 0) -> int:
        if not body:
            return 0
        self._begin_frames(at)
        at = await self._writer.write_available(body, at)
        self._reset_keepalive()
        return at

    def _begin_frames(self, at: int = 0) -> None:
        if at == 0:
            # Ends the stream if the key was revoked since the last frame.
            self._keyring.check(self._caller)
        fault_point("stream.frame")

    def _reset_keepalive(self) -> None:
        self._keepalive_at = asyncio.get_running_loop().time() + self._keepalive
