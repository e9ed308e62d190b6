"""Writes one response in chunks, at the client's pace, and gives up on a client that has stopped reading.

Without a connection in the scope (another ASGI server) responses are sent as well; then the server buffers what the
client does not read.
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from weftwork.adapters.http.asgi import Headers, Scope, Send
from weftwork.adapters.http.server.connection import Connection
from weftwork.ports.fault_points import fault_point

CHUNK_BYTES: Final = 32_768
"""Most bytes handed to the connection at once; of a stream it holds one piece while the client does not read."""
STALL_SECONDS: Final = 30.0
"""How long a client may take to make room for the next piece."""


class ResponseAborted(Exception):
    """The response cannot be continued: the client stopped reading, or it was cut in the middle."""


class ResponseWriter:
    """One response. Once `has_started`, its status has been sent and no other response is possible."""

    __slots__ = ("_at_boundary", "_is_ended", "_send", "connection", "has_started")

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self.connection: Connection | None = scope.get("weftwork.connection")
        self._at_boundary = False
        self.has_started = False
        self._is_ended = False

    def try_send_whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send a small document at once. Says no, and has sent nothing, if it has to go the other way."""
        if (
            self.connection is None
            or self.connection.active_cycle is None
            or not self.connection.active_cycle.try_respond(status, headers, body)
        ):
            return False
        self.has_started = self._is_ended = True
        return True

    async def start(self, status: int, headers: Headers, stream: bool = False) -> None:
        """The status line and headers. A stream may end wherever it stands, a document only when it is whole."""
        self.has_started = True
        if stream and self.connection is not None:
            self.connection.disable_buffering()
        await self._send_message({"type": "http.response.start", "status": status, "headers": headers})
        self._at_boundary = stream

    async def write(self, data: bytes, more: bool = False) -> None:
        """Send a document. Raises ResponseAborted when the client does not take it."""
        await self.write_part(data, more)
        self._at_boundary = more
        self._is_ended = not more

    async def write_part(self, data: bytes, more: bool = True) -> None:
        """Send some of a document, which is worth nothing without the rest: ended here, it is broken off."""
        self._at_boundary = False
        for at in range(0, len(data) or 1, CHUNK_BYTES):
            goes_on = more or at + CHUNK_BYTES < len(data)
            await self._send_message(
                {"type": "http.response.body", "body": data[at : at + CHUNK_BYTES], "more_body": goes_on}
            )
            fault_point("response.piece")

    async def write_available(self, data: bytes, at: int = 0) -> int:
        """Send frames from there on, as long as the client takes them; returns how far it came."""
        while at < len(data) and not (self.connection is not None and self.connection.is_full):
            self._at_boundary = False
            await self._send_message(
                {"type": "http.response.body", "body": data[at : at + CHUNK_BYTES], "more_body": True}
            )
            at = min(at + CHUNK_BYTES, len(data))
            self._at_boundary = at == len(data)
            fault_point("stream.piece")
        return at

    async def drained(self) -> None:
        """Wait until the client has taken what it was sent, or is gone. Raises ResponseAborted after STALL_SECONDS."""
        if self.connection is not None and self.connection.is_full:
            await _with_stall_timeout(self.connection.drained())

    async def end(self) -> None:
        """End a response, between two frames or after its document. Raises ResponseAborted anywhere else."""
        if self._is_ended:
            return
        if not self._at_boundary:
            raise ResponseAborted
        self._at_boundary = False
        await self._send_message({"type": "http.response.body", "body": b"", "more_body": False})
        self._is_ended = True
        if self.connection is not None:
            self.connection.restore_buffering()

    def abort(self) -> None:
        """Break the connection off, with whatever still waits to be sent."""
        if self.connection is not None:
            self.connection.abort()

    async def _send_message(self, message: Scope) -> None:
        if self.connection is not None and not self.connection.is_full:
            await self._send(message)  # does not wait
        else:
            await _with_stall_timeout(self._send(message))


async def _with_stall_timeout(work: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(STALL_SECONDS):
            await work
    except TimeoutError:
        raise ResponseAborted from None
