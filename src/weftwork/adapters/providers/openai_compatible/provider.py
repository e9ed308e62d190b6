"""The provider for servers with OpenAI's chat completions API: OpenAI, Azure, vLLM, llama.cpp, Ollama, Groq,
OpenRouter, LM Studio and others, by their base URL.

The key of a request (`ModelRequest.key`) is not sent. No server documents an idempotency key for this API, and a
gateway that stored responses by key would answer the repetition of a failed call with the same failure.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from weftwork.adapters.providers.openai_compatible.answer import (
    ERROR_REASON,
    AnswerAssembler,
    AnswerTooLarge,
    InvalidChunk,
    TextChunk,
    decode_chunk,
    decode_document,
)
from weftwork.adapters.providers.openai_compatible.event_stream import EventReader, EventTooLarge
from weftwork.adapters.providers.openai_compatible.options import audio_type, parse_options
from weftwork.adapters.providers.openai_compatible.request_body import encode_request
from weftwork.adapters.providers.steady import NoAnswerFault, SteadyProvider, TransientFault
from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    ModelProvider,
    ModelRequest,
    ProviderContext,
    ProviderFault,
)
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundStream, StreamTimeouts
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.model_catalogue import ModelInfo
from weftwork.protocol.models.provider_faults import (
    INCOMPLETE_ANSWER,
    INVALID_ANSWER,
    NO_CREDENTIAL,
    TOO_LARGE_ANSWER,
    TRANSPORT_FAULTS,
    FaultRow,
    error_names,
    fault_of_names,
    fault_of_status,
    retry_after_ms,
)
from weftwork.protocol.models.provider_settings import InvalidProviderSettings

MAX_ERROR_BYTES: Final = 65_536
"""What is read of an error body to find its code."""
MAX_CHECK_MS: Final = 10_000
DONE: Final = b"[DONE]"
JSON_TYPES: Final = ("application/json", "text/json")
EVENT_TYPES: Final = ("", "text/event-stream", "text/plain", "application/octet-stream")
"""Content types of a stream of events. Some proxies replace the type of a response, or remove it."""
THREAD_CHARS: Final = 1_048_576
"""Larger JSON and base64 are decoded in a thread, because that would block the event loop."""

_Piece = Delta | GeneratedMedia | AnswerEnd


class _RowFault(Exception):
    """A failure with its row in the table. `has_response`: whether the server has answered."""

    def __init__(self, row: FaultRow, retry_after: int | None = None, has_response: bool = True) -> None:
        super().__init__(row.code)
        self.row = row
        self.retry_after = retry_after
        self.has_response = has_response


class OpenAICompatibleProvider:
    """Implements ModelProvider. Raises TransientFault where a repetition can help."""

    def __init__(self, context: ProviderContext) -> None:
        settings = context.settings
        if not settings.base_url:
            text = 'add the address of the API: base_url = "https://api.example.com/v1"'
            raise InvalidProviderSettings(("base_url",), text)
        if not settings.models:
            text = f'add at least one model: [[providers.{settings.name}.models]] with name = "..."'
            raise InvalidProviderSettings(("models",), text)
        self._context = context
        self._settings = settings
        self._options = parse_options(settings)
        self.name = settings.name
        self.default_model = settings.models[0].name

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        return self._settings.models

    def modalities(self, model: str) -> frozenset[Modality]:
        info = self._settings.model(model)
        return frozenset() if info is None else info.modalities

    async def check(self) -> None:
        """Raise ProviderFault if the server does not list its models now."""
        try:
            headers = self._headers()
            url = self._url("/models")
            request = OutboundRequest(url, headers=headers, timeout_ms=MAX_CHECK_MS, redirects=False)
            try:
                response = await self._context.outbound.fetch(request)
            except FetchRefused:
                raise _transport_fault("refused") from None
            except FetchFailed as failed:
                raise _transport_fault(failed.reason) from None
            if response.status != 200:
                raise _RowFault(fault_of_status(response.status, _names_of(response.content[:MAX_ERROR_BYTES])))
        except _RowFault as failed:
            raise self._fault(failed) from None

    async def generate(self, request: ModelRequest) -> AsyncGenerator[_Piece, None]:
        model = request.model or self.default_model
        assembler = AnswerAssembler(audio_type(self._options))
        try:
            content = await encode_request(request, model, self._settings.model(model), self._options)
            outgoing = OutboundRequest(
                self._url("/chat/completions"), "POST", self._headers(), content, redirects=False
            )
            try:
                async with self._context.outbound.stream(outgoing, self._timeouts()) as response:
                    await self._check_status(response)
                    documents = _Documents(response)
                    while not documents.has_ended:
                        for data in documents.add(await response.read()):
                            if DONE in data and data.strip() == DONE:
                                documents.has_ended = True
                                break
                            if len(data) > THREAD_CHARS:
                                document = await asyncio.to_thread(decode_document, data)
                            else:
                                document = decode_chunk(data)
                            if isinstance(document, TextChunk):
                                text = assembler.add_text(document)
                            else:
                                text = assembler.add(document)
                                _check_chunk(document, assembler)
                            if text:
                                yield Delta(text, model=assembler.model)
            except FetchRefused:
                raise _transport_fault("refused") from None
            except FetchFailed as failed:
                if assembler.finish_reason is None:
                    raise _transport_fault(failed.reason) from None
            if assembler.finish_reason is None:
                raise _RowFault(INCOMPLETE_ANSWER)
            for piece in await _ending(assembler):
                yield piece
        except InvalidChunk:
            raise self._fault(_RowFault(INVALID_ANSWER)) from None
        except (EventTooLarge, AnswerTooLarge):
            raise self._fault(_RowFault(TOO_LARGE_ANSWER)) from None
        except _RowFault as failed:
            if failed.row.remedy == "refusal":
                yield AnswerEnd("content-filter", model=assembler.model, detail="content_filter")
                return
            raise self._fault(failed) from None

    async def _check_status(self, response: OutboundStream) -> None:
        if response.status == 200:
            return
        body = bytearray()
        try:
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    body += chunk[: MAX_ERROR_BYTES - len(body)]
                    if len(body) >= MAX_ERROR_BYTES:
                        break
        except FetchFailed:
            # The status alone says enough.
            pass
        retry_after = retry_after_ms(response.header("retry-after"), self._context.clock.now())
        raise _RowFault(fault_of_status(response.status, _names_of(bytes(body))), retry_after)

    def _timeouts(self) -> StreamTimeouts:
        limits = self._settings.timeouts
        first_byte = limits.first_byte if self._options.stream else limits.total
        seconds = limits.connect, first_byte, limits.idle, limits.total
        return StreamTimeouts(*(int(each * 1000) for each in seconds))

    def _url(self, path: str) -> str:
        query = f"?{urlencode(self._options.query)}" if self._options.query else ""
        return f"{self._settings.base_url.rstrip('/')}{path}{query}"

    def _headers(self) -> tuple[tuple[str, str], ...]:
        headers = [("Content-Type", "application/json"), *self._options.headers.items()]
        if self._settings.credential:
            key = (self._context.credential() or "").strip()
            if not key or not key.isascii() or not key.isprintable():
                raise _RowFault(NO_CREDENTIAL, has_response=False)
            name = self._options.credential_header
            headers.append((name, f"Bearer {key}" if name.lower() == "authorization" else key))
        return tuple(headers)

    def _fault(self, failed: _RowFault) -> ProviderFault:
        row, message = failed.row, failed.row.message(self.name)
        if row.remedy in ("repeat", "wait"):
            return TransientFault(row.code, message, row.remedy == "wait", failed.retry_after)
        kind = ProviderFault if failed.has_response else NoAnswerFault
        return kind(row.code, message, row.is_retryable)


class _Documents:
    """Finds the chunks of a stream, or the only document of another response. Raises InvalidChunk."""

    def __init__(self, response: OutboundStream) -> None:
        media_type = (response.header("content-type") or "").partition(";")[0].strip().lower()
        self._is_json = media_type in JSON_TYPES
        if not self._is_json and media_type not in EVENT_TYPES:
            raise InvalidChunk
        self._body: list[bytes] = []
        self._events = EventReader()
        self.has_ended = False
        """Whether the response has ended. Its reader also sets it, at the event that a server sends last, which may
        arrive in several pieces."""

    def add(self, piece: bytes) -> Iterator[bytes]:
        """The documents that are complete with this piece of the body; the end of the body is an empty piece. Raises
        EventTooLarge."""
        if self._is_json:
            self._body.append(piece)
            self.has_ended = not piece
            return iter(()) if piece else iter((b"".join(self._body),))
        if piece:
            return self._events.feed(piece)
        self.has_ended = True
        return self._events.end()


def openai_compatible_provider(context: ProviderContext) -> ModelProvider:
    """The provider of the type `openai-compatible`. Raises InvalidProviderSettings."""
    return SteadyProvider(OpenAICompatibleProvider(context), context)


def _transport_fault(reason: str) -> _RowFault:
    return _RowFault(TRANSPORT_FAULTS[reason], has_response=False)


def _check_chunk(document: dict[str, Any], assembler: AnswerAssembler) -> None:
    """Raise for a chunk that reports an error: some servers fail after the head of the response."""
    if error := document.get("error"):
        status = error.get("code") if is_object(error) else None
        if isinstance(status, int) and status >= 400:
            raise _RowFault(fault_of_status(status, error_names(document)))
        raise _RowFault(fault_of_names(error_names(document)) or INCOMPLETE_ANSWER)
    if assembler.finish_reason == ERROR_REASON:
        raise _RowFault(INCOMPLETE_ANSWER)


async def _ending(assembler: AnswerAssembler) -> Iterable[_Piece]:
    """The media of the answer and its end."""
    if assembler.media_chars > THREAD_CHARS:
        media = await asyncio.to_thread(lambda: list(assembler.media()))
    else:
        media = list(assembler.media())
    return [*media, assembler.end()]


def _names_of(body: bytes) -> list[str]:
    try:
        return error_names(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
