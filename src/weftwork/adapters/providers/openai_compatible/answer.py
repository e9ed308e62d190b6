"""Assembles one answer from the chunks of a stream, or from one complete response.

Servers with this API differ in details: members are missing, null or of another type. What is not understood is
ignored, unless the answer would be wrong without it.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from weftwork.ports.media import MediaKind
from weftwork.ports.models import AnswerEnd, GeneratedMedia
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.models.answers import MAX_TOOL_CALL_CHARS, StopReason, TokenUsage

FINISH_REASONS: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "model_length": "length",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "tool_calls": "tool-call",
    "function_call": "tool-call",
}
"""model-55 (host): the stop reason for each `finish_reason`. Any other is `other`."""
ERROR_REASON: Final = "error"
"""The `finish_reason` with which some gateways report that a model has failed."""

MAX_TOKENS: Final = 2**53 - 1
MAX_TOOL_CALLS: Final = 128
MAX_TOOL_LABEL: Final = 256
"""Characters of the id and of the name of a tool call."""
MAX_MEDIA: Final = 16
MAX_ALT: Final = 1_000
MAX_MEDIA_TYPE: Final = 256
"""Characters of a data URL in which its media type must end."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _TextDelta(msgspec.Struct, frozen=True):
    content: str
    refusal: None = None
    tool_calls: None = None
    function_call: None = None
    images: None = None
    audio: None = None


class _TextChoice(msgspec.Struct, frozen=True):
    delta: _TextDelta
    index: Literal[0] = 0
    finish_reason: None = None
    content_filter_results: None = None


class TextChunk(msgspec.Struct, frozen=True):
    """A chunk that has nothing but text: most chunks of an answer.

    These are all members that `AnswerAssembler.add` reads. A chunk with a value for another one of them than the text
    is not a TextChunk.
    """

    choices: tuple[_TextChoice]
    model: str = ""
    usage: None = None
    x_groq: None = None
    error: None = None


_decode_text = msgspec.json.Decoder(TextChunk).decode


class InvalidChunk(Exception):
    """A chunk or a response is not valid JSON, or not an object."""


class AnswerTooLarge(Exception):
    """The tool calls of the answer are larger than the host accepts."""


