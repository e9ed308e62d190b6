"""Translates a model request to the body of POST /chat/completions."""

import asyncio
import base64
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.adapters.providers.openai_compatible.options import ChatOptions
from weftwork.ports.models import Message, ModelMediaPart, ModelRequest
from weftwork.protocol.models.model_catalogue import STRUCTURED_OUTPUT, ModelInfo

THREAD_BYTES: Final = 262_144
"""Media of a request that are encoded in a thread, because that would block the event loop."""
SCHEMA_NAME: Final = "answer"

_AUDIO_FORMATS: Final = {"audio/mpeg": "mp3", "audio/wav": "wav", "audio/mp4": "m4a", "audio/ogg": "ogg"}
_FILE_ENDINGS: Final = {
    "application/json": "json",
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}

_Media = dict[int, bytes]
"""The bytes of each part, by the identity of the part."""


async def encode_request(request: ModelRequest, model: str, info: ModelInfo | None, options: ChatOptions) -> bytes:
    """The body of the request, as JSON."""
    parts = [part for message in request.messages for part in message.media]
    media = {id(part): await part.read() for part in parts}
    if sum(map(len, media.values())) > THREAD_BYTES:
        return await asyncio.to_thread(_encode, request, model, info, options, media)
    return _encode(request, model, info, options, media)


def _encode(request: ModelRequest, model: str, info: ModelInfo | None, options: ChatOptions, media: _Media) -> bytes:
    body: dict[str, Any] = {**options.body, "model": model, "messages": list(_messages(request, media))}
    limit = info.max_output_tokens if info is not None else None
    if (tokens := _lower(request.max_tokens, limit)) is not None:
        body[options.max_tokens_parameter] = tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop"] = list(request.stop)
    if options.seed is not None:
        body["seed"] = options.seed
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    if (response_format := _response_format(request, info, options)) is not None:
        body["response_format"] = response_format
    if options.stream:
        body["stream"] = True
        if options.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return msgspec.json.encode(body)


def _lower(requested: int | None, limit: int | None) -> int | None:
    return min((each for each in (requested, limit) if each is not None), default=None)


def _response_format(request: ModelRequest, info: ModelInfo | None, options: ChatOptions) -> dict[str, Any] | None:
    mode = options.structured_output
    if mode == "auto":
        mode = "json_schema" if info is not None and STRUCTURED_OUTPUT in info.capabilities else "none"
    if mode == "json_schema" and request.response_schema is not None:
        schema = {"name": SCHEMA_NAME, "schema": request.response_schema, "strict": options.strict_schema}
        return {"type": "json_schema", "json_schema": schema}
    if mode == "json_object" and (request.response_schema is not None or request.payload_schema is not None):
        return {"type": "json_object"}
    return None


def _messages(request: ModelRequest, media: _Media) -> Iterable[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        yield {"role": message.role, "content": _content(message, media)}


def _content(message: Message, media: _Media) -> str | list[dict[str, Any]]:
    """A text, or the list of parts if there is media: not every server accepts a list of texts."""
    if isinstance(message.content, str):
        return message.content
    if not message.media:
        return "\n".join(part.text for part in message.content if not isinstance(part, ModelMediaPart))
    return [
        _media_part(part, media[id(part)]) if isinstance(part, ModelMediaPart) else {"type": "text", "text": part.text}
        for part in message.content
    ]


def _media_part(part: ModelMediaPart, data: bytes) -> dict[str, Any]:
    text = base64.b64encode(data).decode("ascii")
    kind = part.media_type.partition(";")[0].strip()
    if part.modality == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{text}"}}
    subtype = kind.rpartition("/")[2]
    if part.modality == "audio":
        return {"type": "input_audio", "input_audio": {"data": text, "format": _AUDIO_FORMATS.get(kind, subtype)}}
    # The name of the caller's file is not known here, and could contain anything.
    name = f"document.{_FILE_ENDINGS.get(kind, 'bin')}"
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{kind};base64,{text}"}}
