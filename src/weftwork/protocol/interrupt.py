"""The interrupt: a question that a node asks of somebody outside, and that the run waits for.

Sources: OpenWOP interrupt, RFC 0094 E.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run import Status

WAITING: Final[dict[str, Status]] = {
    "approval": "waiting-approval",
    "clarification": "waiting-input",
    "external-event": "waiting-external",
    "custom": "waiting-input",
    "conversation.exchange": "waiting-approval",
    "low-confidence": "waiting-approval",
}
"""int-01 (RFC 0094 E): kind -> status of the run that waits for it."""

WIRED: Final[tuple[str, ...]] = ("custom",)
"""The kinds that nodes of this host can ask."""


class Interrupt(msgspec.Struct, frozen=True):
    """What a node asks. `key` names the question within the run: the same key again gets the recorded answer."""

    kind: str
    key: str
    data: dict[str, Any]
    resume_schema: dict[str, Any] | None = None
    timeout_ms: int | None = None


def interrupt_id(node_id: str, ordinal: int) -> str:
    """int-02 (readings, Volatile data): derived from the node and how often it has asked, so that replays agree."""
    return f"{node_id}.{ordinal}"


def payload_of(interrupt: Interrupt) -> dict[str, Any]:
    """int-03 (OpenWOP interrupt): the closed InterruptPayload; identity stands on the event around it."""
    payload: dict[str, Any] = {"kind": interrupt.kind, "key": interrupt.key, "data": interrupt.data}
    if interrupt.resume_schema is not None:
        payload["resumeSchema"] = interrupt.resume_schema
    if interrupt.timeout_ms is not None:
        payload["timeoutMs"] = interrupt.timeout_ms
    return payload


def answer_refusal(status: str | None) -> ClientFault:
    """int-06 (readings, Answering an interrupt): why an interrupt takes no answer. None is one that never was."""
    if status is None:
        return ClientFault("interrupt_not_found", "There is no open interrupt at this node.")
    if status == "cancelled":
        return ClientFault("interrupt_gone", "The run was cancelled, and the interrupt with it.")
    return ClientFault("interrupt_already_resolved", "The interrupt has its answer, or its run has ended.")
