"""The part of a replay in which everything is as recorded: walks through the record, and compares.

Theory. The state is the fold of the record up to the next event, so nodes see the recorded times, and the id of the run
that was executed. Each event is a fact, which is taken over; a decision, which is taken again from the state; or a part
of what a node has produced in one entry. The latter is compared when the entry ends: only then does the state have all
steps, answers and items that the code of the node needs to run to its outcome without a wait.

Events that a node emits before its outcome are taken over when they appear, and compared with its outcome.
"""

import asyncio
from typing import Final

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.decision import RunBounds
from weftwork.engine.decide.inputs import Input, Step
from weftwork.engine.decide.transitions import HOST_ERROR, decide
from weftwork.engine.nodes.node_runner import NodeRunner
from weftwork.engine.replay.node_rerun import NodeRerun, recorded_clock, rerun_node
from weftwork.engine.replay.record import Record
from weftwork.engine.replay.replay_log import ReplayLog
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.replay import RunTooLarge, fact_of_event, fold_event
from weftwork.engine.runtime import Runtime
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.limits import STATE_TOO_LARGE
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.replay.comparison import (
    FAILURE_MEMBERS,
    DivergenceKind,
    ProducedEvent,
    comparable_payload,
    find_difference,
)
from weftwork.protocol.replay.event_classes import ANSWER_TYPES, STATEFUL_TYPES, event_class, is_recorded_end
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import FORKED, Draft, Event, Fact
from weftwork.protocol.run.payloads import TIMESTAMP_MEMBERS, TURN_MEMBERS

UNBOUNDED: Final = 2**62
SLICE_NS: Final = 3_000_000
SHARED_SLICE_NS: Final = 1_000_000
"""How long a replay occupies the event loop, alone and while others want it."""
MAX_BLOCK_EVENTS: Final = 20_000
"""Events of one node, in a row, among which the end of its entry is looked for."""
CHECK_EVENTS: Final = 16


class Difference(msgspec.Struct):
    """The first difference between the replay and the record, and what the replay has instead."""

    kind: DivergenceKind
    drafts: tuple[Draft, ...]
    """What the replay continues with."""
    node_id: str | None
    original: Event | None
    start: str | None = None
    """The node to call next."""


class _Entry(msgspec.Struct):
    """What the record has of the current entry of a node."""

    entry_sequence: int
    emitted: list[ProducedEvent] = []
    is_unclear: bool = False
    """The node has changed what it can see before its outcome, so that the code cannot be called again."""
    early: Input | None = None
    """The outcome of an instant node, if other events came before it in the record."""


class _NeedsMore(Exception):
    """The decision needs events that have not been read yet."""


