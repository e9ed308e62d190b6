"""Limits how many requests are processed at the same time. Further ones wait, and tenants take turns.

One tenant with hundreds of connections would otherwise have hundreds of requests in progress, and each request of
another tenant would wait for all of them. A request counts from the time at which its body is complete until its
response is known, so that slow clients hold nothing. Streams, polls and uploads have limits of their own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from weftwork.protocol.fair_share import FairQueue

MAX_IN_PROGRESS: Final = 16
"""More would not make the host faster: one transaction of the store already serves so many requests."""
STUCK_SECONDS: Final = 0.05
"""If no request has ended for so long, the next one starts nevertheless: some requests wait for nodes to stop."""


class RequestTurns:
    """The requests in progress. To save calls, callers change `in_progress` themselves while no request has to wait."""

    __slots__ = ("_seen_starts", "_starts", "_timer", "in_progress", "wait_for_slice", "waiting")

    def __init__(self, wait_for_slice: Callable[[str], Awaitable[None]]) -> None:
        self.wait_for_slice = wait_for_slice
        """Waits until a tenant may block the event loop for milliseconds."""
        self.in_progress = 0
        self.waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._starts = 0
        self._seen_starts = 0
        self._timer: asyncio.TimerHandle | None = None

    def is_serving(self) -> bool:
        """Whether any request is in progress."""
        return self.in_progress > 0

    async def wait(self, partition: str) -> None:
        """lim-25 (host): wait until a request of this tenant may start. It then counts as in progress."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self.waiting.add(partition, waiter)
        if self._timer is None:
            self._seen_starts = self._starts
            self._timer = loop.call_later(STUCK_SECONDS, self._check_stuck)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.end()
            else:
                self.waiting.discard(partition, waiter)
            raise

    def end(self) -> None:
        """A request is no longer in progress: start the next one."""
        self.in_progress -= 1
        if self.waiting and self.in_progress < MAX_IN_PROGRESS:
            self._start_next()

    def _start_next(self) -> None:
        while self.waiting:
            _, waiter = self.waiting.take()
            if not waiter.done():
                self._starts += 1
                self.in_progress += 1
                waiter.set_result(None)
                break
        if not self.waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_stuck(self) -> None:
        self._timer = None
        if self._starts == self._seen_starts:
            self._start_next()
        self._seen_starts = self._starts
        if self.waiting:
            self._timer = asyncio.get_running_loop().call_later(STUCK_SECONDS, self._check_stuck)
