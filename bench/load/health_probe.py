"""Latencies of /health at a steady rate, from a process of its own: `python -m bench.load.health_probe PORT`.

A line on standard input asks for the latencies in milliseconds since the last line. A latency counts from the time at
which its request was due, so that a request that waits behind a slow one is late as well.
"""

import os
import socket
import sys
import threading
import time
from typing import Final

import msgspec

PERIOD_SECONDS: Final = 0.005
ANSWER_SECONDS: Final = 60.0
REQUEST: Final = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_LENGTH: Final = b"content-length: "


class HealthProbe:
    """Asks on one kept-alive connection."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
        self._latencies: list[float] = []

    def run(self) -> None:
        due = time.perf_counter()
        while True:
            self._connection.sendall(REQUEST)
            self._receive()
            self._latencies.append((time.perf_counter() - due) * 1000)
            due += PERIOD_SECONDS
            if (left := due - time.perf_counter()) > 0:
                time.sleep(left)

    def take(self) -> list[float]:
        latencies, self._latencies = self._latencies, []
        return latencies

    def _receive(self) -> None:
        data = b""
        while (head := data.find(b"\r\n\r\n")) < 0 or len(data) < head + 4 + _length(data[:head]):
            piece = self._connection.recv(65_536)
            if not piece:
                raise ConnectionError("the host closed the connection of the probe")
            data += piece
        if not data.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"/health was answered with {data[:60]!r}")


def _length(head: bytes) -> int:
    at = head.lower().index(_LENGTH) + len(_LENGTH)
    return int(head[at:].split(b"\r", 1)[0])


def _probe(probe: HealthProbe) -> None:
    """A probe that fails ends the process, so that the bench notices."""
    try:
        probe.run()
    except Exception as error:
        sys.stderr.write(f"the probe failed: {error}\n")
        sys.stderr.flush()
        os._exit(1)


def main() -> None:
    probe = HealthProbe(int(sys.argv[1]))
    threading.Thread(target=_probe, args=(probe,), name="bench-probe", daemon=True).start()
    for _ in sys.stdin:
        sys.stdout.write(msgspec.json.encode(probe.take()).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