class Lockstep:
    """Replays as long as everything is as recorded."""

    def __init__(
        self, runtime: Runtime, state: RunState, record: Record, log: ReplayLog, most_state: int | None = None
    ) -> None:
        self.state = state
        self.redactor: Redactor | None = make_redactor(state)
        self._runtime = runtime
        self._record = record
        self._log = log
        self._most_state = most_state
        self.bounds = replay_bounds(runtime)
        self._runner = NodeRunner(runtime, recorded_clock(runtime, state), _ignore, self.redactor)
        self._entries: dict[str, _Entry] = {}
        self._answered: str | None = None
        """The node of the last event, if that was an answer of a model or its envelope, or may belong to one."""
        self._node_to_rerun: tuple[str, int] | None = None

    def note_emitted(self, event: Event) -> None:
        """Note an event before the position of the replay, of an entry that still runs."""
        node_id = event.node_id
        node = self.state.active_nodes.get(node_id) if node_id is not None else None
        if node is not None and node_id is not None and event.sequence > node.entry_sequence:
            self._note(event, node_id)
        self._note_answer(event)

    async def run(self) -> Difference | None:
        """Replay until the end of the record, or until the first difference, which is not written. Raises
        StoreUnavailable, SourceMissing, RunTooLarge."""
        record, share, partition = self._record, self._runtime.loop_share, self.state.header.partition
        clock = self._runtime.clock.monotonic_ns
        ends_at = clock() + SHARED_SLICE_NS
        count = 0
        while True:
            if record.available < 2 and not record.is_complete:
                await record.read_more()
            if not record.available:
                break
            count += 1
            if count % CHECK_EVENTS == 0 and clock() > ends_at:
                await share.turn(partition, run=self.state.header.run_id)
                ends_at = clock() + (SHARED_SLICE_NS if share.is_shared else SLICE_NS)
            try:
                difference = self._advance()
                if self._node_to_rerun is not None:
                    difference = await self._rerun()
            except _NeedsMore:
                await record.read_more()
                continue
            if difference is not None:
                difference = self._without_history(difference)
                await self._flush()
                return difference
            if self._most_state is not None and self.state.live_bytes > self._most_state:
                raise RunTooLarge(STATE_TOO_LARGE, self.state.live_bytes)
            if self._log.is_full:
                await self._flush()
                await asyncio.sleep(0)
                ends_at = clock() + (SHARED_SLICE_NS if share.is_shared else SLICE_NS)
        await self._flush()
        return None

    def _without_history(self, difference: Difference) -> Difference:
        """The rest of a decision that has begun in the prefix of the replay, which is not decided again."""
        count = 0
        while self._record.available and self._record.peek().sequence <= self._log.last_sequence:
            self._take()
            count += 1
        return msgspec.structs.replace(difference, drafts=difference.drafts[count:]) if count else difference

    async def _flush(self) -> None:
        await self._log.flush(self.state, self.redactor)

    def _advance(self) -> Difference | None:
        """Take over the next event, or all events of the next decision, if they are as recorded."""
        event = self._record.peek()
        kind, node_id = event.type, event.node_id
        class_ = event_class(kind)
        if class_ == "fact":
            self._take()
            return None
        state = self.state
        is_active = node_id is not None and (node_id in state.running or node_id in state.awaiting_children)
        if class_ != "decided" and is_active and node_id is not None:
            return self._advance_entry(node_id)
        cause = self._cause(event)
        if cause is None:
            self._take()
            return None
        return self._advance_decision(cause)

    def _cause(self, event: Event) -> Input | None:
        """The input from which the engine decided on this event; None for a fact."""
        state, node_id = self.state, event.node_id
        if node_id is not None and node_id not in state.plan.nodes:
            # The definition is another one than the recorded one.
            return Step()
        match event.type:
            case payloads.NodeStarted.event_type if node_id is not None:
                if state.plan.nodes[node_id].node.model_needs is not None:
                    # The gate depends on the models of the host at that time.
                    return None
                if node_id in state.running:
                    return inputs.NodeReexecuted(node_id, state.running[node_id].entry_sequence)
                if node_id in state.retrying:
                    return inputs.RetryDue(node_id, state.retrying[node_id].attempt)
                return Step()
            case payloads.NodeFailed.event_type if node_id is not None:
                has_gate = state.plan.nodes[node_id].node.model_needs is not None
                return None if node_id in state.retrying or has_gate else Step()
            case payloads.NodeCancelled.event_type:
                return Step() if state.stop is not None and not state.running else None
            case payloads.RunCancelled.event_type:
                return Step() if state.stop is not None else None
            case payloads.RunFailed.event_type:
                if state.started_at is None or (
                    msgspec.json.decode(event.payload)["error"]["code"] == HOST_ERROR["code"]
                ):
                    return None
                return Step()
            case kind:
                return Step() if kind in _STEPS else None

    def _advance_decision(self, cause: Input) -> Difference | None:
        decision = decide(self.state, self.bounds, cause)
        drafts = decision.events
        if not drafts:
            original = self._record.peek()
            return Difference("missing", (), original.node_id, original)
        kept = drafts[: self._length_before_fork(len(drafts))]
        if (difference := self._find_difference(kept)) is not None:
            kind, original = difference
            return Difference(kind, drafts, drafts[0].node_id, original, decision.start)
        for draft in kept:
            self._take(draft)
        if len(kept) < len(drafts):
            return None
        started = decision.start
        if started is not None and not (self._record.available and self._record.peek().node_id == started):
            # The engine ran an instant node at once, so it saw the state of now.
            self._entry(started).early = self._run_instant(started)
        return None

    def _length_before_fork(self, count: int) -> int:
        """replay-06: how many of the `count` events of a decision can be in the record, whose source may be a branch.

        The prefix of a branch may end within a decision. Its other events were decided again after the fork."""
        record = self._record
        for at in range(1, count):
            if at >= record.available:
                if not record.is_complete:
                    raise _NeedsMore
                break
            if record.peek(at).type == FORKED:
                return at
        return count

    def _find_difference(self, drafts: tuple[Draft, ...]) -> tuple[DivergenceKind, Event | None] | None:
        record = self._record
        for at, draft in enumerate(drafts):
            if at >= record.available:
                if not record.is_complete:
                    raise _NeedsMore
                return "extra", None
            event = record.peek(at)
            if event.type != draft.type or event.node_id != draft.node_id:
                return "type-mismatch", event
            if not self._is_same(draft, event):
                return "output", event
        return None

    def _is_same(self, draft: Draft, event: Event) -> bool:
        hidden = self._record.hidden.get(event.sequence)
        if hidden is None and encode_recorded(draft.payload) == event.payload:
            return True
        return comparable_payload(draft.type, draft.payload) == self._comparable(event)

    def _comparable(self, event: Event) -> bytes:
        hidden = self._record.hidden.get(event.sequence)
        fact = fact_of_event(event, () if hidden is None else hidden.values)
        return comparable_payload(event.type, fact.payload)

    def _advance_entry(self, node_id: str) -> Difference | None:
        """Take over events that the node emitted before its outcome, or the outcome."""
        count, is_end = self._block_length(node_id)
        if not is_end:
            for _ in range(count):
                self._take()
            return None
        if not self._is_repeated(node_id, count):
            for _ in range(count):
                self._take()
            return None
        entry = self._entries.get(node_id)
        if entry is not None and entry.early is not None and self._find_outcome_difference(entry.early, count) is None:
            return self._compare_outcome(node_id, count, NodeRerun(entry.early, [], was_denied=False))
        if (outcome := self._run_instant(node_id)) is not None:
            return self._compare_outcome(node_id, count, NodeRerun(outcome, [], was_denied=False))
        self._node_to_rerun = node_id, count
        return None

    def _block_length(self, node_id: str) -> tuple[int, bool]:
        """The number of events of this node that follow each other from here on, up to the end of its entry or before
        the next fact, and whether the last one ends the entry."""
        record = self._record
        for at in range(MAX_BLOCK_EVENTS):
            if at >= record.available:
                if not record.is_complete:
                    raise _NeedsMore
                return at, False
            event = record.peek(at)
            class_ = event_class(event.type) if event.node_id == node_id else "fact"
            if class_ == "ends-entry":
                return at + 1, True
            if class_ != "produced":
                return at, False
        return MAX_BLOCK_EVENTS, False

    def _is_repeated(self, node_id: str, count: int) -> bool:
        """replay-01: whether the outcome of this entry is computed again. If not, it is taken over."""
        state = self.state
        node, entry = state.nodes[node_id], self._entries.get(node_id)
        declaration = state.plan.nodes[node_id].node.declaration
        if declaration.effect != "pure" or declaration.wait_end is not None or node.children:
            return False
        if entry is not None and entry.is_unclear:
            return False
        last = self._record.peek(count - 1)
        # Most entries complete, and these are not decoded.
        return last.type == payloads.NodeCompleted.event_type or not is_recorded_end(
            last.type, msgspec.json.decode(last.payload)
        )

    def _run_instant(self, node_id: str) -> Input | None:
        """The outcome of an instant node; None for another one, or if it has to wait for its expressions."""
        declaration = self.state.plan.nodes[node_id].node.declaration
        if not declaration.instant or declaration.effect != "pure":
            return None
        self._runner.redactor = self.redactor
        return self._runner.run_instant(self.state, node_id)

    async def _rerun(self) -> Difference | None:
        assert self._node_to_rerun is not None
        (node_id, count), self._node_to_rerun = self._node_to_rerun, None
        rerun = await rerun_node(self._runtime, self.state, node_id, self.redactor)
        return self._compare_outcome(node_id, count, rerun)

    def _find_outcome_difference(self, outcome: Input, count: int) -> tuple[DivergenceKind, Event | None] | None:
        drafts = decide(self.state, self.bounds, outcome).events
        return self._find_difference(drafts) if len(drafts) == count else ("missing", self._record.peek())

    def _compare_outcome(self, node_id: str, count: int, rerun: NodeRerun) -> Difference | None:
        record = self._record
        last = record.peek(count - 1)
        if rerun.was_denied and last.type in _FAILURES:
            # What has failed outside is recorded only as the failure of the node.
            for _ in range(count):
                self._take()
            return None
        entry = self._entries.get(node_id)
        drafts = decide(self.state, self.bounds, rerun.outcome).events
        before = [] if entry is None else entry.emitted
        if not before and not rerun.emitted and len(drafts) == count:
            difference = self._find_difference(drafts)
            if difference is None:
                for draft in drafts:
                    self._take(draft)
                return None
            return Difference(difference[0], drafts, node_id, difference[1])
        difference = self._compare_sequences(node_id, count, rerun.emitted, drafts)
        if difference is None and not rerun.was_denied:
            for _ in range(count):
                self._take()
            return None
        kind, original = difference or ("extra", last)
        unwritten = tuple(rerun.emitted[len([each for each in before if not each.is_optional]) :])
        return Difference("extra" if rerun.was_denied else kind, (*unwritten, *drafts), node_id, original)

    def _compare_sequences(
        self, node_id: str, count: int, emitted: list[Draft], outcome: tuple[Draft, ...]
    ) -> tuple[DivergenceKind, Event | None] | None:
        """Compare all that the node has produced in this entry with the record."""
        record, entry = self._record, self._entries.get(node_id)
        before = entry.emitted if entry is not None and self._compares_emitted(node_id) else []
        if not self._compares_emitted(node_id):
            emitted = []
        recorded, after_answer = [*before], self._answered == node_id
        for at in range(count):
            event = record.peek(at)
            is_optional = after_answer and at < count - len(outcome)
            recorded.append(ProducedEvent(event.type, self._comparable(event), is_optional))
        produced = [
            ProducedEvent(each.type, comparable_payload(each.type, each.payload))
            for each in (*emitted, *outcome)
            if event_class(each.type) != "fact"
        ]
        difference = find_difference(recorded, produced)
        if difference is None:
            return None
        kind, position = difference
        return kind, record.peek(max(position - len(before), 0))

    def _compares_emitted(self, node_id: str) -> bool:
        """Whether the node emits all of its events again. Nodes that continue after a crash skip what is recorded."""
        return not self.state.plan.nodes[node_id].node.declaration.resumes_after_crash

    def _entry(self, node_id: str) -> _Entry:
        sequence = self.state.nodes[node_id].entry_sequence
        entry = self._entries.get(node_id)
        if entry is None or entry.entry_sequence != sequence:
            entry = self._entries[node_id] = _Entry(sequence)
        return entry

    def _take(self, draft: Draft | None = None) -> None:
        """Take over the next event of the record. A `draft` that is the same saves decoding it."""
        record, state = self._record, self.state
        event = record.take()
        sequence, kind, node_id = event.sequence, event.type, event.node_id
        hidden = record.hidden.get(sequence)
        if draft is not None and hidden is None and kind not in _STAMPED:
            size = len(event.payload)
            fact = Fact(
                sequence, kind, draft.payload, event.timestamp, node_id, event.event_id, event.content_trust, size
            )
            apply(state, fact)
        else:
            fact = fold_event(state, event, hidden)
        self._log.add(event, record.hidden_of(sequence) if hidden is not None else [])
        if self.redactor is not None:
            self.redactor.hide_payload(kind, node_id, fact.payload)
        elif hidden is not None:
            self.redactor = make_redactor(state)
        if node_id is None:
            if kind == FORKED:
                self._log.note_fork(event, state)
            return
        class_ = event_class(kind)
        if class_ in ("ends-entry", "decided"):
            self._entries.pop(node_id, None)
        elif node_id in state.running or node_id in state.awaiting_children:
            self._note(event, node_id)
        self._note_answer(event)

    def _note_answer(self, event: Event) -> None:
        if event.type in ANSWER_TYPES:
            self._answered = event.node_id
        elif event.node_id != self._answered or event_class(event.type) in ("ends-entry", "decided"):
            self._answered = None

    def _note(self, event: Event, node_id: str) -> None:
        """Note an event that the running node may have emitted."""
        if event_class(event.type) != "produced":
            return
        entry = self._entry(node_id)
        if event.type in STATEFUL_TYPES:
            entry.is_unclear = True
        is_optional = self._answered == node_id or event.interrupt_id is not None
        entry.emitted.append(ProducedEvent(event.type, self._comparable(event), is_optional))


_STEPS: Final = frozenset(
    (
        payloads.RunStarted.event_type,
        payloads.RunCompleted.event_type,
        payloads.NodeResumed.event_type,
        payloads.NodeSkipped.event_type,
        payloads.LoopbackLimit.event_type,
    )
)
"""Types that have no other cause than a step of the engine."""
_FAILURES: Final = frozenset((payloads.NodeFailed.event_type, payloads.NodeRetried.event_type))
_STAMPED: Final = frozenset((*TIMESTAMP_MEMBERS, *TURN_MEMBERS, *FAILURE_MEMBERS))
"""Types whose payload the record has with more than the draft has."""


def replay_bounds(runtime: Runtime) -> RunBounds:
    """The bounds of a replay: how many nodes ran at once, and which limit was breached, is in the record."""
    return RunBounds(UNBOUNDED, UNBOUNDED, runtime.provided, iterations=UNBOUNDED, models=runtime.model_catalogue)


def _ignore(input_: Input) -> None: ...
