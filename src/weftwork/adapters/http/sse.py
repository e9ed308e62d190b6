"""The pump: one reader, one response. Reads at the client's pace, keeps quiet connections alive, ends cleanly."""

import asyncio
from typing import Final

from weftwork.adapters.http.message import Request
from weftwork.engine.feeds import Reader
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
PAGE: Final = 128


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
            trace = self._request.scope["weftwork.traceparent"].encode()
            headers = [*_HEADERS, (b"traceparent", trace)]
            await self._request.send({"type": "http.response.start", "status": 200, "headers": headers})
            self._sent()
            await self._until_disconnect(reader, stored)
        finally:
            self._service.leave(caller, self._run_id)

    async def _until_disconnect(self, reader: Reader, stored: Stored) -> None:
        flow = asyncio.ensure_future(self._values(reader, stored) if "values" in self._modes else self._flow(reader))
        gone = asyncio.ensure_future(self._request.disconnected())
        try:
            await asyncio.wait((flow, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            flow.cancel()
            await asyncio.wait((flow, gone))
        if not flow.cancelled():
            flow.result()
            await self._send(b"", more=False)

    async def _flow(self, reader: Reader) -> None:
        while not reader.ended:
            shown = self._frames(await self._next(reader))
            if self._buffer and shown:
                await self._send(batch_frame(await self._collect(reader, shown)).encode())
            elif shown:
                await self._send(b"".join([frame.encode() for frame in shown]))

    async def _next(self, reader: Reader) -> list[Event]:
        """The next events. Those that this reader is not shown do not put off the keep-alive."""
        clock = asyncio.get_running_loop()
        if clock.time() >= self._quiet_until:
            await self._send(KEEPALIVE)
        return await reader.next(self._quiet_until - clock.time(), PAGE)

    async def _collect(self, reader: Reader, shown: list[Frame]) -> list[Frame]:
        """sse-03: gather until the buffer time is over or something arrives that must not wait."""
        clock = asyncio.get_running_loop()
        until = clock.time() + self._buffer
        while not reader.ended and not any(frame.flush for frame in shown):
            left = until - clock.time()
            if left <= 0:
                break
            shown += self._frames(await reader.next(left, PAGE))
        return shown

    def _frames(self, events: list[Event]) -> list[Frame]:
        return [frame for event in events for frame in frames(event, self._modes, self._cursor)]

    async def _values(self, reader: Reader, stored: Stored) -> None:
        """The newest snapshot whenever one is due: a slow reader skips states, never the last one."""
        last = stored.projection.last_sequence
        if stored.projection.status in TERMINAL and self._cursor.sequence >= last:
            return
        await self._send_snapshot(stored)
        sent = stored.projection.last_sequence
        while not reader.ended:
            events = await self._next(reader)
            if any(event.type in SNAPSHOT_AFTER and event.sequence > sent for event in events):
                stored = await self._service.stored(self._request.caller, self._run_id)
                await self._send_snapshot(stored)
                sent = stored.projection.last_sequence
                if stored.projection.status in TERMINAL:
                    return

    async def _send_snapshot(self, stored: Stored) -> None:
        projection = stored.projection
        when = projection.completed_at or projection.started_at or stored.header.created_at
        await self._send(snapshot_frame(snapshot(stored), projection.last_sequence, when).encode())

    async def _send(self, body: bytes, more: bool = True) -> None:
        await self._request.send({"type": "http.response.body", "body": body, "more_body": more})
        self._sent()

    def _sent(self) -> None:
        self._quiet_until = asyncio.get_running_loop().time() + self._keepalive
