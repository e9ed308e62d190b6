"""Binds the socket and runs uvicorn, with the host's own handling of signals, deadlines and shutdown."""

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
from weftwork.adapters.http.server.write_turns import WriteTurns

log = logging.getLogger("weftwork.http")

GRACE_SECONDS: Final = 3.0
"""How long open requests may take to finish after the shutdown has started."""
CANCEL_SECONDS: Final = 1.0
"""How long cancelled requests may take to send their 503."""
DEADLINE_CHECK_TICKS: Final = 5
"""Interval of the deadline check, in ticks of uvicorn: tenths of a second."""
REPORT_TICKS: Final = 100
"""Interval of the log line about refused connections, in ticks."""


class _UvicornServer(uvicorn.Server):
    """uvicorn without its handling of signals and shutdown.

    uvicorn raises captured signals again after the loop, which would interrupt the host's own cleanup. Its shutdown
    cancels requests without waiting for their last response, and leaves connections open whose client does not read.
    """

    def __init__(self, config: uvicorn.Config, limit: ConnectionLimit) -> None:
        super().__init__(config)
        self._limit = limit

    async def on_tick(self, counter: int) -> bool:
        if counter % DEADLINE_CHECK_TICKS == 0:
            self._check_deadlines()
        if counter % REPORT_TICKS == 0 and self._limit.rejected_count:
            log.warning("connections refused, max_connections reached", extra={"count": self._limit.rejected_count})
            self._limit.rejected_count = 0
        return await super().on_tick(counter)

    def _check_deadlines(self) -> None:
        """Call `on_deadline` of every overdue connection. Costs one comparison per connection."""
        now = asyncio.get_running_loop().time()
        connections = cast("set[Connection]", self.server_state.connections)
        for connection in [each for each in connections if each.deadline < now]:
            try:
                connection.on_deadline(now)
            except Exception:
                # A bug in one connection must not stop the server for all others.
                log.exception("connection could not be closed")
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
            log.warning("requests cancelled by the shutdown", extra={"count": len(state.tasks)})
        for task in list(state.tasks):
            task.cancel()
        await self._wait_until_idle(CANCEL_SECONDS)
        for connection in list(state.connections):
            connection.transport.abort()

    async def _wait_until_idle(self, seconds: float) -> None:
        """Wait until there are no connections and requests, at most for `seconds`, and not after a second signal."""
        until = asyncio.get_running_loop().time() + seconds
        state = self.server_state
        while (state.connections or state.tasks) and not self.force_exit:
            if asyncio.get_running_loop().time() >= until:
                return
            await asyncio.sleep(0.02)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 selects any free port. Raises OSError."""
    host = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets whose protocol is IPPROTO_TCP, not on those with the default 0.
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
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until `stop` is set. Then drain: accept no new connections, end streams, let
    open requests finish.

    Calls `started` when the server runs, and `drain` at each signal. A second signal ends the server without waiting.
    """
    limit = ConnectionLimit(max_connections)
    config = uvicorn.Config(
        app,
        http=cast(Any, partial(Connection, limit=limit, turns=WriteTurns())),
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

    def on_signal() -> None:
        # At a second signal `should_exit` is already set.
        server.force_exit = server.should_exit
        server.should_exit = True
        drain()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    watch = loop.create_task(_call_when_set(stop, on_signal)) if stop is not None else None
    try:
        loop.call_soon(started)
        await server.serve(sockets=[listener])
    finally:
        if watch is not None:
            watch.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _call_when_set(event: asyncio.Event, call: Callable[[], None]) -> None:
    await event.wait()
    call()
