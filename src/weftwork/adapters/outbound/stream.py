"""A streamed response and its time limits.

A stream waits for its turn, connects, sends the request, waits for the first byte of the body, and reads. Connecting,
the wait for the first byte, and every pause between two pieces have their own limits; all of it has a total limit.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final, Protocol

from weftwork.adapters.outbound.body import InvalidBody, body_failure
from weftwork.adapters.outbound.connection import WaitLimit
from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.ports.outbound import FailureReason, FetchFailed, StreamTimeouts

_LATE: Final[dict[FailureReason, str]] = {
    "connect": "The connection could not be established within {} ms.",
    "first_byte": "The response did not begin within {} ms.",
    "idle": "The response paused for more than {} ms.",
    "total": "The response was not complete within {} ms.",
}
CLOCK_STEP_S: Final = 0.001
"""Resolution of the clock of some event loops. Their timers may be early by so much."""


class StreamDeadline(SendProgress):
    """out-07 (host): the time limits of one stream, each for its phase."""

    def __init__(self, timeouts: StreamTimeouts) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
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
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.has_expired = False
        """Whether a read has ended because of a time limit."""

    @property
    def _at(self) -> float:
        return min(self._phase_end, self._end)

    def opening(self) -> asyncio.Timeout:
        """The time limit for everything until the head of the response; it moves as the request is sent."""
        self._opening = asyncio.timeout_at(self._at)
        return self._opening

    def watch(self, waiter: "asyncio.Future[None]") -> None:
        """Limit the wait of a read for the next bytes.

        One timer serves all reads. It is not moved when a piece arrives: when it is due it looks at the limit of the
        present wait, and is set again if that has not passed.
        """
        self._waiter = waiter
        # Without a look at `_at`, which every piece would pay for. The timer is early if the total limit comes first.
        if self._timer is None or self._phase_end < self._timer_at:
            self._set_timer(self._at)

    def _set_timer(self, at: float) -> None:
        self.close()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._at <= self._now() + CLOCK_STEP_S:
            self.has_expired = True
            waiter.set_exception(TimeoutError())
        else:
            self._set_timer(self._at)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

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

    def begin_pause(self) -> None:
        """The reader waits for the next piece of the body. Raises FetchFailed if the time is over."""
        now = self._now()
        self._phase = "idle"
        self._phase_end = now + self._idle_seconds
        if self._at <= now:
            raise self.failure()

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


class Body(Protocol):
    """The decoded body of a response; see body.StreamedBody."""

    def take(self) -> bytes | None: ...

    def wait(self, limit: WaitLimit) -> Coroutine[Any, Any, None]: ...


class HttpStream:
    """Implements ports.outbound.OutboundStream."""

    def __init__(self, head: RawResponse, body: Body, deadline: StreamDeadline) -> None:
        self._head = head
        self._body = body
        self._deadline = deadline
        self._has_begun = False

    @property
    def status(self) -> int:
        return self._head.status

    def header(self, name: str) -> str | None:
        return self._head.header(name.lower())

    async def read(self) -> bytes:
        """See ports.outbound.OutboundStream."""
        deadline = self._deadline
        if self._has_begun:
            # Only now, because the time in which the reader handles a piece is not a pause of the server.
            deadline.begin_pause()
        try:
            while (piece := self._body.take()) is None:
                await self._body.wait(deadline)
        except (InvalidBody, OSError) as failure:
            # TimeoutError is an OSError, and also what a connection raises whose packets are not acknowledged.
            raise (deadline.failure() if deadline.has_expired else body_failure(failure, deadline.sent)) from None
        self._has_begun = True
        return piece

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """See ports.outbound.OutboundStream."""
        while piece := await self.read():
            yield piece
