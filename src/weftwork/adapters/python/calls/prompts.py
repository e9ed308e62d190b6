"""The arguments of a model call: checks them and builds the prompt, before any model is asked."""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.python.calls.media import Media, MediaContent
from weftwork.adapters.python.declaration.type_schemas import is_record, object_schema
from weftwork.adapters.python.errors import misuse_error
from weftwork.adapters.python.values import NotJson, as_json, is_storable
from weftwork.engine.sdk.generation import DEFAULT_SHAPE_NAME, output_shape
from weftwork.engine.sdk.model_request import (
    MAX_MESSAGES,
    MAX_MODEL_NAME,
    MAX_STOP_SEQUENCE_CHARS,
    MAX_STOP_SEQUENCES,
    MAX_TOKENS,
    append_media,
    make_message,
)
from weftwork.ports.models import Message, Role
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.asset_references import media_ref_digest
from weftwork.protocol.media.message_parts import normalize_part

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
    whole = append_media(listed, media_parts(name, media))
    if len(whole) > MAX_MESSAGES:
        raise misuse_error(f"{name} takes up to {MAX_MESSAGES:,} messages.")
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
    message = make_message(given["role"], message_content(what, given["content"]))
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
            isinstance(value, str) and 0 < len(value) <= MAX_MODEL_NAME and is_storable(value)
        ):
            raise misuse_error(f"{name} takes {what} as a text of 1 to {MAX_MODEL_NAME} characters.")
    # Compared this way round, so that what is no number fails too.
    if temperature is not None and not (_is_number(temperature) and 0 <= temperature <= 2):
        raise misuse_error(f"{name} takes temperature as a number from 0 to 2.")
    if max_tokens is not None and not (
        isinstance(max_tokens, int) and _is_number(max_tokens) and 0 < max_tokens <= MAX_TOKENS
    ):
        raise misuse_error(f"{name} takes max_tokens as an integer from 1 to {MAX_TOKENS:,}.")
    stops: list[Any] = [stop] if isinstance(stop, str) or not isinstance(stop, Collection) else [*stop]
    if len(stops) > MAX_STOP_SEQUENCES or not all(
        isinstance(each, str) and 0 < len(each) <= MAX_STOP_SEQUENCE_CHARS for each in stops
    ):
        raise misuse_error(
            f"{name} takes stop as up to {MAX_STOP_SEQUENCES} texts of 1 to {MAX_STOP_SEQUENCE_CHARS} characters."
        )
    wishes = {"provider": provider, "model": model, "temperature": temperature, "maxTokens": max_tokens}
    return {**{what: value for what, value in wishes.items() if value is not None}, "stopSequences": stops}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def media_parts(name: str, media: Any) -> list[Any]:
    """What stands beside a prompt. Raises NodeError."""
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
        # No value of a run, so that the bounds of those do not count; and nobody has to write it as text.
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
