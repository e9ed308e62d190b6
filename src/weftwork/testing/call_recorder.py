"""Nodes as the kit sees them: what they really did, over all the processes that a run lives through."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from weftwork.adapters.python.errors import NodeExited
from weftwork.ports.media import EmittedMedia, MediaBytes, OutgoingMedia
from weftwork.ports.models import ModelRequest
from weftwork.ports.node_outcome import (
    AppendLog,
    Completed,
    EmitEvent,
    Failed,
    InterruptPending,
    NewChild,
    NodeOutcome,
    NotDone,
    StepFailed,
)
from weftwork.ports.nodes import CheckedEnvelope, Emission, NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, Invalid
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.workflow.node_types import Effect


class Performed(msgspec.Struct):
    """A call of a node, or of the function of a step, that really happened."""

    node_id: str
    step: str
    """Empty for the node itself."""
    key: str
    """Its idempotency key."""
    life: int
    """Which process it happened in; 1 is the first."""
    came_to: Literal["under way", "done", "failed", "not done"] = "under way"
    output: Any = None
    raised: BaseException | None = None


class PerformedCalls:
    """Everything that was performed, in order; `life` is the process that runs now."""

    def __init__(self) -> None:
        self.performed: list[Performed] = []
        self.process_number = 0

    def latest(self, key: str) -> Performed | None:
        found = [each for each in self.performed if each.key == key]
        return found[-1] if found else None


class ProcessGuard:
    """A process under test. Once it is over, nothing in it gets anywhere."""

    def __init__(self, seen: PerformedCalls) -> None:
        self.calls = seen
        self.is_dead = False

    def check_alive(self) -> None:
        if self.is_dead:
            raise asyncio.CancelledError

    def record_call(self, node_id: str, step: str, key: str) -> Performed:
        self.check_alive()
        begun = Performed(node_id, step, key, self.calls.process_number)
        self.calls.performed.append(begun)
        return begun


def record_calls(node: NodeType, living: ProcessGuard, first_attempt: int = 1) -> NodeType:
    """The same node type, with what it does written down. Attempts before the first one fail by themselves."""
    if not isinstance(node, WaitingNode):
        return node
    work = node.run

    async def run(call: NodeCall, host: NodeContext) -> NodeOutcome:
        if call.attempt < first_attempt:
            return Failed("earlier_attempt", "The test begins with a later attempt.")
        begun = living.record_call(call.node_id, "", host.effect_key())
        try:
            outcome = await work(call, _RecordingContext(call, host, living))
        except asyncio.CancelledError:
            if not living.is_dead:
                raise
            # Nobody hears of it any more, and to whoever looks at the log it is no error of the node.
            return Failed("process_over", "The process of the node has ended.")
        except InterruptPending:
            raise
        except BaseException as error:
            begun.came_to, begun.raised = "failed", _author_error(error)
            raise
        if isinstance(outcome, Completed):
            begun.came_to, begun.output = "done", outcome.outputs
        elif isinstance(outcome, Failed):
            begun.came_to = "failed"
        return outcome

    return WaitingNode(node.declaration, run)


def _author_error(error: BaseException) -> BaseException:
    """What the author's code raised, where something else stands for it."""
    return error.__cause__ or error if isinstance(error, StepFailed | NodeExited) else error


class _RecordingContext:
    """Implements ports.nodes.NodeContext around that of the host."""

    def __init__(self, call: NodeCall, host: NodeContext, living: ProcessGuard) -> None:
        self._call = call
        self._host = host
        self._process = living

    @property
    def started_at(self) -> int:
        return self._host.started_at

    @property
    def now(self) -> int:
        return self._host.now

    @property
    def recorded_items(self) -> Mapping[int, Any]:
        return self._host.recorded_items

    async def sleep_until(self, when: int) -> None:
        self._process.check_alive()
        await self._host.sleep_until(when)

    def effect_key(self, step: str = "") -> str:
        return self._host.effect_key(step)

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        self._process.check_alive()

        async def performed() -> Any:
            begun = self._process.record_call(self._call.node_id, name, self._host.effect_key(name))
            try:
                begun.output = await run()
            except NotDone:
                begun.came_to = "not done"
                raise
            except (asyncio.CancelledError, InterruptPending):
                raise
            except BaseException as error:
                begun.came_to, begun.raised = "failed", _author_error(error)
                raise
            begun.came_to = "done"
            return begun.output

        return await self._host.step(name, effect, performed, plain)

    async def ask(self, interrupt: Interrupt, instead: Any = msgspec.UNSET) -> Resolution:
        self._process.check_alive()
        return await self._host.ask(interrupt, instead)

    async def prepare_child(self, *given: Any, **more: Any) -> NewChild | Failed:
        self._process.check_alive()
        return await self._host.prepare_child(*given, **more)

    @property
    def untrusted(self) -> bool:
        return self._host.untrusted

    def mark_untrusted(self) -> None:
        self._process.check_alive()
        self._host.mark_untrusted()

    @property
    def limits(self) -> Limits:
        return self._host.limits

    async def generate(self, request: ModelRequest, along: Any) -> ModelAnswer:
        self._process.check_alive()
        return await self._host.generate(request, along)

    def envelope_kind(self, name: str) -> KindDefinition | None:
        return self._host.envelope_kind(name)

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        return self._host.check_envelope(document, emission)

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        self._process.check_alive()
        return await self._host.emit_envelope(envelope, emission)

    async def emit_media(self, sent: OutgoingMedia, turn: str = "") -> EmittedMedia:
        self._process.check_alive()
        return await self._host.emit_media(sent, turn)

    async def read_media(self, ref: object, most: int) -> MediaBytes:
        self._process.check_alive()
        return await self._host.read_media(ref, most)

    def new_event_id(self) -> str:
        return self._host.new_event_id()

    def emit_event(self, effect: AppendLog | EmitEvent) -> None:
        self._process.check_alive()
        self._host.emit_event(effect)

    async def pin_version(self, change_id: str, version: int) -> int:
        self._process.check_alive()
        return await self._host.pin_version(change_id, version)

    async def record_item(self, index: int, output: Any) -> None:
        self._process.check_alive()
        await self._host.record_item(index, output)

    async def run_part(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> NodeOutcome:
        self._process.check_alive()
        return await self._host.run_part(type_id, inputs, config, item)
