"""Delivers committed events to readers. A feed is only an optimisation: when in doubt, the log is read again.

Theory. A reader joins the feed of a run before it first reads the log, so nothing can fall between.
While it keeps up it is served from the feed's short tail, whose events are encoded once for everybody;
when it lags behind the tail it reads pages of the log, at its own pace, until it has caught up.
Neither costs more memory than a few events: a page is bounded in bytes, and so are all tails together.

Notifications are not events of the log, such as a new annotation, and have no sequence in it, so a reader cannot resume
from one. A reader that connects later, or is so slow that newer notifications have taken its place, does not get it;
what it announces can be read in another way.
"""

import asyncio
from collections import deque
from itertools import takewhile
from typing import Final

import msgspec

from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.run.events import Event, take_bytes
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.streams import StreamFrame

MAX_NOTIFICATION_BYTES: Final = 1_048_576
"""What all notes may weigh; beyond it the oldest are dropped."""


class Notification(msgspec.Struct, frozen=True):
    """A frame that comes behind the event `sequence`. `number` is its place among the notes of all runs."""

    number: int
    sequence: int
    frame: StreamFrame

    @property
    def size(self) -> int:
        return len(self.frame.data)


class Notifications(msgspec.Struct, eq=False):
    """The latest event notifications of all runs that have readers."""

    count: int = 0
    _runs: dict[RunKey, deque[Notification]] = {}
    _order: deque[RunKey] = msgspec.field(default_factory=deque[RunKey])
    """The run of each note, oldest first."""
    _size: int = 0

    def add(self, run: RunKey, sequence: int, frame: StreamFrame) -> None:
        self.count += 1
        note = Notification(self.count, sequence, frame)
        self._runs.setdefault(run, deque()).append(note)
        self._order.append(run)
        self._size += note.size
        while self._size > MAX_NOTIFICATION_BYTES and len(self._order) > 1:
            oldest = self._order.popleft()
            kept = self._runs[oldest]
            self._size -= kept.popleft().size
            if not kept:
                del self._runs[oldest]

    def after(self, run: RunKey, told: int) -> list[Notification]:
        """The notes of a run behind number `told`, oldest first."""
        kept = self._runs.get(run)
        return [note for note in kept if note.number > told] if kept is not None else []

    def forget(self, run: RunKey) -> None:
        """Called when the last reader of a run has left."""
        kept = self._runs.pop(run, None)
        if kept is not None:
            self._size -= sum([note.size for note in kept])
            self._order = deque([each for each in self._order if each != run])


TAIL_EVENTS: Final = 64
TAIL_BYTES: Final = 1_048_576
ALL_TAILS_BYTES: Final = 8 * 2**20
"""What all tails may weigh; beyond it the one that had no news for the longest time is dropped."""
PAGE_EVENTS: Final = 256
READ_BYTES: Final = 16_384
"""How much a reader is given at once, unless it asks for more. The event that reaches it is the last."""
MAX_CONCURRENT_READS: Final = 8
"""Pages read at the same time; their readers may be many, and each page may be one large event."""
WAKE_BATCH: Final = 128
"""Readers woken in one turn of the event loop. Requests that come in meanwhile have theirs in between."""


class Feed(msgspec.Struct, eq=False):
    """The tail of one run's log, kept while somebody reads it."""

    tail: list[Event] = []
    size: int = 0
    waiters: set[asyncio.Future[None]] = set()
    readers: int = 0
    closed: bool = False

    def add(self, events: tuple[Event, ...]) -> None:
        """Keep the newest, as far as they fit: one is kept however large it is, since all readers want it."""
        tail = self.tail
        if tail and events and events[0].sequence != tail[-1].sequence + 1:
            # Another executor wrote in between: a tail with a gap would hide its events from readers.
            self.clear()
        tail += events
        weight = self.size + sum([event.size for event in events])
        old = 0
        while len(tail) - old > TAIL_EVENTS or (weight > TAIL_BYTES and len(tail) - old > 1):
            weight -= tail[old].size
            old += 1
        del tail[:old]
        self.size = weight

    def clear(self) -> None:
        self.tail.clear()
        self.size = 0

    def wake(self) -> None:
        waiting, self.waiters = self.waiters, set()
        _wake_some(waiting)

    def after(self, sequence: int) -> list[Event] | None:
        """Events after that one if the tail holds them all, else None: read the log."""
        tail = self.tail
        if not tail or tail[0].sequence > sequence + 1:
            return None
        if tail[-1].sequence == sequence + 1:
            return tail[-1:]
        return [event for event in tail if event.sequence > sequence]


def _wake_some(waiting: set[asyncio.Future[None]]) -> None:
    for _ in range(min(WAKE_BATCH, len(waiting))):
        _end_wait(waiting.pop())
    if waiting:
        asyncio.get_running_loop().call_soon(_wake_some, waiting)


