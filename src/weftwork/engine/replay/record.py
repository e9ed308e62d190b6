"""The record of a replay: the log of its source from a position on, read in pages."""

from typing import Final

from weftwork.engine.run.replay import HiddenOfEvent, hidden_by_event
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey

PAGE_EVENTS: Final = 1000
PAGE_BYTES: Final = 2**20


class SourceMissing(Exception):
    """The source of a replay was deleted, so that a part of the record is missing."""


class Record:
    """The events of the source after a sequence and up to `until`. `peek` and `take` move through what is read."""

    __slots__ = ("_at", "_events", "_log", "_raw_hidden", "_read_to", "_source", "hidden", "until")

    def __init__(self, log: EventLog, source: RunKey, after: int, until: int, hidden: list[HiddenValue]) -> None:
        self._log = log
        self._source = source
        self._events: list[Event] = []
        self._at = 0
        self._read_to = after
        self.until = until
        self._raw_hidden = _group(hidden)
        self.hidden: dict[int, HiddenOfEvent] = hidden_by_event(hidden, after, until)

    @property
    def is_complete(self) -> bool:
        """Whether all events of the record have been read."""
        return self._read_to >= self.until

    @property
    def available(self) -> int:
        """The number of events that can be peeked at."""
        return len(self._events) - self._at

    async def read_more(self) -> None:
        """Read the next page. Raises SourceMissing, StoreUnavailable."""
        limit = min(PAGE_EVENTS, self.until - self._read_to)
        page = await self._log.read(self._source, self._read_to, limit, PAGE_BYTES)
        if not page:
            raise SourceMissing
        self._events = [*self._events[self._at :], *page]
        self._at = 0
        self._read_to = page[-1].sequence

    def peek(self, offset: int = 0) -> Event:
        return self._events[self._at + offset]

    def take(self) -> Event:
        self._at += 1
        return self._events[self._at - 1]

    def hidden_of(self, sequence: int) -> list[HiddenValue]:
        """The hidden values of an event, as the store has them."""
        return self._raw_hidden.get(sequence, [])


def _group(hidden: list[HiddenValue]) -> dict[int, list[HiddenValue]]:
    grouped: dict[int, list[HiddenValue]] = {}
    for each in hidden:
        grouped.setdefault(each.sequence, []).append(each)
    return grouped
