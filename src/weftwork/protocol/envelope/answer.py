"""The answer of a model, whole, as it is recorded and judged."""

from typing import Any, Literal

import msgspec

StopReason = Literal["stop", "length", "content-filter", "tool-call", "other"]
"""Why a model stopped, in one vocabulary for all providers. `content-filter` is every refusal and safety stop."""


class Usage(msgspec.Struct, frozen=True):
    """What a call is billed by."""

    input_tokens: int = 0
    output_tokens: int = 0


class ModelAnswer(msgspec.Struct, frozen=True):
    """All that a model said in one call."""

    text: str
    stop: StopReason
    provider: str
    model: str
    usage: Usage = Usage()
    detail: str = ""
    """The provider's own word for the reason: max_tokens, length, stop_sequence, safety."""
    refusal: str | None = None
    """What it said when it refused."""
    safety_category: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    """What it made beside its text, kept as assets: {kind, mediaRef, bytes, mimeType?, alt?, name?}."""
    shown: tuple[str, ...] = ()
    """The mediaRef of each asset that it was shown."""
    turn: str = "0"
    """Which answer in this entry of its node it is: the same whenever the entry comes to it."""
