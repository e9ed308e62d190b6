"""The test log: events that test endpoints write under a run id, in memory. The run need not exist and is not
changed."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.review.spans import envelope_spans
from weftwork.protocol.run.events import Draft, Event
from weftwork.protocol.run.header import RunKey

MAX_RUNS: Final = 256
MAX_EVENTS_PER_RUN: Final = 1000
"""Events per run. The oldest are evicted first."""
MAX_BYTES: Final = 8 * 2**20
"""Total size of all events. The run that was written least recently is evicted first."""


class _NamedRun(msgspec.Struct, rename="camel"):
    run_id: str


def named_run(body: Any) -> str:
    """The run of a request, whose schema was checked."""
    return msgspec.convert(body, _NamedRun).run_id


class EventQuery(msgspec.Struct, frozen=True):
    """A filter of events. A member without a value matches every event."""

    type: str | None = None
    correlation_id: str | None = None
    """Correlation id of the envelope that caused the event; matches the causation id."""
    causation_id: str | None = None
    node_id: str | None = None

    def matches(self, event: Event) -> bool:
        pairs = (
            (self.type, event.type),
            (self.correlation_id, event.causation_id),
            (self.causation_id, event.causation_id),
            (self.node_id, event.node_id),
        )
        return all(expected is None or expected == actual for expected, actual in pairs)


ANY_EVENT: Final = EventQuery()


class TestLog:
    """Events by partition and run, bounded in number and size. An unknown run id gives empty results."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._runs: OrderedDict[RunKey, list[Event]] = OrderedDict()
        self._next: dict[RunKey, int] = {}
        self._size = 0

    def append(self, partition: str, run_id: str, drafts: Iterable[Draft]) -> list[dict[str, Any]]:
        """Append events with the next sequences of the run, and return them as documents."""
        key = RunKey(partition, run_id)
        new_drafts = list(drafts)
        log = self._runs.setdefault(key, [])
        self._runs.move_to_end(key)
        first, now = self._next.get(key, 0), self._clock.now()
        ids = self._ids.event_ids(len(new_drafts))
        events = [
            Event(
                run_id,
                first + offset,
                draft.event_id or ids[offset],
                draft.type,
                now,
                encode_recorded(draft.payload),
                draft.node_id,
                draft.causation_id,
                interrupt_id=draft.interrupt_id,
                content_trust=draft.content_trust,
            )
            for offset, draft in enumerate(new_drafts)
        ]
        self._next[key] = first + len(events)
        log += events
        self._size += sum([event.size for event in events])
        self._evict(key)
        return [event_document(event) for event in events]

    def events(self, partition: str, run_id: str, query: EventQuery = ANY_EVENT) -> list[dict[str, Any]]:
        """The matching events of a run, in order."""
        return [
            event_document(event) for event in self._runs.get(RunKey(partition, run_id), ()) if query.matches(event)
        ]

    def spans(self, partition: str, run_id: str | None = None) -> list[dict[str, Any]]:
        """The envelope spans of one run, or of all runs of the partition."""
        runs = [key for key in self._runs if key.partition == partition and run_id in (None, key.run_id)]
        return [span for key in runs for span in envelope_spans(key.run_id, self._runs[key])]

    def reset(self, partition: str) -> None:
        for key in [each for each in self._runs if each.partition == partition]:
            self._size -= sum([event.size for event in self._runs.pop(key)])
            del self._next[key]

    def _evict(self, newest: RunKey) -> None:
        log = self._runs[newest]
        while len(log) > MAX_EVENTS_PER_RUN or (self._size > MAX_BYTES and len(self._runs) == 1 and len(log) > 1):
            self._size -= log.pop(0).size
        while len(self._runs) > MAX_RUNS or (self._size > MAX_BYTES and len(self._runs) > 1):
            key, events = self._runs.popitem(last=False)
            self._size -= sum([event.size for event in events])
            del self._next[key]


def event_document(event: Event) -> dict[str, Any]:
    """evt-03: the event as a decoded RunEventDoc."""
    return msgspec.json.decode(event.document)
