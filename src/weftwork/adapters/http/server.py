"""The server: uvicorn with httptools, told by us when to begin and when to end."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from weftwork.protocol.errors import error_document

GRACE_SECONDS: Final = 5
"""How long open requests may take to finish once the host drains."""
IDLE_SECONDS: Final = 15


class _Server(uvicorn.Server):
    """Signals are ours: uvicorn would raise them again after the loop and cut our own clean-up short."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Protocol(HttpToolsProtocol):
    """What is not even HTTP is answered with an error document as well."""

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
        timeout_graceful_shutdown=GRACE_SECONDS,
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
