"""How the events about interrupts change the state of a run. Called by the fold only."""

from bisect import insort
from collections.abc import Callable
from typing import Final

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import APPROVAL_REMARK, INTERRUPT_REMINDER, UNTRUSTED, Fact
from weftwork.protocol.run.interrupts import Conversation, InterruptState, Resolution, interrupt_id


def _interrupt_requested(state: RunState, fact: Fact) -> None:
    node_id = fact.node_id or ""
    node = state.nodes[node_id]
    node.interrupts += 1
    name = interrupt_id(node_id, node.interrupts)
    payload = fact.payload
    state.open_interrupts[name] = state.interrupts[name] = InterruptState(
        name,
        node_id,
        payload["kind"],
        payload["key"],
        payload["data"],
        fact.timestamp,
        payload.get("resumeSchema"),
        payload.get("timeoutMs"),
    )
    state.changed_rows.add(("interrupt", name))


def _interrupt_resolved(state: RunState, fact: Fact) -> None:
    found = state.interrupts[fact.payload["interruptId"]]
    found.status = "resolved"
    state.open_interrupts.pop(found.interrupt_id, None)
    state.changed_rows.add(("interrupt", found.interrupt_id))
    payload = fact.payload
    value = payload.get("resumeValue")
    by = value.get("decidedBy") if found.kind == "approval" and is_object(value) else payload.get("resolvedBy")
    state.resolutions[found.key] = Resolution(
        value,
        payload.get("outcome"),
        payload.get("reason"),
        by,
        fact.timestamp,
        dict(found.votes),
        found.kind,
        found.node_id,
        found.data,
        fact.content_trust == UNTRUSTED,
    )
    if found.node_id in state.suspended:
        insort(state.resumable, (state.plan.nodes[found.node_id].index, found.node_id))


def _approval_voted(state: RunState, fact: Fact) -> None:
    """appr-04 (interrupt-profiles, quorum): the newest vote of each counts."""
    node_id = fact.node_id or ""
    found = (
        state.interrupts.get(interrupt_id(node_id, state.nodes[node_id].interrupts)) if node_id in state.nodes else None
    )
    if found is None or found.status != "open":
        return
    found.response_count += 1
    if fact.type != APPROVAL_REMARK:
        action = "accept" if fact.type == "approval.granted" else "reject"
        found.votes = {**found.votes, fact.payload["principal"]: action}
        state.changed_rows.add(("interrupt", found.interrupt_id))


def _reminder_sent(state: RunState, fact: Fact) -> None:
    found = state.interrupts[fact.payload["interruptId"]]
    found.reminders_sent = max(found.reminders_sent, fact.payload["number"])
    state.changed_rows.add(("interrupt", found.interrupt_id))


def _conversation_changed(state: RunState, fact: Fact) -> None:
    payload = fact.payload
    name = payload["conversationId"]
    if fact.type == "conversation.opened":
        state.conversations[name] = Conversation(0, payload["initialTurn"])
    elif fact.type == "conversation.exchanged":
        known = state.conversations.get(name)
        state.conversations[name] = Conversation(payload["turnIndex"], payload["turn"], known is None or known.open)
    elif name in state.conversations:
        state.conversations[name].open = False


INTERRUPT_CHANGES: Final[dict[str, Callable[[RunState, Fact], None]]] = {
    "interrupt.requested": _interrupt_requested,
    "interrupt.resolved": _interrupt_resolved,
    "approval.granted": _approval_voted,
    "approval.rejected": _approval_voted,
    APPROVAL_REMARK: _approval_voted,
    INTERRUPT_REMINDER: _reminder_sent,
    **dict.fromkeys(("conversation.opened", "conversation.exchanged", "conversation.closed"), _conversation_changed),
}
