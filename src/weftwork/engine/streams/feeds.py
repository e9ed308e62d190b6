"""Delivers committed events to readers. A feed is only an optimisation: in case of doubt the log is read again.

Theory. A reader joins the feed of a run before it first reads the log, so it misses no event in between. A reader that
keeps up is served from the feed's short tail, whose events are encoded once for all readers. A reader that falls behind
the tail reads pages of the log, at its own pace, until it has caught up. Both need little memory: a page is limited in
bytes, and so is the total of all tails.

Notifications, such as the one for a new annotation, are not events of the log and have no sequence, so a reader cannot
resume from one. A reader that connects later, or is so slow that newer notifications have displaced it from the buffer,
does not get it. Everything that a notification announces can also be read by a request.

Partial surfaces are not events of the log either. A reader gets the newest one of each node (see `partial_surfaces`).
"""

import asyncio
from collections import deque
from itertools import takewhile
from typing import Final

import msgspec

from weftwork.engine.streams.partial_surfaces import PartialFrame, PartialSurfaces, VisibleSurface
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.answers import mask_answers
from weftwork.protocol.run.events import OUTPUT_CHUNK, Event, take_bytes
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.streams import StreamFrame

MAX_NOTIFICATION_BYTES: Final = 1_048_576
"""Total size of the buffered notifications; beyond it the oldest are dropped."""


class Notification(msgspec.Struct, frozen=True):
    """A frame that is sent after the event `sequence`. `number` counts the notifications of all runs."""

    number: int
    sequence: int
    frame: StreamFrame

    @property
    def size(self) -> int:
        return len(self.frame.data)


class Notifications(msgspec.Struct, eq=False):
    """Buffers the latest notifications of all runs that have readers."""

    count: int = 0
    _runs: dict[RunKey, deque[Notification]] = {}
    _order: deque[RunKey] = msgspec.field(default_factory=deque[RunKey])
    """The run of each notification, oldest first."""
    _size: int = 0

    def add(self, run: RunKey, sequence: int, frame: StreamFrame) -> None:
        self.count += 1
        notification = Notification(self.count, sequence, frame)
        self._runs.setdefault(run, deque()).append(notification)
        self._order.append(run)
        self._size += notification.size
        while self._size > MAX_NOTIFICATION_BYTES and len(self._order) > 1:
            oldest = self._order.popleft()
            buffered = self._runs[oldest]
            self._size -= buffered.popleft().size
            if not buffered:
                del self._runs[oldest]

    def after(self, run: RunKey, number: int) -> list[Notification]:
        """The notifications of a run with a larger number, oldest first."""
        buffered = self._runs.get(run)
        return [note for note in buffered if note.number > number] if buffered is not None else []

    def forget(self, run: RunKey) -> None:
        """Drop the notifications of a run. Called when its last reader has left."""
        buffered = self._runs.pop(run, None)
        if buffered is not None:
            self._size -= sum([note.size for note in buffered])
            self._order = deque([each for each in self._order if each != run])


DEFAULT_LIMITS: Final = Limits()
TAIL_EVENTS: Final = 64
TAIL_BYTES: Final = 1_048_576
ALL_TAILS_BYTES: Final = 8 * 2**20
"""Total size of all tails; beyond it the tail that was unchanged for the longest time is dropped."""
PAGE_EVENTS: Final = 256
READ_BYTES: Final = 16_384
"""Default size of a page for a reader. The event that reaches the size is the last of the page."""
MAX_CONCURRENT_READS: Final = 8
"""Pages of the log that are read concurrently. It limits memory, because each page may be one large event."""
WAKE_BATCH: Final = 64
"""Readers woken in one iteration of the event loop, so that requests are served in between."""


