"""The outflow: what one request sends back, in pieces, at the client's pace and no slower than it may be."""

import asyncio
from collections.abc import Awaitable
from typing import Final

from weftwork.adapters.http.asgi import Headers, Scope, Send
from weftwork.adapters.http.server.connection import Line
from weftwork.ports.fault_points import fault_point

PIECE: Final = 32_768
"""Most bytes handed to the connection at once; of a stream it holds one piece while the client does not read."""
STALL_SECONDS: Final = 30.0
"""How long a client may take to make room for the next piece."""


class Broken(Exception):
    """The response cannot be gone on with: the client stopped reading, or it was cut in the middle."""


class Outflow:
    """One response. `started` says that its status is on the way, so no other answer can be given."""

    __slots__ = ("_between", "_ended", "_send", "line", "started")

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self.line: Line | None = scope.get("weftwork.line")
        self._between = False
        self.started = False
        self._ended = False

    def whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send a small document at once. Says no, and has sent nothing, if it has to go the other way."""
        if self.line is None or self.line.running is None or not self.line.running.respond(status, headers, body):
            return False
        self.started = self._ended = True
        return True

    async def start(self, status: int, headers: Headers, stream: bool = False) -> None:
        """The status line and headers. A stream may end wherever it stands, a document only when it is whole."""
        self.started = True
        if stream and self.line is not None:
            self.line.narrow()
        await self._pass({"type": "http.response.start", "status": status, "headers": headers})
        self._between = stream

    async def write(self, data: bytes, more: bool = False) -> None:
        """Send a document. Raises Broken when the client does not take it."""
        await self.part(data, more)
        self._between = more
        self._ended = not more

    async def part(self, data: bytes, more: bool = True) -> None:
        """Send some of a document, which is worth nothing without the rest: ended here, it is broken off."""
        self._between = False
        for at in range(0, len(data) or 1, PIECE):
            goes_on = more or at + PIECE < len(data)
            await self._pass({"type": "http.response.body", "body": data[at : at + PIECE], "more_body": goes_on})
            fault_point("response.piece")

    async def offer(self, data: bytes, at: int = 0) -> int:
        """Send frames from there on, as long as the client takes them; returns how far it came."""
        while at < len(data) and not (self.line is not None and self.line.full):
            self._between = False
            await self._pass({"type": "http.response.body", "body": data[at : at + PIECE], "more_body": True})
            at = min(at + PIECE, len(data))
            self._between = at == len(data)
            fault_point("stream.piece")
        return at

    async def room(self) -> None:
        """Return when the client has taken what it was sent, or is gone. Raises Broken when that takes too long."""
        if self.line is not None and self.line.full:
            await _bounded(self.line.room())

    async def end(self) -> None:
        """End a response, between two frames or after its document. Raises Broken anywhere else."""
        if self._ended:
            return
        if not self._between:
            raise Broken
        self._between = False
        await self._pass({"type": "http.response.body", "body": b"", "more_body": False})
        self._ended = True
        if self.line is not None:
            self.line.widen()

    def abort(self) -> None:
        """Break the connection off, with whatever still waits to be sent."""
        if self.line is not None:
            self.line.abort()

    async def _pass(self, message: Scope) -> None:
        if self.line is not None and not self.line.full:
            await self._send(message)  # does not wait
        else:
            await _bounded(self._send(message))


async def _bounded(work: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(STALL_SECONDS):
            await work
    except TimeoutError:
        raise Broken from None
