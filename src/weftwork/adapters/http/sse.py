"""Server-sent events: streams one run to one client, at the client's pace.

Nothing is prepared before the client has taken what it was sent, so a client that does not read costs one chunk in its
connection and nothing here. Only a frame larger than a chunk can be cut by that. Its rest is dropped as well, and when
there is room the frame is made again from the log, which gives the same bytes.

A snapshot cannot be made again, because the run goes on. It is kept until it has been sent, shared by all readers who
are sent the same one (SnapshotCache), and a reader is disconnected while too many bytes of snapshots are pending.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from weftwork.adapters.http.message import Request
from weftwork.adapters.http.response_writer import ResponseAborted, ResponseWriter
from weftwork.engine.api.keyring import Keyring, Principal
from weftwork.engine.api.runs import EventStreams, Reader, Runs
from weftwork.ports.fault_points import fault_point
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.wire import streams

MAX_CONCURRENT_SNAPSHOTS: Final = 4
"""Snapshots made at the same time; each needs the whole state of its run."""
MAX_PENDING_BYTES: Final = 64 * 2**20
"""What snapshots may weigh together for which clients are slow to make room."""
BATCH_BYTES: Final = 16_384
"""A batch of events that reaches this does not wait for more."""
_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


@dataclass(slots=True, weakref_slot=True, eq=False)
class Snapshot:
    """The frame of a snapshot. `is_final`: the run had ended."""

    body: bytes
    sequence: int
    is_final: bool


class SnapshotCache:
    """The snapshots that are being sent, by run and sequence. One is dropped with its last reader."""

    def __init__(self, service: Runs) -> None:
        self._runs = service
        self._build_slots = asyncio.Semaphore(MAX_CONCURRENT_SNAPSHOTS)
        self._pending: WeakValueDictionary[tuple[RunKey, int], Snapshot] = WeakValueDictionary()

    @property
    def is_over_limit(self) -> bool:
        """There are so many that no more may be waited for."""
        return sum([len(kept.body) for kept in self._pending.values()]) > MAX_PENDING_BYTES

    async def newest(self, caller: Principal, run_id: str, known: int = -1, timestamp: int = 0) -> Snapshot:
        """sse-09: how a run with events stands now. The time of one event of it may be known already."""
        async with self._build_slots:
            run = caller.run(run_id)
            standing = await self._runs.projection(caller, run_id)
            kept = self._pending.get((run, standing.last_sequence))
            if kept is not None:
                return kept
            stored = await self._runs.read_run(caller, run_id)
            last = stored.projection.last_sequence
            if known != last:
                timestamp = (await self._runs.get_event(caller, run_id, last)).timestamp
            body = streams.snapshot_frame(await self._runs.make_snapshot(stored), last, timestamp).encode()
            kept = self._pending[run, last] = Snapshot(body, last, stored.projection.status in TERMINAL_STATUSES)
            return kept


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
    _keepalive_at: float = 0.0
    _writer: ResponseWriter = field(init=False)
    _caller: Principal = field(init=False)
    _run_id: str = field(init=False)

    def __post_init__(self) -> None:
        self._writer = self._request.writer
        self._caller = self._request.caller
        self._run_id = self._request.params["runId"]

    async def run(self) -> None:
        # A reader who saw an output.chunk but not its projected chunk must be given that event again.
        after = self._cursor.sequence if self._cursor.chunk else self._cursor.sequence - 1
        reader, standing = await self._streams.join(self._caller, self._run_id, after)
        reader.wants_notifications = streams.shows_annotations(self._modes)
        last, over = standing.last_sequence, standing.status in TERMINAL_STATUSES
        try:
            headers = [*_HEADERS, (b"traceparent", self._request.traceparent.encode())]
            fault_point("stream.begin")
            await self._writer.start(200, headers, stream=True)
            self._reset_keepalive()
            if "values" not in self._modes:
                await self._request.run_until_disconnect(self._stream_events(reader))
            elif not over or self._cursor.sequence < last:
                await self._request.run_until_disconnect(self._stream_snapshots(reader, last))
        finally:
            self._streams.leave(self._caller, self._run_id)

    async def _stream_events(self, reader: Reader) -> None:
        while not reader.ended:
            first, last, body = await self._next_body(reader)
            at = await self._write_available(body)
            while at < len(body):
                del body
                await self._writer.drained()
                body = await self._reread(reader, first, last)
                at = await self._write_available(body, at)
            del body
            if not reader.ended:
                await self._send_notifications(reader)

    async def _send_notifications(self, reader: Reader) -> None:
        """Frames that are in no log, so each is kept until the client has room: it is smaller than a piece."""
        for note in reader.take_notifications():
            body = streams.batch_frame([note.frame]).encode() if self._buffer_seconds else note.frame.encode()
            at = 0
            while at < len(body):
                await self._writer.drained()
                at = await self._write_available(body, at)

    async def _next_body(self, reader: Reader) -> tuple[int, int, bytes]:
        """The first and the last of the next events, and what is shown of them."""
        events = await self._next_events(reader)
        if self._buffer_seconds:
            return await self._next_batch(reader, events)
        if not events:
            return 0, 0, b""
        return events[0].sequence, events[-1].sequence, self._encode_events(events)

    async def _next_batch(self, reader: Reader, events: list[Event]) -> tuple[int, int, bytes]:
        """sse-03: gather until the buffer time is over, there is enough, or something arrives that must not wait."""
        clock = asyncio.get_running_loop()
        until = clock.time() + self._buffer_seconds
        sequences: list[int] = []
        batch: list[streams.StreamFrame] = []
        size, flush = 0, False
        while True:
            for event in events:
                if frames := streams.event_frames(event, self._modes, self._cursor):
                    sequences.append(event.sequence)
                    batch += frames
                    size += event.size
                    flush = flush or any(frame.flush for frame in frames)
            left = until - clock.time()
            # A note comes behind these events, and until it is taken there are no others.
            if not batch or flush or left <= 0 or size >= BATCH_BYTES or reader.ended or reader.has_notification:
                break
            events = await reader.next(left)
        return (sequences[0], sequences[-1], streams.batch_frame(batch).encode()) if batch else (0, 0, b"")

    async def _reread(self, reader: Reader, first: int, last: int) -> bytes:
        """What was shown of events that were taken before, made again."""
        parts: list[bytes] = []
        batch: list[streams.StreamFrame] = []
        while first <= last:
            page = await reader.reread(first, last)
            if not page:
                # The run was deleted: a frame of which a part is sent cannot be finished any more.
                raise ResponseAborted
            if self._buffer_seconds:
                batch += [frame for event in page for frame in streams.event_frames(event, self._modes, self._cursor)]
            else:
                parts.append(self._encode_events(page))
            first = page[-1].sequence + 1
        return streams.batch_frame(batch).encode() if batch else b"".join(parts)

    async def _next_events(self, reader: Reader) -> list[Event]:
        """The next events. Those that this reader is not shown do not put off the keep-alive."""
        await self._writer.drained()
        clock = asyncio.get_running_loop()
        if clock.time() >= self._keepalive_at:
            await self._write_available(streams.KEEPALIVE)
        return await reader.next(self._keepalive_at - clock.time())

    def _encode_events(self, events: list[Event]) -> bytes:
        return b"".join([streams.encoded_frames(event, self._modes, self._cursor) for event in events])

    async def _stream_snapshots(self, reader: Reader, last: int) -> None:
        """The newest snapshot whenever one is due: a slow reader skips states, never the last one."""
        # A run without events has no state to name: its first snapshot follows its first event.
        sent, over = await self._send_snapshot() if last >= 0 else (-1, False)
        while not reader.ended and not over:
            news = await self._wait_for_snapshot(reader, sent)
            if news is not None:
                sent, over = await self._send_snapshot(*news)

    async def _wait_for_snapshot(self, reader: Reader, sent: int) -> tuple[int, ...] | None:
        """If there is news that a snapshot must follow: sequence and time of the newest event, as far as known here."""
        events = await self._next_events(reader)
        due = sent < 0 or any(event.type in streams.SNAPSHOT_TYPES and event.sequence > sent for event in events)
        told = reader.take_notifications()
        if events and due:
            return events[-1].sequence, events[-1].timestamp
        return () if told and sent >= 0 else None

    async def _send_snapshot(self, *news: int) -> tuple[int, bool]:
        """One snapshot. Returns its sequence, and whether it is the last."""
        made = await self._snapshots.newest(self._caller, self._run_id, *news)
        at = await self._write_available(made.body)
        while at < len(made.body):
            if self._snapshots.is_over_limit:
                raise ResponseAborted
            await self._writer.drained()
            at = await self._write_available(made.body, at)
        return made.sequence, made.is_final

    async def _write_available(self, body: bytes, at: int = 0) -> int:
        if not body:
            return 0
        if at == 0:
            # A key that was revoked meanwhile ends its streams.
            self._keyring.check(self._caller)
        fault_point("stream.frame")
        at = await self._writer.write_available(body, at)
        self._reset_keepalive()
        return at

    def _reset_keepalive(self) -> None:
        self._keepalive_at = asyncio.get_running_loop().time() + self._keepalive
