"""The load: clients on kept-alive connections that create a run, look at once, and every 2 ms until it has ended.

Theory. The client shares the machine with the host, so what it burns the host does not get. Hence no HTTP
library, no streams, no tasks: a connection is a protocol object whose callbacks send the next request, and an
answer is searched for the few bytes that matter instead of being parsed.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final, cast

import uvloop

from bench.plan import KEY, BenchError, Sample

LOOK_SECONDS: Final = 0.002
STALL_SECONDS: Final = 60.0
_LENGTH = b"content-length: "
_RUN = b'"runId":"'
_STATUS = b'"status":"'
_GOING_ON = (b"pending", b"running")


def request(method: str, path: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {KEY}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def creation(workflow: str) -> bytes:
    return request("POST", "/v1/runs", b'{"workflowId":"%b"}' % workflow.encode())


def text_after(mark: bytes, body: bytes) -> bytes:
    """The first JSON text that follows a mark."""
    at = body.find(mark)
    if at < 0:
        raise BenchError(f"an answer has no {mark.decode()}: {body[:200]!r}")
    return body[at + len(mark) : body.index(b'"', at + len(mark))]


class LoadStage:
    """What the clients of one stage have in common."""

    def __init__(self, count: int, seconds: float, clients: int) -> None:
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = count
        self._until = time.perf_counter() + seconds
        self._clients = clients

    def has_next(self) -> bool:
        """Whether there is to be one more."""
        self._left -= 1
        return self._left >= 0 and time.perf_counter() < self._until

    def leave(self) -> None:
        self._clients -= 1
        if not self._clients and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


ClientFactory = Callable[[LoadStage], asyncio.Protocol]
"""Of a client: one connection that does what there is to do until its stage has enough."""


class _Client(asyncio.Protocol):
    """One connection, one run at a time."""

    def __init__(self, create: bytes, stage: LoadStage) -> None:
        self._create = create
        self._stage = stage
        self._rest = b""
        self._look = b""
        self._answered: Callable[[bytes, bytes], None] = self._created
        self._later = asyncio.get_running_loop().call_later

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stage.fail(BenchError("the host closed a connection"))

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        head = data.find(b"\r\n\r\n")
        at = data.find(_LENGTH, 0, head) if head > 0 else -1
        if at < 0:
            self._rest = data
            return
        length = int(data[at + len(_LENGTH) : data.index(b"\r", at)])
        if len(data) < head + 4 + length:
            self._rest = data
            return
        self._rest = b""
        try:
            self._answered(data[9:12], data[head + 4 :])
        except Exception as error:
            self._stage.fail(error)

    def _next(self) -> None:
        if not self._stage.has_next():
            self._stage.leave()
            return
        self._answered = self._created
        self._began = time.perf_counter()
        self._transport.write(self._create)

    def _created(self, status: bytes, body: bytes) -> None:
        if status != b"201":
            raise BenchError(f"a create was answered with {status.decode()}: {body[:200]!r}")
        self._look = request("GET", "/v1/runs/" + text_after(_RUN, body).decode())
        self._answered = self._seen
        self._transport.write(self._look)

    def _seen(self, status: bytes, body: bytes) -> None:
        state = text_after(_STATUS, body)
        if status == b"200" and state == b"completed":
            self._stage.latencies.append((time.perf_counter() - self._began) * 1000)
            self._next()
        elif status == b"200" and state in _GOING_ON:
            self._later(LOOK_SECONDS, self._transport.write, self._look)
        else:
            raise BenchError(f"a look was answered with {status.decode()}: {body[:200]!r}")


async def _drive(port: int, maker: ClientFactory, clients: int, count: int, seconds: float) -> Sample:
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    stage = LoadStage(count, seconds, clients)
    async with asyncio.timeout(seconds + STALL_SECONDS):
        opened = [await loop.create_connection(lambda: maker(stage), "127.0.0.1", port) for _ in range(clients)]
        await stage.done
    taken = time.perf_counter() - began
    for transport, _ in opened:
        transport.abort()
    return Sample(taken, stage.latencies)


def drive(port: int, workflow: str, clients: int, runs: int, seconds: float = 600.0) -> Sample:
    """Make runs until there are enough or the time is over. Raises BenchError for any answer that is not expected."""
    return drive_with(port, partial(_Client, creation(workflow)), clients, runs, seconds)


def drive_with(port: int, maker: ClientFactory, clients: int, count: int, seconds: float) -> Sample:
    """The same for clients of any make."""
    try:
        return uvloop.run(_drive(port, maker, clients, count, seconds))
    except TimeoutError:
        raise BenchError(f"clients of port {port} were not done within {STALL_SECONDS:.0f} s") from None
    except OSError as error:
        raise BenchError(f"no host listens on port {port}: {error}") from None
