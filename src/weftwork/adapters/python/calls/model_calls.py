"""ctx.call_ai and ctx.generate_envelope: the model calls of one call of a node.

Answers are recorded, so a node that is entered again gets them from their records. A record is found by the identity
of the call: the task that makes it and its number in that task; and a task is identified by the task that started it,
its name and its number (node_tasks). Concurrent calls are therefore told apart in every entry of a node that takes the
same path, whichever is answered first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import msgspec

from weftwork.adapters.python.calls.call_state import CallState, current_step
from weftwork.adapters.python.calls.prompts import ModelPrompt, OutputShape
from weftwork.adapters.python.errors import NodeError, misuse_error, node_error
from weftwork.adapters.python.node_tasks import TaskPath, current_task_path
from weftwork.adapters.python.values import convert
from weftwork.engine.sdk.generation import generate_envelope, generate_text, generate_value
from weftwork.engine.sdk.model_request import START_MESSAGE, finish_reason, make_model_request
from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import Failed
from weftwork.ports.nodes import Emission, NodeCall, NodeContext
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.events import Trust
from weftwork.protocol.workflow.node_types import Effect

T = TypeVar("T")


class AiUsage(msgspec.Struct, frozen=True, rename="camel"):
    """What the last call took."""

    input_tokens: int
    output_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class AiAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """What a model said. `data` is the value that fits the schema, if there was one."""

    text: str
    data: Any
    usage: AiUsage
    finish_reason: str
    """Why it ended: stop, length, content_filter, tool_calls or other."""
    model: str

    @property
    def content(self) -> str:
        return self.text


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """An envelope that has passed the gate: of the kind that was wanted, or `error`, by which a model says that it
    cannot make one."""

    envelope_type: str
    payload: Any
    envelope_id: str
    usage: AiUsage
    model: str
    content_trust: Trust


class ModelCalls:
    """The model calls of one call of a node."""

    def __init__(self, effect: Effect, call: NodeCall, host: NodeContext, state: CallState) -> None:
        self.envelope_lock = asyncio.Lock()
        """Envelopes go one after the other: with a question in one of them, the entry is over."""
        self.host = host
        self._effect = effect
        self._call = call
        self._state = state
        self._thread_path = TaskPath("thread")

    def next_turn_prefix(self) -> str:
        """The name of a call that is made here and now. Threads that the author started share their numbers."""
        return (current_task_path.get() or self._thread_path).next_turn_prefix()

    def check_not_stopping(self) -> None:
        """Raises what keeps the entry from going on."""
        self._state.check_not_stopping()

    async def call_ai(self, turn_prefix: str, prompt: ModelPrompt, shape: OutputShape | None, stream: bool) -> AiAnswer:
        """A text, or a value of the shape. Raises NodeError or InterruptPending."""
        request = msgspec.structs.replace(self._request(prompt), stream=stream)
        if shape is None:
            spoken = await self._run(turn_prefix, lambda context: generate_text(context, self._call, request))
            return _to_ai_answer(spoken.answer, None)
        filled = await self._run(
            turn_prefix, lambda context: generate_value(context, self._call, request, shape.document, shape.name)
        )
        try:
            return _to_ai_answer(filled.answer, convert(filled.value, shape.kind))
        except msgspec.ValidationError:
            raise NodeError("envelope_invalid", f"The value of the model is no {shape.name}.") from None

    async def generate_envelope(self, turn_prefix: str, prompt: ModelPrompt, kind: str) -> Envelope:
        """An envelope of a kind. Raises NodeError or InterruptPending."""
        call, request = self._call, self._request(prompt)
        if not prompt.messages:
            request = msgspec.structs.replace(request, messages=(Message("user", START_MESSAGE),))
        made = await self._run(
            turn_prefix, lambda context: generate_envelope(context, call, request, kind, call.contract)
        )
        accepted, answer = made.accepted, made.answer
        payload = convert(accepted.payload, Any)
        return Envelope(
            accepted.type, payload, accepted.envelope_id, _usage(answer), answer.model, accepted.content_trust
        )

    def _request(self, prompt: ModelPrompt) -> ModelRequest:
        return make_model_request(self._call, prompt.options, prompt.messages, prompt.system)

    async def _run(self, turn_prefix: str, make: Callable[[NodeContext], Awaitable[T | Failed]]) -> T:
        self.check_not_stopping()
        if self._effect == "once":
            raise misuse_error(
                "A node of the effect once cannot ask a model; put its effect into a step, and make it pure."
            )
        if current_step.get():
            raise misuse_error(
                "A step cannot ask a model; ask before it or after it. The answer is recorded by itself."
            )
        made = await self._state.await_host(make(cast("NodeContext", _CallContext(self, turn_prefix))))
        if isinstance(made, Failed):
            self._state.pending_effects += made.effects
            raise node_error(made)
        return cast("T", made)


class _CallContext:
    """Implements ports.nodes.NodeContext for one model call: the node's context, with the identity of the call."""

    def __init__(self, calls: ModelCalls, turn_prefix: str) -> None:
        self._calls = calls
        self._turn_prefix = turn_prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._calls.host, name)

    async def generate(self, request: ModelRequest, along: Any) -> ModelAnswer:
        self._calls.check_not_stopping()
        return await self._calls.host.generate(msgspec.structs.replace(request, turn_prefix=self._turn_prefix), along)

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        async with self._calls.envelope_lock:
            self._calls.check_not_stopping()
            return await self._calls.host.emit_envelope(envelope, emission)


def _to_ai_answer(answer: ModelAnswer, data: Any) -> AiAnswer:
    return AiAnswer(answer.text, data, _usage(answer), finish_reason(answer.stop), answer.model)


def _usage(answer: ModelAnswer) -> AiUsage:
    return AiUsage(answer.usage.input_tokens, answer.usage.output_tokens)
