"""Binds the socket and runs uvicorn, with our own handling of signals, deadlines and shutdown."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, cast

import uvicorn

from weftwork.adapters.http.server.connection import Connection
from weftwork.adapters.http.server.limits import ConnectionLimit

log = logging.getLogger("weftwork.http")

GRACE_SECONDS: Final = 3.0
"""How long open requests may take to finish once the host drains."""
CANCEL_SECONDS: Final = 1.0
"""How long those that did not finish have to say so."""
DEADLINE_CHECK_TICKS: Final = 5
"""Deadlines of clients are looked at so often, in tenths of a second."""
REPORT_TICKS: Final = 100


class _UvicornServer(uvicorn.Server):
    """Signals are ours: uvicorn would raise them again after the loop and cut our own clean-up short.

    So is the end: uvicorn would cancel requests without waiting for what they still have to say, and leave
    connections behind whose client does not read.
    """

    def __init__(self, config: uvicorn.Config, limit: ConnectionLimit) -> None:
        super().__init__(config)
        self._limit = limit

    async def on_tick(self, counter: int) -> bool:
        if counter % DEADLINE_CHECK_TICKS == 0:
            self._check_deadlines()
        if counter % REPORT_TICKS == 0 and self._limit.rejected_count:
            log.warning("connections refused, there are as many as may be", extra={"count": self._limit.rejected_count})
            self._limit.rejected_count = 0
        return await super().on_tick(counter)

    def _check_deadlines(self) -> None:
        """The watchdog: one comparison per connection."""
        now = asyncio.get_running_loop().time()
        connections = cast("set[Connection]", self.server_state.connections)
        for connection in [each for each in connections if each.deadline < now]:
            try:
                connection.on_deadline(now)
            except Exception:
                # Whatever is wrong with one of them, the server goes on for all the others.
                log.exception("connection could not be ended")
                connection.abort()

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
        await self._wait_until_idle(GRACE_SECONDS)
        if state.tasks:
            log.warning("requests cut short by the shutdown", extra={"count": len(state.tasks)})
        for task in list(state.tasks):
            task.cancel()
        await self._wait_until_idle(CANCEL_SECONDS)
        for connection in list(state.connections):
            connection.transport.abort()

    async def _wait_until_idle(self, seconds: float) -> None:
        """Return when nobody is connected and nothing runs, or after so long, or at once if told so."""
        until = asyncio.get_running_loop().time() + seconds
        state = self.server_state
        while (state.connections or state.tasks) and not self.force_exit:
            if asyncio.get_running_loop().time() >= until:
                return
            await asyncio.sleep(0.02)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free port. Raises OSError."""
    host = host.removeprefix("[").removesuffix("]")
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


async def serve(
    app: Any,
    listener: socket.socket,
    drain: Callable[[], None],
    started: Callable[[], None],
    max_connections: int = 12_000,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain: no new work, streams end, open requests finish."""
    limit = ConnectionLimit(max_connections)
    config = uvicorn.Config(
        app,
        http=cast(Any, partial(Connection, limit=limit)),
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    server = _UvicornServer(config, limit)
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
