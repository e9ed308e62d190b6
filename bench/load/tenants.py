"""Tenants that create runs: paced ones whose latencies are measured, and a greedy one that takes what it can get.

The greedy tenant is a process of its own (`python -m bench.load.tenants`), so that its clients do not delay those that
are measured.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec
import uvloop

from bench.costs import graphs
from bench.plan import BenchError

GREEDY_KEY: Final = "key-of-the-greedy-tenant"
MODEST_KEYS: Final = tuple(f"key-of-modest-tenant-{number}" for number in range(9))
LOOP: Final = "greedy-loop"
MAP: Final = "greedy-map"
WAIT: Final = "wait"
ONE_STEP: Final = "one-step"
ROUNDS: Final = 4_900
"""Rounds of a loop of two nodes, below the limit on node executions."""
ITEMS: Final = 2_000
LOOK_SECONDS: Final = 0.2
RETRY_SECONDS: Final = 0.05
"""After a refusal; the Retry-After of the host is longer, and a greedy client ignores it."""
_LENGTH: Final = b"content-length: "


class Connection(asyncio.Protocol):
    """One kept-alive connection with one request at a time."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._data = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._data.find(_LENGTH, 0, head)
        if at >= 0:
            length = int(self._data[at + len(_LENGTH) : self._data.index(b"\r", at)])
            if len(self._data) < head + 4 + length:
                return
        answer, status, body = self._answer, int(self._data[9:12]), self._data[head + 4 :]
        self._data, self._answer = b"", None
        if answer is not None and not answer.done():
            answer.set_result((status, body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchError(f"the host closed a connection: {exc}"))

    def send(self, method: str, path: str, document: Any = None) -> "asyncio.Future[tuple[int, bytes]]":
        assert self._transport is not None
        body = msgspec.json.encode(document) if document is not None else b""
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {self._key}"]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        return self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def connect(port: int, key: str) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(key), "127.0.0.1", port)
    return connection


class Paced(msgspec.Struct):
    """Requests at a steady rate over a few connections. A request that finds no free connection waits."""

    latencies: list[float] = []
    """Milliseconds of the requests that were answered, from the time at which they were due."""
    refused: int = 0

    async def run(self, port: int, key: str, rate: float, connections: int, seconds: float) -> None:
        """Create runs of one step."""
        await self._run(port, key, rate, connections, seconds, "POST", "/v1/runs", {"workflowId": ONE_STEP})

    async def run_health(self, port: int, rate: float, seconds: float) -> None:
        await self._run(port, "none", rate, 1, seconds, "GET", "/health", None)

    async def _run(
        self,
        port: int,
        key: str,
        rate: float,
        connections: int,
        seconds: float,
        method: str,
        path: str,
        document: Any,
    ) -> None:
        opened = [await connect(port, key) for _ in range(connections)]
        began = time.perf_counter()
        count = 0

        async def work(connection: Connection) -> None:
            nonlocal count
            while True:
                due = began + count / rate
                count += 1
                if (left := due - time.perf_counter()) > 0:
                    await asyncio.sleep(left)
                if due > began + seconds or time.perf_counter() > began + seconds:
                    return
                status, _ = await connection.send(method, path, document)
                now = time.perf_counter()
                if status in (200, 201) and now <= began + seconds:
                    self.latencies.append((now - due) * 1000)
                elif status not in (200, 201):
                    self.refused += 1

        try:
            async with asyncio.timeout(seconds + 30):
                await asyncio.gather(*map(work, opened))
        except TimeoutError:
            raise BenchError("the host did not answer within 30 s") from None
        finally:
            for connection in opened:
                connection.close()


def definitions() -> list[dict[str, Any]]:
    """The workflows of the greedy tenant: a loop and a map, whose nodes compute with expressions."""
    expression = "ports.input.map(x, x * 2.0 + 1.0).filter(x, x > 3.0).size()"
    values = [float(number) for number in range(20)]
    head = graphs.node(0, "core.loop", {"times": ROUNDS})
    body = graphs.node(1, "core.transform", {"expression": expression}, {"input": {"type": "static", "value": values}})
    edges = [graphs.edge(0, 1, sourceOutput="body"), graphs.edge(1, 0)]
    loop = graphs.definition(LOOP, [head, body], edges, settings={"maxLoopbackIterations": ROUNDS})
    return [loop, graphs.mapped(MAP)]


class Greedy(msgspec.Struct, frozen=True):
    """What a greedy tenant keeps open at the same time."""

    creators: int = 0
    """Connections that create runs of one step without a pause."""
    loops: int = 0
    maps: int = 0
    streams: int = 0


async def _keep_creating(port: int) -> None:
    connection = await connect(port, GREEDY_KEY)
    while True:
        status, _ = await connection.send("POST", "/v1/runs", {"workflowId": ONE_STEP})
        if status != 201:
            await asyncio.sleep(RETRY_SECONDS)


async def _keep_running(port: int, workflow: str) -> None:
    """One run after the other."""
    connection = await connect(port, GREEDY_KEY)
    inputs = {"items": graphs.items(ITEMS)} if workflow == MAP else {}
    while True:
        status, body = await connection.send("POST", "/v1/runs", {"workflowId": workflow, "inputs": inputs})
        if status != 201:
            await asyncio.sleep(RETRY_SECONDS)
            continue
        run = msgspec.json.decode(body)["runId"]
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            _, body = await connection.send("GET", f"/v1/runs?status=pending,running&workflowId={workflow}&limit=50")
            if all(each["runId"] != run for each in msgspec.json.decode(body)["runs"]):
                break


async def _keep_streaming(port: int) -> None:
    """Follow a run of many events from its start, again and again."""
    connection = await connect(port, GREEDY_KEY)
    _, body = await connection.send("POST", "/v1/runs", {"workflowId": LOOP})
    run = msgspec.json.decode(body)["runId"]
    connection.close()
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = [f"GET /v1/runs/{run}/events HTTP/1.1", "Host: x", f"Authorization: Bearer {GREEDY_KEY}", "", ""]
        writer.write("\r\n".join(lines).encode())
        while await reader.read(65_536):
            pass
        writer.close()


async def _main(port: int, greedy: Greedy) -> None:
    work: Iterable[Any] = [
        *(_keep_running(port, LOOP) for _ in range(greedy.loops)),
        *(_keep_running(port, MAP) for _ in range(greedy.maps)),
        *(_keep_streaming(port) for _ in range(greedy.streams)),
        *(_keep_creating(port) for _ in range(greedy.creators)),
    ]
    await asyncio.gather(*work)


if __name__ == "__main__":
    uvloop.run(_main(int(sys.argv[1]), msgspec.convert(json.loads(sys.argv[2]), Greedy)))
