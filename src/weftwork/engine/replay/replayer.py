"""Executes a replay: as recorded as long as possible, and on its own after the first difference.

A replay has no state but its log. While its events have the ids of those in its source, everything was as recorded; the
first event with another id is `replay.diverged`. So a replay that is interrupted continues from its log.
"""

import logging
from typing import Final

import msgspec

from weftwork.engine.replay.diverged_run import MISSING, DivergedRun, RecordedOutcomes
from weftwork.engine.replay.lockstep import Difference, Lockstep
from weftwork.engine.replay.record import Record, SourceMissing
from weftwork.engine.replay.record_index import build_index
from weftwork.engine.replay.replay_log import ReplayLog
from weftwork.engine.run.append import BatchBuilder, make_redactor
from weftwork.engine.run.live_run import run_bounds
from weftwork.engine.run.replay import fold_event, fold_log, hidden_by_event, initial_state, load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.replay.event_classes import event_class, may_share_decision
from weftwork.protocol.run import payloads
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.events import Draft, Event
from weftwork.protocol.run.header import Fork, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.workflow.plan import Plan

log = logging.getLogger("weftwork.run")

PAGE_EVENTS: Final = 1000


async def replay_to_end(
    runtime: Runtime, plan: Plan, header: RunHeader, projection: Projection, most_state: int | None = None
) -> None:
    """replay-06: execute a replay up to the end of its record, or, once it has left the record, until it ends or waits.

    Does nothing for a replay that is already there. If the source was deleted, the run fails. Raises RunTooLarge if the
    state becomes larger than `most_state`, and StoreUnavailable.
    """
    assert header.fork is not None, "a replay has a source"
    replay = _Replay(runtime, plan, header, header.fork, projection, most_state)
    try:
        await replay.execute()
    except SourceMissing:
        await _fail(runtime, plan, header)


async def find_first_difference(runtime: Runtime, plan: Plan, header: RunHeader) -> Difference | None:
    """Execute a new replay up to its first difference, which is returned and not written. Returns None for an equal
    replay.

    The plan may be that of another definition than the recorded one. Raises SourceMissing, StoreUnavailable.
    """
    assert header.fork is not None, "a replay has a source"
    return await _Replay(runtime, plan, header, header.fork, Projection("pending"), None).find_difference()


