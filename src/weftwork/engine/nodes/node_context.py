"""The services for a waiting node: the implementation of ports.nodes.NodeContext.

One `EntryContext` serves one entry of a node, or one item of a map that runs another node type as its body. If
something must be durable before the node continues, it is reported to the run as an input with a future, which the run
resolves after the commit. Outputs of single items share commits (`ItemRecords`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from weftwork.engine.decide.inputs import Input, InterruptPassed, ItemsRecorded, VersionRequested
from weftwork.engine.models.model_calls import AnswerEvents, EntryModelCalls
from weftwork.engine.node_events import OUTPUT_TOO_LARGE, BufferedEvents, interrupt_failure
from weftwork.engine.nodes.concurrency import slots_for, thread_slots
from weftwork.engine.nodes.effect_ledger import EffectLedger
from weftwork.engine.nodes.entry_expressions import EntryExpressions, EvaluationPostponed
from weftwork.engine.nodes.node_call import RAISED_MESSAGE, check_node_inputs, make_part_call
from weftwork.engine.nodes.run_clock import RunClock
from weftwork.engine.replay_guard import deny_in_replay
from weftwork.engine.runtime import Runtime
from weftwork.ports.media import EmittedMedia, MediaBytes, OutgoingMedia
from weftwork.ports.models import ModelRequest, UnresolvedMessage
from weftwork.ports.node_outcome import (
    GRANTED_FOR_OTHER_CONTENT,
    INTERRUPT_KEY_REUSED,
    AppendLog,
    AwaitsProvider,
    ChildRequest,
    Completed,
    EmitEvent,
    Failed,
    InterruptPending,
    NewChild,
    NodeOutcome,
    NotDone,
    ProviderPending,
    StepFailed,
    Suspended,
    raised_failure,
)
from weftwork.ports.nodes import CheckedEnvelope, Emission, InstantNode, NodeCall, WaitingNode
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.envelopes.kinds import SURFACE_KIND, KindDefinition
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, Invalid
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.json.values import is_too_large
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.people.approvals import is_granted_for_other_content
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run import payloads
from weftwork.protocol.run.child_runs import SUB_WORKFLOW
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.header import DEFAULT_VERSION
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt, Resolution, is_answer_to
from weftwork.protocol.workflow.node_types import Effect

log = logging.getLogger("weftwork.node")

T = TypeVar("T")

MAX_ITEMS_PER_COMMIT: Final = 128
"""Items of a node that go into one append."""
STEP_NOT_DONE: Final = Failed("step_not_done", "A step of the node was not done, and it had no effect.")


class EntryContext:
    """Implements ports.nodes.NodeContext for one entry of a node, or for one item of a map in it."""

    __slots__ = (
        "_answered",
        "_buffered",
        "_call",
        "_clock",
        "_effects",
        "_is_untrusted",
        "_item_records",
        "_model_calls_or_none",
        "_node",
        "_node_id",
        "_place",
        "_redactor",
        "_report",
        "_runtime",
        "_state",
        "started_at",
    )

    def __init__(
        self,
        runtime: Runtime,
        clock: RunClock,
        report: Callable[[Input], None],
        state: RunState,
        call: NodeCall,
        part: tuple[str, str] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        node_id, item = part or (call.node_id, "")
        node = state.nodes[node_id]
        self._node_id = node_id
        self._runtime = runtime
        self._clock = clock
        self._report = report
        self._state = state
        self._call = call
        self._node: NodeState = node if part is None else NodeState("running", started_at=clock.now())
        began = node.first_started_at
        self._effects = EffectLedger(runtime, report, call, node, state.header, node_id, item, began)
        self._redactor = redactor
        self._model_calls_or_none: EntryModelCalls | None = None
        self._place = node_id, item
        self._item_records = ItemRecords(report, call.node_id, call.entry_sequence)
        self._buffered = BufferedEvents(report, state, node_id, call.entry_sequence)
        self._is_untrusted = False
        self._answered: tuple[str, ...] = ()
        """The keys of the interrupts that this call has asked for."""
        self.started_at = self._node.started_at

    @property
    def tenant(self) -> str:
        return self._state.header.owner.tenant

    @property
    def node_id(self) -> str:
        return self._node_id

    @property
    def now(self) -> int:
        return self._effects.now

    @property
    def long_wait_end(self) -> int:
        return self._node.long_wait_end

    async def sleep_until(self, when: int) -> None:
        await self._clock.sleep_until(when)

    async def compute(self, function: Callable[[], T]) -> T:
        scope: Any = self._call.scope
        evaluator: EntryExpressions | None = scope.active_evaluator
        if evaluator is not None:
            if evaluator.is_waiting:
                return await evaluator.settle(function)
            evaluator.begin()
        try:
            return function()
        except EvaluationPostponed as postponed:
            return await postponed.entry.settle(function, postponed)

    async def turn(self) -> None:
        await self._runtime.loop_share.turn(self._state.header.partition, run=self._call.run_id)

    @property
    def recorded_items(self) -> Mapping[int, Any]:
        return self._node.map_items

    async def record_item(self, index: int, output: Any) -> None:
        await self._item_records.record(index, output)

    @property
    def has_retries_left(self) -> bool:
        return self._node.failures < self._state.plan.nodes[self._node_id].node.retry.max_retries

    async def run_part(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> NodeOutcome:
        node_type = self._runtime.types[type_id]
        failure = check_node_inputs(node_type.declaration.inputs, inputs)
        if failure is not None:
            return failure
        call = make_part_call(self._call, inputs, config, item, self.untrusted)
        if isinstance(node_type, InstantNode):
            try:
                outcome = await self.compute(partial(node_type.run, call))
            except (StepFailed, ExpressionFault) as error:
                outcome = raised_failure(error)
        else:
            place = self._call.node_id, item
            part = EntryContext(self._runtime, self._clock, self._report, self._state, call, place, self._redactor)
            outcome = await part.run_as_part(node_type, self._state.header.partition)
        return OUTPUT_TOO_LARGE if isinstance(outcome, Completed) and is_too_large(outcome.outputs) else outcome

    async def run_as_part(self, node_type: WaitingNode, partition: str) -> NodeOutcome:
        """Run a node type as an item of a map. The map records the outcome."""
        slots = slots_for(node_type.declaration, partition, self._runtime.limits)
        await self._runtime.limiter.acquire(partition, slots)
        once = node_type.declaration.effect == "once"
        try:
            outcome = await self.run(node_type)
        except asyncio.CancelledError:
            raise
        except BaseException:
            log.exception("node raised", extra={"runId": self._call.run_id, "nodeId": self._call.node_id})
            outcome = Failed("node_failed", RAISED_MESSAGE, retryable=not once)
        finally:
            self._runtime.limiter.release(slots)
        if once:
            await self._effects.record_node_end(outcome)
        return outcome

    async def run(self, node_type: WaitingNode) -> NodeOutcome:
        """Run the node, which holds its slots, and return its outcome. The effect of a node that must not happen twice
        is claimed first."""
        try:
            once = node_type.declaration.effect == "once" or self._effects.has_unknown_outcome
            if once and (reported := await self._effects.claim_node(node_type.declaration.outputs)) is not None:
                return reported
            if node_type.declaration.effect != "pure":
                deny_in_replay(self._runtime, self._state.header)
            outcome = await node_type.run(self._call, self)
            if isinstance(outcome, Suspended):
                return msgspec.structs.replace(outcome, untrusted=self.untrusted)
            return outcome
        except InterruptPending as pending:
            return Suspended(pending.interrupt, untrusted=self.untrusted)
        except ProviderPending as pending:
            return AwaitsProvider(pending.provider, pending.code, self._clock.now() + pending.wait_ms)
        except (StepFailed, ExpressionFault) as error:
            return raised_failure(error)
        except NotDone:
            return STEP_NOT_DONE
        except (KeyboardInterrupt, SystemExit) as error:
            # A task passes these on to the event loop, which would end the host.
            raise RuntimeError("the node tried to end the process") from error
        finally:
            self.close()

    def close(self) -> None:
        """The entry has ended: report its buffered events and its unstarted claims."""
        self._buffered.flush()
        self._effects.close()

    def effect_key(self, step: str = "") -> str:
        return self._effects.key(step)

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        # Events that the node emitted before the step come before it in the log.
        self._buffered.flush()
        if not plain:
            return await self._effects.step(name, effect, run)
        slots = thread_slots(self._runtime.limits)
        await self._runtime.limiter.acquire(self._state.header.partition, slots)
        try:
            return await self._effects.step(name, effect, run)
        finally:
            self._runtime.limiter.release(slots)

    async def ask(self, interrupt: Interrupt, instead: Any = UNSET) -> Resolution:
        self._answered += (interrupt.key,)
        resolution = self._call.answers.get(interrupt.key)
        if resolution is None:
            if (failure := interrupt_failure(interrupt, self._runtime.types)) is not None:
                raise StepFailed(failure)
            if interrupt.kind not in NON_BLOCKING_KINDS and instead is UNSET:
                raise InterruptPending(interrupt)
            resolution = await self._pass_interrupt(interrupt, None if instead is UNSET else instead)
        elif not is_answer_to(resolution, self._call.node_id, interrupt):
            raise StepFailed(INTERRUPT_KEY_REUSED)
        elif is_granted_for_other_content(resolution, interrupt, self.untrusted):
            raise StepFailed(GRANTED_FOR_OTHER_CONTENT)
        self._effects.now = max(self._effects.now, resolution.at)
        if resolution.untrusted:
            self.mark_untrusted()
        # A copy, so that changes by the node do not reach the state of the run.
        return msgspec.structs.replace(resolution, value=deepcopy(resolution.value), data=None)

    async def _pass_interrupt(self, interrupt: Interrupt, value: Any) -> Resolution:
        self._buffered.flush()
        passed: asyncio.Future[Resolution | None] = asyncio.get_running_loop().create_future()
        self._report(InterruptPassed(self._node_id, interrupt, value, passed, self._call.entry_sequence))
        if (resolution := await passed) is None:
            raise StepFailed(Failed("node_misused", "The run refused this interrupt.", retryable=False))
        return resolution

    async def prepare_child(
        self,
        key: str,
        workflow_id: str,
        mapping: Mapping[str, str],
        inputs: Mapping[str, Any] | None = None,
        *,
        cause: str = SUB_WORKFLOW,
        variables: tuple[str, ...] = (),
        outputs: bool = False,
        awaited: bool = True,
        cascade: bool = True,
    ) -> NewChild | Failed:
        if self._runtime.child_starter is None or self._call.node_id not in self._state.nodes:
            return Failed(
                "node_misused", "A node that is part of another node cannot start child runs.", retryable=False
            )
        deny_in_replay(self._runtime, self._state.header)
        request = ChildRequest(
            key, workflow_id, mapping, inputs or {}, cause, variables, outputs, awaited, cascade, self.untrusted
        )
        while True:
            try:
                return await self._runtime.child_starter.prepare(self._state, self._call, request)
            except StoreUnavailable:
                # An outage of the store is no failure of the node, so it waits like its run does.
                await self._runtime.wait_for_store()

    @property
    def untrusted(self) -> bool:
        return self._is_untrusted or self._state.nodes[self._node_id].untrusted

    def mark_untrusted(self, source: str | UnsetType = UNSET) -> None:
        """trust-04 (RFC 0143): record at once that the node has read external content. The fold then marks everything
        that the node produces later as untrusted."""
        if source or not self.untrusted:
            external = payloads.ExternalContent(self._node_id, source)
            self._buffered.add(Draft.of(external, self._node_id, content_trust="untrusted"))
            self._buffered.flush()
        self._is_untrusted = True

    def check_may_request(self) -> None:
        deny_in_replay(self._runtime, self._state.header)

    @property
    def limits(self) -> Limits:
        return self._runtime.limits

    @property
    def prompt_directive(self) -> str:
        return self._runtime.prompt_directive

    @property
    def _model_calls(self) -> EntryModelCalls:
        """Created on first use, because few nodes call models."""
        if self._model_calls_or_none is None:
            self._model_calls_or_none = EntryModelCalls(
                self._runtime,
                self._report,
                self._buffered,
                self._state,
                self._call,
                self._place,
                self._redactor,
                lambda: self.untrusted,
            )
        return self._model_calls_or_none

    async def generate(self, request: ModelRequest, along: AnswerEvents) -> ModelAnswer:
        # Events that the node emitted before the call come before it in the log.
        self._buffered.flush()
        if any(isinstance(message, UnresolvedMessage) for message in request.messages):
            # media-49 (RFC 0091, trust): marked before the call, also if no model is called in the end.
            self.mark_untrusted()
        answer = await self._model_calls.generate(request, along)
        if answer.media:
            await self._model_calls.emit_generated_media(answer)
        return answer

    def envelope_kind(self, name: str) -> KindDefinition | None:
        return self._runtime.kinds.with_missing(self._state.plan.workflow.envelope_kinds).find(name)

    @property
    def renders_surfaces(self) -> bool:
        return SURFACE_KIND in self._runtime.kinds.accepted

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        return self._model_calls.check_envelope(document, emission)

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        self._buffered.flush()
        return await self._model_calls.emit_envelope(envelope, emission)

    async def emit_media(self, sent: OutgoingMedia, turn: str = "") -> EmittedMedia:
        self._buffered.flush()
        return await self._model_calls.emit_media(sent, turn)

    async def read_media(self, ref: object, most: int) -> MediaBytes:
        content = await self._model_calls.read_media(ref, most)
        # media-89 (host): the event names the asset that the run has read, so the asset is kept as long as the log.
        self.mark_untrusted(media_ref(content.sha256))
        return content

    def new_event_id(self) -> str:
        return self._runtime.ids.event_ids(1)[0]

    def emit_event(self, effect: AppendLog | EmitEvent) -> None:
        self._buffered.emit(effect)

    async def pin_version(self, change_id: str, version: int, least: int = 0) -> int:
        self._buffered.flush()
        pinned: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if least <= DEFAULT_VERSION and self._repeats_recorded_part:
            version = DEFAULT_VERSION
        self._report(VersionRequested(self._node_id, change_id, version, pinned, self._call.entry_sequence, least))
        return await pinned

    @property
    def _repeats_recorded_part(self) -> bool:
        """ver-03 (host): whether an earlier call of the node has got further than this one: a step, a model call or an
        answer is recorded for it that this call has not asked for yet."""
        if self._effects.has_unread or (self._model_calls_or_none is None and self._node.model_answers):
            return True
        prefix = f"{self._call.node_id}:{self._call.visit}:"
        return any(key.startswith(prefix) and key not in self._answered for key in self._call.answers)


class ItemRecords(msgspec.Struct, eq=False):
    """Outputs of single items of one entry of a node. Items of one iteration of the event loop share an append."""

    _report: Callable[[Input], None]
    _node_id: str
    _entry_sequence: int
    _items: list[tuple[int, Any]] = []
    _durable: asyncio.Future[None] | None = None

    async def record(self, index: int, output: Any) -> None:
        """See ports.nodes.NodeContext."""
        if self._durable is None:
            loop = asyncio.get_running_loop()
            self._durable = loop.create_future()
            loop.call_soon(self._flush, self._durable)
        durable = self._durable
        self._items.append((index, output))
        if len(self._items) >= MAX_ITEMS_PER_COMMIT:
            self._flush(durable)
        # Shielded, because other items wait for the same future.
        await asyncio.shield(durable)

    def _flush(self, durable: asyncio.Future[None]) -> None:
        if self._durable is durable:
            items, self._items, self._durable = tuple(self._items), [], None
            self._report(ItemsRecorded(self._node_id, items, durable, self._entry_sequence))
