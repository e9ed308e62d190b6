"""What the test endpoints of the conformance suite (its "seams") need; used only where they are enabled.

`TestLog` holds events that a test projects for an id, whether or not such a run exists. It is bounded, in memory
only, and touches no run. `RunObservation` reads events, spans and bundles of a run together with those of the test
log. `EnvelopeRecords` reads from a log what a run has recorded under a correlation id.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.engine.api.bundles import Bundles
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.runs import Runs
from weftwork.engine.run.replay import REPLAY_PAGE_BYTES, REPLAY_PAGE_EVENTS
from weftwork.engine.runtime import Runtime
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.envelopes.gate_rules import RecordedOutcome
from weftwork.protocol.envelopes.handling import recorded_outcome
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.review.debug_bundle import unattached_bundle
from weftwork.protocol.review.spans import envelope_spans
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Draft, Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.timestamps import iso

MAX_RUNS: Final = 256
MAX_EVENTS_PER_RUN: Final = 1000
"""Of one run; the oldest go first."""
MAX_BYTES: Final = 8 * 2**20
"""Of all runs together; the run that was written to least recently goes first."""
MAX_EVENTS_READ: Final = 10_000
"""Events of one run that are read for one answer."""
PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 262_144
MAX_EXPORT_BYTES: Final = 1_000_000
MAX_EVENTS_SCANNED: Final = 10_000


class EventQuery(msgspec.Struct, frozen=True):
    """Which events are wanted; what is None is not looked at."""

    type: str | None = None
    correlation_id: str | None = None
    """Of the envelope that an event comes from: it stands there as the cause."""
    causation_id: str | None = None
    node_id: str | None = None

    def matches(self, event: Event) -> bool:
        pairs = (
            (self.type, event.type),
            (self.correlation_id, event.causation_id),
            (self.causation_id, event.causation_id),
            (self.node_id, event.node_id),
        )
        return all(wanted is None or wanted == given for wanted, given in pairs)


ANY_EVENT: Final = EventQuery()


class TestLog:
    """Events by partition and run. Bounded in every direction; nothing here raises for an id that is not there."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._runs: OrderedDict[RunKey, list[Event]] = OrderedDict()
        self._next: dict[RunKey, int] = {}
        self._size = 0

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
        self._size += sum([event.size for event in events])
        self._evict(key)
        return [event_document(event) for event in events]

    def events(self, partition: str, run_id: str, query: EventQuery = ANY_EVENT) -> list[dict[str, Any]]:
        """Those of a run that are wanted, in order."""
        return [
            event_document(event) for event in self._runs.get(RunKey(partition, run_id), ()) if query.matches(event)
        ]

    def spans(self, partition: str, run_id: str | None = None) -> list[dict[str, Any]]:
        """The spans of the envelopes that a run has recorded here, or those of all runs of the partition."""
        wanted = [key for key in self._runs if key.partition == partition and run_id in (None, key.run_id)]
        return [span for key in wanted for span in envelope_spans(key.run_id, self._runs[key])]

    def reset(self, partition: str) -> None:
        """Forget everything of a partition."""
        for key in [each for each in self._runs if each.partition == partition]:
            self._size -= sum([event.size for event in self._runs.pop(key)])
            del self._next[key]

    def _evict(self, newest: RunKey) -> None:
        kept = self._runs[newest]
        while len(kept) > MAX_EVENTS_PER_RUN or (self._size > MAX_BYTES and len(self._runs) == 1 and len(kept) > 1):
            self._size -= kept.pop(0).size
        while len(self._runs) > MAX_RUNS or (self._size > MAX_BYTES and len(self._runs) > 1):
            key, events = self._runs.popitem(last=False)
            self._size -= sum([event.size for event in events])
            del self._next[key]


def event_document(event: Event) -> dict[str, Any]:
    """evt-03: the RunEventDoc as a document."""
    return msgspec.json.decode(event.document)


class RunObservation:
    """Events, spans and bundles by run id. An unknown id is no error, and gives nothing."""

    def __init__(self, runtime: Runtime, service: Runs, bundles: Bundles, log: TestLog) -> None:
        self._log: EventLog = runtime.log
        self._clock = runtime.clock
        self._service = service
        self._bundles = bundles
        self._test_log = log

    async def events(self, principal: Principal, run_id: str, query: EventQuery) -> list[dict[str, Any]]:
        """What a run has recorded, and behind it what was projected for its id."""
        found: list[dict[str, Any]] = []
        last = -1
        while last + 1 < MAX_EVENTS_READ:
            page = await self._log.read(principal.run(run_id), last, PAGE_EVENTS, PAGE_BYTES)
            if not page:
                break
            found += [event_document(event) for event in page if query.matches(event)]
            last = page[-1].sequence
        return found + self._test_log.events(principal.partition, run_id, query)

    async def spans(self, principal: Principal, run_id: str | None) -> list[dict[str, Any]]:
        """Those of a run and of what was projected for its id; without an id, all that was projected."""
        found = await self._service.run_spans(principal, run_id) if run_id is not None else []
        return [*found, *self._test_log.spans(principal.partition, run_id)]

    async def export(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """The bundle of a run, or of what was projected for its id."""
        try:
            pieces = await self._bundles.open(principal, run_id, cap=MAX_EXPORT_BYTES)
        except ClientFault as fault:
            if fault.code != "not_found":
                raise
            events = self._test_log.events(principal.partition, run_id)
            spans = self._test_log.spans(principal.partition, run_id)
            link = self._bundles.media_link(principal.partition, run_id)
            return unattached_bundle(run_id, events, spans, self._bundles.version, iso(self._clock.now()), link)
        parts: list[bytes] = []
        while (piece := await pieces.next_chunk()) is not None:
            parts.append(piece)
        return msgspec.json.decode(b"".join(parts))


class EnvelopeRecords:
    """Scans the log, so this is for test endpoints only; a live run has its records in its state."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def find(self, run: RunKey, correlation_id: str) -> RecordedOutcome | None:
        """The first record, as the fold keeps it; None where there is none among the first events, and for no run."""
        seen = 0
        while seen < MAX_EVENTS_SCANNED and (
            page := await self._log.read(run, seen - 1, REPLAY_PAGE_EVENTS, REPLAY_PAGE_BYTES)
        ):
            for event in page:
                if event.type == ENVELOPE_RECORDED and event.causation_id == correlation_id:
                    return recorded_outcome(msgspec.json.decode(event.payload), event.content_trust)
            seen += len(page)
        return None
