"""Writes one response in chunks, at the client's pace, and aborts it if the client stops reading.

Under another ASGI server the scope has no connection. Responses are then sent in the same way, but that server buffers
the bytes that the client does not read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
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

    async def start(self, status: int, headers: Headers, stream: bool = False, is_large: bool = False) -> None:
        """Send the status line and headers. A `stream` may end after any frame, a document only when it is complete.

        A `stream` or large document has at most one chunk in the buffer of its connection.
        """
        self.has_started = True
        if (stream or is_large) and self.connection is not None:
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
            await self._send_piece(data[at : at + CHUNK_BYTES], more or at + CHUNK_BYTES < len(data))

    async def write_available(self, data: bytes, at: int = 0) -> int:
        """Send frames from offset `at` while the connection has room. Returns the offset of the first unsent byte."""
        first = at
        while at < len(data) and not (self.connection is not None and self.connection.is_full):
            if at > first and self.connection is not None:
                # The caller has taken the turn of the first chunk. The data would stay in memory during a wait.
                self.connection.turns.charge(CHUNK_BYTES)
            rest = data[at : at + CHUNK_BYTES]
            at = min(at + CHUNK_BYTES, len(data))
            await self._send_frame_piece(rest, at == len(data))
        return at

    async def write_large(self, chunks: Iterator[bytes | memoryview], may_wait: Callable[[], bool]) -> None:
        """Send a large document at the client's pace, without its end; at most one chunk of it is copied at a time.

        Sends nothing more if the client disconnects. Raises ResponseAborted if the client does not read the document,
        or if the client would have to be waited for while `may_wait` returns False.
        """
        self._at_boundary = False
        for chunk in _small_chunks(chunks):
            if not await self._has_room(len(chunk), may_wait):
                break
            await self._send_piece(bytes(chunk), more=True)
        self._at_boundary = True

    async def write_frame(self, chunks: Iterator[bytes | memoryview], may_wait: Callable[[], bool]) -> None:
        """Send one large frame, like `write_large`."""
        for chunk in _small_chunks(chunks):
            if not await self._has_room(len(chunk), may_wait):
                break
            await self._send_frame_piece(bytes(chunk), False)
        self._at_boundary = True

    async def _has_room(self, size: int, may_wait: Callable[[], bool]) -> bool:
        """Wait for room in the connection and for a turn; False if the client has disconnected."""
        if self.connection is None:
            return True
        if self.connection.is_full:
            if not may_wait():
                raise ResponseAborted
            await self.drained()
        await self.next_turn(size)
        return not self.connection.is_lost

    async def _send_piece(self, data: bytes, more: bool) -> None:
        await self._send_message({"type": "http.response.body", "body": data, "more_body": more})
        fault_point("response.piece")

    async def _send_frame_piece(self, data: bytes, is_end: bool) -> None:
        self._at_boundary = False
        message: Scope = {"type": "http.response.body", "body": data, "more_body": True}
        if self.connection is not None and not self.connection.is_full:
            await self._send(message)  # does not wait
        else:
            await _with_stall_timeout(self._send(message))
        self._at_boundary = is_end
        fault_point("stream.piece")

    async def next_turn(self, size: int, may_wait: bool = True) -> None:
        """Wait until the event loop has time to encode or write about this many bytes; or only count them."""
        if self.connection is None:
            return
        if may_wait:
            await self.connection.turns.next_turn(size)
        else:
            self.connection.turns.charge(size)

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


def _small_chunks(chunks: Iterator[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    for data in chunks:
        for at in range(0, len(data), CHUNK_BYTES):
            yield data[at : at + CHUNK_BYTES]


async def _with_stall_timeout(work: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(STALL_SECONDS):
            await work
    except TimeoutError:
        raise ResponseAborted from None
