"""The state changes of events about interrupts, approvals and conversations. Called only by the fold."""

from bisect import insort
from collections.abc import Callable
from typing import Final

from weftwork.protocol.fold.live_size import hold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run import events
from weftwork.protocol.run.events import UNTRUSTED, Fact
from weftwork.protocol.run.interrupts import Conversation, InterruptState, Resolution, interrupt_id


def _interrupt_requested(state: RunState, fact: Fact) -> None:
    node_id = fact.node_id or ""
    node = state.nodes[node_id]
    node.interrupts += 1
    name = interrupt_id(node_id, node.interrupts)
    payload = fact.payload
    kind, key, data = payload["kind"], payload["key"], payload["data"]
    state.open_interrupts[name] = state.interrupts[name] = InterruptState(
        name,
        node_id,
        kind,
        key,
        data,
        fact.timestamp,
        payload.get("resumeSchema"),
        payload.get("timeoutMs"),
        untrusted=fact.content_trust == UNTRUSTED,
    )
    hold(state, ("interrupt", name), fact.size)
    state.changed_rows.add(("interrupt", name))


def _interrupt_resolved(state: RunState, fact: Fact) -> None:
    interrupt = state.interrupts[fact.payload["interruptId"]]
    interrupt.status = "resolved"
    state.open_interrupts.pop(interrupt.interrupt_id, None)
    state.changed_rows.add(("interrupt", interrupt.interrupt_id))
    payload = fact.payload
    value = payload.get("resumeValue")
    by = value.get("decidedBy") if interrupt.kind == "approval" and is_object(value) else payload.get("resolvedBy")
    state.resolutions[interrupt.key] = Resolution(
        value,
        payload.get("outcome"),
        payload.get("reason"),
        by,
        fact.timestamp,
        dict(interrupt.votes),
        interrupt.kind,
        interrupt.node_id,
        interrupt.data,
        fact.content_trust == UNTRUSTED,
    )
    hold(state, ("answer", interrupt.key), fact.size)
    if interrupt.node_id in state.suspended:
        insort(state.resumable, (state.plan.nodes[interrupt.node_id].index, interrupt.node_id))


def _approval_voted(state: RunState, fact: Fact) -> None:
    """appr-04 (interrupt-profiles, quorum): only the latest vote of each principal counts."""
    node_id = fact.node_id or ""
    interrupt = (
        state.interrupts.get(interrupt_id(node_id, state.nodes[node_id].interrupts)) if node_id in state.nodes else None
    )
    if interrupt is None or interrupt.status != "open":
        return
    interrupt.response_count += 1
    if fact.type != events.APPROVAL_REMARK:
        action = "accept" if fact.type == "approval.granted" else "reject"
        interrupt.votes = {**interrupt.votes, fact.payload["principal"]: action}
        state.changed_rows.add(("interrupt", interrupt.interrupt_id))


def _reminder_sent(state: RunState, fact: Fact) -> None:
    interrupt = state.interrupts[fact.payload["interruptId"]]
    interrupt.reminders_sent = max(interrupt.reminders_sent, fact.payload["number"])
    state.changed_rows.add(("interrupt", interrupt.interrupt_id))


def _conversation_changed(state: RunState, fact: Fact) -> None:
    payload = fact.payload
    name = payload["conversationId"]
    if fact.type != "conversation.closed":
        hold(state, ("conversation", name), fact.size)
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
    events.APPROVAL_REMARK: _approval_voted,
    events.INTERRUPT_REMINDER: _reminder_sent,
    **dict.fromkeys(("conversation.opened", "conversation.exchanged", "conversation.closed"), _conversation_changed),
}
