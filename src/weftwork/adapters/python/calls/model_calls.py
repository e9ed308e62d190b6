"""ctx.call_ai and ctx.generate_envelope: the model calls of one call of a node.

Answers are recorded, so a node that is entered again gets them from their records. A record is found by the identity
of the call: the task that makes it and its number in that task; and a task is identified by the task that started it,
its name and its number (node_tasks). Concurrent calls are therefore told apart in every entry of a node that takes the
same path, whichever is answered first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, TypeVar, cast

import msgspec

from weftwork.adapters.python.calls.call_state import CallState, current_step
from weftwork.adapters.python.calls.media import Media, MediaContent
from weftwork.adapters.python.declaration.signature import is_record, object_schema
from weftwork.adapters.python.errors import NodeError, misuse_error, node_error
from weftwork.adapters.python.node_tasks import TaskPath, current_task_path
from weftwork.adapters.python.values import NotJson, as_json, convert, is_storable
from weftwork.engine.sdk import model_request
from weftwork.engine.sdk.generation import (
    DEFAULT_SHAPE_NAME,
    generate_envelope,
    generate_text,
    generate_value,
    output_shape,
)
from weftwork.ports.models import Message, ModelRequest, Role
from weftwork.ports.node_outcome import Failed
from weftwork.ports.nodes import Emission, NodeCall, NodeContext
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.asset_references import media_ref_digest
from weftwork.protocol.media.message_parts import normalize_part
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.events import Trust
from weftwork.protocol.workflow.node_types import Effect

T = TypeVar("T")

ROLES: Final[tuple[Role, ...]] = ("user", "assistant", "system")

Messages = str | Collection[Mapping[str, Any]]
PromptMedia = str | Media | MediaContent | Mapping[str, Any]
"""A part; or media, by their mediaRef or an object that has one, whose type says how they are shown."""


class ModelPrompt(msgspec.Struct, frozen=True):
    """A prompt. `options` choose the model and how it answers, under the names of a node's config."""

    messages: tuple[Message, ...]
    system: str
    options: dict[str, Any]


class OutputShape(msgspec.Struct, frozen=True):
    """The shape of a value that a model is to fill, and the type that the author gets it in."""

    name: str
    document: dict[str, Any]
    kind: Any = Any


def build_prompt(
    name: str,
    prompt: Any,
    messages: Any,
    system: Any,
    media: Any,
    provider: Any,
    model: Any,
    temperature: Any,
    max_tokens: Any,
    stop: Any,
) -> ModelPrompt:
    """The prompt. Raises NodeError, node_misused; `name` is the call that the author made."""
    system_text = _check_text(f"{name} takes system as a text", system)
    listed = [*_conversation(name, messages)]
    if prompt is not None:
        listed.append(Message("user", _check_text(f"{name} takes prompt as a text", prompt)))
    whole = model_request.append_media(listed, media_parts(name, media))
    if len(whole) > model_request.MAX_MESSAGES:
        raise misuse_error(f"{name} takes up to {model_request.MAX_MESSAGES:,} messages.")
    return ModelPrompt(whole, system_text, _model_options(name, provider, model, temperature, max_tokens, stop))


def _conversation(name: str, messages: Any) -> list[Message]:
    if messages is None:
        return []
    if isinstance(messages, str):
        return [Message("user", _check_text(name, messages))]
    if not isinstance(messages, Collection) or isinstance(messages, Mapping | bytes):
        raise misuse_error(f"{name} takes messages as a text, or as a list of objects with role and content.")
    return [_message(f"{name}: the message {at}", each) for at, each in enumerate(cast("Collection[Any]", messages))]


def _message(what: str, given: Any) -> Message:
    if not is_object(given) or not {"role", "content"} <= given.keys():
        raise misuse_error(f"{what} is no object with role and content.")
    if given["role"] not in ROLES:
        raise misuse_error(f"{what} needs one of the roles {', '.join(ROLES)}.")
    message = model_request.make_message(given["role"], message_content(what, given["content"]))
    _check_text(what, message.text)
    return message


def _check_text(what: str, given: Any) -> str:
    if not isinstance(given, str):
        raise misuse_error(f"{what}, and not as an object of type {type(given).__name__}.")
    if not is_storable(given):
        raise misuse_error(f"{what}, without NUL and lone surrogates.")
    return str(given)


