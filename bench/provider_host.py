"""`weftwork serve` with a clock on its loop.

A line on standard input starts a task that sleeps for LAG_SECONDS again and again, and notes how late it wakes up. The
next line ends it, and is answered with all delays in milliseconds.
"""

import asyncio
import json
import os
import sys
import threading
from time import monotonic
from typing import Any, Final, TextIO

from weftwork.adapters.http.server import http_server

LAG_SECONDS: Final = 0.005


class LagWatch:
    """Measures how late timers of a loop are."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._delays: list[float] = []
        self._is_running = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self) -> None:
        assert self._loop is not None, "the host does not listen yet"
        self._delays, self._is_running = [], True
        self._loop.call_soon_threadsafe(self._wait)

    def stop(self) -> list[float]:
        self._is_running = False
        return self._delays

    def _wait(self, wanted: float | None = None) -> None:
        if wanted is not None:
            self._delays.append((monotonic() - wanted) * 1000)
        if self._is_running and self._loop is not None:
            self._loop.call_later(LAG_SECONDS, self._wait, monotonic() + LAG_SECONDS)


def _answer(watch: LagWatch, out: TextIO) -> None:
    for number, _ in enumerate(sys.stdin):
        if number % 2 == 0:
            watch.start()
        else:
            out.write(json.dumps(watch.stop()) + "\n")
            out.flush()


def main() -> None:
    """Standard output is for the answers alone; what the host prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    watch = LagWatch()
    threading.Thread(target=_answer, args=(watch, out), name="bench-answer", daemon=True).start()

    from weftwork.cli.main import main as weftwork

    honest = http_server._UvicornServer.startup  # pyright: ignore[reportPrivateUsage]

    async def startup(server: Any, *arguments: Any, **named: Any) -> None:
        await honest(server, *arguments, **named)
        watch.attach(asyncio.get_running_loop())

    http_server._UvicornServer.startup = startup  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]
    weftwork()


if __name__ == "__main__":
    main()
