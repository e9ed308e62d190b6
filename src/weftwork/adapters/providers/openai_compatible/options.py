"""The options of the provider: members of its settings that only this type knows."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.provider_settings import InvalidProviderSettings, ProviderSettings
from weftwork.protocol.net.outbound import is_reserved_header

MaxTokensParameter = Literal["max_tokens", "max_completion_tokens"]
StructuredOutput = Literal["auto", "json_schema", "json_object", "none"]

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_HEADER_VALUE: Final = re.compile(r"[\x20-\x7e]{0,2000}")
_RESERVED_BODY: Final = ("n", "messages", "model", "response_format", "stream", "stream_options", "tools")
MAX_SEED: Final = 2**53


class ChatOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    headers: dict[str, str] = {}
    """Sent with each request. Never for keys."""
    query: dict[str, str] = {}
    """Added to the URL of each request, such as api-version of Azure."""
    credential_header: str = "Authorization"
    """The header with the key. The value of `Authorization` is `Bearer KEY`, that of any other header is the key."""
    max_tokens_parameter: MaxTokensParameter = "max_tokens"
    stream: bool = True
    """False for servers that cannot stream. Then the timeout `total` also applies to the first byte."""
    stream_usage: bool = True
    """Whether to ask for the token usage of a stream. False for servers that reject `stream_options`."""
    structured_output: StructuredOutput = "auto"
    """How the schema of an answer is sent. `auto`: as `json_schema` to models with the capability structured-output."""
    strict_schema: bool = False
    """Whether json_schema is strict, which OpenAI allows for a part of JSON Schema only."""
    seed: int | None = None
    body: dict[str, Any] = {}
    """Additional members of each request, such as those for audio output."""


_EXAMPLES: Final = {
    "headers": 'headers = { "X-Title" = "weftwork" }',
    "query": 'query = { "api-version" = "2024-10-21" }',
    "credential_header": 'credential_header = "api-key"',
    "max_tokens_parameter": 'max_tokens_parameter = "max_completion_tokens", or "max_tokens"',
    "stream": "stream = false, or true",
    "stream_usage": "stream_usage = false, or true",
    "structured_output": 'structured_output = "json_schema", "json_object", "none" or "auto"',
    "strict_schema": "strict_schema = true, or false",
    "seed": "seed = 7",
    "body": "body = { top_p = 0.9 }, a table of members of the request",
}


def parse_options(settings: ProviderSettings) -> ChatOptions:
    """model-54 (host): the options of a provider. Raises InvalidProviderSettings, which names the option and what to
    write."""
    settings.check_options(_EXAMPLES)
    values: dict[str, Any] = {}
    for name, value in settings.options.items():
        try:
            msgspec.convert({name: value}, ChatOptions)
        except msgspec.ValidationError:
            raise InvalidProviderSettings((name,), f"write {_EXAMPLES[name]}") from None
        values[name] = value
    options = msgspec.convert(values, ChatOptions)
    _check_headers(options)
    _check_body(options.body)
    if options.seed is not None and abs(options.seed) > MAX_SEED:
        raise InvalidProviderSettings(("seed",), f"write a number from -{MAX_SEED} to {MAX_SEED}")
    return options


def _check_headers(options: ChatOptions) -> None:
    if not _HEADER_NAME.fullmatch(options.credential_header):
        raise InvalidProviderSettings(("credential_header",), f"write {_EXAMPLES['credential_header']}")
    if _is_set_by_host(options.credential_header):
        text = f"the host sets this header for each request; write {_EXAMPLES['credential_header']}"
        raise InvalidProviderSettings(("credential_header",), text)
    for name, value in options.headers.items():
        path = ("headers", name)
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value) or value != value.strip():
            text = "the name of a header has letters, digits and hyphens; its value is one line of ASCII"
            raise InvalidProviderSettings(path, text)
        if _is_set_by_host(name):
            raise InvalidProviderSettings(path, "remove it; the host sets this header for each request")
        if name.lower() in ("authorization", options.credential_header.lower(), "api-key", "x-api-key", "cookie"):
            text = 'a key does not belong in the file; write credential = "env:NAME"'
            raise InvalidProviderSettings(path, f"{text}, and credential_header if it is not Authorization")


def _is_set_by_host(name: str) -> bool:
    return name.lower() == "content-type" or is_reserved_header(name)


def _check_body(body: Mapping[str, Any]) -> None:
    for name in body:
        if name in _RESERVED_BODY:
            raise InvalidProviderSettings(("body", name), "remove it; the host sets this member for each request")


def audio_type(options: ChatOptions) -> str:
    """The media type of audio that the model generates, as far as the options say."""
    audio: Any = options.body.get("audio")
    name = audio.get("format") if is_object(audio) else None
    return {"mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "opus": "audio/ogg"}.get(str(name), "")
