"""Feeds: how committed events reach readers. The log is read again whenever in doubt; a feed is only a hint.

Theory. A reader joins the feed of a run before it first reads the log, so nothing can fall between.
While it keeps up it is served from the feed's short tail, whose events are encoded once for everybody;
when it lags behind the tail it reads pages of the log, at its own pace, until it has caught up.
Neither costs more memory than a few events: the tail and every page are bounded in bytes as well.
"""

import asyncio
from collections import deque
from typing import Final

from weftwork.ports.eventlog import EventLog
from weftwork.protocol.events import Event
from weftwork.protocol.run import RunKey

TAIL: Final = 64
TAIL_BYTES: Final = 1_048_576
PAGE: Final = 256
READ_BYTES: Final = 65_536
"""How much a reader is given at once, unless it asks for more; one event may be larger."""
FIRST_READ: Final = 16
MOST_READ: Final = 64
"""Events asked of the log at once. It cannot be asked for bytes, so the first page is small and the others fit it."""


def weight(event: Event) -> int:
    """About what an event costs on the wire."""
    return len(event.payload) + 256


def fitting(events: list[Event], budget: int) -> list[Event]:
    """As many of the first events as fit the budget, and always one."""
    left = budget
    for at, event in enumerate(events):
        left -= weight(event)
        if left < 0:
            return events[: max(at, 1)]
    return events


class Feed:
    """The tail of one run's log, kept while somebody reads it."""

    __slots__ = ("_bytes", "closed", "readers", "tail", "waiters")

    def __init__(self) -> None:
        self.tail: deque[Event] = deque()
        self._bytes = 0
        self.waiters: set[asyncio.Future[None]] = set()
        self.readers = 0
        self.closed = False

    def add(self, events: tuple[Event, ...]) -> None:
        """Keep the newest, as far as they fit, and wake everybody."""
        self.tail.extend(events)
        self._bytes += sum(map(weight, events))
        while len(self.tail) > TAIL or (self._bytes > TAIL_BYTES and len(self.tail) > 1):
            self._bytes -= weight(self.tail.popleft())
        self.wake()

    def forget(self) -> None:
        self.tail.clear()
        self._bytes = 0
        self.wake()

    def wake(self) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()

    def after(self, sequence: int) -> list[Event] | None:
        """Events after that one if the tail holds them all, else None: read the log."""
        if not self.tail or self.tail[0].sequence > sequence + 1:
            return None
        return [event for event in self.tail if event.sequence > sequence]


class Reader:
    """One reader's place in one run. `sequence` is the last event it was given."""

    __slots__ = ("_ask", "_feed", "_log", "_run", "ended", "sequence")

    def __init__(self, feed: Feed, log: EventLog, run: RunKey, sequence: int) -> None:
        self._feed = feed
        self._log = log
        self._run = run
        self._ask = FIRST_READ
        self.sequence = sequence
        self.ended = False
        """No further event will come: the run is over, or the host is shutting down."""

    async def next(self, timeout: float, limit: int = PAGE, budget: int = READ_BYTES) -> list[Event]:
        """The next events, as soon as there are any; empty after `timeout` seconds or when ended.

        Never more than fit the budget of bytes, but always one if there is one.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        events = await self._available(limit, budget)
        while not events and not self.ended and loop.time() < until:
            waiter: asyncio.Future[None] = loop.create_future()
            self._feed.waiters.add(waiter)
            try:
                # Whatever was committed between the look above and this line is seen now.
                events = await self._available(limit, budget)
                if not events and not self.ended:
                    async with asyncio.timeout_at(until):
                        await waiter
                    # Finds nothing when this reader saw in the log what is published only now.
                    events = await self._available(limit, budget)
            except TimeoutError:
                break
            finally:
                self._feed.waiters.discard(waiter)
        return events

    async def _available(self, limit: int, budget: int) -> list[Event]:
        events = self._feed.after(self.sequence)
        if events is None:
            events = await self._log.read(self._run, self.sequence, min(limit, self._ask))
            self._learn(events)
        events = fitting(events[:limit], budget)
        if events:
            self.sequence = events[-1].sequence
            self.ended = events[-1].terminal
        elif self._feed.closed:
            self.ended = True
        return events

    def _learn(self, events: list[Event]) -> None:
        """Ask next time for as many as have the weight of one turn, if they are like these."""
        if events:
            average = sum(map(weight, events)) // len(events)
            self._ask = max(1, min(MOST_READ, READ_BYTES // average))


class Feeds:
    """The feeds of all runs that somebody reads."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._feeds: dict[RunKey, Feed] = {}
        self._closed = False
        self.readers = 0

    def publish(self, run: RunKey, events: tuple[Event, ...]) -> None:
        """Tell the readers of a run about events that are durable."""
        feed = self._feeds.get(run)
        if feed is not None:
            feed.add(events)

    def doubt(self, run: RunKey) -> None:
        """The log may hold events of this run that were not published: its readers look there again."""
        feed = self._feeds.get(run)
        if feed is not None:
            feed.forget()

    def join(self, run: RunKey, sequence: int) -> Reader:
        """Become a reader, standing after `sequence`. Call `leave` when done."""
        feed = self._feeds.get(run)
        if feed is None:
            feed = self._feeds[run] = Feed()
            feed.closed = self._closed
        feed.readers += 1
        self.readers += 1
        return Reader(feed, self._log, run, sequence)

    def leave(self, run: RunKey) -> None:
        feed = self._feeds[run]
        feed.readers -= 1
        self.readers -= 1
        if feed.readers == 0:
            del self._feeds[run]

    def close(self) -> None:
        """End every reader cleanly: what is committed is still given, nothing more is waited for."""
        self._closed = True
        for feed in self._feeds.values():
            feed.closed = True
            feed.wake()
