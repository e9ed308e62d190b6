"""The models of a provider, as its settings or its code describe them: capabilities, input modalities, limits, prices.

Sources: RFC 0031 C, RFC 0055 A (identifiers of capabilities), RFC 0091 (modalities), RFC 0026 (cost).
"""

import re
from typing import Final, Literal

import msgspec

Modality = Literal["image", "audio", "document"]
MODALITIES: Final[tuple[Modality, ...]] = ("image", "audio", "document")
"""What a model can accept in addition to text."""

STRUCTURED_OUTPUT: Final = "structured-output"
FUNCTION_CALLING: Final = "function-calling"
VISION_INPUT: Final = "vision-input"
AUDIO_INPUT: Final = "audio-input"
AUDIO_OUTPUT: Final = "audio-output"
IMAGE_OUTPUT: Final = "image-output"

RESERVED_CAPABILITIES: Final = (
    STRUCTURED_OUTPUT,
    "discriminator-enum",
    "long-context",
    "reasoning",
    FUNCTION_CALLING,
    VISION_INPUT,
    AUDIO_INPUT,
    AUDIO_OUTPUT,
    IMAGE_OUTPUT,
)
"""cap-01 (RFC 0031 C): the identifiers that the specification defines. A host adds its own with the prefix
`x-host-`."""
INPUT_CAPABILITIES: Final[dict[str, Modality]] = {VISION_INPUT: "image", AUDIO_INPUT: "audio"}
"""Capabilities that mean that a model accepts a modality."""
_HOST_CAPABILITY: Final = re.compile(r"x-host-[a-z][a-z0-9-]{0,63}-[a-z][a-z0-9-]{0,63}", re.ASCII)

TOKENS_PER_PRICE: Final = 1_000_000


def is_capability(name: str) -> bool:
    """cap-01 (RFC 0031 C): whether a host may claim this capability for one of its models."""
    return name in RESERVED_CAPABILITIES or (len(name) <= 128 and _HOST_CAPABILITY.fullmatch(name) is not None)


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens. `cached_input` is the price of input tokens that the provider read from a cache;
    None: the same as `input`."""

    input: float = 0.0
    output: float = 0.0
    cached_input: float | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """rel-17 (RFC 0026): the estimated cost of a call. `cached_tokens` are part of `input_tokens`."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        total = (input_tokens - cached) * self.input + cached * cached_price + output_tokens * self.output
        return round(total / TOKENS_PER_PRICE, 9)


class ModelInfo(msgspec.Struct, frozen=True):
    """One model of a provider."""

    name: str
    capabilities: frozenset[str] = frozenset()
    modalities: frozenset[Modality] = frozenset()
    """The modalities that the model accepts in addition to text."""
    max_output_tokens: int | None = None
    price: ModelPrice | None = None
