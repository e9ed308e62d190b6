"""The administration socket: one JSON document per line, for the user who owns the data folder."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from weftwork.adapters.admin.client import socket_address
from weftwork.ports.fault_points import fault_point
from weftwork.protocol.errors import ClientFault, error_document
from weftwork.protocol.json.decoder import decode

MAX_LINE_BYTES: Final = 65_536


class AdminHandler(Protocol):
    """Handles administration requests. Raises ClientFault."""

    def handle(self, request: Any) -> Awaitable[dict[str, Any]]: ...


class AdminServer:
    """Listens on a socket of mode 0600 in the data folder."""

    def __init__(self, path: Path, handler: AdminHandler) -> None:
        self._path = path
        self._handler = handler
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        # This process holds the host lock, so an existing socket file is left from a host that has ended.
        self._path.unlink(missing_ok=True)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            # `bind` creates the file with the umask, so that no other user can connect at any time. A chmod after it
            # would come too late.
            old_umask = os.umask(0o177)
            try:
                listener.bind(socket_address(self._path, folder))
            finally:
                os.umask(old_umask)
        finally:
            os.close(folder)
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=MAX_LINE_BYTES)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(30):
                line = await reader.readline()
                if line:
                    response = msgspec.json.encode(await self._answer(line)) + b"\n"
                    fault_point("admin.answer")
                    writer.write(response)
                    await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            return await self._handler.handle(decode(line))
        except ClientFault as fault:
            return error_document(fault.code, fault.message, fault.details)
