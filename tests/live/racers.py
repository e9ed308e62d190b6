"""Racers: many connections that are open already, on which requests leave at the same moment."""

import asyncio
import json
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.live.host import KEY, TIMEOUT_SECONDS, Answer, Host, start_host
from tests.live.listening_host import in_thread, open_listening
from tests.live.steering import RemoteHost, error_code
from tests.live.workflows import write_workflows

RACERS = 64
ALREADY_RESOLVED = (409, "interrupt_already_resolved")

Log = list[dict[str, Any]]


class RaceClients:
    """So many connections to one host. Use it as a context."""

    def __init__(self, port: int, count: int, seed: int) -> None:
        self._stack = ExitStack()
        self._rng = random.Random(seed)
        self._connections = [_RaceConnection(self._stack, port) for _ in range(count)]

    def __enter__(self) -> "RaceClients":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, requests: Sequence[bytes]) -> list[Answer]:
        """Send them all, in any order, before any answer is read; the answers in the order of the requests."""
        assert len(requests) <= len(self._connections)
        lanes = self._rng.sample(self._connections, len(requests))
        started = list(zip(lanes, requests, strict=True))
        self._rng.shuffle(started)
        for lane, request in started:
            lane.send(request)
        return [lane.receive() for lane in lanes]


class _RaceConnection:
    def __init__(self, stack: ExitStack, port: int) -> None:
        self._socket = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def receive(self) -> Answer:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        while len(body) < int(headers["content-length"]):
            body += self._more()
        return Answer(int(status.split()[1]), headers, body)

    def _more(self) -> bytes:
        piece = self._socket.recv(65_536)
        assert piece, "the host hung up"
        return piece


def request(path: str, document: Any = None, key: str | None = KEY, **headers: str) -> bytes:
    body = json.dumps(document).encode() if document is not None else b""
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
    lines += [f"Authorization: Bearer {key}"] if key is not None else []
    lines += ["Content-Type: application/json"] if document is not None else []
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def by_run(run_id: str, node_id: str, value: Any) -> bytes:
    return request(f"/v1/runs/{run_id}/interrupts/{node_id}", {"resumeValue": value})


def by_link(token: str, value: Any, **headers: str) -> bytes:
    """An answer by whoever has the link."""
    return request(f"/v1/interrupts/{token}", {"resumeValue": value}, key=None, **headers)


@contextmanager
def race_host(folder: Path, *workflows: dict[str, Any]) -> Iterator[Host]:
    """A host of its own, which comes to no harm."""
    with start_host(folder, "--workflows", write_workflows(folder / "flows", *workflows)) as running:
        yield running
        assert running.process.poll() is None, running.errors
        assert '"level":"error"' not in running.errors


def race_in_process(check: Callable[[Host, RaceClients], object], *workflows: dict[str, Any]) -> None:
    """A race on a host in this process, of which a guard can be taken away."""

    def race(port: int) -> None:
        with RaceClients(port, RACERS, seed=1) as racers:
            check(RemoteHost(port), racers)

    async def work() -> None:
        async with open_listening(*workflows) as served:
            await in_thread(race, served.port)

    asyncio.run(work())


def events_of_type(log: Log, kind: str) -> Log:
    return [event for event in log if event["type"] == kind]


def check_refusals(told: list[Answer], *allowed: tuple[int, str]) -> None:
    refused = {error_code(answer) for answer in told if answer.status != 200}
    assert refused <= set(allowed), f"answers were refused otherwise: {refused}"
