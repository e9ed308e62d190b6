"""`python -m bench.load.stream_readers PORT`: many readers of one run in one process, which does nothing but read.

An order is a JSON line with a run and a number of streams. The first answer is how many of them were open before the
run ended; the second is how late its last event came to each, in milliseconds.
"""

import os
import select
import socket
import sys
import time

import msgspec

from bench.load.runs import request
from bench.load.streams import event_time
from bench.subjects.peer import START_SECONDS

_STARTED = b"event: run.started\n"
_COMPLETED = b"event: run.completed\n"


class Order(msgspec.Struct, frozen=True):
    run: str
    streams: int


class Streams:
    """Connections that have asked for the events of a run, and what came on each."""

    def __init__(self, port: int, order: Order) -> None:
        self._poll = select.epoll()
        self._data: dict[int, bytes] = {}
        self._sockets: list[socket.socket] = []
        asked = request("GET", f"/v1/runs/{order.run}/events")
        for _ in range(order.streams):
            connection = socket.create_connection(("127.0.0.1", port), START_SECONDS)
            connection.sendall(asked)
            self._sockets.append(connection)
            self._data[connection.fileno()] = b""
            self._poll.register(connection.fileno(), select.EPOLLIN)

    def until_all(self, mark: bytes) -> dict[int, float]:
        """Read until every stream has shown the mark; the wall-clock time at which it did."""
        seen = {number: 0.0 for number, data in self._data.items() if mark in data}
        while len(seen) < len(self._data):
            ready = self._poll.poll(START_SECONDS)
            if not ready:
                raise SystemExit(f"{len(self._data) - len(seen)} streams show no {mark!r}")
            for number, _ in ready:
                piece = os.read(number, 65_536)
                now = time.time()
                if not piece:
                    raise SystemExit("the host closed a stream")
                self._data[number] += piece
                if number not in seen and mark in self._data[number]:
                    seen[number] = now
        return seen

    def idle(self) -> int:
        """How many have not seen the end yet."""
        return sum(_COMPLETED not in data for data in self._data.values())

    def last_event_time(self) -> float:
        return event_time(next(iter(self._data.values())))

    def close(self) -> None:
        self._poll.close()
        for connection in self._sockets:
            connection.close()


def main() -> None:
    port = int(sys.argv[1])
    for line in sys.stdin.buffer:
        streams = Streams(port, msgspec.json.decode(line, type=Order))
        streams.until_all(_STARTED)
        _answer(streams.idle())
        arrived = streams.until_all(_COMPLETED)
        happened = streams.last_event_time()
        _answer([(when - happened) * 1000 for when in arrived.values()])
        streams.close()


def _answer(value: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
