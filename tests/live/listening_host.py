"""A host inside this process behind a real listener: for proofs that have to break what a socket meets."""

import asyncio
import contextlib
import functools
import inspect
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from tests.live.host import KEY, TIMEOUT_SECONDS
from tests.live.in_process_host import InProcessHost, open_in_process
from weftwork.adapters.http.server.http_server import bind, serve
from weftwork.app import Host

T = TypeVar("T")


class ListeningHost:
    """Blocking clients go into threads; the loop of the test is that of the host."""

    def __init__(self, inside: InProcessHost, port: int, server: "asyncio.Task[None]") -> None:
        self.in_process = inside
        self.host: Host = inside.host
        self.log: Any = inside.host._store.log
        self.port = port
        self.server = server

    def connect(self, room: int | None = None) -> socket.socket:
        """A connection; with so little room for what it does not read."""
        connection = socket.socket()
        connection.settimeout(TIMEOUT_SECONDS)
        if room is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def ask(self, path: str, room: int | None = None) -> socket.socket:
        """A connection on which a GET was sent."""
        connection = self.connect(room)
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return connection

    async def create(self, workflow_id: str, **members: Any) -> str:
        answer = await self.in_process.call("POST", "/v1/runs", {"workflowId": workflow_id, **members})
        assert answer.status == 201, answer.body
        return answer.document["runId"]

    @property
    def readers(self) -> int:
        return self.host._feeds.readers

    @property
    def requests(self) -> list[Any]:
        """The coroutines of the requests that are being answered."""
        return [coro for task in asyncio.all_tasks() if "run_asgi" in repr(coro := task.get_coro())]

    def stop(self) -> None:
        """SIGTERM, which only `serve` handles."""
        assert not self.server.done()
        os.kill(os.getpid(), signal.SIGTERM)


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Run something that blocks."""
    return await asyncio.to_thread(work, *arguments)


async def until(look: Callable[[], Any], what: str, seconds: float = TIMEOUT_SECONDS / 2) -> None:
    """Wait, while the host goes on, until something is so."""
    end = asyncio.get_running_loop().time() + seconds
    while not look():
        assert asyncio.get_running_loop().time() < end, f"waited for {what}"
        await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def open_listening(*workflows: dict[str, Any], **settings: Any) -> AsyncIterator[ListeningHost]:
    """Stopped with a signal at the end, unless the test did that."""
    async with open_in_process(*workflows, **settings) as inside:
        listener = bind("127.0.0.1", 0)
        port = listener.getsockname()[1]
        started = asyncio.Event()
        most = inside.host.settings.max_connections
        server = asyncio.create_task(serve(inside.app, listener, inside.host.drain, started.set, most))
        await started.wait()
        served = ListeningHost(inside, port, server)
        try:
            yield served
        finally:
            if not server.done():
                served.stop()
            await server


def with_host(*workflows: dict[str, Any], **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a test such a host as its first argument. A test that blocks runs in a thread."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        async def run(**fixtures: Any) -> None:
            async with open_listening(*workflows, **settings) as served:
                work = functools.partial(test, served, **fixtures)
                await (work() if inspect.iscoroutinefunction(test) else in_thread(work))

        signature = inspect.signature(test)
        functools.update_wrapper(run, test)
        del run.__wrapped__  # type: ignore[attr-defined]
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])  # type: ignore[attr-defined]
        return run

    return decorate
