"""The mock providers that a run with a test key can select: each simulates one behaviour of a model vendor."""

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
    """model-13 (OpenWOP run-options): implements ModelProvider for the mock config of one run.

    Absent config members have defaults. The provider is stateless, so every call gets the same answer.
    """

    def __init__(self, clock: Clock, name: str, config: Mapping[str, Any]) -> None:
        self._clock = clock
        self._config = config
        self._generator = _GENERATORS[name]
        self.name = name
        self.default_model = str(config.get("model", f"mock-{name}-v1")) if name == "stream-text" else f"mock-{name}-v1"

    def modalities(self, model: str) -> frozenset[Modality]:
        """No media: the mock providers ignore the content of requests."""
        return frozenset()

    def generate(self, request: ModelRequest) -> _AnswerStream:
        return self._generator(self._clock, self._config, self.default_model)


async def _stream_text(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    tokens: list[str] = config.get("tokens", DEFAULT_TOKENS)
    for number, token in enumerate(tokens, 1):
        await sleep_ms(clock, int(config.get("delayMsPerToken", 0)))
        yield Delta(token, number == len(tokens), model)
    finish: str = config.get("finishReason", "stop")
    yield AnswerEnd(STOP_REASONS[finish], _usage(config, len(tokens)), model, finish)


async def _tool_calls(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    calls: list[dict[str, Any]] = config.get("toolCalls", [])
    for _ in calls:
        await sleep_ms(clock, int(config.get("delayMsPerToken", 0)))
    tool_calls = tuple(_tool_call(call, number) for number, call in enumerate(calls, 1))
    yield AnswerEnd("tool-call", TokenUsage(1, len(calls)), model, "tool_calls", tool_calls=tool_calls)


async def _error(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    await sleep_ms(clock, int(config.get("failAfterMs", 0)))
    code, message = config.get("code", "provider_unavailable"), config.get("message", "The mock provider has failed.")
    raise ProviderFault(code, message, config.get("retryable", False))
    yield AnswerEnd("other")  # pragma: no cover  makes this a generator


async def _usage_only(clock: Clock, config: Mapping[str, Any], model: str) -> _AnswerStream:
    yield AnswerEnd("stop", _usage(config, 0), model, "stop")


def _usage(config: Mapping[str, Any], output_tokens: int) -> TokenUsage:
    usage: dict[str, Any] = config.get("usage", {})
    return TokenUsage(int(usage.get("promptTokens", 1)), int(usage.get("completionTokens", output_tokens)))


def _tool_call(call: dict[str, Any], number: int) -> dict[str, Any]:
    """The tool call with its arguments as JSON text, as on the wire."""
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"id": call.get("id", f"call-{number}"), "name": call["name"], "arguments": text}


_GENERATORS: Final[Mapping[str, Callable[[Clock, Mapping[str, Any], str], _AnswerStream]]] = {
    "stream-text": _stream_text,
    "tool-calls": _tool_calls,
    "error": _error,
    "usage-only": _usage_only,
}
