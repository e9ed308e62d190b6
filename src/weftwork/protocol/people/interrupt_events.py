"""The events that an interrupt adds to the log when it is requested, resolved or passed at once.

They come in addition to interrupt.requested and interrupt.resolved, which every kind has. The turns of a conversation
keep an order.
Sources: OpenWOP run-event-payloads, interrupt (migration), RFC 0005 B.
"""

from typing import Any, Final

from msgspec import UNSET

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.approvals import APPROVAL_KINDS
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, Conversation, Interrupt, InterruptState, interrupt_payload

_LEGACY_ACTIONS: Final = {"edit-accept": "edit"}


def request_refusal(state: RunState, asked: Interrupt, passes: bool = False) -> str | None:
    """Why a question cannot be asked now in this run; None if it can. `passes`: the node has the answer itself."""
    if passes and asked.kind in APPROVAL_KINDS:
        return "No node answers an approval itself."
    for each in state.open_interrupts.values():
        if each.key == asked.key and (each.kind, each.data, each.resume_schema) != (
            asked.kind,
            interrupt_payload(asked).data,
            asked.resume_schema,
        ):
            return "Another question is open under the same key."
    if not asked.kind.startswith("conversation."):
        return None
    return sequence_error(asked.kind, state.conversations.get(asked.data["conversationId"]))


def requested_events(node_id: str, name: str, asked: Interrupt) -> tuple[Draft, ...]:
    """int-13 (OpenWOP interrupt, migration): what older readers look for. approval.requested has an older word for
    edit-accept."""
    data = asked.data
    if asked.kind == "approval":
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
    elif asked.kind == "clarification":
        payload = payloads.ClarificationRequested(node_id, name, data["questions"])
    else:
        return ()
    return (Draft.of(payload, node_id, interrupt_id=name),)


def suspended_event(node_id: str, name: str, asked: Interrupt) -> Draft:
    """int-04 (OpenWOP interrupt): the node waits. When to remind stands here, because the payload of the question is
    closed."""
    reason = INTERRUPT_KINDS[asked.kind].reason or UNSET
    reminders = list(asked.remind_after_ms) or UNSET
    doubt: list[Any] = []
    if asked.kind == "low-confidence":
        doubt = [asked.data[each] for each in ("agentId", "threshold", "observed")]
    suspended = payloads.NodeSuspended(node_id, name, asked.kind, asked.key, reason, reminders, *doubt)
    return Draft.of(suspended, node_id, interrupt_id=name)


def passed_events(state: RunState, node_id: str, name: str, asked: Interrupt, value: Any) -> tuple[Draft, ...]:
    """conv-01, conv-03: what an interrupt that passes at once leaves behind."""
    known = state.conversations.get(asked.data.get("conversationId", ""))
    visit = state.nodes[node_id].visits
    if asked.kind == "conversation.start":
        return (opened_event(node_id, visit, name, asked.data, asked.speaker),)
    if known is None:
        return ()
    if asked.kind == "conversation.close":
        return (closed_event(node_id, name, asked.data, known),)
    return (exchanged_event(node_id, visit, name, asked.data, known, node_id, value),)


def resolved_events(state: RunState, found: InterruptState, value: Any, by: str) -> tuple[Draft, ...]:
    """int-14 (OpenWOP run-event-payloads): what follows interrupt.resolved for each kind but an approval."""
    node_id, name = found.node_id, found.interrupt_id
    if found.kind == "clarification":
        return (Draft.of(payloads.ClarificationResolved(node_id, value["answers"], by), node_id, interrupt_id=name),)
    if found.kind == "conversation.exchange":
        known = state.conversations[found.data["conversationId"]]
        # Another node may have closed it meanwhile, and nothing follows that.
        visit = state.nodes[node_id].visits
        return (exchanged_event(node_id, visit, name, found.data, known, by, value),) if known.open else ()
    return ()


def approval_received_event(
    node_id: str, name: str, action: str, decided_by: str | None, answer: dict[str, Any]
) -> Draft:
    """int-15 (OpenWOP run-event-payloads): approval.received names who decided, unless nobody did in time."""
    said = [answer.get(each, UNSET) for each in ("comment", "feedback", "refineFeedback", "editedArtifactData")]
    who = UNSET if decided_by is None else decided_by
    return Draft.of(payloads.ApprovalReceived(node_id, action, who, *said), node_id, interrupt_id=name)


def opened_event(node_id: str, visit: int, interrupt_id: str, data: dict[str, Any], agent: str | None = None) -> Draft:
    """conv-01 (RFC 0005 B): turn 0 is what the conversation opens with, said by the host or an agent. The append path
    gives each turn its time."""
    content = data.get("initialPrompt", data.get("title", ""))
    turn = _turn(f"{node_id}.{visit}", agent or node_id, content, "system" if agent is None else "agent", 0)
    if agent is not None:
        turn["speakerId"] = agent
    speaker = UNSET if agent is None else agent
    payload = payloads.ConversationOpened(data["conversationId"], turn, ["multi-turn"], speaker)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def exchanged_event(
    node_id: str, visit: int, interrupt_id: str, data: dict[str, Any], known: Conversation, by: str, value: Any
) -> Draft:
    """conv-02 (RFC 0005 B): turns count from 1 and never skip."""
    index = known.turns + 1
    turn = _turn(f"{node_id}.{visit}", by, value, "user", index)
    payload = payloads.ConversationExchanged(data["conversationId"], index, turn)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def closed_event(node_id: str, interrupt_id: str, data: dict[str, Any], known: Conversation) -> Draft:
    """conv-03 (RFC 0005 B): the last word on a conversation repeats its last turn."""
    outcome = {"reason": data["reason"]} if "reason" in data else UNSET
    payload = payloads.ConversationClosed(data["conversationId"], known.turns, known.last, outcome)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def sequence_error(kind: str, known: Conversation | None) -> str | None:
    """conv-04 (OpenWOP conversation primitive): why a conversation cannot continue with this turn; None if it can."""
    if kind == "conversation.start":
        return None if known is None else "A conversation with this conversationId was opened before in this run."
    if known is None:
        return "There is no conversation with this conversationId: it has to be opened first."
    return None if known.open else "The conversation is closed."


def _turn(place: str, speaker: str, content: Any, role: str, index: int) -> dict[str, Any]:
    """Its id follows from where it was said: neither run nor time is in it, so equal runs have equal turns."""
    return {"messageId": f"{place}.{index}", "from": speaker, "content": content, "role": role, "turnIndex": index}