def _model_options(
    name: str, provider: Any, model: Any, temperature: Any, max_tokens: Any, stop: Any
) -> dict[str, Any]:
    for what, value in (("provider", provider), ("model", model)):
        if value is not None and not (
            isinstance(value, str) and 0 < len(value) <= model_request.MAX_MODEL_NAME and is_storable(value)
        ):
            raise misuse_error(f"{name} takes {what} as a text of 1 to {model_request.MAX_MODEL_NAME} characters.")
    # Compared this way round, so that what is no number fails too.
    if temperature is not None and not (_is_number(temperature) and 0 <= temperature <= 2):
        raise misuse_error(f"{name} takes temperature as a number from 0 to 2.")
    if max_tokens is not None and not (
        isinstance(max_tokens, int) and _is_number(max_tokens) and 0 < max_tokens <= model_request.MAX_TOKENS
    ):
        raise misuse_error(f"{name} takes max_tokens as an integer from 1 to {model_request.MAX_TOKENS:,}.")
    stops: list[Any] = [stop] if isinstance(stop, str) or not isinstance(stop, Collection) else [*stop]
    most, longest = model_request.MAX_STOP_SEQUENCES, model_request.MAX_STOP_SEQUENCE_CHARS
    if len(stops) > most or not all(isinstance(each, str) and 0 < len(each) <= longest for each in stops):
        raise misuse_error(f"{name} takes stop as up to {most} texts of 1 to {longest} characters.")
    wishes = {"provider": provider, "model": model, "temperature": temperature, "maxTokens": max_tokens}
    return {**{what: value for what, value in wishes.items() if value is not None}, "stopSequences": stops}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def media_parts(name: str, media: Any) -> list[Any]:
    """The media parts of a prompt. Raises NodeError."""
    if isinstance(media, Media | MediaContent | Mapping) or media_ref_digest(media) is not None:
        media = [media]
    if not isinstance(media, Collection) or isinstance(media, str | bytes):
        raise misuse_error(f"{name} takes media as a mediaRef, as a part, or as a list of them.")
    return [normalize_part(_to_part(name, each)) for each in cast("Collection[Any]", media)]


def message_content(what: str, content: Any) -> Any:
    """The content of a message as JSON: a text, or parts. Raises NodeError."""
    if isinstance(content, str):
        return content
    if isinstance(content, Collection) and not isinstance(content, bytes | Mapping):
        parts = [_to_part(what, each) for each in cast("Collection[Any]", content)]
        if all(map(_is_part, parts)):
            return parts
    raise misuse_error(f"{what} needs a text as its content, or a list of parts with a type.")


def _is_part(part: Any) -> bool:
    if not is_object(part) or not isinstance(part.get("type"), str):
        return False
    return part["type"] != "text" or isinstance(part.get("text"), str)


def _to_part(what: str, given: Any) -> Any:
    if isinstance(given, Media | MediaContent):
        return {"mediaRef": given.media_ref, "mimeType": given.mime_type}
    document: Any = given
    data: Any = None
    if isinstance(given, Mapping):
        document = {**cast("Mapping[str, Any]", given)}
        data = document.get("data")
    if isinstance(data, bytes | bytearray):
        # Not a value of the run, so the limits on values do not apply, and it need not be encodable as text.
        document["data"] = ""
    try:
        made = as_json(document)
    except NotJson as error:
        raise misuse_error(f"{what} holds a part that is not JSON: {error}.") from None
    return {**made, "data": bytes(data)} if isinstance(data, bytes | bytearray) else made


def build_shape(schema: Any) -> OutputShape:
    """The shape that an author wants: a JSON Schema, or a struct, dataclass or TypedDict. Raises NodeError."""
    if is_record(schema):
        try:
            _, document = output_shape(object_schema(schema))
        except TypeError as error:
            raise misuse_error(f"There is no JSON Schema of this type: {error}.") from None
        name, kind = getattr(schema, "__name__", DEFAULT_SHAPE_NAME), schema
    else:
        name, document = output_shape(_document(schema))
        kind = Any
    if violations := check_caller_schema(document, ""):
        first = violations[0]
        raise misuse_error(f"The schema cannot be used: {first.pointer or '/'} {first.message}.")
    return OutputShape(name, document, kind)


def _document(schema: Any) -> dict[str, Any]:
    try:
        document = as_json(schema)
    except NotJson as error:
        raise misuse_error(f"The schema is not JSON: {error}.") from None
    if not is_object(document):
        raise misuse_error("A schema is a JSON Schema, or a struct, a dataclass or a TypedDict.")
    return document


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
            request = msgspec.structs.replace(request, messages=(Message("user", model_request.START_MESSAGE),))
        made = await self._run(
            turn_prefix, lambda context: generate_envelope(context, call, request, kind, call.contract)
        )
        accepted, answer = made.accepted, made.answer
        payload = convert(accepted.payload, Any)
        return Envelope(
            accepted.type, payload, accepted.envelope_id, _usage(answer), answer.model, accepted.content_trust
        )

    def _request(self, prompt: ModelPrompt) -> ModelRequest:
        return model_request.make_model_request(self._call, prompt.options, prompt.messages, prompt.system)

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
    return AiAnswer(answer.text, data, _usage(answer), model_request.finish_reason(answer.stop), answer.model)


def _usage(answer: ModelAnswer) -> AiUsage:
    return AiUsage(answer.usage.input_tokens, answer.usage.output_tokens)
