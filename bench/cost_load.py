"""The load of bench.cost: waves of requests, exactly one POST and one GET for each run.

Theory. Under valgrind a host is some fifty times slower, and what it executes for a run then depends on when requests
arrive: a client that reads a run until it has ended reads it a varying number of times, and creates that arrive apart
share fewer commits. So all clients send together: a wave of creates, their answers, a wave of reads, their answers.
The host is stopped while a wave is sent, so that it finds all of it. A wave reads the runs that were created `LAG`
waves ago, which have ended by then. Connections stay open from the warm-up to the last window, so no window holds the
cost of opening them.
"""

import os
import signal
import socket
import time
from collections import deque
from types import TracebackType
from typing import Final

from bench.load.runs import creation, request, text_after
from bench.plan import BenchError

LAG: Final = 4
LAST_SECONDS: Final = 0.2
"""Pause before the last runs are read, behind which no others are created."""
ANSWER_SECONDS: Final = 120.0
_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length: "


class Load:
    """Open connections of so many clients, to be used in a `with` block. Methods raise BenchError."""

    def __init__(self, port: int, pid: int, workflow: str, clients: int) -> None:
        self._pid = pid
        self._create = creation(workflow)
        self._unread: deque[list[bytes]] = deque()
        self._clients: list[socket.socket] = []
        for _ in range(clients):
            client = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._clients.append(client)

    def __enter__(self) -> "Load":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            client.close()

    def make(self, waves: int) -> None:
        """Make a run per client and wave. Returns when each has been read once and was completed."""
        for _ in range(waves):
            created = self._wave([self._create] * len(self._clients), b"201")
            reads = [request("GET", "/v1/runs/" + text_after(b'"runId":"', body).decode()) for body in created]
            self._unread.append(reads)
            if len(self._unread) > LAG:
                self._read()
        time.sleep(LAST_SECONDS)
        while self._unread:
            self._read()

    def _read(self) -> None:
        for body in self._wave(self._unread.popleft(), b"200"):
            status = text_after(b'"status":"', body)
            if status != b"completed":
                raise BenchError(f"a run that was created {LAG} waves ago is {status.decode()}")

    def _wave(self, requests: list[bytes], expected: bytes) -> list[bytes]:
        """Send one request on each connection; the bodies of the responses."""
        os.kill(self._pid, signal.SIGSTOP)
        try:
            for client, sent in zip(self._clients, requests, strict=True):
                client.sendall(sent)
        finally:
            os.kill(self._pid, signal.SIGCONT)
        return [response(client, expected) for client in self._clients]


def response(connection: socket.socket, expected: bytes) -> bytes:
    """The body of the next response. Raises BenchError if its status is not the expected one."""
    data = b""
    while _HEAD not in data or len(data) < _end(data):
        try:
            piece = connection.recv(65_536)
        except TimeoutError:
            raise BenchError("the host did not answer in time") from None
        if not piece:
            raise BenchError("the host closed a connection")
        data += piece
    if data[9:12] != expected:
        raise BenchError(f"the host answered {data[:200]!r}")
    return data.partition(_HEAD)[2]


def _end(data: bytes) -> int:
    head = data.partition(_HEAD)[0]
    return len(head) + len(_HEAD) + int(head.partition(_LENGTH)[2].split(b"\r")[0])
