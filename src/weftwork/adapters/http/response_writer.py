"""Writes one response in chunks, at the client's pace, and aborts it if the client stops reading.

Under another ASGI server the scope has no connection. Responses are then sent in the same way, but that server buffers
the bytes that the client does not read.
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from weftwork.adapters.http.asgi import Headers, Scope, Send
from weftwork.adapters.http.server.connection import Connection
from weftwork.ports.fault_points import fault_point

CHUNK_BYTES: Final = 32_768
"""Bytes handed to the connection at a time. While a client does not read, its stream holds at most one chunk."""
STALL_SECONDS: Final = 30.0
"""How long a client may take to make room for the next chunk."""


class ResponseAborted(Exception):
    """The response cannot be finished: the client stopped reading, or the response ended in the middle."""


class ResponseWriter:
    """Writes one response. Once `has_started` is set, the status is sent and cannot be changed.

    `_at_boundary` is true between two frames of a stream and after a document: the only places where it may end.
    """

    __slots__ = ("_at_boundary", "_is_ended", "_send", "connection", "has_started")

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self.connection: Connection | None = scope.get("weftwork.connection")
        self._at_boundary = False
        self.has_started = False
        self._is_ended = False

    def try_send_whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send a small document with one write. Returns False, and sends nothing, if `start` and `write` are needed."""
        if (
            self.connection is None
            or self.connection.active_cycle is None
            or not self.connection.active_cycle.try_respond(status, headers, body)
        ):
            return False
        self.has_started = self._is_ended = True
        return True

    async def start(self, status: int, headers: Headers, stream: bool = False) -> None:
        """Send the status line and headers. A `stream` may end after any frame, a document only when it is complete."""
        self.has_started = True
        if stream and self.connection is not None:
            self.connection.disable_buffering()
        await self._send_message({"type": "http.response.start", "status": status, "headers": headers})
        self._at_boundary = stream

    async def write(self, data: bytes, more: bool = False) -> None:
        """Send a document. Raises ResponseAborted if the client does not read it."""
        await self.write_part(data, more)
        self._at_boundary = more
        self._is_ended = not more

    async def write_part(self, data: bytes, more: bool = True) -> None:
        """Send part of a document. If the response ends here, it is aborted, so the client sees that it is cut."""
        self._at_boundary = False
        for at in range(0, len(data) or 1, CHUNK_BYTES):
            more_body = more or at + CHUNK_BYTES < len(data)
            await self._send_message(
                {"type": "http.response.body", "body": data[at : at + CHUNK_BYTES], "more_body": more_body}
            )
            fault_point("response.piece")

    async def write_available(self, data: bytes, at: int = 0) -> int:
        """Send frames from offset `at` while the connection has room. Returns the offset of the first unsent byte."""
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
        """Wait until the connection has room or is closed. Raises ResponseAborted after STALL_SECONDS."""
        if self.connection is not None and self.connection.is_full:
            await _with_stall_timeout(self.connection.drained())

    async def end(self) -> None:
        """End the response after a frame or a complete document. Raises ResponseAborted anywhere else."""
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
        """Close the connection and discard unsent bytes."""
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
