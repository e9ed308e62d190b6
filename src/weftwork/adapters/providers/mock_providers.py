"""The mock providers that a test key can ask for: each plays one thing that a vendor does."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final

import msgspec

from weftwork.adapters.providers.script import STOP_REASONS
from weftwork.adapters.providers.scripted import sleep_ms
from weftwork.ports.clock import Clock
from weftwork.ports.models import AnswerEnd, Delta, ModelRequest, ProviderFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import TokenUsage

DEFAULT_TOKENS: Final = ("mock", " response")
_AnswerStream = AsyncGenerator[Delta | AnswerEnd]


class MockProvider:
    """model-13 (OpenWOP run-options): implements ModelProvider, for the config of one run.

    What is left out of the config has a default. Nothing is kept between calls, so every call gets the same.
    """

    def __init__(self, clock: Clock, name: str, config: Mapping[str, Any]) -> None:
        self._clock = clock
        self._config = config
        self._generator = _GENERATORS[name]
        self.name = name
        self.default_model = str(config.get("model", f"mock-{name}-v1")) if name == "stream-text" else f"mock-{name}-v1"

    def modalities(self, model: str) -> frozenset[Modality]:
        """Text alone: nothing of a request is looked at."""
        return frozenset()

    def generate(self, request: ModelRequest) -> _AnswerStream:
        return self._generator(self._clock, self._config, self.default_model)


async def _stream_text(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    tokens: list[str] = config.get("tokens", DEFAULT_TOKENS)
    for place, token in enumerate(tokens, 1):
        await sleep_ms(clock, int(config.get("delayMsPerToken", 0)))
        yield Delta(token, place == len(tokens), model)
    finish: str = config.get("finishReason", "stop")
    yield AnswerEnd(STOP_REASONS[finish], _usage(config, len(tokens)), model, finish)


async def _tool_calls(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    calls: list[dict[str, Any]] = config.get("toolCalls", [])
    for _ in calls:
        await sleep_ms(clock, int(config.get("delayMsPerToken", 0)))
    made = tuple(_tool_call(call, place) for place, call in enumerate(calls, 1))
    yield AnswerEnd("tool-call", TokenUsage(1, len(calls)), model, "tool_calls", tool_calls=made)


async def _error(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    await sleep_ms(clock, int(config.get("failAfterMs", 0)))
    code, message = config.get("code", "provider_unavailable"), config.get("message", "The mock provider has failed.")
    raise ProviderFault(code, message, config.get("retryable", False))
    yield AnswerEnd("other")  # pragma: no cover  makes this a generator


async def _usage_only(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    yield AnswerEnd("stop", _usage(config, 0), model, "stop")


def _usage(config: Mapping[str, Any], said: int) -> TokenUsage:
    usage: dict[str, Any] = config.get("usage", {})
    return TokenUsage(int(usage.get("promptTokens", 1)), int(usage.get("completionTokens", said)))


def _tool_call(call: dict[str, Any], place: int) -> dict[str, Any]:
    """On the wire arguments are text."""
    given = call.get("arguments", {})
    arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return {"id": call.get("id", f"call-{place}"), "name": call["name"], "arguments": arguments}


_GENERATORS: Final[Mapping[str, Callable[[Clock, Mapping[str, Any], str], _AnswerStream]]] = {
    "stream-text": _stream_text,
    "tool-calls": _tool_calls,
    "error": _error,
    "usage-only": _usage_only,
}
