"""One commit of a live run while it is being made: its events, the inputs they follow from, and who waits for it.

A request from outside (`RunRequest`) gets its answer from the commit that holds its consequences, and its
idempotency record is written in that commit. Nodes wait for some of their inputs as well, such as claims and model
answers; `notify_waiters` resolves those after the commit, from the folded state. The inbox of a run (`Inbox`) has what
no commit has taken yet.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.effect_claims import holds_claim, is_item_recorded
from weftwork.engine.decide.inputs import Input
from weftwork.engine.run.append import BatchBuilder
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.idempotency import IdempotencyRecords, SlotTaken
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import Status
from weftwork.protocol.run.projection import StoredRun

RequestResult = Status | SlotTaken | StoredRun | None
"""How a run stands once that is durable; what a repeat was answered; the run itself, if it has ended; None if none."""
RecordMaker = Callable[[Status], IdempotencyRecord]
"""Makes the idempotency record once the outcome is known, so that a repeat is answered word for word."""


class RunNotLive(Exception):
    """The run ended before the request was looked at; the stored outcome answers it."""


class RunRequest(msgspec.Struct):
    """An input, the idempotency record to commit along with it, and whoever waits, who may have gone away."""

    given: Input
    done: asyncio.Future[Status | SlotTaken]
    record: RecordMaker | None = None

    def make_record(self, status: Status) -> IdempotencyRecord | None:
        return self.record(status) if self.record is not None else None

    def answer(self, outcome: Status | SlotTaken) -> None:
        if not self.done.done():
            self.done.set_result(outcome)

    async def answer_unchanged(self, records: IdempotencyRecords, status: Status) -> None:
        """Answer what changes nothing. It still leaves its record behind before that."""
        record = self.make_record(status)
        try:
            taken = await records.save_record(record) if record is not None else None
        except StoreUnavailable as error:
            self.refuse(error)
        else:
            self.answer(taken or status)

    def refuse(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class PendingCommit(msgspec.Struct, eq=False):
    """Events on their way, the inputs they follow from, and what is to be done once they are durable."""

    builder: BatchBuilder
    started_at: int
    inputs: list[Input] = []
    launches: list[str] = []
    request: RunRequest | None = None
    stop: bool = False
    interrupt: bool = False
    is_partial: bool = False
    """There is more to do: the batch was full, or took long."""

    def apply_decision(self, given: Input, decision: Decision) -> None:
        """Remember what a decision asks for. Whoever asked for something that is refused is told now."""
        self.stop = self.stop or decision.stop
        self.interrupt = self.interrupt or decision.interrupt
        if decision.interrupt:
            self.launches.clear()
        if decision.refusal is not None and self.request is not None and self.request.given is given:
            self.request.refuse(decision.refusal)
            self.request = None

    def has_request(self, kind: type[Input]) -> bool:
        """Whether somebody waits for what follows from an input of this kind."""
        return self.request is not None and isinstance(self.request.given, kind)


def notify_waiters(state: RunState, taken: Iterable[Input]) -> bool:
    """Resolve what nodes wait for, by the state after the commit; False if another executor moves the run."""
    ours = True
    for given in taken:
        match given:
            case inputs.ItemsRecorded(durable=durable):
                _resolve(durable, None)
            case inputs.EffectEnded(node_id=node_id, effect_ref=place, durable=durable):
                if (known := state.nodes[node_id].effects.get(place)) is not None:
                    _resolve(durable, known)
                elif is_item_recorded(state, given):
                    ours = False
            case inputs.EffectClaimed(granted=granted):
                held = holds_claim(state, given)
                if held is not None:
                    ours = ours and held
                    _resolve(granted, held)
            case inputs.ModelAnswered(node_id=node_id, answer=answer, durable=durable):
                if (node := state.nodes.get(node_id)) is not None and answer.call in node.model_answers:
                    _resolve(durable, node.model_answers[answer.call])
            case inputs.EnvelopeEmitted(judged=judged, recorded=recorded):
                if judged.correlation_id in state.envelopes:
                    _resolve(recorded, state.envelopes[judged.correlation_id])
            case inputs.InterruptPassed(node_id=node_id, interrupt=interrupt, passed=passed, entry_sequence=entered):
                if interrupt.key in state.resolutions:
                    _resolve(passed, state.resolutions[interrupt.key])
                elif (node := state.running.get(node_id)) is None or node.entry_sequence != entered:
                    # It was refused, and its node failed with it.
                    _resolve(passed, None)
            case inputs.VersionRequested(change_id=change_id, pinned=pinned):
                if change_id in state.versions:
                    _resolve(pinned, state.versions[change_id])
            case _:
                pass
    return ours


def _resolve(waiting: asyncio.Future[Any], word: Any) -> None:
    if not waiting.done():
        waiting.set_result(word)


_NODE_ENDS: Final = (
    inputs.NodeCompleted,
    inputs.NodeFailed,
    inputs.NodeSuspended,
    inputs.NodeReexecuted,
    inputs.NodeAwaitsChildren,
)


class Inbox(msgspec.Struct, eq=False):
    """In the order of arrival."""

    _items: deque[Input | RunRequest] = msgspec.field(default_factory=deque[Input | RunRequest])
    _unanswered: list[RunRequest] = []
    _filled: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._items)

    @property
    def has_claims(self) -> bool:
        """Whether something is in here that only a run which is there can say: a claim, or word of children."""
        return any(map(_is_claim, self._items))

    def put(self, given: Input | RunRequest) -> None:
        self._items.append(given)
        _wake(self._filled)

    async def wait_filled(self, seconds: float) -> None:
        """Wait, not long, until there is something."""
        if not self._items:
            loop = asyncio.get_running_loop()
            self._filled = loop.create_future()
            timer = loop.call_later(seconds, _wake, self._filled)
            try:
                await self._filled
            finally:
                timer.cancel()
                self._filled = None

    def put_back(self, taken: Iterable[Input]) -> None:
        """What was taken and has to be taken again, first of all."""
        self._items.extendleft(reversed(list(taken)))

    def take(self, work: PendingCommit) -> Input:
        """The next input, or a step. One request per commit: its record belongs to that commit and no other."""
        if not self._items or (work.request is not None and isinstance(self._items[0], RunRequest)):
            return inputs.Step()
        item = self._items.popleft()
        if isinstance(item, RunRequest):
            work.request = item
            self._unanswered = [*(asked for asked in self._unanswered if not asked.done.done()), item]
            return item.given
        work.inputs.append(item)
        return item

    def drop_stale(self, state: RunState) -> None:
        """Drop word of entries that are not in the log after all: the next ones may get the same numbers."""
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        self._items = deque(item for item in self._items if not _is_stale(item, running))

    def reported_nodes(self, state: RunState) -> set[str]:
        """Running nodes whose end is in here, or that they start again; word of an older entry of a node is none."""
        found = [item for item in self._items if isinstance(item, _NODE_ENDS)]
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        return {item.node_id for item in found if running.get(item.node_id) == item.entry_sequence}

    def refuse_requests(self, reason: Exception) -> None:
        """Fail the requests that were not answered, with the reason."""
        waiting = [*self._unanswered, *(item for item in self._items if isinstance(item, RunRequest))]
        self._items = deque(item for item in self._items if not isinstance(item, RunRequest))
        for request in waiting:
            request.refuse(reason)


def _is_claim(item: Input | RunRequest) -> bool:
    if isinstance(item, inputs.NodeCompleted):
        return any(draft.child is not None for draft in item.effects)
    return isinstance(item, inputs.EffectClaimed | inputs.NodeAwaitsChildren)


def _is_stale(item: Input | RunRequest, running: dict[str, int]) -> bool:
    entered: int = getattr(item, "entry_sequence", -1)
    return entered != -1 and running.get(getattr(item, "node_id", "")) != entered


def _wake(waiting: "asyncio.Future[None] | None") -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