class _Replay:
    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        header: RunHeader,
        fork: Fork,
        projection: Projection,
        most_state: int | None,
    ) -> None:
        self._runtime = runtime
        self._plan = plan
        self._header = header
        self._fork = fork
        self._source = RunKey(header.partition, fork.run_id)
        self._position = projection.last_sequence
        self._most_state = most_state
        self._log = ReplayLog(runtime, header.key, projection.last_sequence, projection.started_at)

    async def execute(self) -> None:
        """Raises SourceMissing, StoreUnavailable, RunTooLarge."""
        runtime, fork, position = self._runtime, self._fork, self._position
        diverged_at = await self._find_divergence()
        if diverged_at is None and position >= fork.until:
            return
        source = await runtime.log.read_run(self._source)
        if source is None:
            if diverged_at is not None:
                # The run continues without records.
                return
            raise SourceMissing
        if position >= 0 and (own := await runtime.log.read_run(self._header.key)) is not None:
            self._log.times.learn(own.rows)
        header = msgspec.structs.replace(source.header, run_id=fork.acts_as or fork.run_id, fork=fork)
        hidden = await runtime.log.hidden_values(self._source)
        state = initial_state(self._plan, header, hidden)
        last = await self._decision_start(position) if diverged_at is None else diverged_at - 1
        await fold_log(runtime.log, state, hidden, self._most_state, runtime.loop_share, last, self._source)
        if state.last_sequence != last:
            raise SourceMissing
        state.changed_rows.clear()
        if diverged_at is not None:
            run = await self._continue_diverged(state, hidden, header)
        else:
            record = Record(runtime.log, self._source, last, fork.until, hidden)
            lockstep = Lockstep(runtime, state, record, self._log, self._most_state)
            await self._note_emitted(lockstep, state)
            difference = await lockstep.run()
            if difference is None:
                return
            log.warning(
                "replay differs from its source",
                extra={**self._header.key.log_fields, "sequence": state.last_sequence + 1, "kind": difference.kind},
            )
            run = await self._diverged_run(state, hidden, header, state.last_sequence)
            await run.begin(difference, fork.run_id)
        await run.run()

    async def find_difference(self) -> Difference | None:
        """Raises SourceMissing, StoreUnavailable."""
        runtime, fork = self._runtime, self._fork
        hidden = await runtime.log.hidden_values(self._source)
        header = msgspec.structs.replace(self._header, run_id=fork.acts_as or fork.run_id)
        record = Record(runtime.log, self._source, -1, fork.until, hidden)
        return await Lockstep(runtime, initial_state(self._plan, header, hidden), record, self._log).run()

    async def _decision_start(self, position: int) -> int:
        """The last event before the decision that the event after `position` belongs to. The prefix of a replay may end
        within a decision."""
        if position < 0:
            return position
        event = await self._event(self._source, position + 1)
        while event is not None and position >= 0:
            before = await self._event(self._source, position)
            if before is None or not may_share_decision(before, event):
                break
            event, position = before, position - 1
        if event is None:
            raise SourceMissing
        return position

    async def _find_divergence(self) -> int | None:
        """The sequence of `replay.diverged` in the own log; None if all events so far are those of the source."""
        low, high = self._fork.from_seq, min(self._position, self._fork.until)
        if high < low or await self._is_recorded(high):
            return None
        while low < high:
            middle = (low + high) // 2
            if await self._is_recorded(middle):
                low = middle + 1
            else:
                high = middle
        return low

    async def _is_recorded(self, sequence: int) -> bool:
        own = await self._event(self._header.key, sequence)
        original = await self._event(self._source, sequence)
        if original is None:
            # The source was deleted: only the own log tells.
            return own is not None and own.type != payloads.ReplayDiverged.event_type
        return own is not None and own.event_id == original.event_id

    async def _event(self, run: RunKey, sequence: int) -> Event | None:
        events = await self._runtime.log.read(run, sequence - 1, 1)
        return events[0] if events else None

    async def _note_emitted(self, lockstep: Lockstep, state: RunState) -> None:
        """Tell the replay what the running nodes have emitted before its position."""
        started = [node.entry_sequence for node in state.active_nodes.values()]
        at = min(started, default=state.last_sequence)
        while at < state.last_sequence:
            page = await self._runtime.log.read(self._source, at, min(PAGE_EVENTS, state.last_sequence - at), 2**20)
            if not page:
                raise SourceMissing
            for event in page:
                lockstep.note_emitted(event)
            at = page[-1].sequence

    async def _diverged_run(
        self,
        state: RunState,
        hidden: list[HiddenValue],
        header: RunHeader,
        position: int,
    ) -> DivergedRun:
        runtime, until = self._runtime, self._fork.until
        whole = initial_state(self._plan, header, hidden)
        index = await build_index(runtime.log, self._source, whole, until, hidden, runtime.loop_share)
        outcomes = RecordedOutcomes(runtime.log, self._source, hidden_by_event(hidden, -1, until), index)
        ended = await count_ended(runtime.log, self._header.key, position)
        bounds = msgspec.structs.replace(run_bounds(runtime, state), parallel=1)
        return DivergedRun(runtime, state, self._log, outcomes, bounds, make_redactor(state), ended, self._most_state)

    async def _continue_diverged(self, state: RunState, hidden: list[HiddenValue], header: RunHeader) -> DivergedRun:
        """Fold the own events since the first difference. They all have the time of the last recorded event."""
        runtime, now, key = self._runtime, state.last_event_at, self._header.key
        own_hidden = hidden_by_event(await runtime.log.hidden_values(key), state.last_sequence, self._position)
        while state.last_sequence < self._position:
            page = await runtime.log.read(key, state.last_sequence, PAGE_EVENTS, 2**20)
            for event in page:
                event.timestamp = now
                fold_event(state, event, own_hidden.get(event.sequence))
            await runtime.loop_share.turn(header.partition)
        state.changed_rows.clear()
        return await self._diverged_run(state, hidden, header, self._position)


async def count_ended(eventlog: EventLog, run: RunKey, position: int) -> dict[str, int]:
    """How many entries of each node have ended, up to a position of the log."""
    ended: dict[str, int] = {}
    at = -1
    while at < position:
        page = await eventlog.read(run, at, min(PAGE_EVENTS, position - at), 2**20)
        for event in page:
            if event.node_id is not None and event_class(event.type) == "ends-entry":
                ended[event.node_id] = ended.get(event.node_id, 0) + 1
        at = page[-1].sequence
    return ended


async def _fail(runtime: Runtime, plan: Plan, header: RunHeader) -> None:
    """Fail a replay whose source was deleted."""
    stored = await runtime.log.projection(header.key)
    assert stored is not None
    state = await load_state(runtime.log, header, plan, share=runtime.loop_share)
    replay_log = ReplayLog(runtime, header.key, state.last_sequence, stored.started_at)
    state.changed_rows.clear()
    builder = BatchBuilder(state, make_redactor(state), runtime.clock.now())
    builder.add((Draft.of(payloads.RunFailed(MISSING)),))
    await replay_log.append_own(state, builder.build(runtime.ids, None))
    log.warning("replay failed: its source was deleted", extra=header.key.log_fields)
