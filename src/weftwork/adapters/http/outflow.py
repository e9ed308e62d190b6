"""The outflow: what one request sends back, in pieces, at the client's pace and no slower than it may be."""

import asyncio
from typing import Final

from weftwork.adapters.http.asgi import Headers, Scope, Send

PIECE: Final = 65_536
"""Most bytes handed to the connection at once; it holds one piece while the client does not read."""
STALL_SECONDS: Final = 30.0
"""How long a client may take to make room for the next piece."""


class Broken(Exception):
    """The response cannot be gone on with: the client stopped reading, or it was cut in the middle."""


class Outflow:
    """One response. `started` says that its status is on the way, so no other answer can be given."""

    __slots__ = ("_abort", "_between", "_ended", "_send", "started")

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._abort = scope.get("weftwork.abort")
        self._between = False
        self.started = False
        self._ended = False

    async def start(self, status: int, headers: Headers, stream: bool = False) -> None:
        """The status line and headers. A stream may end wherever it stands, a document only when it is whole."""
        self.started = True
        await self._bounded({"type": "http.response.start", "status": status, "headers": headers})
        self._between = stream

    async def write(self, data: bytes, more: bool = False) -> None:
        """Send a frame or a document. Raises Broken when the client does not take it."""
        self._between = False
        for at in range(0, len(data) or 1, PIECE):
            goes_on = more or at + PIECE < len(data)
            await self._bounded({"type": "http.response.body", "body": data[at : at + PIECE], "more_body": goes_on})
        self._between = more
        self._ended = not more

    async def end(self) -> None:
        """End a response, between two frames or after its document. Raises Broken anywhere else."""
        if self._ended:
            return
        if not self._between:
            raise Broken
        self._between = False
        await self._bounded({"type": "http.response.body", "body": b"", "more_body": False})
        self._ended = True

    def abort(self) -> None:
        """Break the connection off, with whatever still waits to be sent."""
        if self._abort is not None:
            self._abort()

    async def _bounded(self, message: Scope) -> None:
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self._send(message)
        except TimeoutError:
            raise Broken from None
