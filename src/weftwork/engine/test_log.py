"""The test log: what seams project for runs that need not exist, kept in memory while there is room.

No run is touched by it and nothing of it is stored. It exists only where test seams are on.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.events import Draft, Event
from weftwork.protocol.run import RunKey
from weftwork.protocol.spans import envelope_spans

RUNS_KEPT: Final = 256
EVENTS_KEPT: Final = 1000
"""Of one run; the oldest go first."""
BYTES_KEPT: Final = 8 * 2**20
"""Of all runs together; the run that had no news for the longest time goes first."""


class EventQuery(msgspec.Struct, frozen=True):
    """Which events are wanted; what is None is not looked at."""

    type: str | None = None
    correlation_id: str | None = None
    """Of the envelope that an event comes from: it stands there as the cause."""
    causation_id: str | None = None
    node_id: str | None = None

    def takes(self, event: Event) -> bool:
        pairs = (
            (self.type, event.type),
            (self.correlation_id, event.causation_id),
            (self.causation_id, event.causation_id),
            (self.node_id, event.node_id),
        )
        return all(wanted is None or wanted == given for wanted, given in pairs)


ALL: Final = EventQuery()


class TestLog:
    """Events by partition and run. Bounded in every direction; nothing here raises for an id that is not there."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._runs: OrderedDict[RunKey, list[Event]] = OrderedDict()
        self._next: dict[RunKey, int] = {}
        self._weight = 0

    def append(self, partition: str, run_id: str, drafts: Iterable[Draft]) -> list[dict[str, Any]]:
        """The events as documents, numbered behind those of the same run."""
        key = RunKey(partition, run_id)
        wanted = list(drafts)
        kept = self._runs.setdefault(key, [])
        self._runs.move_to_end(key)
        first, now = self._next.get(key, 0), self._clock.now()
        ids = self._ids.event_ids(len(wanted))
        events = [
            Event(
                run_id,
                first + offset,
                draft.event_id or ids[offset],
                draft.type,
                now,
                encode_stored(draft.payload),
                draft.node_id,
                draft.causation_id,
                interrupt_id=draft.interrupt_id,
                content_trust=draft.content_trust,
            )
            for offset, draft in enumerate(wanted)
        ]
        self._next[key] = first + len(events)
        kept += events
        self._weight += sum([event.weight for event in events])
        self._bound(key)
        return [document_of(event) for event in events]

    def events(self, partition: str, run_id: str, query: EventQuery = ALL) -> list[dict[str, Any]]:
        """Those of a run that are wanted, in order."""
        return [document_of(event) for event in self._runs.get(RunKey(partition, run_id), ()) if query.takes(event)]

    def spans(self, partition: str, run_id: str | None = None) -> list[dict[str, Any]]:
        """The spans of the envelopes that a run has recorded here, or those of all runs of the partition."""
        wanted = [key for key in self._runs if key.partition == partition and run_id in (None, key.run_id)]
        return [span for key in wanted for span in envelope_spans(key.run_id, self._runs[key])]

    def reset(self, partition: str) -> None:
        """Forget everything of a partition."""
        for key in [each for each in self._runs if each.partition == partition]:
            self._weight -= sum([event.weight for event in self._runs.pop(key)])
            del self._next[key]

    def _bound(self, newest: RunKey) -> None:
        kept = self._runs[newest]
        while len(kept) > EVENTS_KEPT or (self._weight > BYTES_KEPT and len(self._runs) == 1 and len(kept) > 1):
            self._weight -= kept.pop(0).weight
        while len(self._runs) > RUNS_KEPT or (self._weight > BYTES_KEPT and len(self._runs) > 1):
            key, events = self._runs.popitem(last=False)
            self._weight -= sum([event.weight for event in events])
            del self._next[key]


def document_of(event: Event) -> dict[str, Any]:
    """evt-03: the RunEventDoc as a document."""
    return msgspec.json.decode(event.document)
