"""What one entry of a node asks of models. Answers are recorded, so a node that is entered again asks for none twice.

Theory. A call is known by the task that makes it and by its number in that task, and a task by who started it, and as
which. So calls side by side are told apart in every entry of a node that goes the same ways, whoever is answered first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import msgspec

from weftwork.adapters.python.calls.call_state import Fate, step_here
from weftwork.adapters.python.calls.prompts import Prompt, Shape
from weftwork.adapters.python.errors import NodeError, misused, node_error
from weftwork.adapters.python.node_tasks import Branch, branch
from weftwork.adapters.python.values import converted
from weftwork.engine.models.generation import generate_envelope, generate_text, generate_value
from weftwork.engine.models.model_request import START_MESSAGE, finish_reason, make_model_request
from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import Failed, InterruptPending, NodeEffect, StepFailed
from weftwork.ports.nodes import Emission, NodeCall, NodeContext
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.events import Trust
from weftwork.protocol.workflow.node_types import Effect

T = TypeVar("T")


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """What the last call took."""

    input_tokens: int
    output_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """What a model said. `data` is the value that fits the schema, if there was one."""

    text: str
    data: Any
    usage: Usage
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
    usage: Usage
    model: str
    content_trust: Trust


class Models:
    """Of one entry."""

    def __init__(self, effect: Effect, call: NodeCall, host: NodeContext, fate: Fate) -> None:
        self.unsaid: list[NodeEffect] = []
        """What follows from failures: said in one commit with the node's end, whatever it made of them."""
        self.turn = asyncio.Lock()
        """Envelopes go one after the other: with a question in one of them, the entry is over."""
        self.host = host
        self._effect = effect
        self._call = call
        self._fate = fate
        self._elsewhere = Branch("thread")
        self._asking: set[asyncio.Task[Any]] = set()

    def voice(self) -> str:
        """The name of a call that is made here and now. Threads that the author started share their numbers."""
        return (branch.get() or self._elsewhere).number()

    def check(self) -> None:
        """Raises what keeps the entry from going on."""
        self._fate.check_going_on()

    async def answer(self, voice: str, prompt: Prompt, shape: Shape | None, stream: bool) -> Answer:
        """A text, or a value of the shape. Raises NodeError or Asking."""
        request = msgspec.structs.replace(self._request(prompt), stream=stream)
        if shape is None:
            spoken = await self._made(voice, lambda context: generate_text(context, self._call, request))
            return _answer(spoken.answer, None)
        request = msgspec.structs.replace(request, response_schema=shape.document)
        filled = await self._made(
            voice, lambda context: generate_value(context, self._call, request, shape.document, shape.name)
        )
        try:
            return _answer(filled.answer, converted(filled.value, shape.kind))
        except msgspec.ValidationError:
            raise NodeError("envelope_invalid", f"The value of the model is no {shape.name}.") from None

    async def envelope(self, voice: str, prompt: Prompt, kind: str) -> Envelope:
        """An envelope of a kind. Raises NodeError or Asking."""
        call, request = self._call, self._request(prompt)
        if not prompt.messages:
            request = msgspec.structs.replace(request, messages=(Message("user", START_MESSAGE),))
        made = await self._made(voice, lambda context: generate_envelope(context, call, request, kind, call.contract))
        accepted, answer = made.accepted, made.answer
        payload = converted(accepted.payload, Any)
        return Envelope(
            accepted.type, payload, accepted.envelope_id, _usage(answer), answer.model, accepted.content_trust
        )

    def cut(self) -> None:
        """The entry is over: nobody hears what a model says now."""
        for task in self._asking:
            task.cancel()

    def _request(self, prompt: Prompt) -> ModelRequest:
        return make_model_request(self._call, prompt.given, prompt.messages, prompt.system)

    async def _made(self, voice: str, make: Callable[[NodeContext], Awaitable[T | Failed]]) -> T:
        self.check()
        if self._effect == "once":
            raise misused("A node of the effect once cannot ask a model; put its effect into a step, and make it pure.")
        if step_here.get():
            raise misused("A step cannot ask a model; ask before it or after it. The answer is recorded by itself.")
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        self._asking.add(task)
        try:
            made = await make(cast("NodeContext", _Voice(self, voice)))
        except InterruptPending as asking:
            self._fate.asking = asking
            raise
        except StepFailed as error:
            raise node_error(error.failure) from None
        finally:
            self._asking.discard(task)
        if isinstance(made, Failed):
            self.unsaid += made.effects
            raise node_error(made)
        return cast("T", made)


class _Voice:
    """Implements ports.nodes.NodeContext for one call: that of the entry, which knows whose call it is."""

    def __init__(self, models: Models, name: str) -> None:
        self._models = models
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models.host, name)

    async def generate(self, request: ModelRequest, along: Any) -> ModelAnswer:
        self._models.check()
        return await self._models.host.generate(msgspec.structs.replace(request, voice=self._name), along)

    async def emit(self, document: Any, emission: Emission) -> EnvelopeOutcome:
        async with self._models.turn:
            self._models.check()
            return await self._models.host.emit_envelope(document, emission)


def _answer(answer: ModelAnswer, data: Any) -> Answer:
    return Answer(answer.text, data, _usage(answer), finish_reason(answer.stop), answer.model)


def _usage(answer: ModelAnswer) -> Usage:
    return Usage(answer.usage.input_tokens, answer.usage.output_tokens)