class Feed(msgspec.Struct, eq=False):
    """The tail of one run's log. It exists while the run has readers."""

    tail: list[Event] = []
    size: int = 0
    waiters: set[asyncio.Future[None]] = set()
    readers: int = 0
    closed: bool = False

    def add(self, events: tuple[Event, ...]) -> None:
        """Append events and drop the oldest beyond the limits. The newest event is kept even if it is too large,
        because all readers need it."""
        tail = self.tail
        if tail and events and events[0].sequence != tail[-1].sequence + 1:
            # Another executor wrote in between: a tail with a gap would hide its events from readers.
            self.clear()
        tail += events
        size = self.size
        for event in events:
            size += event.size
        old = 0
        while len(tail) - old > TAIL_EVENTS or (size > TAIL_BYTES and len(tail) - old > 1):
            size -= tail[old].size
            old += 1
        del tail[:old]
        self.size = size

    def clear(self) -> None:
        self.tail.clear()
        self.size = 0

    def wake(self) -> None:
        if self.waiters:
            waiting, self.waiters = self.waiters, set()
            _wake_some(waiting)

    def after(self, sequence: int) -> list[Event] | None:
        """The events after that sequence if the tail has all of them; None if the reader has to read the log."""
        tail = self.tail
        if not tail or tail[0].sequence > sequence + 1:
            return None
        newest = tail[-1].sequence
        if newest <= sequence:
            return []
        if newest == sequence + 1:
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
    """One reader's position in one run. `sequence` is the last event that it has received."""

    _feed: Feed
    _notifications: Notifications
    _partial_surfaces: PartialSurfaces
    _last_number: int
    _log: EventLog
    _reads: asyncio.Semaphore
    _run: RunKey
    sequence: int
    ended: bool = False
    """No further event will come: the run has ended, or the host is shutting down."""
    final_sequence: int | None = None
    """The last sequence of a run that has ended, if it is known. The log of an imported run may end without a terminal
    event."""
    shares_events: bool = False
    """Whether the last events are in the tail, and not in memory for this reader alone."""
    hides_answers: bool = False
    """auth-07: whether the answers of models are masked for this reader."""
    wants_notifications: bool = False
    """Whether this reader gets notifications. If so, `next` returns early while one is due, and `take_notifications`
    returns it."""

    wants_partial_surfaces: bool = False
    """Whether this reader gets partial surfaces, which become due as notifications do."""
    _shown: dict[str, int] = {}
    """The number of the last partial surface of each node that this reader got."""

    @property
    def has_notification(self) -> bool:
        """Whether a notification or a partial surface is due before the next event."""
        has_note = self.wants_notifications and bool(self._due_notifications())
        return has_note or (self.wants_partial_surfaces and bool(self._due_partial_surfaces()))

    def take_partial_surfaces(self) -> list[StreamFrame]:
        """The frames of partial surfaces that are due; each is returned once."""
        due = self._due_partial_surfaces()
        self._shown.update((node, each.number) for node, each in due)
        return [each.frame for _, each in due]

    def _due_partial_surfaces(self) -> list[tuple[str, PartialFrame]]:
        if not self.wants_partial_surfaces or not self._partial_surfaces.runs:
            return []
        return self._partial_surfaces.after(self._run, self.sequence, self._shown)

    def take_notifications(self) -> list[Notification]:
        """The notifications that are due; each is returned once."""
        due = self._due_notifications() if self.wants_notifications else []
        if due:
            self._last_number = due[-1].number
        return due

    def _due_notifications(self) -> list[Notification]:
        pending = self._pending_notifications()
        return list(takewhile(lambda note: note.sequence <= self.sequence, pending)) if pending else pending

    def _pending_notifications(self) -> list[Notification]:
        return self._notifications.after(self._run, self._last_number) if self.wants_notifications else []

    async def next(self, timeout: float, limit: int = PAGE_EVENTS, budget: int = READ_BYTES) -> list[Event]:
        """Wait for the next events. Empty after `timeout` seconds, when the stream has ended, or when a notification is
        due.

        The event that reaches `budget` bytes is the last; at least one event is returned if there is one.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        feed = self._feed
        is_notified = self.wants_notifications or self.wants_partial_surfaces
        while not (is_notified and self.has_notification):
            events = feed.after(self.sequence)
            if events:
                self.shares_events = True
                return self._advance(events if len(events) == 1 else take_bytes(events[:limit], budget))
            waiter: asyncio.Future[None] = loop.create_future()
            # Added before the log is read, so that an event that is published during the read ends the wait.
            feed.waiters.add(waiter)
            try:
                if events is None:
                    self.shares_events = False
                    async with self._reads:
                        events = await self._log.read(self._run, self.sequence, limit, budget)
                if events or feed.closed:
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
        """Events from `first` to `last` that this reader has received before, limited like those of `next`."""
        events = self._feed.after(first - 1)
        self.shares_events = bool(events)
        if not events:
            async with self._reads:
                events = await self._log.read(self._run, first - 1, last - first + 1, READ_BYTES)
        else:
            events = take_bytes([event for event in events if event.sequence <= last], READ_BYTES)
        return mask_answers(events, self._run.partition) if self.hides_answers else events

    def _advance(self, events: list[Event]) -> list[Event]:
        """Move the position behind these events, but not beyond the event after which the next notification is due.
        Returns the events up to the new position."""
        pending = self._pending_notifications() if self.wants_notifications else []
        delivered = [event for event in events if event.sequence <= pending[0].sequence] if pending else events
        if delivered:
            self.sequence = delivered[-1].sequence
            self.ended = delivered[-1].is_terminal or self.sequence == self.final_sequence
        elif not events:
            self.ended = self._feed.closed
        return mask_answers(delivered, self._run.partition) if self.hides_answers else delivered


class Feeds:
    """The feeds of all runs that have readers."""

    def __init__(self, log: EventLog, limits: Limits = DEFAULT_LIMITS) -> None:
        self._log = log
        self.slots = FairLimit(limits.max_streams, limits.reserved_share_percent)
        """The readers of each partition."""
        self._reads = asyncio.Semaphore(MAX_CONCURRENT_READS)
        self._feeds: dict[RunKey, Feed] = {}
        self._tails: dict[RunKey, Feed] = {}
        """Feeds with a tail, the most recently changed last."""
        self._size = 0
        self._notifications = Notifications()
        self._partial_surfaces = PartialSurfaces()
        self._closed = False

    @property
    def readers(self) -> int:
        """The number of readers of all runs."""
        return self.slots.total

    def publish(self, run: RunKey, events: tuple[Event, ...], visible: VisibleSurface | None = None) -> None:
        """Deliver durable events to the readers of a run. `visible` redacts its partial surfaces; without it, the run
        is not executed here and has none."""
        if visible is not None:
            # Without calls for runs that stream no answer: this is executed for every commit.
            is_followed = run in self._partial_surfaces.runs
            for event in events:
                is_followed = is_followed or event.type == OUTPUT_CHUNK
            if is_followed:
                self._partial_surfaces.update(run, events, visible)
        feed = self._feeds.get(run)
        if feed is None:
            if visible is not None and run in self._partial_surfaces.runs:
                self._partial_surfaces.drop_void(run)
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
        """Send a frame that is not in the log to the current readers of a run, after the event of that sequence."""
        feed = self._feeds.get(run)
        if feed is not None:
            self._notifications.add(run, sequence, frame)
            feed.wake()

    def invalidate(self, run: RunKey) -> None:
        """Drop the tail of a run, because its log may have events that were not published. Readers read the log
        again."""
        self._partial_surfaces.forget_answers(run)
        feed = self._feeds.get(run)
        if feed is not None:
            self._drop(run)
            feed.wake()

    def release(self, run: RunKey) -> None:
        """This process no longer executes the run, so it has no partial surfaces here."""
        self._partial_surfaces.drop(run)

    def join(self, run: RunKey, sequence: int) -> Reader:
        """Add a reader that has all events up to `sequence`. The caller must call `leave` when done."""
        feed = self._feeds.get(run)
        if feed is None:
            feed = self._feeds[run] = Feed()
            feed.closed = self._closed
        feed.readers += 1
        self.slots.force(run.partition)
        notifications = self._notifications
        partial_surfaces = self._partial_surfaces
        return Reader(feed, notifications, partial_surfaces, notifications.count, self._log, self._reads, run, sequence)

    def leave(self, run: RunKey) -> None:
        feed = self._feeds[run]
        feed.readers -= 1
        self.slots.free(run.partition)
        if feed.readers == 0:
            self._drop(run)
            self._notifications.forget(run)
            self._partial_surfaces.drop_void(run)
            del self._feeds[run]

    def end(self, run: RunKey) -> None:
        """End the readers of a run that was deleted."""
        self._partial_surfaces.drop(run)
        feed = self._feeds.get(run)
        if feed is not None:
            self._drop(run)
            feed.closed = True
            feed.wake()

    def close(self) -> None:
        """End all readers. Events that are committed are still delivered."""
        self._closed = True
        for feed in self._feeds.values():
            feed.closed = True
            feed.wake()

    def _drop(self, run: RunKey) -> None:
        feed = self._tails.pop(run, None)
        if feed is not None:
            self._size -= feed.size
            feed.clear()
