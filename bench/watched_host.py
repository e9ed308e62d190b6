"""`weftwork serve` that watches its event loop: the longest hold, in CPU time of the thread of the loop.

Theory. A callback comes round in every iteration of the loop and reads the CPU time of the thread. The difference to
its last visit is what all callbacks of one iteration used, collections of garbage included; what other processes do at
that time does not count. The loop never rests, so the figures of a watched host say nothing about anything else. A line
on standard input asks for the longest hold in milliseconds since the last line.

The time that the host waits for a client that does not read is shorter than usual, so that its end can be measured too.
"""

import asyncio
import os
import sys
import threading
import time
from typing import Any, Final, TextIO

import msgspec

from weftwork.adapters.http import response_writer
from weftwork.adapters.http.server import http_server

STALL_SECONDS: Final = 4.0


class LoopWatch:
    """The longest hold of a loop since it was asked last."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = 0.0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._last = time.thread_time()
        loop.call_soon(self._visit)

    def _visit(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self._loop.call_soon(self._visit)

    def take(self) -> float:
        longest, self.longest = self.longest, 0.0
        return longest


def _answer(watch: LoopWatch, out: TextIO) -> None:
    for _ in sys.stdin:
        out.write(msgspec.json.encode(watch.take() * 1000).decode() + "\n")
        out.flush()


def main() -> None:
    """Standard output is for the answers alone; what the host prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    watch = LoopWatch()
    threading.Thread(target=_answer, args=(watch, out), name="bench-answer", daemon=True).start()
    response_writer.STALL_SECONDS = STALL_SECONDS  # pyright: ignore[reportConstantRedefinition]

    from weftwork.cli.main import main as weftwork

    honest = http_server._UvicornServer.startup  # pyright: ignore[reportPrivateUsage]

    async def startup(server: Any, *arguments: Any, **named: Any) -> None:
        await honest(server, *arguments, **named)
        watch.start(asyncio.get_running_loop())

    http_server._UvicornServer.startup = startup  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]
    weftwork()


if __name__ == "__main__":
    main()
