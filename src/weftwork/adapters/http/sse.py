"""The pump: one reader, one response. Reads at the client's pace, keeps quiet connections alive, ends cleanly."""

import asyncio
from typing import Final

from weftwork.adapters.http.message import Request
from weftwork.engine.feeds import READ_BYTES, Reader
from weftwork.engine.service import Service
from weftwork.ports.eventlog import Stored
from weftwork.protocol.events import Event
from weftwork.protocol.projection import snapshot
from weftwork.protocol.run import TERMINAL
from weftwork.protocol.streams import (
    KEEPALIVE,
    SNAPSHOT_AFTER,
    Cursor,
    Frame,
    StreamMode,
    batch_frame,
    frames,
    snapshot_frame,
)

_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


class Pump:
    """Streams one run to one client. Ends after the terminal event, on disconnect, or when the host drains."""

    def __init__(
        self,
        service: Service,
        request: Request,
        modes: frozenset[StreamMode],
        cursor: Cursor,
        buffer_ms: int,
        keepalive: float,
    ) -> None:
        self._service = service
        self._request = request
        self._run_id = request.params["runId"]
        self._modes = modes
        self._cursor = cursor
        self._buffer = buffer_ms / 1000
        self._keepalive = keepalive
        self._quiet_until = 0.0

    async def run(self) -> None:
        caller = self._request.caller
        # A reader who saw an output.chunk but not its projected chunk must be given that event again.
        after = self._cursor.sequence if self._cursor.chunk else self._cursor.sequence - 1
        reader, stored = await self._service.join(caller, self._run_id, after)
        try:
            headers = [*_HEADERS, (b"traceparent", self._request.traceparent.encode())]
            await self._request.out.start(200, headers, stream=True)
            self._sent()
            flow = self._values(reader, stored) if "values" in self._modes else self._flow(reader)
            await self._request.while_there(flow)
        finally:
            self._service.leave(caller, self._run_id)

    async def _flow(self, reader: Reader) -> None:
        while not reader.ended:
            shown = self._frames(await self._next(reader))
            if self._buffer and shown:
                await self._send(batch_frame(await self._collect(reader, shown)).encode())
            elif shown:
                await self._send(b"".join([frame.encode() for frame in shown]))
            # Else it would be held while this waits for the next.
            del shown

    async def _next(self, reader: Reader) -> list[Event]:
        """The next events. Those that this reader is not shown do not put off the keep-alive."""
        clock = asyncio.get_running_loop()
        if clock.time() >= self._quiet_until:
            await self._send(KEEPALIVE)
        return await reader.next(self._quiet_until - clock.time())

    async def _collect(self, reader: Reader, shown: list[Frame]) -> list[Frame]:
        """sse-03: gather until the buffer time is over, there is enough, or something arrives that must not wait."""
        clock = asyncio.get_running_loop()
        until = clock.time() + self._buffer
        while not reader.ended and not any(frame.flush for frame in shown):
            left = until - clock.time()
            if left <= 0 or sum(len(frame.data) for frame in shown) >= READ_BYTES:
                break
            shown += self._frames(await reader.next(left))
        return shown

    def _frames(self, events: list[Event]) -> list[Frame]:
        return [frame for event in events for frame in frames(event, self._modes, self._cursor)]

    async def _values(self, reader: Reader, stored: Stored) -> None:
        """The newest snapshot whenever one is due: a slow reader skips states, never the last one."""
        last = stored.projection.last_sequence
        if stored.projection.status in TERMINAL and self._cursor.sequence >= last:
            return
        # A run without events has no state to name: its first snapshot follows its first event.
        sent = -1
        if last >= 0:
            sent = await self._send_snapshot(stored, None)
        while not reader.ended:
            events = await self._next(reader)
            due = sent < 0 or any(event.type in SNAPSHOT_AFTER and event.sequence > sent for event in events)
            if events and due:
                stored = await self._service.stored(self._request.caller, self._run_id)
                sent = await self._send_snapshot(stored, events[-1])
                if stored.projection.status in TERMINAL:
                    return

    async def _send_snapshot(self, stored: Stored, newest: Event | None) -> int:
        """sse-09: one snapshot, with the sequence and the time of the last event in it; returns the sequence."""
        last = stored.projection.last_sequence
        if newest is None or newest.sequence != last:
            newest = await self._service.get_event(self._request.caller, self._run_id, last)
        await self._send(snapshot_frame(snapshot(stored), last, newest.timestamp).encode())
        return last

    async def _send(self, body: bytes) -> None:
        await self._request.out.write(body, more=True)
        self._sent()

    def _sent(self) -> None:
        self._quiet_until = asyncio.get_running_loop().time() + self._keepalive
