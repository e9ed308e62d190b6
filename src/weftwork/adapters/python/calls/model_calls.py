"""ctx.call_ai and ctx.generate_envelope: the model calls of one call of a node.

Answers are recorded, so a repeated call of the node reads them from their records. A record is found by the identity of
the model call: the task that makes it, and its number in that task. A task is identified by the task that started it,
its name and its number (node_tasks). Concurrent model calls therefore keep their identities whenever the function takes
the same path, regardless of which one is answered first.
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
from weftwork.protocol.envelopes.kinds import ERROR_KIND
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
"""A part; or a mediaRef or an object with one, for which the media type decides the type of the part."""


class ModelPrompt(msgspec.Struct, frozen=True):
    """A prompt. `options` has the names of the config of a model node, such as `model` and `maxTokens`."""

    messages: tuple[Message, ...]
    system: str
    options: dict[str, Any]


class OutputShape(msgspec.Struct, frozen=True):
    """The JSON Schema of a value that a model returns, and the Python type that the author gets."""

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
    """`name` is the call of the author, for messages. Raises NodeError with the code node_misused."""
    system_text = _check_text(f"{name}: system must be a text", system)
    listed = [*_conversation(name, messages)]
    if prompt is not None:
        listed.append(Message("user", _check_text(f"{name}: prompt must be a text", prompt)))
    whole = model_request.append_media(listed, media_parts(name, media))
    if len(whole) > model_request.MAX_MESSAGES:
        raise misuse_error(f"{name} accepts up to {model_request.MAX_MESSAGES:,} messages.")
    return ModelPrompt(whole, system_text, _model_options(name, provider, model, temperature, max_tokens, stop))


def _conversation(name: str, messages: Any) -> list[Message]:
    if messages is None:
        return []
    if isinstance(messages, str):
        return [Message("user", _check_text(f"{name}: messages must be a text", messages))]
    if not isinstance(messages, Collection) or isinstance(messages, Mapping | bytes):
        raise misuse_error(f"{name}: messages must be a text, or a list of objects with role and content.")
    return [_message(f"{name}: the message {at}", each) for at, each in enumerate(cast("Collection[Any]", messages))]


def _message(what: str, document: Any) -> Message:
    if not is_object(document) or not {"role", "content"} <= document.keys():
        raise misuse_error(f"{what} must be an object with role and content.")
    if document["role"] not in ROLES:
        raise misuse_error(f"{what} must have one of the roles {', '.join(ROLES)}.")
    message = model_request.make_message(document["role"], message_content(what, document["content"]))
    _check_text(f"{what} must have a text", message.text)
    return message


def _check_text(requirement: str, text: Any) -> str:
    if not isinstance(text, str):
        raise misuse_error(f"{requirement}, not an object of type {type(text).__name__}.")
    if not is_storable(text):
        raise misuse_error(f"{requirement} without NUL and lone surrogates.")
    return str(text)


def _model_options(
    name: str, provider: Any, model: Any, temperature: Any, max_tokens: Any, stop: Any
) -> dict[str, Any]:
    for what, value in (("provider", provider), ("model", model)):
        if value is not None and not (
            isinstance(value, str) and 0 < len(value) <= model_request.MAX_MODEL_NAME and is_storable(value)
        ):
            raise misuse_error(f"{name}: {what} must be a text of 1 to {model_request.MAX_MODEL_NAME} characters.")
    # NaN compares false, so it is refused too.
    if temperature is not None and not (_is_number(temperature) and 0 <= temperature <= 2):
        raise misuse_error(f"{name}: temperature must be a number from 0 to 2.")
    if max_tokens is not None and not (
        isinstance(max_tokens, int) and _is_number(max_tokens) and 0 < max_tokens <= model_request.MAX_TOKENS
    ):
        raise misuse_error(f"{name}: max_tokens must be an integer from 1 to {model_request.MAX_TOKENS:,}.")
    stops: list[Any] = [stop] if isinstance(stop, str) or not isinstance(stop, Collection) else [*stop]
    max_count, max_chars = model_request.MAX_STOP_SEQUENCES, model_request.MAX_STOP_SEQUENCE_CHARS
    if len(stops) > max_count or not all(isinstance(each, str) and 0 < len(each) <= max_chars for each in stops):
        raise misuse_error(f"{name}: stop must be up to {max_count} texts of 1 to {max_chars} characters.")
    options = {"provider": provider, "model": model, "temperature": temperature, "maxTokens": max_tokens}
    return {**{option: value for option, value in options.items() if value is not None}, "stopSequences": stops}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def media_parts(name: str, media: Any) -> list[Any]:
    """The media parts of a prompt. Raises NodeError."""
    if isinstance(media, Media | MediaContent | Mapping) or media_ref_digest(media) is not None:
        media = [media]
    if not isinstance(media, Collection) or isinstance(media, str | bytes):
        raise misuse_error(f"{name}: media must be a mediaRef, a part, or a list of these.")
    return [normalize_part(_to_part(name, each)) for each in cast("Collection[Any]", media)]


def message_content(what: str, content: Any) -> Any:
    """The content of a message as JSON: a text, or parts. Raises NodeError."""
    if isinstance(content, str):
        return content
    if isinstance(content, Collection) and not isinstance(content, bytes | Mapping):
        parts = [_to_part(what, each) for each in cast("Collection[Any]", content)]
        if all(map(_is_part, parts)):
            return parts
    raise misuse_error(f"{what} must have a text as its content, or a list of parts with a type.")


def _is_part(part: Any) -> bool:
    if not is_object(part) or not isinstance(part.get("type"), str):
        return False
    return part["type"] != "text" or isinstance(part.get("text"), str)


def _to_part(what: str, part: Any) -> Any:
    if isinstance(part, Media | MediaContent):
        return {"mediaRef": part.media_ref, "mimeType": part.mime_type}
    document: Any = part
    data: Any = None
    if isinstance(part, Mapping):
        document = {**cast("Mapping[str, Any]", part)}
        data = document.get("data")
    if isinstance(data, bytes | bytearray):
        # Not a value of the run, so the limits on values do not apply, and it need not be encodable as text.
        document["data"] = ""
    try:
        converted = as_json(document)
    except NotJson as error:
        raise misuse_error(f"{what} contains a part that is not JSON: {error}.") from None
    return {**converted, "data": bytes(data)} if isinstance(data, bytes | bytearray) else converted


def build_shape(schema: Any) -> OutputShape:
    """The shape for a JSON Schema, or for a struct, dataclass or TypedDict. Raises NodeError."""
    if is_record(schema):
        try:
            _, document = output_shape(object_schema(schema))
        except TypeError as error:
            raise misuse_error(f"The type of the schema cannot be expressed as JSON Schema: {error}.") from None
        name, kind = getattr(schema, "__name__", DEFAULT_SHAPE_NAME), schema
    else:
        name, document = output_shape(_document(schema))
        kind = Any
    if violations := check_caller_schema(document, ""):
        first = violations[0]
        raise misuse_error(f"The schema is not supported: {first.pointer or '/'} {first.message}.")
    return OutputShape(name, document, kind)


def _document(schema: Any) -> dict[str, Any]:
    try:
        document = as_json(schema)
    except NotJson as error:
        raise misuse_error(f"The schema is not JSON: {error}.") from None
    if not is_object(document):
        raise misuse_error("The schema must be a JSON Schema object, a struct, a dataclass or a TypedDict.")
    return document


class AiUsage(msgspec.Struct, frozen=True, rename="camel"):
    """The token usage of the last model call."""

    input_tokens: int
    output_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class AiAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer of a model. `data` is the value that matches the schema; None without a schema, and if the model
    reported an error."""

    text: str
    data: Any
    usage: AiUsage
    finish_reason: str
    """Why the answer ended: stop, length, content_filter, tool_calls or other."""
    model: str
    error: dict[str, Any] | None = None
    """The payload of the error envelope with which the model reported that it cannot do the task; None otherwise."""

    @property
    def content(self) -> str:
        return self.text


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """A validated envelope of the requested kind, or of the kind `error` if the model cannot make one."""

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
        """Serializes envelopes, because a clarification request in one of them ends the call of the node."""
        self.host = host
        self._effect = effect
        self._call = call
        self._state = state
        self._thread_path = TaskPath("thread")

    def next_turn_prefix(self) -> str:
        """The identity of the next recorded call of the current task. Threads of the author share one path."""
        return (current_task_path.get() or self._thread_path).next_turn_prefix()

    def check_not_stopping(self) -> None:
        """Like CallState.check_not_stopping."""
        self._state.check_not_stopping()

    async def call_ai(self, turn_prefix: str, prompt: ModelPrompt, shape: OutputShape | None, stream: bool) -> AiAnswer:
        """The answer, with a value of the shape if one is given. Raises NodeError or NodePending."""
        request = msgspec.structs.replace(self._request(prompt), stream=stream)
        if shape is None:
            text = await self._run(turn_prefix, lambda context: generate_text(context, self._call, request))
            reported = (each.payload for each in text.envelopes if each.type == ERROR_KIND)
            return _to_ai_answer(text.answer, None, next(reported, None))
        generated = await self._run(
            turn_prefix, lambda context: generate_value(context, self._call, request, shape.document, shape.name)
        )
        if generated.error is not None:
            return _to_ai_answer(generated.answer, None, generated.error)
        try:
            return _to_ai_answer(generated.answer, convert(generated.value, shape.kind))
        except msgspec.ValidationError:
            raise NodeError(
                "envelope_invalid", f"The value of the model cannot be converted to {shape.name}."
            ) from None

    async def generate_envelope(self, turn_prefix: str, prompt: ModelPrompt, kind: str) -> Envelope:
        """An envelope of the kind. Raises NodeError or NodePending."""
        call, request = self._call, self._request(prompt)
        if not prompt.messages:
            request = msgspec.structs.replace(request, messages=(Message("user", model_request.START_MESSAGE),))
        generated = await self._run(
            turn_prefix, lambda context: generate_envelope(context, call, request, kind, call.contract)
        )
        accepted, answer = generated.accepted, generated.answer
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
                "A node with the effect once cannot call a model; make it pure and put its effect into a step."
            )
        if current_step.get():
            raise misuse_error(
                "A step cannot call a model. Call it before or after the step; the answer is recorded on its own."
            )
        result = await self._state.await_host(make(cast("NodeContext", _CallContext(self, turn_prefix))))
        if isinstance(result, Failed):
            self._state.pending_effects += result.effects
            raise node_error(result)
        return cast("T", result)


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


def _to_ai_answer(answer: ModelAnswer, data: Any, error: Any = None) -> AiAnswer:
    reason = model_request.finish_reason(answer.stop)
    return AiAnswer(answer.text, data, _usage(answer), reason, answer.model, convert(error, Any))


def _usage(answer: ModelAnswer) -> AiUsage:
    return AiUsage(answer.usage.input_tokens, answer.usage.output_tokens)