def _end_wait(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Reader(msgspec.Struct, eq=False):
    """One reader's place in one run. `sequence` is the last event it was given."""

    _feed: Feed
    _notifications: Notifications
    _last_number: int
    _log: EventLog
    _reads: asyncio.Semaphore
    _run: RunKey
    sequence: int
    ended: bool = False
    """No further event will come: the run is over, or the host is shutting down."""
    wants_notifications: bool = False
    """Whether this reader wants notifications; then `next` returns early while there is one, and
    `take_notifications` gives it."""

    @property
    def has_notification(self) -> bool:
        """Whether there is a note to take before the next event."""
        return bool(self._due_notifications())

    def take_notifications(self) -> list[Notification]:
        """The notes that are due, each given once."""
        notes = self._due_notifications()
        if notes:
            self._last_number = notes[-1].number
        return notes

    def _due_notifications(self) -> list[Notification]:
        untold = self._pending_notifications()
        return list(takewhile(lambda note: note.sequence <= self.sequence, untold)) if untold else untold

    def _pending_notifications(self) -> list[Notification]:
        return self._notifications.after(self._run, self._last_number) if self.wants_notifications else []

    async def next(self, timeout: float, limit: int = PAGE_EVENTS, budget: int = READ_BYTES) -> list[Event]:
        """The next events, as soon as there are any; empty after `timeout` seconds, when ended, or for a note.

        None behind the one that reaches the budget of bytes, but always one if there is one.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        feed = self._feed
        while not self.has_notification:
            events = feed.after(self.sequence)
            if events:
                return self._advance(take_bytes(events[:limit], budget))
            waiter: asyncio.Future[None] = loop.create_future()
            # Before the log is read: whatever is published from here on ends the wait.
            feed.waiters.add(waiter)
            try:
                if events is None:
                    async with self._reads:
                        events = await self._log.read(self._run, self.sequence, limit, budget)
                events = self._advance(events)
                if events or self.ended or loop.time() >= until:
                    return events
                timer = loop.call_at(until, _end_wait, waiter)
                try:
                    await waiter
                finally:
                    timer.cancel()
            finally:
                feed.waiters.discard(waiter)
            if loop.time() >= until and not feed.after(self.sequence):
                break
        return []

    async def reread(self, first: int, last: int) -> list[Event]:
        """Events that it was given before, from one on and not behind the other; as many as `next` gives."""
        events = self._feed.after(first - 1)
        if not events:
            async with self._reads:
                return await self._log.read(self._run, first - 1, last - first + 1, READ_BYTES)
        return take_bytes([event for event in events if event.sequence <= last], READ_BYTES)

    def _advance(self, events: list[Event]) -> list[Event]:
        """Stand after these, or after the one that the next note comes behind."""
        untold = self._pending_notifications()
        given = [event for event in events if event.sequence <= untold[0].sequence] if untold else events
        if given:
            self.sequence = given[-1].sequence
            self.ended = given[-1].is_terminal
        elif not events:
            self.ended = self._feed.closed
        return given


class Feeds:
    """The feeds of all runs that somebody reads."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._reads = asyncio.Semaphore(MAX_CONCURRENT_READS)
        self._feeds: dict[RunKey, Feed] = {}
        self._tails: dict[RunKey, Feed] = {}
        """Feeds with a tail, the newest news last."""
        self._size = 0
        self._notifications = Notifications()
        self._closed = False
        self.readers = 0

    def publish(self, run: RunKey, events: tuple[Event, ...]) -> None:
        """Tell the readers of a run about events that are durable."""
        feed = self._feeds.get(run)
        if feed is None:
            return
        self._tails.pop(run, None)
        self._size -= feed.size
        feed.add(events)
        self._size += feed.size
        self._tails[run] = feed
        while self._size > ALL_TAILS_BYTES and len(self._tails) > 1:
            self._drop(next(iter(self._tails)))
        feed.wake()

    def notify(self, run: RunKey, sequence: int, frame: StreamFrame) -> None:
        """Give those who read the run now a frame that is not in its log, behind the event of that sequence."""
        feed = self._feeds.get(run)
        if feed is not None:
            self._notifications.add(run, sequence, frame)
            feed.wake()

    def invalidate(self, run: RunKey) -> None:
        """The log may hold events of this run that were not published: its readers look there again."""
        feed = self._feeds.get(run)
        if feed is not None:
            self._drop(run)
            feed.wake()

    def join(self, run: RunKey, sequence: int) -> Reader:
        """Become a reader, standing after `sequence`. Call `leave` when done."""
        feed = self._feeds.get(run)
        if feed is None:
            feed = self._feeds[run] = Feed()
            feed.closed = self._closed
        feed.readers += 1
        self.readers += 1
        notes = self._notifications
        return Reader(feed, notes, notes.count, self._log, self._reads, run, sequence)

    def leave(self, run: RunKey) -> None:
        feed = self._feeds[run]
        feed.readers -= 1
        self.readers -= 1
        if feed.readers == 0:
            self._drop(run)
            self._notifications.forget(run)
            del self._feeds[run]

    def end(self, run: RunKey) -> None:
        """End the readers of a run that is deleted: no event of it will come any more."""
        feed = self._feeds.get(run)
        if feed is not None:
            self._drop(run)
            feed.closed = True
            feed.wake()

    def close(self) -> None:
        """End every reader cleanly: what is committed is still given, nothing more is waited for."""
        self._closed = True
        for feed in self._feeds.values():
            feed.closed = True
            feed.wake()

    def _drop(self, run: RunKey) -> None:
        feed = self._tails.pop(run, None)
        if feed is not None:
            self._size -= feed.size
            feed.clear()
