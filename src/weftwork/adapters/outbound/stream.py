"""A streamed response and its time limits.

A stream waits for its turn, connects, sends the request, waits for the first byte of the body, and reads. Connecting,
the wait for the first byte, and every pause between two pieces have their own limits; all of it has a total limit.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.ports.outbound import FailureReason, FetchFailed, StreamTimeouts

_LATE: Final[dict[FailureReason, str]] = {
    "connect": "The connection could not be established within {} ms.",
    "first_byte": "The response did not begin within {} ms.",
    "idle": "The response paused for more than {} ms.",
    "total": "The response was not complete within {} ms.",
}


class StreamDeadline(SendProgress):
    """out-07 (host): the time limits of one stream, each for its phase."""

    def __init__(self, timeouts: StreamTimeouts) -> None:
        self._now = asyncio.get_running_loop().time
        self._limits: dict[FailureReason, int] = {
            "connect": timeouts.connect_ms,
            "first_byte": timeouts.first_byte_ms,
            "idle": timeouts.idle_ms,
            "total": timeouts.total_ms,
        }
        self._idle_seconds = timeouts.idle_ms / 1000
        self._end = self._now() + timeouts.total_ms / 1000
        self._is_read = False
        self._opening: asyncio.Timeout | None = None
        self._phase: FailureReason = "total"
        self._phase_end = self._end

    @property
    def _at(self) -> float:
        return min(self._phase_end, self._end)

    def opening(self) -> asyncio.Timeout:
        """The time limit for everything until the head of the response; it moves as the request is sent."""
        self._opening = asyncio.timeout_at(self._at)
        return self._opening

    def reading(self) -> asyncio.Timeout:
        """The time limit for the next piece of the body."""
        return asyncio.timeout_at(self._at)

    def begin_connecting(self) -> None:
        self._begin("connect", self._now() + self._limits["connect"] / 1000)

    def begin_sending(self) -> None:
        if not self.sent:
            self.sent = True
            self._begin("total", self._end)

    def begin_reading(self) -> None:
        if not self._is_read:
            self._is_read = True
            self._begin("first_byte", self._now() + self._limits["first_byte"] / 1000)

    def piece_read(self) -> None:
        """A piece of the body has arrived."""
        self._phase = "idle"
        self._phase_end = self._now() + self._idle_seconds

    def failure(self) -> FetchFailed:
        """What to raise after a time limit has passed. If the body has not begun, that is the reason, whichever limit
        has passed: its server may be down, while a server that is slow is not."""
        if self._phase == "idle":
            reason: FailureReason = "idle" if self._phase_end < self._end else "total"
        else:
            reason = "first_byte" if self.sent else "connect"
        limit = min(self._limits[reason], self._limits["total"])
        return FetchFailed(_LATE[reason].format(limit), self.sent, reason)

    def _begin(self, phase: FailureReason, end: float) -> None:
        self._phase, self._phase_end = phase, end
        if self._opening is not None and not self._opening.expired():
            self._opening.reschedule(self._at)


class HttpStream:
    """Implements ports.outbound.OutboundStream."""

    def __init__(self, head: RawResponse, pieces: AsyncGenerator[bytes, None], deadline: StreamDeadline) -> None:
        self._head = head
        self._pieces = pieces
        self._deadline = deadline

    @property
    def status(self) -> int:
        return self._head.status

    def header(self, name: str) -> str | None:
        return self._head.header(name.lower())

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._pieces) as pieces:
            while True:
                try:
                    async with self._deadline.reading():
                        piece = await anext(pieces, None)
                except TimeoutError:
                    raise self._deadline.failure() from None
                if piece is None:
                    return
                yield piece
                # Only now, because the time in which the reader handles a piece is not a pause of the server.
                self._deadline.piece_read()
