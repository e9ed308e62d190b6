"""Event streams of our host: the first event of a new run, and one event to a thousand readers."""

import re
import socket
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Final

from bench.child_process import ChildProcess
from bench.load.runs import creation, request, text_after
from bench.meter import rss_mib
from bench.plan import BenchError
from bench.report.statistics import percentile
from bench.subjects.host import Host

READERS: Final = 2
"""Processes that the streams are shared among, so that reading is not what takes the time."""
WAIT_SECONDS: Final = 60.0
_LAST_CHUNK = b"0\r\n\r\n"


def first_event_ms(host: Host, count: int) -> float:
    """From sending the create to the first event on a stream that is opened with the answer; the median."""
    with socket.create_connection(("127.0.0.1", host.port), WAIT_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return median(_first_event(connection) for _ in range(count))


def _first_event(connection: socket.socket) -> float:
    began = time.perf_counter()
    connection.sendall(creation("one-step"))
    run = text_after(b'"runId":"', _read(connection, b"}")).decode()
    connection.sendall(request("GET", f"/v1/runs/{run}/events"))
    data = _read(connection, b"\ndata: ")
    took = time.perf_counter() - began
    while not data.endswith(_LAST_CHUNK):
        data += _read(connection, b"")
    return took * 1000


def _read(connection: socket.socket, mark: bytes) -> bytes:
    data = b""
    while not data or mark not in data:
        piece = connection.recv(65_536)
        if not piece:
            raise BenchError(f"the host closed a connection after {data[:200]!r}")
        data += piece
    return data


class Fanout:
    """Readers in processes of their own, which all follow the same run."""

    def __init__(self, host: Host, count: int, folder: Path) -> None:
        self._host = host
        self._count = count
        self._folder = folder
        self._stack = ExitStack()
        self.stream_kib = 0.0
        """Growth of the host's memory for each open stream, when they were opened for the first time."""

    def __enter__(self) -> "Fanout":
        with ExitStack() as stack:
            arguments = [str(self._host.port)]
            self._readers = [
                stack.enter_context(
                    ChildProcess(f"reader-{number}", "bench.load.stream_readers", arguments, self._folder)
                )
                for number in range(READERS)
            ]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def deliver(self) -> float:
        """Let a run that all follow come to its end: milliseconds from the time of that event to its arrival, p99."""
        before = rss_mib(self._host.pid)
        wait = 2_000 + 4 * self._count
        run = self._host.call("POST", "/v1/runs", {"workflowId": "wait", "inputs": {"delayMs": wait}})["runId"]
        share = self._count // READERS
        for reader in self._readers:
            reader.send({"run": run, "streams": share})
        for reader in self._readers:
            if reader.receive(WAIT_SECONDS) != share:
                raise BenchError("the run ended before all of its readers were there")
        if not self.stream_kib:
            time.sleep(0.5)
            self.stream_kib = (rss_mib(self._host.pid) - before) * 1024 / (share * READERS)
        late = [when for reader in self._readers for when in reader.receive(WAIT_SECONDS)]
        if self._host.call("GET", f"/v1/runs/{run}")["status"] != "completed":
            raise BenchError("the run that everybody followed did not complete")
        return percentile(late, 0.99)


def event_time(data: bytes) -> float:
    """The wall-clock time in the last event of a piece of a stream."""
    found = re.findall(rb'"timestamp":"([^"]+)"', data)
    return datetime.fromisoformat(found[-1].decode().replace("Z", "+00:00")).timestamp()
