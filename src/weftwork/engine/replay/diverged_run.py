"""The part of a replay after its first difference: the run goes its own way, with recorded outcomes where they exist.

Nodes run one after the other, in the order of the plan, and all of them see the time of the last recorded event. So two
replays of the same point are equal. The outcome of each node is written in one commit with its start, so a replay that
is interrupted repeats no part of a node.
"""

from typing import Any, Final

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.decision import RunBounds, error_object
from weftwork.engine.decide.inputs import Input, Step
from weftwork.engine.decide.transitions import decide, fail_node
from weftwork.engine.replay.lockstep import SHARED_SLICE_NS, Difference
from weftwork.engine.replay.node_rerun import call_node, deny_input
from weftwork.engine.replay.record_index import RecordIndex
from weftwork.engine.replay.replay_log import ReplayLog
from weftwork.engine.replay_guard import REPLAY_SOURCE_MISSING
from weftwork.engine.run.append import BatchBuilder
from weftwork.engine.run.pending_commit import notify_waiters
from weftwork.engine.run.replay import HiddenOfEvent, RunTooLarge, fact_of_event
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import STATE_TOO_LARGE
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.replay.event_classes import event_class
from weftwork.protocol.run import payloads
from weftwork.protocol.run.effects import EffectRef
from weftwork.protocol.run.events import Draft, Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import interrupt_id

MAX_OWN_EVENTS: Final = 256
"""Events after which a batch is written, between two nodes."""
MISSING: Final = error_object(REPLAY_SOURCE_MISSING.code, REPLAY_SOURCE_MISSING.message)


class RecordedOutcomes(msgspec.Struct, eq=False):
    """Reads recorded outcomes from the log of the source."""

    _log: EventLog
    _source: RunKey
    _hidden: dict[int, HiddenOfEvent]
    index: RecordIndex

    async def drafts(self, first: int, last: int) -> list[Draft]:
        """The events from `first` to `last` as drafts, without facts that belong to the source. Empty if the source was
        deleted meanwhile."""
        events = await self._log.read(self._source, first - 1, last - first + 1)
        return [self._draft(event) for event in events if event.sequence <= last]

    def _draft(self, event: Event) -> Draft:
        hidden = self._hidden.get(event.sequence)
        payload = fact_of_event(event, () if hidden is None else hidden.values).payload
        return Draft(
            event.type,
            payload,
            event.node_id,
            event.causation_id,
            event.interrupt_id,
            content_trust=event.content_trust,
        )


