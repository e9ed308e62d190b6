"""The next commit of a live run: its events, the inputs that caused them, and the callers that wait for it.

A request from outside (`RunRequest`) is answered after the commit that contains its consequences, and its idempotency
record is written in that commit. Nodes wait for some of their inputs as well, such as claims and model answers;
`notify_waiters` resolves them after the commit, from the folded state. The inbox of a run (`Inbox`) holds the inputs
that no commit has taken yet.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.effect_claims import holds_claim, is_item_recorded
from weftwork.engine.decide.inputs import Input
from weftwork.engine.decide.size_limits import too_large_outcome
from weftwork.engine.read_back import save_record
from weftwork.engine.run.append import BatchBuilder
from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.idempotency import IdempotencyRecords, SlotTaken
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import Status
from weftwork.protocol.run.projection import StoredRun

RequestResult = Status | SlotTaken | StoredRun | None
"""The status of the run once it is durable; the record that answers a repeated request; the stored run, if it had ended
before; None if there is no such run."""
RecordMaker = Callable[[Status, int], IdempotencyRecord | None]
"""Called before the commit of a request with the resulting status and the time of its events. Returns the idempotency
record to commit, so that a repeated request gets the same response; None without an idempotency key."""


class RunNotLive(Exception):
    """The run was halted before the request was processed. The caller answers it from the store."""


class RunRequest(msgspec.Struct):
    """An input with the idempotency record to commit with it, and the future of the caller, who may be gone."""

    input: Input
    done: asyncio.Future[Status | SlotTaken]
    record: RecordMaker | None = None

    def make_record(self, status: Status, time: int) -> IdempotencyRecord | None:
        return self.record(status, time) if self.record is not None else None

    def answer(self, outcome: Status | SlotTaken) -> None:
        if not self.done.done():
            self.done.set_result(outcome)

    async def answer_unchanged(self, records: IdempotencyRecords, clock: Clock, status: Status, time: int) -> None:
        """Answer a request that changed nothing, after its idempotency record has been stored."""
        record = self.make_record(status, time)
        try:
            taken = await save_record(records, clock, record) if record is not None else None
        except StoreUnavailable as error:
            self.refuse(error)
        else:
            self.answer(taken or status)

    def refuse(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class PendingCommit(msgspec.Struct, eq=False):
    """Events to commit, the inputs that caused them, and the actions that follow once they are durable."""

    builder: BatchBuilder
    started_at: int
    closes_at: int
    """When no more inputs are taken, in nanoseconds on the monotonic clock."""
    inputs: list[Input] = []
    launches: list[str] = []
    request: RunRequest | None = None
    stop: bool = False
    interrupt: bool = False
    drops_stale: bool = False
    is_partial: bool = False
    """The run can continue after this commit without a new input: the batch was full, or took too long."""

    def apply_decision(self, input_: Input, decision: Decision) -> None:
        """Add the actions of a decision. A refused request fails now, without waiting for the commit."""
        self.stop = self.stop or decision.stop
        self.interrupt = self.interrupt or decision.interrupt
        self.drops_stale = self.drops_stale or decision.drops_stale
        if decision.interrupt:
            self.launches.clear()
        if decision.refusal is not None and self.request is not None and self.request.input is input_:
            self.request.refuse(decision.refusal)
            self.request = None

    def has_request(self, kind: type[Input]) -> bool:
        """Whether the commit contains a request with an input of this kind."""
        return self.request is not None and isinstance(self.request.input, kind)


def notify_waiters(state: RunState, taken: Iterable[Input]) -> bool:
    """Resolve the futures of inputs from the state after the commit; False if another executor executes the run."""
    is_ours = True
    for input_ in taken:
        match input_:
            case inputs.ItemsRecorded(durable=durable):
                _resolve(durable, None)
            case inputs.EffectEnded(node_id=node_id, effect_ref=ref, durable=durable):
                if (effect := state.nodes[node_id].effects.get(ref)) is not None:
                    _resolve(durable, effect)
                elif is_item_recorded(state, input_):
                    is_ours = False
            case inputs.EffectClaimed(granted=granted):
                holds = holds_claim(state, input_)
                if holds is not None:
                    is_ours = is_ours and holds
                    _resolve(granted, holds)
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
                    # The interrupt was refused, and its node has failed.
                    _resolve(passed, None)
            case inputs.VersionRequested(change_id=change_id, pinned=pinned):
                if change_id in state.versions:
                    _resolve(pinned, state.versions[change_id])
            case _:
                pass
    return is_ours


def _resolve(waiting: asyncio.Future[Any], result: Any) -> None:
    if not waiting.done():
        waiting.set_result(result)


_NODE_ENDS: Final = (
    inputs.NodeCompleted,
    inputs.NodeFailed,
    inputs.NodeSuspended,
    inputs.NodeAwaitsProvider,
    inputs.NodeReexecuted,
    inputs.NodeAwaitsChildren,
)


LARGE_OUTCOME: Final = 65_536
"""Size of the smallest outcome that is counted while it waits."""


class Inbox(msgspec.Struct, eq=False):
    """Inputs and requests that were not processed yet, in the order of arrival."""

    _limit: int
    """Bytes of large outcomes that may wait."""
    # Not deque[...]: every call of a generic alias raises and drops an AttributeError.
    _items: deque[Input | RunRequest] = msgspec.field(default_factory=cast("type[deque[Input | RunRequest]]", deque))
    _large: int = 0
    """Bytes of large outcomes that wait."""
    _unanswered: list[RunRequest] = []
    _filled: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._items)

    @property
    def has_claims(self) -> bool:
        """Whether the inbox has an input that needs a run in the store: an effect claim, or a start of children."""
        return any(map(_is_claim, self._items))

    @property
    def has_request(self) -> bool:
        """Whether a caller outside waits for an input of the inbox."""
        return any(isinstance(item, RunRequest) for item in self._items)

    def put(self, item: Input | RunRequest) -> None:
        if isinstance(item, inputs.NodeCompleted) and item.size > LARGE_OUTCOME:
            item = self._admit_large(item)
        self._items.append(item)
        if self._filled is not None:
            _wake(self._filled)

    async def wait_filled(self, seconds: float) -> None:
        """Wait until there is an input, at most that many seconds."""
        if not self._items:
            loop = asyncio.get_running_loop()
            self._filled = loop.create_future()
            timer = loop.call_later(seconds, _wake, self._filled)
            try:
                await self._filled
            finally:
                timer.cancel()
                self._filled = None

    def _admit_large(self, outcome: inputs.NodeCompleted) -> Input:
        """size-01 (host): the outcome, or the failure of its node if those that wait are together larger than the state
        may become. The run would fail the same nodes, but only when it processes them."""
        if self._large and self._large + outcome.size > self._limit:
            return too_large_outcome(outcome, self._limit, self._large + outcome.size)
        self._large += outcome.size
        return outcome

    def put_back(self, taken: Iterable[Input]) -> None:
        """Put inputs back at the front, in their order, to process them again."""
        items = list(taken)
        self._large += sum(map(_large_size, items))
        self._items.extendleft(reversed(items))

    def take(self, work: PendingCommit) -> Input:
        """The next input, or a Step. A commit has at most one request, because it holds one idempotency record."""
        if not self._items or (work.request is not None and isinstance(self._items[0], RunRequest)):
            return inputs.Step()
        item = self._items.popleft()
        if isinstance(item, RunRequest):
            work.request = item
            self._unanswered = [*(request for request in self._unanswered if not request.done.done()), item]
            return item.input
        if self._large:
            self._large -= _large_size(item)
        work.inputs.append(item)
        return item

    def drop_stale(self, state: RunState) -> None:
        """Drop inputs of node entries that a failed commit did not record: new entries may get the same sequences."""
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        self._items = deque(item for item in self._items if not _is_stale(item, running))
        self._large = sum(map(_large_size, self._items))

    def reported_nodes(self, state: RunState) -> set[str]:
        """Running nodes whose outcome or re-execution is in the inbox. Inputs of older entries do not count."""
        ends = [item for item in self._items if isinstance(item, _NODE_ENDS)]
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        return {item.node_id for item in ends if running.get(item.node_id) == item.entry_sequence}

    def refuse_requests(self, reason: Exception) -> None:
        """Fail all unanswered requests with `reason`."""
        if not self._unanswered and not self._items:
            return
        waiting = [*self._unanswered, *(item for item in self._items if isinstance(item, RunRequest))]
        self._items = deque(item for item in self._items if not isinstance(item, RunRequest))
        for request in waiting:
            request.refuse(reason)


def _large_size(item: Input | RunRequest) -> int:
    return item.size if isinstance(item, inputs.NodeCompleted) and item.size > LARGE_OUTCOME else 0


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
