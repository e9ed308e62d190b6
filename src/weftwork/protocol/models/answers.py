"""The answer of a model, its record in `weftwork.model.answered`, and the chunks in which it is streamed.

Providers may split a character between two chunks, and may send text that is not valid Unicode. Characters that a
strict JSON reader would reject are replaced before the text is used or recorded.

Sources: readings (Model calls), RFC 0094 D, OpenWOP stream-modes (messages).
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.events import MODEL_ANSWERED, Event
from weftwork.protocol.run.model_payloads import ModelAnswered
from weftwork.protocol.scopes import DEBUG, create_key_command

ANSWER_MASK: Final = f"[masked: needs the scope {DEBUG}"
"""auth-07: the beginning of what readers without the scope see in place of the texts of an answer."""

StopReason = Literal["stop", "length", "content-filter", "tool-call", "other"]
"""Why a model stopped, in one vocabulary for all providers. `content-filter` covers every refusal and safety stop."""


class TokenUsage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Input tokens that the provider read from its cache. They are part of `input_tokens`."""


class ModelAnswer(msgspec.Struct, frozen=True):
    """The result of one model call."""

    text: str
    stop: StopReason
    provider: str
    model: str
    usage: TokenUsage = TokenUsage()
    detail: str = ""
    """The provider's own name for the stop reason, such as max_tokens, length, stop_sequence or safety."""
    refusal: str | None = None
    safety_category: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    """Media that the model generated, stored as assets: {kind, mediaRef, bytes, mimeType?, alt?, name?}."""
    shown: tuple[str, ...] = ()
    """The mediaRef of each asset in the request."""
    turn: str = "0"
    """The position of the answer within one execution of its node. A repeated execution gives each answer the same
    position."""


class ModelFault(msgspec.Struct, frozen=True):
    """Why a call returned no answer."""

    code: str
    message: str
    retryable: bool


def answer_record(
    node_id: str, call: str, answer: ModelAnswer, request_keys: dict[str, str] | None = None
) -> ModelAnswered:
    """model-01 (readings, Model calls): the record holds everything that a node needs to process the answer again, and
    the keys of the request by which a replay finds it.

    The text of a refusal is left out: it is not needed for that, and models often quote the prompt when they refuse.
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
        request_keys=request_keys or UNSET,
    )


def answer_from_record(record: dict[str, Any], turn: str) -> ModelAnswer:
    """Rebuild an answer from its record. `turn` is its position within the execution of the node."""
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
    """model-01: record a failed call. Needed if the node can continue without the answer, because a repeated execution
    must then see the same failure."""
    members = {"code": fault.code, "message": fault.message, "retryable": fault.retryable}
    return ModelAnswered(node_id, call, fault=members)


def fault_from_record(record: dict[str, Any]) -> ModelFault | None:
    """The recorded failure of a call; None if the record holds an answer."""
    members = record.get("fault")
    return None if members is None else ModelFault(members["code"], members["message"], members["retryable"])


def mask_answers(events: list[Event], partition: str) -> list[Event]:
    """auth-07 (host): the events of a run as a reader without the scope runs:debug sees them.

    A model's answer can contain anything until it is validated, so only its record is shown: who answered, why the
    model stopped, and the tokens. The keys of the request are masked too, because they confirm a guess of the prompt.
    All events stay, so sequences have no gap. Other events are returned unchanged, with the encodings that they share
    between readers.
    """
    if not any(event.type == MODEL_ANSWERED for event in events):
        return events
    return [_mask_event(event, partition) if event.type == MODEL_ANSWERED else event for event in events]


def _mask_event(event: Event, partition: str) -> Event:
    """The event with the texts of the answer masked, made once for all readers of the event."""
    if event.masked is None:
        marker = f"{ANSWER_MASK}; run `{create_key_command(partition, DEBUG)}`]"
        payload: dict[str, Any] = msgspec.json.decode(event.payload)
        if payload.get("text"):
            payload["text"] = marker
        for member, shown in (("toolCalls", ("id", "name")), ("media", ("kind", "mediaRef", "bytes", "mimeType"))):
            if member in payload:
                payload[member] = [
                    {name: each if name in shown else _mask_like(each, marker) for name, each in item.items()}
                    for item in payload[member]
                ]
        if "requestKeys" in payload:
            payload["requestKeys"] = _mask_like(payload["requestKeys"], marker)
        encoded = encode_recorded(payload)
        event.masked = msgspec.structs.replace(event, payload=encoded, frames=None, masked=None, _document=None)
    return event.masked


def _mask_like(value: Any, marker: str) -> Any:
    """A value of the same JSON type that holds nothing but the marker."""
    return {"masked": marker} if is_object(value) else [marker] if is_array(value) else marker


MAX_TOOL_CALL_CHARS: Final = 1_048_576
"""model-57 (host): characters of all tool calls of one answer. A text can be cut off, tool calls cannot, so a call with
larger ones fails. Providers stop collecting at the limit, and the engine checks the answer of every provider."""

CHUNK_FINISH_REASONS: Final[dict[StopReason, str]] = {
    "stop": "stop",
    "length": "length",
    "content-filter": "content_filter",
    "tool-call": "tool_calls",
}
"""The `finishReason` of a chunk for each stop reason. `other` has none."""


def last_chunk_meta(
    provider: str, model: str, reason: StopReason, usage: TokenUsage, tool_calls: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """evt-08 (OpenWOP stream-modes): the `meta` of the last chunk, with the finish reason and the token usage."""
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
    """model-02 (host): replace every unpaired surrogate and every NUL by U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def clean_struct(value: _StructT) -> _StructT:
    """The struct with `clean_text` applied to each of its members that is a string."""
    members = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return msgspec.structs.replace(value, **{name: clean_text(each) for name, each in members if isinstance(each, str)})


def is_encodable(value: Any) -> bool:
    """Whether the value can be encoded as JSON that the strict decoder accepts."""
    try:
        decode(encode_recorded(value))
    except (ClientFault, TypeError, ValueError, RecursionError):
        return False
    return True


@dataclass(slots=True)
class SurrogateJoiner:
    """Joins surrogate pairs that are split between two chunks of a stream."""

    _half: str = ""

    def join(self, piece: str, last: bool = False) -> str:
        """The chunk with invalid characters replaced. A high surrogate at its end is held back for the next chunk,
        unless this is the `last` one."""
        if not self._half and piece.isascii() and "\0" not in piece:
            return piece
        text, self._half = self._half + piece, ""
        if not last and "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return clean_text(text)