class DivergedRun:
    """replay-04: executes a replay that has left its record. Implements engine.runtime.ReplayRecords for its nodes."""

    def __init__(
        self,
        runtime: Runtime,
        state: RunState,
        log: ReplayLog,
        records: RecordedOutcomes,
        bounds: RunBounds,
        redactor: Redactor | None,
        ended: dict[str, int],
        most_state: int | None,
    ) -> None:
        """`ended`: how many entries of each node have ended so far."""
        self.state = state
        self._runtime = msgspec.structs.replace(runtime, replay=self)
        self._log = log
        self._records = records
        self._bounds = bounds
        self._ended = ended
        self._most_state = most_state
        # All events have the time of the last recorded one. Readers see the time of their append.
        self._now = state.last_event_at
        self._redactor = redactor
        self._builder = self._make_builder()

    def _make_builder(self) -> BatchBuilder:
        return BatchBuilder(self.state, self._redactor, self._now, max_events=MAX_OWN_EVENTS)

    async def begin(self, difference: Difference, source_run_id: str) -> None:
        """Record the first difference, and continue with what the replay has instead."""
        original, state = difference.original, self.state
        point = original.type if original is not None else difference.drafts[0].type
        diverged = payloads.ReplayDiverged(
            source_run_id,
            state.last_sequence + 1,
            difference.kind,
            point,
            msgspec.UNSET if original is None else original.event_id,
        )
        self._add(Draft.of(diverged, difference.node_id))
        self._add(*difference.drafts)
        if difference.start is not None and difference.start in state.running:
            await self._call(difference.start)
        await self._flush()

    async def run(self) -> None:
        """Continue until the run has ended, or waits for something that is not recorded. Raises StoreUnavailable,
        RunTooLarge."""
        state, share, clock = self.state, self._runtime.loop_share, self._runtime.clock.monotonic_ns
        ends_at = clock() + SHARED_SLICE_NS
        while state.completed_at is None and await self._advance():
            if self._most_state is not None and state.live_bytes > self._most_state:
                raise RunTooLarge(STATE_TOO_LARGE, state.live_bytes)
            if self._builder.is_full:
                await self._flush()
            if clock() > ends_at:
                await share.turn(state.header.partition, run=state.header.run_id)
                ends_at = clock() + SHARED_SLICE_NS
        await self._flush()

    async def _advance(self) -> bool:
        """Do the next thing; False if there is nothing to do."""
        state = self.state
        if await self._decide(Step()):
            return True
        if state.stop is not None:
            node_id = self._first(state.running)
            return node_id is not None and await self._decide(inputs.NodeStopped(node_id))
        if state.status == "paused":
            return False
        if (node_id := self._first(state.running)) is not None:
            await self._call(node_id)
            return True
        for node_id in self._in_order(state.retrying):
            node = state.retrying[node_id]
            due: Input = inputs.RetryDue(node_id, node.attempt)
            if node.provider_wait is not None:
                due = inputs.ProviderRetryDue(node_id, node.entry_sequence)
            return await self._decide(due)
        for node_id in self._in_order(state.suspended):
            if await self._take_resolution(node_id):
                return True
        for node_id in self._in_order(state.awaiting_children):
            if not await self._take_outcome(node_id):
                self._add(*self._missing_outcome(node_id))
            return True
        return False

    def _in_order(self, nodes: Any) -> list[str]:
        return sorted(nodes, key=lambda node_id: self.state.plan.nodes[node_id].index)

    def _first(self, nodes: Any) -> str | None:
        return min(nodes, key=lambda node_id: self.state.plan.nodes[node_id].index, default=None)

    async def _decide(self, cause: Input) -> bool:
        decision = decide(self.state, self._bounds, cause)
        self._add(*decision.events)
        if decision.start is not None and decision.start in self.state.running:
            await self._call(decision.start)
        return bool(decision.events)

    def _add(self, *drafts: Draft) -> None:
        if drafts:
            self._builder.add(drafts)
            self._redactor = self._builder.redactor
            for each in drafts:
                if each.node_id is not None and event_class(each.type) == "ends-entry":
                    self._ended[each.node_id] = self._ended.get(each.node_id, 0) + 1

    async def _flush(self) -> None:
        if len(self._builder):
            await self._log.append_own(self.state, self._builder.build(self._runtime.ids, None))
            self._builder = self._make_builder()

    async def _call(self, node_id: str) -> None:
        """Call a pure node, or use the recorded outcome of another one."""
        state = self.state
        declaration = state.plan.nodes[node_id].node.declaration
        entry = node_id, self._ended.get(node_id, 0)
        if declaration.effect != "pure" or declaration.wait_end is not None or entry in self._index.with_children:
            if not await self._take_outcome(node_id):
                if declaration.wait_end is not None:
                    outcome = await call_node(self._runtime, state, node_id, self._redactor, self._report)
                    self._add(*decide(state, self._bounds, outcome).events)
                else:
                    self._add(*self._missing_outcome(node_id))
            return
        outcome = await call_node(self._runtime, state, node_id, self._redactor, self._report)
        drafts = decide(state, self._bounds, outcome).events
        self._add(*(drafts or self._missing_outcome(node_id)))

    def _report(self, input_: Input) -> None:
        """An input of the node that is being called."""
        match input_:
            case inputs.VersionRequested(change_id=change_id) if change_id in self._index.versions:
                input_ = msgspec.structs.replace(input_, version=self._index.versions[change_id])
            case _:
                pass
        self._add(*decide(self.state, self._bounds, input_).events)
        notify_waiters(self.state, [input_])
        deny_input(self._runtime, input_)

    @property
    def _index(self) -> RecordIndex:
        return self._records.index

    def _missing_outcome(self, node_id: str) -> tuple[Draft, ...]:
        failed = inputs.NodeFailed(node_id, MISSING["code"], MISSING["message"], retryable=False)
        return fail_node(self.state, failed).events

    async def _take_outcome(self, node_id: str) -> bool:
        """Add the recorded end of this entry; False if the record has no other one."""
        ends = self._index.ends.get(node_id, [])
        number = self._ended.get(node_id, 0)
        if number >= len(ends):
            return False
        drafts = await self._records.drafts(*ends[number])
        name = interrupt_id(node_id, self.state.nodes[node_id].interrupts + 1)
        drafts = [_renamed(each, name) for each in drafts if event_class(each.type) in ("produced", "ends-entry")]
        self._add(*drafts)
        return bool(drafts)

    async def _take_resolution(self, node_id: str) -> bool:
        """Resolve the open interrupt of a suspended node as in the record; False if it has no resolution there."""
        for interrupt in self.state.open_interrupts.values():
            found = self._index.resolutions.get(interrupt.key) if interrupt.node_id == node_id else None
            if found is not None and (drafts := await self._records.drafts(*found)):
                name = interrupt.interrupt_id
                drafts = [msgspec.structs.replace(_renamed(each, name), node_id=node_id) for each in drafts]
                self._add(*drafts)
                return True
        return False

    async def take_effect(self, node_id: str, visit: int, effect: EffectRef) -> bool:
        """See engine.runtime.ReplayRecords."""
        sequence = self._index.effects.get((node_id, visit, effect))
        drafts = await self._records.drafts(sequence, sequence) if sequence is not None else []
        if not drafts:
            return False
        known = self.state.nodes[node_id].effects.get(effect)
        if known is None or known.status != "open":
            members = {name: drafts[0].payload[name] for name in ("step", "item") if name in drafts[0].payload}
            claimed = payloads.EffectClaimed(node_id, **members)
            self._add(Draft.of(claimed, node_id, event_id=self._runtime.ids.event_ids(1)[0]))
        self._add(*drafts)
        return True

    async def take_answer(self, node_id: str, visit: int, call: str) -> bool:
        """See engine.runtime.ReplayRecords."""
        sequence = self._index.answers.get((node_id, visit, call))
        if sequence is None:
            return False
        usage = self._index.usages.get(sequence, sequence)
        drafts = await self._records.drafts(sequence, usage)
        self._add(*drafts)
        return bool(drafts)

    def on_denied(self) -> None:
        """See engine.runtime.ReplayRecords."""


def _renamed(draft: Draft, name: str) -> Draft:
    """An event about an interrupt, for the interrupt `name`."""
    if draft.interrupt_id is None and "interruptId" not in draft.payload:
        return draft
    payload = {**draft.payload, "interruptId": name} if "interruptId" in draft.payload else draft.payload
    return msgspec.structs.replace(draft, payload=payload, interrupt_id=name)
