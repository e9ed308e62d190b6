"""Interrupts: what a node asks of someone outside, what the fold knows about it, and how it was resolved.

The same key within a run always gets the recorded resolution. Sources: OpenWOP interrupt, RFC 0094 E.
"""

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import Status
from weftwork.protocol.run.payloads import InterruptRequested


class InterruptKind(msgspec.Struct, frozen=True):
    """A kind of interrupt. `data` names the definition of the schema suspend-request that its data must fit."""

    status: Status | None
    """Of a run that waits for it; None for one that nobody answers and that passes at once."""
    data: str
    reason: str | None = None
    """What node.suspended gives as its reason."""


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
"""int-01 (RFC 0094 E): the kinds, and how a run that waits for one stands. The answers that each kind takes are in
`people.interrupt_validation`."""

STATUS_BY_KIND: Final[dict[str, Status]] = {
    name: kind.status for name, kind in INTERRUPT_KINDS.items() if kind.status is not None
}
TIMEOUT_REASON: Final = "timeout"
_DISTINCT_MEMBERS: Final = {"conversation.start": {"title": ""}, "conversation.close": {"reason": ""}}
"""Without them these two would be alike, and data must be of exactly one shape."""
NON_BLOCKING_KINDS: Final = frozenset(name for name, kind in INTERRUPT_KINDS.items() if kind.status is None)
"""Kinds that pass at once: they are asked and resolved in one commit, and their answer is null."""


class Interrupt(msgspec.Struct, frozen=True):
    """What a node asks. `key` names the question within the run: the same key again gets the recorded answer."""

    kind: str
    key: str
    data: dict[str, Any]
    resume_schema: dict[str, Any] | None = None
    timeout_ms: int | None = None
    remind_after_ms: tuple[int, ...] = ()
    """When those who follow the run are reminded, counted from the question."""
    speaker: str | None = None
    """The agent that opens a conversation with it; None if the host does."""


class Resolution(msgspec.Struct, frozen=True):
    """What became of a question."""

    value: Any = None
    """The answer, in the one form that its kind has; None if nobody gave one in time."""
    outcome: str | None = None
    """Of an approval: accepted, refined or rejected."""
    reason: str | None = None
    """`timeout` if nobody answered in time."""
    by: str | None = None
    at: int = 0
    votes: dict[str, str] = {}
    """Of an approval: who did what."""
    kind: str = "custom"
    node_id: str = ""
    data: Any = None
    """Who asked, and what."""
    untrusted: bool = False

    @property
    def timed_out(self) -> bool:
        return self.reason == TIMEOUT_REASON


def is_answer_to(found: Resolution, node_id: str, asked: Interrupt) -> bool:
    """int-20 (OpenWOP interrupt): an answer counts for its key: for the node that asked, and for one that asks the very
    same. A decision about something else, or of other people, is none."""
    if found.kind != asked.kind:
        return False
    return found.node_id == node_id or found.data == interrupt_payload(asked).data


def interrupt_id(node_id: str, ordinal: int) -> str:
    """int-02 (readings, Volatile data): derived from the node and how often it has asked, so that replays agree."""
    return f"{node_id}.{ordinal}"


def interrupt_payload(interrupt: Interrupt) -> InterruptRequested:
    """int-03 (OpenWOP interrupt): the closed InterruptPayload; identity stands on the event around it."""
    data = {**_DISTINCT_MEMBERS.get(interrupt.kind, {}), **interrupt.data}
    schema = UNSET if interrupt.resume_schema is None else interrupt.resume_schema
    timeout_ms = UNSET if interrupt.timeout_ms is None else interrupt.timeout_ms
    return InterruptRequested(interrupt.kind, interrupt.key, data, schema, timeout_ms)


def answer_refusal(status: str | None) -> ClientFault:
    """int-06 (readings, Answering an interrupt): why an interrupt takes no answer. None is one that never was."""
    if status is None:
        return ClientFault("interrupt_not_found", "There is no open interrupt at this node.")
    if status == "cancelled":
        return ClientFault("interrupt_gone", "The run was cancelled, and the interrupt with it.")
    return ClientFault("interrupt_already_resolved", "The interrupt has its answer, or its run has ended.")


class InterruptState(msgspec.Struct):
    """A question and what became of it."""

    interrupt_id: str
    node_id: str
    kind: str
    key: str
    data: Any
    requested_at: int
    resume_schema: dict[str, Any] | None = None
    timeout_ms: int | None = None
    status: Literal["open", "resolved", "cancelled", "closed"] = "open"
    """`cancelled` with its run; `closed` when the run ended in another way first."""
    votes: dict[str, str] = {}
    """Who has voted how, of several who approve; the newest vote of each counts."""
    response_count: int = 0
    """Votes and remarks so far."""
    remind_after_ms: tuple[int, ...] = ()
    reminders_sent: int = 0

    @property
    def due(self) -> int | None:
        """When its time is up."""
        return self.requested_at + self.timeout_ms if self.timeout_ms is not None else None

    @property
    def next_reminder(self) -> int | None:
        left = self.remind_after_ms[self.reminders_sent :]
        return self.requested_at + left[0] if left else None


class Conversation(msgspec.Struct):
    turns: int
    last: dict[str, Any]
    """Its newest turn."""
    open: bool = True
