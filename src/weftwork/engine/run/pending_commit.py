"""One commit of a live run while it is being made: its events, the inputs they follow from, and who waits for it.

A request from outside (`RunRequest`) gets its answer from the commit that holds its consequences, and its
idempotency record is written in that commit. Nodes wait for some of their inputs as well, such as claims and model
answers; `notify_waiters` resolves those after the commit, from the folded state.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.effect_claims import holds_claim, is_item_recorded
from weftwork.engine.decide.inputs import (
    EffectClaimed,
    EffectEnded,
    EnvelopeEmitted,
    Input,
    InterruptPassed,
    ItemsRecorded,
    ModelAnswered,
    VersionRequested,
)
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


class PendingCommit:
    """Events on their way, the inputs they follow from, and what is to be done once they are durable."""

    __slots__ = ("builder", "inputs", "interrupt", "is_partial", "launches", "request", "started_at", "stop")

    def __init__(self, builder: BatchBuilder, started_at: int) -> None:
        self.builder = builder
        self.started_at = started_at
        self.inputs: list[Input] = []
        self.launches: list[str] = []
        self.request: RunRequest | None = None
        self.stop = False
        self.interrupt = False
        self.is_partial = False
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


def notify_waiters(state: RunState, inputs: Iterable[Input]) -> bool:
    """Resolve what nodes wait for, by the state after the commit; False if another executor moves the run."""
    ours = True
    for given in inputs:
        match given:
            case ItemsRecorded(durable=durable):
                _resolve(durable, None)
            case EffectEnded(node_id=node_id, effect_ref=place, durable=durable):
                if (known := state.nodes[node_id].effects.get(place)) is not None:
                    _resolve(durable, known)
                elif is_item_recorded(state, given):
                    ours = False
            case EffectClaimed(granted=granted):
                held = holds_claim(state, given)
                if held is not None:
                    ours = ours and held
                    _resolve(granted, held)
            case ModelAnswered(node_id=node_id, answer=answer, durable=durable):
                if (node := state.nodes.get(node_id)) is not None and answer.call in node.model_answers:
                    _resolve(durable, node.model_answers[answer.call])
            case EnvelopeEmitted(judged=judged, recorded=recorded):
                if judged.correlation_id in state.envelopes:
                    _resolve(recorded, state.envelopes[judged.correlation_id])
            case InterruptPassed(node_id=node_id, interrupt=interrupt, passed=passed, entry_sequence=entered):
                if interrupt.key in state.resolutions:
                    _resolve(passed, state.resolutions[interrupt.key])
                elif (node := state.running.get(node_id)) is None or node.entry_sequence != entered:
                    # It was refused, and its node failed with it.
                    _resolve(passed, None)
            case VersionRequested(change_id=change_id, pinned=pinned):
                if change_id in state.versions:
                    _resolve(pinned, state.versions[change_id])
            case _:
                pass
    return ours


def _resolve(waiting: asyncio.Future[Any], word: Any) -> None:
    if not waiting.done():
        waiting.set_result(word)
