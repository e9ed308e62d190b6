"""The answer of a model, its record in `weftwork.model.answered`, and the chunks in which it is streamed.

Providers split characters between chunks, and not everything they send is Unicode. What a strict JSON reader would
reject is replaced before it is used or recorded.

Sources: readings (Model calls), RFC 0094 D, OpenWOP stream-modes (messages).
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.run.model_payloads import ModelAnswered

StopReason = Literal["stop", "length", "content-filter", "tool-call", "other"]
"""Why a model stopped, in one vocabulary for all providers. `content-filter` is every refusal and safety stop."""


class TokenUsage(msgspec.Struct, frozen=True):
    """What a call is billed by."""

    input_tokens: int = 0
    output_tokens: int = 0


class ModelAnswer(msgspec.Struct, frozen=True):
    """All that a model said in one call."""

    text: str
    stop: StopReason
    provider: str
    model: str
    usage: TokenUsage = TokenUsage()
    detail: str = ""
    """The provider's own word for the reason: max_tokens, length, stop_sequence, safety."""
    refusal: str | None = None
    safety_category: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    """What it made beside its text, kept as assets: {kind, mediaRef, bytes, mimeType?, alt?, name?}."""
    shown: tuple[str, ...] = ()
    """The mediaRef of each asset that it was shown."""
    turn: str = "0"
    """Which answer in this entry of its node it is: the same whenever the entry comes to it."""


class ModelFault(msgspec.Struct, frozen=True):
    """Why no answer came."""

    code: str
    message: str
    retryable: bool


def answer_record(node_id: str, call: str, answer: ModelAnswer) -> ModelAnswered:
    """model-01 (readings, Model calls): all that a node makes of an answer can be made of its record again.

    Of a refusal no word is needed for that: models refuse by quoting what they were asked.
    """
    refused = answer.refusal is not None or answer.stop == "content-filter"
    return ModelAnswered(
        node_id,
        call,
        answer.provider,
        answer.model,
        "" if refused else answer.text,
        "content-filter" if refused else answer.stop,
        answer.usage.input_tokens,
        answer.usage.output_tokens,
        answer.detail or UNSET,
        answer.safety_category or UNSET,
        list(answer.tool_calls) or UNSET,
        list(answer.shown) or UNSET,
        UNSET if refused else list(answer.media) or UNSET,
    )


def answer_from_record(record: dict[str, Any], turn: str) -> ModelAnswer:
    """The answer again; `turn` is its place in this entry of the node."""
    return ModelAnswer(
        record["text"],
        record["stop"],
        record["provider"],
        record["model"],
        TokenUsage(record["inputTokens"], record["outputTokens"]),
        record.get("detail", ""),
        None,
        record.get("safetyCategory"),
        tuple(record.get("toolCalls", ())),
        tuple(record.get("media", ())),
        tuple(record.get("shown", ())),
        turn,
    )


def fault_record(node_id: str, call: str, fault: ModelFault) -> ModelAnswered:
    """model-01: that no answer came is recorded where the node may go on without it."""
    told = {"code": fault.code, "message": fault.message, "retryable": fault.retryable}
    return ModelAnswered(node_id, call, fault=told)


def fault_from_record(record: dict[str, Any]) -> ModelFault | None:
    """Why no answer came, if that is what was recorded."""
    told = record.get("fault")
    return None if told is None else ModelFault(told["code"], told["message"], told["retryable"])


CHUNK_FINISH_REASONS: Final[dict[StopReason, str]] = {
    "stop": "stop",
    "length": "length",
    "content-filter": "content_filter",
    "tool-call": "tool_calls",
}
"""Why a model stopped, in the words of a chunk; another reason has none."""


def last_chunk_meta(
    provider: str, model: str, reason: StopReason, usage: TokenUsage, tool_calls: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """evt-08 (OpenWOP stream-modes): the last chunk says why the model stopped, and what it used."""
    meta: dict[str, Any] = {"provider": provider, "model": model}
    if reason in CHUNK_FINISH_REASONS:
        meta["finishReason"] = CHUNK_FINISH_REASONS[reason]
    meta["usage"] = {
        "promptTokens": usage.input_tokens,
        "completionTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
    }
    if tool_calls:
        meta["toolCalls"] = list(tool_calls)
    return meta


_StructT = TypeVar("_StructT", bound=msgspec.Struct)


def clean_text(text: str) -> str:
    """model-02 (host): the text with U+FFFD for every half of a character that stands alone, and for NUL."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def clean_struct(told: _StructT) -> _StructT:
    members = ((name, getattr(told, name)) for name in told.__struct_fields__)
    return msgspec.structs.replace(told, **{name: clean_text(each) for name, each in members if isinstance(each, str)})


def is_encodable(value: Any) -> bool:
    """Whether a value can be written down, and read again by a strict reader."""
    try:
        decode(encode_stored(value))
    except (ClientFault, TypeError, ValueError, RecursionError):
        return False
    return True


@dataclass(slots=True)
class SurrogateJoiner:
    """Puts characters together that come in two pieces."""

    _half: str = ""

    def join(self, piece: str, last: bool = False) -> str:
        """The piece, clean, with the half before it and without a half at its end, if more can follow."""
        text, self._half = self._half + piece, ""
        if not last and "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return clean_text(text)