def decode_chunk(data: bytes) -> TextChunk | dict[str, Any]:
    """A chunk of a stream. Raises InvalidChunk."""
    try:
        if not data.isascii():
            # The typed decoder does not look at the characters of members that it skips.
            data.decode()
        return _decode_text(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode_document(data)


def decode_document(data: bytes) -> dict[str, Any]:
    """Raises InvalidChunk."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # A chunk may hold one half of a surrogate pair, which msgspec rejects.
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidChunk from None
    if not is_object(document):
        raise InvalidChunk
    return document


class _ToolCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class _Audio:
    def __init__(self) -> None:
        self.data: list[str] = []
        self.transcript: list[str] = []


class AnswerAssembler:
    """Collects the parts of one answer."""

    def __init__(self, audio_type: str = "") -> None:
        self._audio_type = audio_type
        self.model = ""
        self.finish_reason: str | None = None
        """The reason for the end; None as long as the answer is not complete."""
        self._usage = TokenUsage()
        self._refusal: list[str] = []
        self._safety_category: str | None = None
        self._tools: dict[int, _ToolCall] = {}
        self._tool_chars = 0
        self._audio: _Audio | None = None
        self._images: list[str] = []

    def add_text(self, chunk: TextChunk) -> str:
        """As `add`, for a chunk with nothing but text."""
        if not self.model:
            self.model = chunk.model
        return chunk.choices[0].delta.content

    def add(self, document: dict[str, Any]) -> str:
        """Process a chunk of a stream, or a complete response; returns the text in it. Raises AnswerTooLarge."""
        if not self.model and isinstance(model := document.get("model"), str):
            self.model = model
        usage = document.get("usage")
        if usage is None and is_object(vendor := document.get("x_groq")):
            usage = vendor.get("usage")
        if is_object(usage):
            self._usage = token_usage(usage)
        choices = document.get("choices")
        choice = choices[0] if is_array(choices) and choices else None
        # Other choices are alternatives to the first one. The host never asks for them.
        return self._add_choice(choice) if is_object(choice) and not choice.get("index") else ""

    def _add_choice(self, choice: dict[str, Any]) -> str:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
        if is_object(results := choice.get("content_filter_results")):
            self._safety_category = _filtered_category(results) or self._safety_category
        message = choice.get("delta")
        if message is None:
            message = choice.get("message")
        return self._add_message(message) if is_object(message) else ""

    def _add_message(self, message: dict[str, Any]) -> str:
        for name, value in message.items():
            if not value or name in ("content", "role"):
                continue
            if name == "refusal" and isinstance(value, str):
                self._refusal.append(value)
            elif name == "tool_calls" and is_array(value):
                self._add_tool_calls(value)
            elif name == "function_call" and is_object(value):
                self._add_tool_calls([{"index": 0, "function": value}])
            elif name == "images" and is_array(value):
                self._images += [url for each in value if (url := _image_url(each))]
            elif name == "audio" and is_object(value):
                self._add_audio(value)
        content = message.get("content")
        if isinstance(content, str):
            return content
        return self._add_parts(content) if is_array(content) else ""

    def _add_parts(self, parts: list[Any]) -> str:
        """The texts of a content that is a list of parts."""
        texts: list[str] = []
        for part in parts:
            if is_object(part) and part.get("type") == "text" and isinstance(text := part.get("text"), str):
                texts.append(text)
            elif url := _image_url(part):
                self._images.append(url)
        return "".join(texts)

    def _add_tool_calls(self, pieces: list[Any]) -> None:
        for place, piece in enumerate(pieces):
            if not is_object(piece):
                continue
            index = piece.get("index", place)
            if not isinstance(index, int) or (index not in self._tools and len(self._tools) >= MAX_TOOL_CALLS):
                continue
            call = self._tools.setdefault(index, _ToolCall())
            function = piece.get("function")
            if isinstance(name := piece.get("id"), str) and name:
                call.id = name[:MAX_TOOL_LABEL]
            if is_object(function):
                if isinstance(name := function.get("name"), str) and name:
                    call.name = name[:MAX_TOOL_LABEL]
                arguments = function.get("arguments")
                if is_object(arguments):
                    arguments = msgspec.json.encode(arguments).decode()
                if isinstance(arguments, str):
                    self._tool_chars += len(arguments)
                    if self._tool_chars > MAX_TOOL_CALL_CHARS:
                        raise AnswerTooLarge
                    call.arguments.append(arguments)

    def _add_audio(self, audio: dict[str, Any]) -> None:
        self._audio = self._audio or _Audio()
        if isinstance(data := audio.get("data"), str):
            self._audio.data.append(data)
        if isinstance(transcript := audio.get("transcript"), str):
            self._audio.transcript.append(transcript)

    def media(self) -> Iterator[GeneratedMedia]:
        """The images and the audio of the answer. Images that are not data URLs are ignored. Raises InvalidChunk."""
        for url in self._images[:MAX_MEDIA]:
            media_type, _, text = url.removeprefix("data:").partition(";base64,")
            yield _media("image", text, media_type)
        if self._audio is not None and any(self._audio.data):
            transcript = "".join(self._audio.transcript)[:MAX_ALT]
            yield _media("audio", "".join(self._audio.data), self._audio_type, transcript)

    @property
    def media_chars(self) -> int:
        """The size of the base64 that `media` decodes."""
        return sum(map(len, self._images)) + sum(map(len, self._audio.data if self._audio else ()))

    def end(self) -> AnswerEnd:
        """The end of the answer. Only after `finish_reason` is known."""
        detail = self.finish_reason or ""
        reason = FINISH_REASONS.get(detail, "other")
        refusal = "".join(self._refusal) or None
        if refusal is not None:
            reason = "content-filter"
        elif self._tools and reason in ("stop", "other"):
            # Several servers end an answer with tool calls like any other.
            reason = "tool-call"
        category = self._safety_category if reason == "content-filter" else None
        return AnswerEnd(reason, self._usage, self.model, detail, refusal, category, self._tool_calls())

    def _tool_calls(self) -> tuple[dict[str, Any], ...]:
        calls = [self._tools[index] for index in sorted(self._tools)]
        return tuple(
            {"id": call.id or f"call-{number}", "name": call.name, "arguments": "".join(call.arguments)}
            for number, call in enumerate(calls, 1)
        )


def token_usage(usage: dict[str, Any]) -> TokenUsage:
    """model-56 (host): the token counts of a response; 0 for each that is missing or not a number."""
    details = usage.get("prompt_tokens_details")
    cached: Any = details.get("cached_tokens") if is_object(details) else usage.get("prompt_cache_hit_tokens")
    tokens = _count(usage.get("prompt_tokens"))
    return TokenUsage(tokens, _count(usage.get("completion_tokens")), min(_count(cached), tokens))


def _count(value: Any) -> int:
    return min(max(value, 0), MAX_TOKENS) if isinstance(value, int) and not isinstance(value, bool) else 0


def _filtered_category(results: dict[str, Any]) -> str | None:
    found = [name for name, each in results.items() if is_object(each) and each.get("filtered") is True]
    return found[0] if found else None


def _image_url(part: Any) -> str:
    """The data URL with the base64 of an image part; empty if it is not one."""
    holder = part.get("image_url") if is_object(part) else None
    url = holder.get("url") if is_object(holder) else holder
    if not isinstance(url, str) or not url.startswith("data:image/"):
        return ""
    return url if ";base64," in url[:MAX_MEDIA_TYPE] else ""


def _media(kind: MediaKind, text: str, media_type: str, alt: str = "") -> GeneratedMedia:
    try:
        return GeneratedMedia(kind, base64.b64decode(text, validate=True), media_type, alt)
    except (binascii.Error, ValueError):
        raise InvalidChunk from None
