"""Models of providers as documents and table rows, and the result of one answer."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from weftwork.cli.console.units import format_duration
from weftwork.ports.models import ModelProvider, ProviderFault, input_modalities, listed_models
from weftwork.protocol.models.model_catalogue import MODALITIES, ModelInfo, ModelPrice

UNCHECKED: Final = "unknown"
"""The status of a provider that was not asked, or cannot tell."""


class ListedProvider(msgspec.Struct, frozen=True):
    """A provider with the result of its check."""

    provider: ModelProvider
    status: str = UNCHECKED
    """`ok`, `fail` or UNCHECKED."""
    fault: ProviderFault | None = None


def provider_document(listed: ListedProvider) -> dict[str, Any]:
    provider = listed.provider
    document: dict[str, Any] = {
        "name": provider.name,
        "defaultModel": provider.default_model,
        "status": listed.status,
        "models": [_model_document(each) for each in known_models(provider)],
    }
    if listed.fault is not None:
        document["error"] = {"code": listed.fault.code, "message": listed.fault.message}
    return document


def known_models(provider: ModelProvider) -> Sequence[ModelInfo]:
    """The listed models; for a provider that lists none, its default model."""
    default = ModelInfo(provider.default_model, modalities=input_modalities(provider, ""))
    return listed_models(provider) or (default,)


def _model_document(model: ModelInfo) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": model.name,
        "capabilities": sorted(model.capabilities),
        "input": _inputs(model),
    }
    if model.max_output_tokens is not None:
        document["maxOutputTokens"] = model.max_output_tokens
    if model.price is not None:
        price = model.price
        document["price"] = {"input": price.input, "output": price.output}
        if price.cached_input is not None:
            document["price"]["cachedInput"] = price.cached_input
    return document


MODEL_COLUMNS: Final = ("model", "status", "input", "output tokens", "price", "capabilities")


def model_rows(listed: ListedProvider) -> Iterator[tuple[str, ...]]:
    """One row for each model of a provider."""
    for model in known_models(listed.provider):
        yield (
            f"{listed.provider.name}/{model.name}",
            listed.status,
            ", ".join(_inputs(model)),
            f"{model.max_output_tokens:,}" if model.max_output_tokens is not None else "",
            _price_text(model.price),
            ", ".join(sorted(model.capabilities)),
        )


def _inputs(model: ModelInfo) -> list[str]:
    return ["text", *(each for each in MODALITIES if each in model.modalities)]


def _price_text(price: ModelPrice | None) -> str:
    return "" if price is None else f"${price.input:g} in, ${price.output:g} out"


class TriedAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer to one call, with what it took."""

    provider: str
    model: str
    text: str
    stop_reason: str
    input_tokens: int
    output_tokens: int
    total_ms: float
    cached_tokens: int = 0
    first_token_ms: float | None = None
    """None if the answer has no text."""
    cost_usd: float | None = None
    """None if the price of the model is not known."""
    refusal: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    media: tuple[str, ...] = ()
    """The kinds of the media that the model made."""


def summary_line(answer: TriedAnswer) -> str:
    """Tokens, times and cost of an answer, and why it ended if it is not complete."""
    cached = f" ({answer.cached_tokens:,} cached)" if answer.cached_tokens else ""
    parts = [f"{answer.input_tokens:,} tokens in{cached}, {answer.output_tokens:,} out"]
    if answer.first_token_ms is not None:
        parts.append(f"first token after {format_duration(answer.first_token_ms)}")
    parts.append(f"{format_duration(answer.total_ms)} in total")
    if answer.cost_usd is not None:
        parts.append(f"${answer.cost_usd:.6f}")
    if answer.media:
        parts.append(f"media: {', '.join(answer.media)}")
    if answer.stop_reason != "stop":
        parts.append(f"ended with {answer.stop_reason}")
    return f"{answer.provider}/{answer.model}: {'; '.join(parts)}"
