"""The record of a model's answer: the payload of `weftwork.model.answered`, and back."""

from typing import Any

import msgspec

from weftwork.protocol.envelope.answer import ModelAnswer, Usage


class Fault(msgspec.Struct, frozen=True):
    """Why no answer came."""

    code: str
    message: str
    retryable: bool


def record_of(node_id: str, call: str, answer: ModelAnswer) -> dict[str, Any]:
    """model-01 (readings, Model calls): all that a node makes of an answer can be made of its record again.

    Of a refusal no word is needed for that: models refuse by quoting what they were asked.
    """
    refused = answer.refusal is not None or answer.stop == "content-filter"
    record: dict[str, Any] = {
        "nodeId": node_id,
        "call": call,
        "provider": answer.provider,
        "model": answer.model,
        "text": "" if refused else answer.text,
        "stop": "content-filter" if refused else answer.stop,
        "inputTokens": answer.usage.input_tokens,
        "outputTokens": answer.usage.output_tokens,
    }
    more = {"detail": answer.detail, "safetyCategory": answer.safety_category}
    record |= {name: value for name, value in more.items() if value}
    lists: dict[str, list[Any]] = {"toolCalls": list(answer.tool_calls), "shown": list(answer.shown)}
    lists["media"] = [] if refused else list(answer.media)
    return record | {name: each for name, each in lists.items() if each}


def answer_of(record: dict[str, Any], turn: str) -> ModelAnswer:
    """The answer again; `turn` is its place in this entry of the node."""
    return ModelAnswer(
        record["text"],
        record["stop"],
        record["provider"],
        record["model"],
        Usage(record["inputTokens"], record["outputTokens"]),
        record.get("detail", ""),
        None,
        record.get("safetyCategory"),
        tuple(record.get("toolCalls", ())),
        tuple(record.get("media", ())),
        tuple(record.get("shown", ())),
        turn,
    )


def fault_record(node_id: str, call: str, fault: Fault) -> dict[str, Any]:
    """model-01: that no answer came is recorded where the node may go on without it."""
    told = {"code": fault.code, "message": fault.message, "retryable": fault.retryable}
    return {"nodeId": node_id, "call": call, "fault": told}


def fault_of(record: dict[str, Any]) -> Fault | None:
    """Why no answer came, if that is what was recorded."""
    told = record.get("fault")
    return None if told is None else Fault(told["code"], told["message"], told["retryable"])
