"""The events that an interrupt adds to the log when it is requested, resolved or passed at once.

They come in addition to interrupt.requested and interrupt.resolved, which every kind has.
Sources: OpenWOP run-event-payloads, interrupt (migration), RFC 0005 B.
"""

from typing import Any, Final

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.approvals import APPROVAL_KINDS
from weftwork.protocol.people.conversations import closed_event, exchanged_event, opened_event, sequence_error
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, Interrupt, InterruptState, interrupt_payload

_APPROVAL_MEMBERS: Final = ("title", "approversList", "requiredApprovals")
_LEGACY_ACTIONS: Final = {"edit-accept": "edit"}
_ANSWER_MEMBERS: Final = ("comment", "feedback", "refineFeedback", "editedArtifactData")


def request_refusal(state: RunState, asked: Interrupt, passes: bool = False) -> str | None:
    """Why a question cannot be asked now in this run; None if it can. `passes`: the node has the answer itself."""
    if passes and asked.kind in APPROVAL_KINDS:
        return "No node answers an approval itself."
    for each in state.open_interrupts.values():
        if each.key == asked.key and (each.kind, each.data, each.resume_schema) != (
            asked.kind,
            interrupt_payload(asked)["data"],
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
    payload: dict[str, Any] = {"nodeId": node_id, "interruptId": name}
    if asked.kind == "approval":
        payload |= {"artifactId": data["artifactId"], "artifactType": data["artifactType"]}
        payload |= {"actions": [_LEGACY_ACTIONS.get(each, each) for each in data["actions"]]}
        payload |= {each: data[each] for each in _APPROVAL_MEMBERS if each in data}
        return (Draft("approval.requested", payload, node_id, interrupt_id=name),)
    if asked.kind == "clarification":
        return (Draft("clarification.requested", {**payload, "questions": data["questions"]}, node_id, None, name),)
    return ()


def suspended_payload(node_id: str, name: str, asked: Interrupt) -> dict[str, Any]:
    """int-04 (OpenWOP interrupt): the payload of node.suspended. When to remind stands here, because the payload of
    the question is closed."""
    payload: dict[str, Any] = {"nodeId": node_id, "interruptId": name, "kind": asked.kind, "key": asked.key}
    if (reason := INTERRUPT_KINDS[asked.kind].reason) is not None:
        payload["reason"] = reason
    if asked.kind == "low-confidence":
        payload |= {each: asked.data[each] for each in ("agentId", "threshold", "observed")}
    if asked.remind_after_ms:
        payload["remindAfterMs"] = list(asked.remind_after_ms)
    return payload


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
        payload = {"nodeId": node_id, "answers": value["answers"], "answeredBy": by}
        return (Draft("clarification.resolved", payload, node_id, interrupt_id=name),)
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
    payload: dict[str, Any] = {"nodeId": node_id, "action": action}
    if decided_by is not None:
        payload["decidedBy"] = decided_by
    payload |= {each: answer[each] for each in _ANSWER_MEMBERS if each in answer}
    return Draft("approval.received", payload, node_id, interrupt_id=name)
