"""The events of each interrupt kind, in addition to interrupt.requested and interrupt.resolved, and the order of the
turns of a conversation.

Sources: OpenWOP run-event-payloads, interrupt (migration), RFC 0005 B.
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.approvals import APPROVAL_KINDS
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, Conversation, Interrupt, InterruptState, interrupt_payload

_LEGACY_ACTIONS: Final = {"edit-accept": "edit"}


def request_refusal(state: RunState, interrupt: Interrupt, passes: bool = False) -> str | None:
    """Why the run cannot request this interrupt now; None if it can. `passes`: the node provides the answer itself."""
    if passes and interrupt.kind in APPROVAL_KINDS:
        return "A node cannot answer its own approval."
    for each in state.open_interrupts.values():
        if each.key == interrupt.key and (each.kind, each.data, each.resume_schema) != (
            interrupt.kind,
            interrupt_payload(interrupt).data,
            interrupt.resume_schema,
        ):
            return "A different interrupt with the same key is open; use another key."
    if not interrupt.kind.startswith("conversation."):
        return None
    return sequence_error(interrupt.kind, state.conversations.get(interrupt.data["conversationId"]))


def requested_events(node_id: str, name: str, interrupt: Interrupt) -> tuple[Draft, ...]:
    """int-13 (OpenWOP interrupt, migration): the events that older clients read. In approval.requested, the action
    edit-accept has its older name `edit`."""
    data = interrupt.data
    if interrupt.kind == "approval":
        actions: list[str] = data["actions"]
        payload = payloads.ApprovalRequested(
            node_id,
            name,
            data["artifactId"],
            data["artifactType"],
            [_LEGACY_ACTIONS.get(each, each) for each in actions],
            data.get("title", UNSET),
            data.get("approversList", UNSET),
            data.get("requiredApprovals", UNSET),
        )
    elif interrupt.kind == "clarification":
        payload = payloads.ClarificationRequested(node_id, name, data["questions"])
    else:
        return ()
    return (Draft.of(payload, node_id, interrupt_id=name),)


def suspended_event(node_id: str, name: str, interrupt: Interrupt) -> Draft:
    """int-04 (OpenWOP interrupt), surf-09: the event that suspends the node. It contains the reminders and the id of
    the form, because the payload of interrupt.requested is closed."""
    reason = INTERRUPT_KINDS[interrupt.kind].reason or UNSET
    reminders = list(interrupt.remind_after_ms) or UNSET
    confidence: list[Any] = []
    if interrupt.kind == "low-confidence":
        confidence = [interrupt.data[each] for each in ("agentId", "threshold", "observed")]
    suspended = payloads.NodeSuspended(node_id, name, interrupt.kind, interrupt.key, reason, reminders, *confidence)
    if interrupt.surface is not None:
        suspended = msgspec.structs.replace(suspended, surface=interrupt.surface)
    return Draft.of(suspended, node_id, interrupt_id=name)


def passed_events(state: RunState, node_id: str, name: str, interrupt: Interrupt, value: Any) -> tuple[Draft, ...]:
    """conv-01, conv-03: the events of a conversation interrupt that is resolved in the commit that requests it."""
    conversation = state.conversations.get(interrupt.data.get("conversationId", ""))
    visit = state.nodes[node_id].visits
    if interrupt.kind == "conversation.start":
        return (opened_event(node_id, visit, name, interrupt.data, interrupt.speaker),)
    if conversation is None:
        return ()
    if interrupt.kind == "conversation.close":
        return (closed_event(node_id, name, interrupt.data, conversation),)
    return (exchanged_event(node_id, visit, name, interrupt.data, conversation, node_id, value),)


def resolved_events(state: RunState, interrupt: InterruptState, value: Any, by: str) -> tuple[Draft, ...]:
    """int-14 (OpenWOP run-event-payloads): the events after interrupt.resolved, for every kind except an approval."""
    node_id, name = interrupt.node_id, interrupt.interrupt_id
    if interrupt.kind == "clarification":
        return (Draft.of(payloads.ClarificationResolved(node_id, value["answers"], by), node_id, interrupt_id=name),)
    if interrupt.kind == "conversation.exchange":
        conversation = state.conversations[interrupt.data["conversationId"]]
        if not conversation.open:
            # Another node has closed the conversation since the request, and no turn follows its end.
            return ()
        visit = state.nodes[node_id].visits
        return (exchanged_event(node_id, visit, name, interrupt.data, conversation, by, value),)
    return ()


def approval_received_event(
    node_id: str, name: str, action: str, decided_by: str | None, answer: dict[str, Any]
) -> Draft:
    """int-15 (OpenWOP run-event-payloads): approval.received, with `decidedBy` unless the approval timed out."""
    texts = [answer.get(each, UNSET) for each in ("comment", "feedback", "refineFeedback", "editedArtifactData")]
    person = UNSET if decided_by is None else decided_by
    return Draft.of(payloads.ApprovalReceived(node_id, action, person, *texts), node_id, interrupt_id=name)


def opened_event(node_id: str, visit: int, interrupt_id: str, data: dict[str, Any], agent: str | None = None) -> Draft:
    """conv-01 (RFC 0005 B): turn 0, the opening of a conversation by the host or an agent. The append path adds the
    time of each turn."""
    content = data.get("initialPrompt", data.get("title", ""))
    turn = _turn(f"{node_id}.{visit}", agent or node_id, content, "system" if agent is None else "agent", 0)
    if agent is not None:
        turn["speakerId"] = agent
    speaker = UNSET if agent is None else agent
    payload = payloads.ConversationOpened(data["conversationId"], turn, ["multi-turn"], speaker)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def exchanged_event(
    node_id: str, visit: int, interrupt_id: str, data: dict[str, Any], conversation: Conversation, by: str, value: Any
) -> Draft:
    """conv-02 (RFC 0005 B): the next turn. Turns are numbered from 1 without gaps."""
    index = conversation.turns + 1
    turn = _turn(f"{node_id}.{visit}", by, value, "user", index)
    payload = payloads.ConversationExchanged(data["conversationId"], index, turn)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def closed_event(node_id: str, interrupt_id: str, data: dict[str, Any], conversation: Conversation) -> Draft:
    """conv-03 (RFC 0005 B): the end of a conversation, which repeats its last turn."""
    outcome = {"reason": data["reason"]} if "reason" in data else UNSET
    payload = payloads.ConversationClosed(data["conversationId"], conversation.turns, conversation.last, outcome)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def sequence_error(kind: str, conversation: Conversation | None) -> str | None:
    """conv-04 (OpenWOP conversation primitive): why a conversation cannot continue with this kind; None if it can."""
    if kind == "conversation.start":
        return None if conversation is None else "This run has already opened a conversation with this conversationId."
    if conversation is None:
        return "There is no conversation with this conversationId; open it with conversation.start first."
    return None if conversation.open else "The conversation is closed."


def _turn(place: str, speaker: str, content: Any, role: str, index: int) -> dict[str, Any]:
    """A turn. Its id contains neither the run nor the time, so that equal runs have equal turns."""
    return {"messageId": f"{place}.{index}", "from": speaker, "content": content, "role": role, "turnIndex": index}
