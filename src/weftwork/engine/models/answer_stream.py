"""The stream of one answer: passes deltas of a model on to readers, and collects the complete answer.

Readers see deltas without secrets and without long base64. A secret may be split over several deltas, so text that
could be the beginning of a secret is held back until the next delta decides.
"""

import asyncio
from typing import Any, Final, Protocol

import msgspec

from weftwork.ports.models import AnswerEnd, Delta, ProviderFault
from weftwork.protocol.json.values import map_texts
from weftwork.protocol.media.inline_media import MAX_ANSWER_INLINE_BYTES, Base64Elider, truncate_inline_media
from weftwork.protocol.models.answers import (
    MAX_TOOL_CALL_CHARS,
    ModelAnswer,
    SurrogateJoiner,
    clean_struct,
    clean_text,
    is_encodable,
    last_chunk_meta,
)
from weftwork.protocol.privacy.secret_matcher import HoldBack

MAX_ANSWER_CHARS: Final = 1_048_576
"""model-02 (host): characters of one answer; a longer answer is truncated."""
MIN_DELTA_CHARS: Final = 16
"""The number of characters that a delta counts for at least, which limits the number of deltas."""
MAX_LABEL_CHARS: Final = 256
"""Characters of a name or a reason from a provider."""
DELTAS_PER_YIELD: Final = 64
"""Deltas after which the stream yields to the event loop, because a provider may never wait."""


class ChunkSink(Protocol):
    """The destination of a streamed answer, which also knows the secrets to mask."""

    def emit_chunk(self, text: str, last: bool, meta: dict[str, Any]) -> None: ...

    def redact_name(self, name: str) -> str: ...

    def redact_tool_calls(self, calls: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]: ...

    @property
    def secrets(self) -> tuple[str, ...]: ...


class AnswerStream:
    """Receives one answer of a model."""

    __slots__ = (
        "_delta_count",
        "_elider",
        "_halves",
        "_hold",
        "_is_streamed",
        "_meta",
        "_model",
        "_pending",
        "_provider",
        "_sink",
        "_size",
        "_stop",
        "_texts",
    )

    def __init__(self, sink: ChunkSink, provider: str, model: str, streamed: bool) -> None:
        self._sink = sink
        self._provider = provider
        self._model = model
        self._meta = {"provider": provider, "model": sink.redact_name(model)}
        self._is_streamed = streamed
        self._hold = HoldBack(sink.secrets)
        self._elider = Base64Elider()
        self._halves = SurrogateJoiner()
        self._texts: list[str] = []
        self._size = 0
        self._delta_count = 0
        self._pending: str | None = None
        """The last delta, which is sent together with the reason of the end."""
        self._stop: AnswerEnd | None = None

    async def add(self, piece: Delta | AnswerEnd) -> bool:
        """Process a delta or the end; returns whether the answer has ended."""
        if isinstance(piece, AnswerEnd):
            self._end(piece)
            return True
        if piece.model and piece.model != self._model:
            self._model = clean_text(piece.model)[:MAX_LABEL_CHARS]
            self._meta = {"provider": self._provider, "model": self._sink.redact_name(self._model)}
        room = MAX_ANSWER_CHARS - self._size
        text = self._halves.join(piece.text[:room], piece.last)
        self._texts.append(text)
        self._size += max(len(piece.text), MIN_DELTA_CHARS)
        if self._size > MAX_ANSWER_CHARS:
            self._pending = text
            self._end(AnswerEnd("length", detail="length"))
            return True
        if piece.last and self._is_streamed:
            self._pending = text
            return False
        self._show(text)
        if self._delta_count % DELTAS_PER_YIELD == 0:
            await asyncio.sleep(0)
        return False

    def abandon(self) -> None:
        """End the stream for readers, because the call failed or was cancelled."""
        if self._is_streamed and self._delta_count and self._stop is None:
            self._sink.emit_chunk("", True, self._meta)

    def answer(self) -> ModelAnswer:
        if self._stop is None:
            # The provider's stream was cut off, and a part of an answer is no answer.
            raise ProviderFault("provider_unavailable", "The answer of the model was cut off before its end.")
        stop = self._stop
        return ModelAnswer(
            "".join(self._texts),
            stop.reason,
            self._provider,
            self._model,
            stop.usage,
            stop.detail,
            stop.refusal,
            stop.safety_category,
            stop.tool_calls,
        )

    def _show(self, text: str) -> None:
        if self._is_streamed:
            if secrets := self._sink.secrets:
                self._hold.update_texts(secrets)
                text = self._hold.release(text)
            self._sink.emit_chunk(self._elider.feed(text), False, self._meta)
        self._delta_count += 1

    def _end(self, stop: AnswerEnd) -> None:
        if sum(len(str(value)) for call in stop.tool_calls for value in call.values()) > MAX_TOOL_CALL_CHARS:
            raise ProviderFault("provider_unavailable", "The tool calls of the model are too large.", retryable=False)
        if stop.tool_calls and not is_encodable(stop.tool_calls):
            raise ProviderFault("provider_unavailable", "The tool calls of the model are not valid JSON.")
        if rest := self._halves.join("", last=True):
            self._texts.append(rest)
            self._pending = (self._pending or "") + rest
        self._stop = stop = _truncate_labels(clean_struct(stop))
        if stop.model:
            self._model = self._sink.redact_name(stop.model)
        if self._is_streamed and (self._pending is not None or self._delta_count or stop.tool_calls):
            text = self._elider.feed(self._hold.release(self._pending or "", last=True))
            tools = self._sink.redact_tool_calls(stop.tool_calls)
            model = self._sink.redact_name(self._model)
            meta = last_chunk_meta(self._provider, model, stop.reason, stop.usage, tools)
            self._sink.emit_chunk(text, True, meta)


def _truncate_labels(stop: AnswerEnd) -> AnswerEnd:
    """Truncate the labels and the media in tool calls, so that a provider cannot fill the log with them."""
    category = stop.safety_category[:MAX_LABEL_CHARS] if stop.safety_category is not None else None
    labels = {"detail": stop.detail[:MAX_LABEL_CHARS], "model": stop.model[:MAX_LABEL_CHARS]}
    calls = tuple(
        map_texts(
            list(stop.tool_calls), lambda text: truncate_inline_media(text, MAX_ANSWER_INLINE_BYTES, everywhere=True)
        )
    )
    return msgspec.structs.replace(stop, safety_category=category, tool_calls=calls, **labels)
