"""One TCP connection to a checked address, with or without TLS.

Received bytes wait in a buffer, and reading pauses while the buffer is large, so a server cannot send more than its
reader takes. The buffer is filled by the transport itself: a reader that waits costs one future per piece, and no
changes of what the event loop watches.
"""

import asyncio
import ssl
from typing import Any, Final, Protocol, Self, cast

BUFFER_BYTES: Final = 65_536
"""Received bytes from which reading pauses. One more read of the transport may follow."""


class WaitLimit(Protocol):
    """Ends a wait that takes too long."""

    def watch(self, waiter: "asyncio.Future[None]") -> None:
        """Called before a wait. The future gets a TimeoutError when the time is over."""
        ...


class OutboundConnection(asyncio.Protocol):
    """A connection, read by one task. All methods raise OSError if the connection is lost."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received: list[bytes] = []
        self._size = 0
        self._is_paused = False
        self._is_ended = False
        self.is_ready = False
        """Whether `take` returns something. An attribute, because it is read for each piece."""
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        """Set while the transport accepts no more bytes."""

    @classmethod
    async def open(cls, address: str, port: int) -> Self:
        _, connection = await asyncio.get_running_loop().create_connection(cls, address, port)
        return connection

    async def start_tls(self, context: ssl.SSLContext, name: str | None) -> None:
        """Raises ssl.SSLError as well.

        Bytes that arrived before the handshake came from anybody on the way, not from the server that the certificate
        names. They must not be read as its response, so the connection fails.
        """
        if self._received:
            raise ConnectionResetError("bytes before the TLS handshake")
        transport = await self._loop.start_tls(self._open_transport(), self, context, server_hostname=name)
        if transport is None:
            raise ConnectionResetError("closed during the handshake")
        self._transport = transport

    def peer_address(self) -> str:
        peer = self._open_transport().get_extra_info("peername")
        if peer is None:
            raise ConnectionResetError("closed before its peer was known")
        return str(peer[0])

    def tls_object(self) -> Any:
        """The TLS state of the connection; None without TLS."""
        return self._open_transport().get_extra_info("ssl_object")

    async def write(self, data: bytes) -> None:
        """Write the data, and wait while the transport has no room for more."""
        if self._error is not None or self._is_ended:
            raise self._error or ConnectionResetError("closed by the server")
        self._open_transport().write(data)
        if self._writer is not None:
            await asyncio.shield(self._writer)

    async def read(self) -> bytes:
        """The bytes that have arrived; waits for the first of them. Empty at the end of the connection."""
        while (data := self.take()) is None:
            await self.wait()
        return data

    async def wait(self, limit: WaitLimit | None = None) -> None:
        """Wait until `take` returns something. Call it only after `take` has returned None. Raises TimeoutError if the
        limit ends the wait."""
        self._reader = self._loop.create_future()
        if limit is not None:
            limit.watch(self._reader)
        try:
            await self._reader
        finally:
            self._reader = None

    def take(self) -> bytes | None:
        """The bytes that have arrived; empty at the end of the connection, None before anything has arrived."""
        if not self._received:
            if self._error is not None:
                raise self._error
            return b"" if self._is_ended else None
        data = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        self._received.clear()
        self.is_ready = self._is_ended
        self._size = 0
        if self._is_paused:
            self._is_paused = False
            self._open_transport().resume_reading()
        return data

    def close(self) -> None:
        """Close the connection at once, and discard what was not sent. Can be called twice."""
        if self._transport is not None:
            self._transport.abort()

    def _open_transport(self) -> asyncio.Transport:
        if self._transport is None:
            raise ConnectionResetError("not open")
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self.is_ready = True
        self._size += len(data)
        if self._size > BUFFER_BYTES and not self._is_paused:
            self._is_paused = True
            self._open_transport().pause_reading()
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)
        self.resume_writing()

    def pause_writing(self) -> None:
        if self._writer is None:
            self._writer = self._loop.create_future()

    def resume_writing(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None and not writer.done():
            writer.set_result(None)

    def _end(self, error: Exception | None) -> None:
        self._is_ended = self.is_ready = True
        self._error = self._error or error
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
