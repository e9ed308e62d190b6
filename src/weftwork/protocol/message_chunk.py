"""Chunks of a streamed answer. Sources: RFC 0094 D, OpenWOP stream-modes (messages)."""

from typing import Any, Final

from weftwork.protocol.envelope.answer import StopReason, Usage

FINISH: Final[dict[StopReason, str]] = {
    "stop": "stop",
    "length": "length",
    "content-filter": "content_filter",
    "tool-call": "tool_calls",
}
"""Why a model stopped, in the words of a chunk; another reason has none."""


def chunk_payload(node_id: str, run_id: str, text: str, last: bool, meta: dict[str, Any]) -> dict[str, Any]:
    """evt-07 (RFC 0094 D): the payload of `output.chunk`, and of the message chunk that is projected from it."""
    return {"nodeId": node_id, "runId": run_id, "chunk": text, "isLast": last, "meta": meta}


def last_meta(
    provider: str, model: str, reason: StopReason, usage: Usage, tool_calls: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """evt-08 (OpenWOP stream-modes): the last chunk says why the model stopped, and what it used."""
    meta: dict[str, Any] = {"provider": provider, "model": model}
    if reason in FINISH:
        meta["finishReason"] = FINISH[reason]
    meta["usage"] = {
        "promptTokens": usage.input_tokens,
        "completionTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
    }
    if tool_calls:
        meta["toolCalls"] = list(tool_calls)
    return meta
