"""The effects of one entry of a node: claimed before they happen, recorded after, never silently repeated."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from itertools import count
from typing import Any, Final

import msgspec

from weftwork.engine.decide.decision import error_object
from weftwork.engine.decide.inputs import EffectClaimed, EffectEnded, Input
from weftwork.engine.node_events import OUTPUT_TOO_LARGE
from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, NodeOutcome, NotDone, StepFailed, Suspended
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.fold.state import NodeState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import check_inline
from weftwork.protocol.json.values import is_object, is_too_large
from weftwork.protocol.run.effects import (
    MAX_STEP_NAME,
    WHOLE_NODE,
    EffectRef,
    EffectState,
    effect_key,
    is_node_outcome_interrupt,
    outcome_interrupt,
)
from weftwork.protocol.workflow.node_types import Effect

log = logging.getLogger("weftwork.node")

MAX_STEPS: Final = 10_000
MAX_STEP_BYTES: Final = 64 * 2**20
"""What the steps of one entry may leave behind: it is kept until the node ends."""


class EffectLedger(msgspec.Struct, eq=False):
    """What a node, or an item of a map, does to the world. `_node_id` is the node of the graph it belongs to."""

    _runtime: Runtime
    _report: Callable[[Input], None]
    _call: NodeCall
    _node: NodeState
    _tenant: str
    _node_id: str
    _item: str
    now: int
    _used: set[str] = set()
    _bytes: int = 0
    _unstarted: set[EffectRef] = set()
    _closed: bool = False

    def key(self, step: str) -> str:
        """The layer-2 identity of a step, or of the whole node."""
        call = self._call
        return effect_key(self._tenant, call.run_id, call.node_id, call.visit, f"step:{step}" if step else "node")

    @property
    def has_unknown_outcome(self) -> bool:
        """Whether the node was claimed before and nobody knows what became of it, whatever it is declared now."""
        return (
            known := self._node.effects.get(EffectRef(WHOLE_NODE, self._item))
        ) is not None and known.status == "open"

    async def claim_node(self, wanted: dict[str, Any]) -> NodeOutcome | None:
        """Claim the node itself. An outcome if a person has reported what became of it. Raises InterruptPending.

        wanted: the schema of its outputs; an answer that does not fit it is asked for again.
        """
        place = EffectRef(WHOLE_NODE, self._item)
        known = self._node.effects.get(place) or EffectState()
        if known.status == "failed":
            raise StepFailed(_recorded_failure(known))
        if known.status == "open":
            answer = self._reported_outcome(
                place, known, lambda said: bool(check_inline(wanted, _reported_outputs(said), "/output"))
            )
            if answer["outcome"] == "done":
                return Completed(_reported_outputs(answer))
            if answer["outcome"] == "failed":
                return _REPORTED_FAILED
            await self.record(place, {})
        await self._claim(place)
        return None

    def close(self) -> None:
        """The entry is over. What was claimed and never begun did not happen, and nobody knows that better."""
        unbegun, self._unstarted, self._closed = self._unstarted, set[EffectRef](), True
        for place in unbegun:
            nobody: asyncio.Future[EffectState] = asyncio.get_running_loop().create_future()
            self._report(EffectEnded(self._node_id, place, {}, nobody, self._call.entry_sequence))

    async def record_node_end(self, outcome: NodeOutcome) -> None:
        """Record how the node itself ended, where its own end does not say so: an item of a map."""
        place = EffectRef(WHOLE_NODE, self._item)
        if isinstance(outcome, Failed):
            failure = error_object(outcome.code, outcome.message, outcome.details)
            await self.record(place, {} if outcome.retryable else {"error": failure})
        elif isinstance(outcome, Suspended) and not is_node_outcome_interrupt(outcome.interrupt.data):
            await self.record(place, {})

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]]) -> Any:
        """See ports.nodes.NodeContext."""
        if not 0 < len(name) <= MAX_STEP_NAME or name in self._used:
            message = f"A step has a name of 1 to {MAX_STEP_NAME} characters that no other step of the node has."
            raise StepFailed(Failed("node_misused", message, retryable=False))
        self._used.add(name)
        if len(self._used) > MAX_STEPS or self._bytes > MAX_STEP_BYTES:
            message = f"A node has at most {MAX_STEPS:,} steps with results of {MAX_STEP_BYTES:,} bytes in all."
            raise StepFailed(Failed("node_output_too_large", message, retryable=False))
        place = EffectRef(name, self._item)
        known = self._node.effects.get(place) or EffectState()
        if known.status == "open" and effect == "once":
            answer = self._reported_outcome(place, known)
            # Nothing, if it did not happen.
            told: dict[str, Any] = {}
            if answer["outcome"] == "done":
                told = {"output": answer.get("output")}
            elif answer["outcome"] == "failed":
                told = {"error": error_object(_REPORTED_FAILED.code, _REPORTED_FAILED.message)}
            known = await self.record(place, told)
        if known.status in ("free", "open"):
            # One that is sent again is claimed again: whoever is first sends it.
            await self._claim(place, known.claim if known.status == "open" else "")
            known = await self._run(place, run)
        self.now = max(self.now, known.recorded_at)
        self._bytes += len(encode_stored(known.output))
        if known.status == "failed":
            raise StepFailed(_recorded_failure(known))
        # A copy: what the node does with it must not reach the state of the run.
        return deepcopy(known.output)

    async def record(self, place: EffectRef, outcome: dict[str, Any]) -> EffectState:
        """Record what became of an effect, and return that when it is durable."""
        durable: asyncio.Future[EffectState] = asyncio.get_running_loop().create_future()
        self._report(EffectEnded(self._node_id, place, outcome, durable, self._call.entry_sequence))
        return await durable

    async def _run(self, place: EffectRef, run: Callable[[], Awaitable[Any]]) -> EffectState:
        """Do it and record it. What it raises is recorded too, and raised by whoever reads the record."""
        try:
            output = await run()
            failure = OUTPUT_TOO_LARGE if is_too_large(output) else None
        except NotDone:
            await self.record(place, {})
            raise
        except StepFailed as failed:
            output, failure = None, failed.failure
            await self.record(place, {"error": error_object(failure.code, failure.message, failure.details)})
            raise
        except Exception:
            log.exception("step raised", extra={"runId": self._call.run_id, "nodeId": self._call.node_id})
            output, failure = None, Failed("step_failed", "The step raised an error; the host's log has the details.")
        if failure is not None:
            return await self.record(place, {"error": error_object(failure.code, failure.message, failure.details)})
        return await self.record(place, {"output": output})

    async def _claim(self, place: EffectRef, instead: str = "") -> None:
        claim = self._runtime.ids.event_ids(1)[0]
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._report(EffectClaimed(self._node_id, place, claim, granted, self._call.entry_sequence, instead))
        self._unstarted.add(place)
        if not await granted or self._closed:
            # Somebody else moves this run, or the entry is over. It is let go of here, and this task with it.
            await asyncio.get_running_loop().create_future()
        self._unstarted.discard(place)

    def _reported_outcome(
        self, place: EffectRef, known: EffectState, is_unfit: Callable[[dict[str, Any]], bool] = lambda said: False
    ) -> dict[str, Any]:
        """What a person reported about an effect with an unknown outcome. Raises InterruptPending."""
        for again in count():
            asked = outcome_interrupt(self._call.node_id, self._call.visit, place, known.claims, again)
            if asked.key not in self._call.answers:
                raise InterruptPending(asked)
            answer: dict[str, Any] = self._call.answers[asked.key].value
            if answer["outcome"] != "done" or not is_unfit(answer):
                return answer
        raise AssertionError("there is always another number")


_REPORTED_FAILED = Failed("effect_failed", "Somebody has said that this failed.", retryable=False)


def _reported_outputs(answer: dict[str, Any]) -> dict[str, Any]:
    """The outputs that somebody says a node gave."""
    output = answer.get("output")
    return output if is_object(output) else {} if output is None else {"output": output}


def _recorded_failure(known: EffectState) -> Failed:
    found = known.error or {}
    return Failed(found["code"], found["message"], found.get("details"), retryable=False)
