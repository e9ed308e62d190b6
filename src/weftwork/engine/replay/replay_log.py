"""Writes the log of a replay: recorded events in large batches, and the events that it adds itself."""

from typing import Any, Final

import msgspec

from weftwork.engine.read_back import is_appended
from weftwork.engine.run.state_rows import changed_rows, projection_of
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import FenceLost, OutcomeUnknown, SequenceConflict, StoreUnavailable
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.replay.interrupt_times import InterruptTimes
from weftwork.protocol.run import payloads
from weftwork.protocol.run.batch import Batch, HiddenValue
from weftwork.protocol.run.events import OUTPUT_CHUNK, Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.payloads import InterruptRequested, InterruptResolved
from weftwork.protocol.run.projection import StateRow

MAX_EVENTS: Final = 512
MAX_BYTES: Final = 2**20
"""Events and bytes after which a batch is written."""


class ReplayLog:
    """Collects the next batch of a replay. Its events have the run id of the replay, and the time of their append."""

    __slots__ = (
        "_completed_at",
        "_error",
        "_events",
        "_hidden",
        "_key",
        "_now",
        "_outputs",
        "_resolved",
        "_runtime",
        "_size",
        "_started_at",
        "last_sequence",
        "times",
    )

    def __init__(self, runtime: Runtime, key: RunKey, last_sequence: int, started_at: int | None) -> None:
        self._runtime = runtime
        self._key = key
        self._started_at = started_at
        self._completed_at: int | None = None
        self._error: bytes | None = None
        self._outputs: bytes | None = None
        self._events: list[Event] = []
        self._hidden: list[HiddenValue] = []
        self._size = 0
        self._now = 0
        self._resolved: list[str] = []
        """Interrupts that were resolved in this batch."""
        self.times = InterruptTimes()
        self.last_sequence = last_sequence
        """That of the last event in the store."""

    @property
    def is_full(self) -> bool:
        return len(self._events) >= MAX_EVENTS or self._size >= MAX_BYTES

    def add(self, event: Event, hidden: list[HiddenValue]) -> None:
        """Add an event of the source, or one of the replay itself, with its hidden values. Ignores an event that is in
        the store already."""
        if event.sequence <= self.last_sequence:
            return
        if not self._events:
            self._now = self._runtime.clock.now()
        kind, payload = event.type, event.payload
        if kind == OUTPUT_CHUNK:
            # The only payload with the id of its run.
            payload = encode_recorded({**msgspec.json.decode(payload), "runId": self._key.run_id})
        elif kind == payloads.RunStarted.event_type:
            self._started_at = self._now
        elif kind == InterruptRequested.event_type and event.interrupt_id is not None:
            self.times.requested(event.interrupt_id, self._now)
        elif kind == InterruptResolved.event_type and event.interrupt_id is not None:
            self._resolved.append(event.interrupt_id)
        elif event.is_terminal:
            self._end(kind, msgspec.json.decode(payload))
        self._events.append(
            Event(
                self._key.run_id,
                event.sequence,
                event.event_id,
                kind,
                self._now,
                payload,
                event.node_id,
                event.causation_id,
                event.schema_version,
                event.engine_version,
                event.interrupt_id,
                event.content_trust,
            )
        )
        self._size += event.size
        if hidden:
            self._hidden += hidden

    def note_fork(self, event: Event, state: RunState) -> None:
        """The source is a branch: the event with which it began was added. `state` is the one after it, in which the
        times of open interrupts count from the fork."""
        if event.sequence > self.last_sequence:
            for name in state.open_interrupts:
                self.times.requested(name, self._now)

    def _end(self, kind: str, payload: dict[str, Any]) -> None:
        self._completed_at = self._now
        if kind == payloads.RunFailed.event_type:
            self._error = encode_recorded(payload["error"])
        elif kind == payloads.RunCompleted.event_type:
            self._outputs = encode_recorded(payload["outputs"])

    async def flush(self, state: RunState, redactor: Redactor | None) -> None:
        """Append the recorded events that were added. `state` is the one after them. Raises StoreUnavailable."""
        if self._events:
            rows = changed_rows(state, redactor)
            state.changed_rows.clear()
            await self._append(state, rows, ())

    async def append_own(self, state: RunState, batch: Batch) -> None:
        """Append events that were decided by the replay itself. Raises StoreUnavailable."""
        hidden: dict[int, list[HiddenValue]] = {}
        for each in batch.hidden:
            hidden.setdefault(each.sequence, []).append(each)
        for event in batch.events:
            self.add(event, hidden.get(event.sequence, []))
        await self._append(state, batch.rows, batch.assets)

    async def _append(self, state: RunState, rows: tuple[StateRow, ...], assets: tuple[str, ...]) -> None:
        events, hidden = tuple(self._events), tuple(self._hidden)
        for name in self._resolved:
            self.times.resolved(state.interrupts[name].key, self._now)
        self._resolved.clear()
        projection = msgspec.structs.replace(
            projection_of(state, None, self._error, self._outputs),
            started_at=self._started_at,
            completed_at=self._completed_at,
            # The run has work to do until the replay is over.
            parked=False,
            wake_at=None,
        )
        batch = Batch(events, projection, self.times.apply(state, rows), hidden, assets=assets)
        try:
            await self._runtime.log.append(self._key, self.last_sequence, batch, self._runtime.fence.epoch)
        except OutcomeUnknown:
            if not await is_appended(self._runtime.log, self._runtime.clock, self._key, batch):
                raise
        except (FenceLost, SequenceConflict) as error:
            raise StoreUnavailable(str(error)) from error
        self.last_sequence += len(events)
        self._events, self._hidden, self._size = [], [], 0
        self._runtime.feeds.publish(self._key, events)
