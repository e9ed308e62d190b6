"""Interrupts: the request of a node, its state in the fold, and its resolution.

Within a run, a second request with the same key gets the recorded resolution.

Sources: OpenWOP interrupt, RFC 0094 E.
"""

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import UNTRUSTED
from weftwork.protocol.run.header import Status
from weftwork.protocol.run.payloads import InterruptRequested


class InterruptKind(msgspec.Struct, frozen=True):
    status: Status | None
    """The status of a run that waits for it. None for a kind that is resolved at once, without an answer."""
    data: str
    """The definition in the schema suspend-request that its data must match."""
    reason: str | None = None
    """The reason in the event node.suspended."""


INTERRUPT_KINDS: Final[dict[str, InterruptKind]] = {
    "approval": InterruptKind("waiting-approval", "approval"),
    "clarification": InterruptKind("waiting-input", "clarification"),
    "external-event": InterruptKind("waiting-external", "externalEvent"),
    "custom": InterruptKind("waiting-input", "custom"),
    "conversation.start": InterruptKind(None, "conversationStart"),
    "conversation.exchange": InterruptKind("waiting-approval", "conversationExchange", "conversation-input"),
    "conversation.close": InterruptKind(None, "conversationClose"),
    "low-confidence": InterruptKind("waiting-approval", "lowConfidence", "low-confidence"),
}
"""int-01 (RFC 0094 E): the interrupt kinds. `people.interrupt_validation` has the schemas of their answers."""

STATUS_BY_KIND: Final[dict[str, Status]] = {
    name: kind.status for name, kind in INTERRUPT_KINDS.items() if kind.status is not None
}
TIMEOUT_REASON: Final = "timeout"
_DISTINCT_MEMBERS: Final = {"conversation.start": {"title": ""}, "conversation.close": {"reason": ""}}
"""Members that distinguish the data of these two kinds, because data must match exactly one form of the schema."""
NON_BLOCKING_KINDS: Final = frozenset(name for name, kind in INTERRUPT_KINDS.items() if kind.status is None)
"""Kinds that are requested and resolved in one commit; their answer is null."""


class Interrupt(msgspec.Struct, frozen=True):
    """The interrupt that a node requests. `key` identifies it within the run."""

    kind: str
    key: str
    data: dict[str, Any]
    resume_schema: dict[str, Any] | None = None
    timeout_ms: int | None = None
    remind_after_ms: tuple[int, ...] = ()
    """When reminder events are recorded, in milliseconds after the request."""
    speaker: str | None = None
    """The agent that opens a conversation; None if the host opens it."""
    surface: str | None = None
    """The id of the envelope with the surface that is the form of this interrupt."""
    form: dict[str, Any] | None = None
    """The payload of a surface of the node itself. The host records it together with the interrupt, as its form."""


class Resolution(msgspec.Struct, frozen=True):
    """How an interrupt was resolved."""

    value: Any = None
    """The answer in the canonical form of the kind; None after a timeout."""
    outcome: str | None = None
    """The outcome of an approval: accepted, refined or rejected."""
    reason: str | None = None
    """`timeout` if the interrupt timed out."""
    by: str | None = None
    at: int = 0
    votes: dict[str, str] = {}
    """The votes of an approval: principal -> action."""
    kind: str = "custom"
    node_id: str = ""
    """The node that requested the interrupt."""
    data: Any = None
    """The data of the request."""
    untrusted: bool = False

    @property
    def conversation_id(self) -> str | None:
        """The conversation that the interrupt has opened, if it has opened one."""
        return self.data["conversationId"] if self.kind == "conversation.start" else None

    @property
    def timed_out(self) -> bool:
        return self.reason == TIMEOUT_REASON


def is_answer_to(resolution: Resolution, node_id: str, interrupt: Interrupt) -> bool:
    """int-20 (OpenWOP interrupt): whether a recorded resolution of the same key answers this interrupt.

    It does for the node that requested it, and for another node with equal data. An answer to other data never counts.
    """
    if resolution.kind != interrupt.kind:
        return False
    return resolution.node_id == node_id or resolution.data == interrupt_payload(interrupt).data


