"""The server: uvicorn with httptools, told by us when to begin and when to end."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from weftwork.protocol.errors import error_document

log = logging.getLogger("weftwork.http")

GRACE_SECONDS: Final = 3.0
"""How long open requests may take to finish once the host drains."""
CUT_SECONDS: Final = 1.0
"""How long those that did not finish have to say so."""
IDLE_SECONDS: Final = 15


class _Server(uvicorn.Server):
    """Signals are ours: uvicorn would raise them again after the loop and cut our own clean-up short.

    So is the end: uvicorn would cancel requests without waiting for what they still have to say, and leave
    connections behind whose client does not read.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        await self._quiet(GRACE_SECONDS)
        if state.tasks:
            log.warning("requests cut short by the shutdown", extra={"count": len(state.tasks)})
        for task in list(state.tasks):
            task.cancel()
        await self._quiet(CUT_SECONDS)
        for connection in list(state.connections):
            connection.transport.abort()

    async def _quiet(self, seconds: float) -> None:
        """Return when nobody is connected and nothing runs, or after so long, or at once if told so."""
        until = asyncio.get_running_loop().time() + seconds
        state = self.server_state
        while (state.connections or state.tasks) and not self.force_exit:
            if asyncio.get_running_loop().time() >= until:
                return
            await asyncio.sleep(0.02)


class _Protocol(HttpToolsProtocol):
    """What is not even HTTP is answered with an error document as well. Nobody is asked to install anything."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        # ASGI has no word for it: a connection whose client does not read cannot be closed, only broken off.
        self.scope["weftwork.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade is an offer. Not taken up, the request is one like any other."""

    def send_400_response(self, msg: str) -> None:
        body = msgspec.json.encode(error_document("validation_error", msg))
        head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free port. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Naming TCP matters: asyncio switches off Nagle only for sockets that say what they are.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


async def serve(app: Any, listener: socket.socket, drain: Callable[[], None], started: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT, then drain: no new work, streams end, open requests finish."""
    config = uvicorn.Config(
        app,
        http=_Protocol,
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()

    def end() -> None:
        # A second signal does not wait for anybody.
        server.force_exit = server.should_exit
        server.should_exit = True
        drain()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        loop.call_soon(started)
        await server.serve(sockets=[listener])
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
