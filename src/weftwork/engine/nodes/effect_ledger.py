"""The effects of one entry of a node. An effect is claimed before it happens and recorded afterwards, so that it is
never repeated unnoticed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from itertools import count
from typing import Any, Final

import msgspec

from weftwork.engine.decide.decision import error_object
from weftwork.engine.decide.inputs import EffectClaimed, EffectEnded, Input
from weftwork.engine.fence import MAX_PROOF_AGE_NS
from weftwork.engine.node_events import OUTPUT_TOO_LARGE
from weftwork.engine.replay_guard import deny_in_replay
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import (
    AwaitsProvider,
    Completed,
    Failed,
    InterruptPending,
    NodeOutcome,
    NotDone,
    ProviderPending,
    StepFailed,
    Suspended,
)
from weftwork.ports.nodes import NodeCall
from weftwork.ports.outbound import BEFORE_SENDING
from weftwork.ports.storage.event_log import StoreUnavailable
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
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.workflow.node_types import Effect

log = logging.getLogger("weftwork.node")

MAX_STEPS: Final = 10_000
MAX_STEP_BYTES: Final = 64 * 2**20
"""Total size of the results of the steps of one entry, which are kept in memory until the node ends."""


class EffectLedger(msgspec.Struct, eq=False):
    """Claims and records the effects of a node or of an item of a map. `_node_id` is the node in the graph."""

    _runtime: Runtime
    _report: Callable[[Input], None]
    _call: NodeCall
    _node: NodeState
    _header: RunHeader
    _node_id: str
    _item: str
    now: int
    _used: set[str] = set()
    _bytes: int = 0
    _unstarted: set[EffectRef] = set()
    _proved_at: int = 0
    """When the fence of the run was last known to be that of this process, on the clock that counts suspensions."""
    _closed: bool = False

    def key(self, step: str) -> str:
        """The idempotency key of a step, or of the whole node (RFC layer 2)."""
        call = self._call
        tenant, name = self._header.owner.tenant, f"step:{step}" if step else "node"
        effect = self._node.effects.get(EffectRef(step, self._item))
        run_id = effect.key_run_id if effect is not None and effect.key_run_id else call.run_id
        return effect_key(tenant, run_id, call.node_id, call.visit, name)

    @property
    def has_unknown_outcome(self) -> bool:
        """Whether the node's own effect was claimed and its outcome is not recorded. The log decides, because the
        declaration of the node type may have changed since then."""
        return (
            effect := self._node.effects.get(EffectRef(WHOLE_NODE, self._item))
        ) is not None and effect.status == "open"

    @property
    def has_unread(self) -> bool:
        """Whether a step of an earlier call is recorded that this call has not run yet."""
        return any(
            ref.item == self._item and ref.step and ref.step not in self._used and each.status != "free"
            for ref, each in self._node.effects.items()
        )

    async def claim_node(self, output_schema: dict[str, Any]) -> NodeOutcome | None:
        """Claim the effect of the node itself. Returns None if the node may run, or the outcome that a person has
        reported for an earlier attempt.

        `output_schema` is the schema of the outputs; a person whose report does not match it is asked again. Raises
        InterruptPending.
        """
        ref = EffectRef(WHOLE_NODE, self._item)
        effect_state = self._node.effects.get(ref) or EffectState()
        if effect_state.status == "failed":
            raise StepFailed(_recorded_failure(effect_state))
        if effect_state.status == "open":
            answer = self._reported_outcome(
                ref,
                effect_state,
                lambda report: bool(check_inline(output_schema, _reported_outputs(report), "/output")),
            )
            if answer["outcome"] == "done":
                return Completed(_reported_outputs(answer))
            if answer["outcome"] == "failed":
                return _REPORTED_FAILED
            await self.record(ref, {})
        await self._claim(ref)
        return None

    def close(self) -> None:
        """The entry has ended: record that effects which were claimed and never started did not happen."""
        unstarted, self._unstarted, self._closed = self._unstarted, set[EffectRef](), True
        for ref in unstarted:
            ignored: asyncio.Future[EffectState] = asyncio.get_running_loop().create_future()
            self._report(EffectEnded(self._node_id, ref, {}, ignored, self._call.entry_sequence))

    async def record_node_end(self, outcome: NodeOutcome) -> None:
        """Record the outcome of the node's own effect for an item of a map, which has no terminal event of its own."""
        ref = EffectRef(WHOLE_NODE, self._item)
        if isinstance(outcome, Failed):
            failure = error_object(outcome.code, outcome.message, outcome.details)
            await self.record(ref, {} if outcome.retryable else {"error": failure})
        elif isinstance(outcome, AwaitsProvider) or (
            isinstance(outcome, Suspended) and not is_node_outcome_interrupt(outcome.interrupt.data)
        ):
            await self.record(ref, {})

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]]) -> Any:
        """See ports.nodes.NodeContext."""
        if not 0 < len(name) <= MAX_STEP_NAME or name in self._used:
            message = f"The name of a step must have 1 to {MAX_STEP_NAME} characters and be unique in the node."
            raise StepFailed(Failed("node_misused", message, retryable=False))
        self._used.add(name)
        if len(self._used) > MAX_STEPS or self._bytes > MAX_STEP_BYTES:
            message = f"The node has more than {MAX_STEPS:,} steps, or more than {MAX_STEP_BYTES:,} bytes of results."
            raise StepFailed(Failed("node_output_too_large", message, retryable=False))
        ref = EffectRef(name, self._item)
        effect_state = self._node.effects.get(ref) or EffectState()
        if effect_state.status == "open" and effect == "once":
            answer = self._reported_outcome(ref, effect_state)
            # An empty outcome says that the effect did not happen.
            outcome: dict[str, Any] = {}
            if answer["outcome"] == "done":
                outcome = {"output": answer.get("output")}
            elif answer["outcome"] == "failed":
                outcome = {"error": error_object(_REPORTED_FAILED.code, _REPORTED_FAILED.message)}
            effect_state = await self.record(ref, outcome)
        replay = self._runtime.replay
        if replay is not None and effect_state.status in ("free", "open"):
            # A replay may have used the recorded outcome of the effect in its source.
            await replay.take_effect(self._node_id, self._call.visit, ref)
            effect_state = self._node.effects.get(ref) or effect_state
        if effect_state.status in ("free", "open"):
            # A repeatable effect is claimed again, so that of two executors only the first repeats it.
            await self._claim(ref, effect_state.claim if effect_state.status == "open" else "")
            effect_state = await self._run(ref, run)
        self.now = max(self.now, effect_state.recorded_at)
        self._bytes += len(encode_stored(effect_state.output))
        if effect_state.status == "failed":
            raise StepFailed(_recorded_failure(effect_state))
        # A copy, so that changes by the node do not reach the state of the run.
        return deepcopy(effect_state.output)

    async def record(self, ref: EffectRef, outcome: dict[str, Any]) -> EffectState:
        """Record the outcome of an effect; returns the recorded effect when it is durable."""
        durable: asyncio.Future[EffectState] = asyncio.get_running_loop().create_future()
        self._report(EffectEnded(self._node_id, ref, outcome, durable, self._call.entry_sequence))
        return await durable

    async def _run(self, ref: EffectRef, run: Callable[[], Awaitable[Any]]) -> EffectState:
        """Run the step and record its result. An exception is recorded as a failure, which the caller raises from the
        record; NotDone, ProviderPending and StepFailed are raised after they were recorded."""
        try:
            output = await run()
            failure = OUTPUT_TOO_LARGE if is_too_large(output) else None
        except (NotDone, ProviderPending):
            await self.record(ref, {})
            raise
        except StepFailed as failed:
            output, failure = None, failed.failure
            await self.record(ref, {"error": error_object(failure.code, failure.message, failure.details)})
            raise
        except Exception:
            log.exception("step raised", extra={"runId": self._call.run_id, "nodeId": self._call.node_id})
            output, failure = None, Failed("step_failed", "The step raised an error; the host's log has the details.")
        if failure is not None:
            return await self.record(ref, {"error": error_object(failure.code, failure.message, failure.details)})
        return await self.record(ref, {"output": output})

    async def _claim(self, ref: EffectRef, replaces: str = "") -> None:
        deny_in_replay(self._runtime, self._header)
        claim = self._runtime.ids.event_ids(1)[0]
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        clock = self._runtime.clock
        asked_at = clock.boottime_ns()
        self._report(EffectClaimed(self._node_id, ref, claim, granted, self._call.entry_sequence, replaces))
        self._unstarted.add(ref)
        is_granted = await granted
        fault_point("effect.claimed")
        if is_granted:
            # The commit of the claim has compared the fence, and was sent after `asked_at`.
            self._proved_at = max(self._proved_at, asked_at)
            BEFORE_SENDING.set(self._prove_fence)
            if clock.boottime_ns() - self._proved_at > MAX_PROOF_AGE_NS:
                await self._prove_fence()
        if not is_granted or self._closed:
            # Another process executes this run, or the entry has ended. Wait here until this task is cancelled.
            await asyncio.get_running_loop().create_future()
        self._unstarted.discard(ref)

    async def _prove_fence(self) -> None:
        """eff-08 (host): return if this process may begin an effect of the run now: the store had its fence at most
        MAX_PROOF_AGE_NS ago. Otherwise stop the run and never return; the task is cancelled.

        Outbound requests call this once more, right before their first byte. A process that is suspended after this
        check acts all the same when it continues. No process can exclude that by itself.
        """
        runtime, run = self._runtime, self._header.key
        while (asked_at := runtime.clock.boottime_ns()) - self._proved_at > MAX_PROOF_AGE_NS:
            try:
                fence = await runtime.ownership.fence_of(run)
            except StoreUnavailable:
                await runtime.wait_for_store()
                continue
            if fence != runtime.fence.epoch:
                runtime.fence.on_lost(run)
                await asyncio.get_running_loop().create_future()
            self._proved_at = asked_at

    def _reported_outcome(
        self,
        ref: EffectRef,
        effect_state: EffectState,
        is_unfit: Callable[[dict[str, Any]], bool] = lambda report: False,
    ) -> dict[str, Any]:
        """The report of a person about an effect with an unknown outcome. Raises InterruptPending until there is one
        that fits."""
        for number in count():
            interrupt = outcome_interrupt(self._call.node_id, self._call.visit, ref, effect_state.claims, number)
            if interrupt.key not in self._call.answers:
                # The effect is that of the source of a replay, and the source asks about it.
                deny_in_replay(self._runtime, self._header)
                raise InterruptPending(interrupt)
            answer: dict[str, Any] = self._call.answers[interrupt.key].value
            if answer["outcome"] != "done" or not is_unfit(answer):
                return answer
        raise AssertionError("count() does not end")


_REPORTED_FAILED = Failed("effect_failed", "A person reported that the effect failed.", retryable=False)


def _reported_outputs(answer: dict[str, Any]) -> dict[str, Any]:
    """The outputs of the node according to a person's report."""
    output = answer.get("output")
    return output if is_object(output) else {} if output is None else {"output": output}


def _recorded_failure(effect_state: EffectState) -> Failed:
    error = effect_state.error or {}
    return Failed(error["code"], error["message"], error.get("details"), retryable=False)
