"""The load of assets: clients on kept-alive connections that move many bytes, one request after the other.

Theory. As in bench.load.runs the client must burn little. The bytes of an answer are counted and thrown away; only
the head is looked at.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, cast

from bench.load.runs import LoadStage
from bench.plan import BenchError

_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length: "


class Transfer(asyncio.Protocol):
    """Sends what `asking` gives and takes an answer of this status; with `size`, of so many bytes."""

    def __init__(
        self, asking: Callable[[], list[bytes]], status: bytes, size: int | None, bodiless: bool, stage: LoadStage
    ) -> None:
        self._asking = asking
        self._status = status
        self._size = size
        self._bodiless = bodiless
        self._stage = stage
        self._head = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stage.fail(BenchError("the host closed a connection"))

    def data_received(self, data: bytes) -> None:
        if not self._left:
            self._head += data
            at = self._head.find(_END)
            if at < 0:
                return
            try:
                self._left = self._length(self._head[: at + 2])
            except BenchError as error:
                self._stage.fail(error)
                return
            data, self._head = self._head[at + 4 :], b""
        self._left -= len(data)
        if self._left < 0:
            self._stage.fail(BenchError("more bytes came than were announced"))
        elif not self._left:
            self._stage.latencies.append((time.perf_counter() - self._began) * 1000)
            self._next()

    def _length(self, head: bytes) -> int:
        """How many bytes follow the head."""
        at = head.find(_LENGTH)
        if head[9:12] != self._status or at < 0:
            raise BenchError(f"a request for an asset was answered with {head[:200]!r}")
        length = int(head[at + len(_LENGTH) : head.index(b"\r", at)])
        if self._size not in (None, length):
            raise BenchError(f"{length} bytes were announced where {self._size} were expected")
        return 0 if self._bodiless else length

    def _next(self) -> None:
        if not self._stage.has_next():
            self._stage.leave()
            return
        self._began = time.perf_counter()
        self._transport.writelines(self._asking())