def interrupt_id(node_id: str, ordinal: int) -> str:
    """int-02 (readings, Volatile data): derived from the node and the number of its interrupts, so that replays
    agree."""
    return f"{node_id}.{ordinal}"


def interrupt_payload(interrupt: Interrupt) -> InterruptRequested:
    """int-03 (OpenWOP interrupt): the closed InterruptPayload. The ids of node and interrupt are members of the
    event."""
    data = {**_DISTINCT_MEMBERS.get(interrupt.kind, {}), **interrupt.data}
    schema = UNSET if interrupt.resume_schema is None else interrupt.resume_schema
    timeout_ms = UNSET if interrupt.timeout_ms is None else interrupt.timeout_ms
    return InterruptRequested(interrupt.kind, interrupt.key, data, schema, timeout_ms)


def answer_refusal(status: str | None, run_status: str) -> ClientFault:
    """int-06 (readings, Answering an interrupt): the error for an answer to an interrupt that is not open.

    `status` is the status of the interrupt; None if it does not exist. `run_status` tells the caller how its run ended.
    """
    if status is None:
        return ClientFault("interrupt_not_found", "The node has no open interrupt.")
    text = "The interrupt is already resolved, or its run has ended."
    if status == "cancelled":
        text = "The interrupt was withdrawn, because its run was cancelled."
    return ClientFault("interrupt_already_resolved", text, {"runStatus": run_status})


def is_refusal_after_cancel(fault: ClientFault) -> bool:
    """int-06: whether an answer was refused in a run that was cancelled."""
    status = (fault.details or {}).get("runStatus")
    return fault.code == "interrupt_already_resolved" and status in ("cancelling", "cancelled")


def shown_surface_payload(payload: Any) -> Any:
    """surf-09: the payload of a surface without the reasoning of the model, which is not shown to people."""
    return {name: each for name, each in payload.items() if name != "reasoning"} if is_object(payload) else payload


class StoredSurface(msgspec.Struct, frozen=True):
    """surf-09 (RFC 0102): the form of an interrupt, as it was accepted. It is checked again before it is shown or
    answered."""

    envelope_id: str
    payload: Any
    untrusted: bool = False

    @property
    def shown_payload(self) -> Any:
        return shown_surface_payload(self.payload)

    @property
    def reference(self) -> dict[str, Any]:
        """The members of an interrupt that is no longer open."""
        return {"surfaceId": self.envelope_id}

    def member(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The member `surface` of an open interrupt, with this payload."""
        trust = UNTRUSTED if self.untrusted else "trusted"
        return {"envelopeId": self.envelope_id, "contentTrust": trust, "payload": payload}


class InterruptState(msgspec.Struct):
    """An interrupt of a run and its current state."""

    interrupt_id: str
    node_id: str
    kind: str
    key: str
    data: Any
    requested_at: int
    resume_schema: dict[str, Any] | None = None
    timeout_ms: int | None = None
    status: Literal["open", "resolved", "cancelled", "closed"] = "open"
    """`cancelled` if the run was cancelled; `closed` if the run ended in another way before an answer."""
    votes: dict[str, str] = {}
    """The votes of an approval: principal -> the latest action."""
    response_count: int = 0
    """Number of votes and remarks."""
    remind_after_ms: tuple[int, ...] = ()
    reminders_sent: int = 0
    surface: StoredSurface | None = None
    """The form of the interrupt, if its node sent one."""
    untrusted: bool = False
    """Whether untrusted content went into the question."""

    @property
    def trust_member(self) -> dict[str, Any]:
        """The member of an open interrupt that tells its readers about untrusted content; nothing if it has none."""
        return {"contentTrust": UNTRUSTED} if self.untrusted else {}

    @property
    def due(self) -> int | None:
        """The time at which the interrupt times out."""
        return self.requested_at + self.timeout_ms if self.timeout_ms is not None else None

    @property
    def next_reminder(self) -> int | None:
        remaining = self.remind_after_ms[self.reminders_sent :]
        return self.requested_at + remaining[0] if remaining else None


class Conversation(msgspec.Struct):
    turns: int
    last: dict[str, Any]
    """The latest turn."""
    open: bool = True
