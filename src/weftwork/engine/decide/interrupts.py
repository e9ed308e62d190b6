"""Decides about interrupts: requests, answers, votes, reminders and timeouts. Pure."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from weftwork.engine.decide.decision import NOTHING, Decision
from weftwork.engine.decide.inputs import AnswerReceived, InterruptPassed, NodeSuspended
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.people.approvals import (
    GRANTING_ACTIONS,
    OUTCOMES,
    Answerer,
    check_answer_trust,
    normalize_approval,
    resolve_actor,
    tally_votes,
)
from weftwork.protocol.people.interrupt_events import (
    approval_received_event,
    passed_events,
    requested_events,
    resolved_events,
    suspended_event,
)
from weftwork.protocol.people.interrupt_validation import check_resume_value, normalize_answer
from weftwork.protocol.privacy.secret_matcher import MARKER_PREFIX
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft, Payload
from weftwork.protocol.run.interrupts import (
    TIMEOUT_REASON,
    Interrupt,
    InterruptState,
    answer_refusal,
    interrupt_id,
    interrupt_payload,
)

EXTERNAL_EVENT: Final = "external-event"
"""The interrupt kind that an external system answers instead of a person."""
MAX_GATE_MESSAGES: Final = 200
"""appr-11 (host): the number of votes and questions after which an approval accepts no questions and no changed votes,
so that one link cannot fill a log. First votes are still accepted."""


def suspend_node(state: RunState, request: NodeSuspended) -> tuple[Draft, ...]:
    """int-04 (OpenWOP interrupt): the interrupt is requested, then its node is suspended."""
    node_id, interrupt = request.node_id, request.interrupt
    name = interrupt_id(node_id, state.nodes[node_id].interrupts + 1)
    events = interrupt_events(node_id, name, interrupt)
    if request.cause is not None:
        events = tuple(msgspec.structs.replace(each, causation_id=request.cause) for each in events)
    return (*request.effects, *events)


def interrupt_events(node_id: str, name: str, interrupt: Interrupt) -> tuple[Draft, ...]:
    """The events that request an interrupt under this id and suspend its node."""
    requested = Draft.of(interrupt_payload(interrupt), node_id, interrupt_id=name)
    return (requested, *requested_events(node_id, name, interrupt), suspended_event(node_id, name, interrupt))


def pass_interrupt(state: RunState, request: InterruptPassed) -> tuple[Draft, ...]:
    """int-19 (RFC 0094 E): an interrupt that does not wait is requested and resolved in one commit, once per key."""
    node_id, interrupt = request.node_id, request.interrupt
    name = interrupt_id(node_id, state.nodes[node_id].interrupts + 1)
    requested = Draft.of(interrupt_payload(interrupt), node_id, interrupt_id=name)
    payload = payloads.InterruptResolved(node_id, name, interrupt.kind, request.value)
    trust = "untrusted" if state.nodes[node_id].untrusted else None
    resolved = Draft.of(payload, node_id, interrupt_id=name, content_trust=trust)
    return (requested, *passed_events(state, node_id, name, interrupt, request.value), resolved)


def answer_interrupt(state: RunState, answer: AnswerReceived) -> Decision:
    """int-06 (readings, Answering an interrupt): the first valid answer resolves the interrupt; an invalid one changes
    nothing."""
    interrupt = _find_answerable(state, answer)
    if isinstance(interrupt, ClientFault):
        return Decision(refusal=interrupt)
    try:
        check_answer_trust(interrupt.kind, answer.by)
        if _is_hidden(state, interrupt) and MARKER_PREFIX.encode() in encode_stored(answer.value):
            raise invalid("The answer contains the marker of a hidden value; send the value itself.", "/resumeValue")
        if interrupt.kind == "approval":
            return Decision(_decide_approval(state, interrupt, answer.value, answer.by))
        value = normalize_answer(interrupt, answer.value, _is_hidden(state, interrupt))
    except ClientFault as fault:
        return Decision(refusal=fault)
    by = answer.by.bound_person or answer.by.principal
    drafts = tuple(
        draft
        for each in _open_under_same_key(state, interrupt)
        for draft in (_resolved_event(each, value, answer.by), *resolved_events(state, each, value, by))
    )
    if interrupt.kind == EXTERNAL_EVENT or answer.by.trust != "trusted":
        # trust-04 (RFC 0143): data of an external system, and answers of untrusted callers, are untrusted.
        drafts = tuple(msgspec.structs.replace(each, content_trust="untrusted") for each in drafts)
    return Decision(drafts)


def _find_answerable(state: RunState, answer: AnswerReceived) -> InterruptState | ClientFault:
    """The open interrupt that the answer is for, or the error for the caller."""

    def is_target(each: InterruptState) -> bool:
        return each.node_id == answer.node_id and answer.interrupt_id in ("", each.interrupt_id)

    interrupt = next(filter(is_target, state.open_interrupts.values()), None)
    if interrupt is None:
        closed = list(filter(is_target, state.interrupts.values()))
        return answer_refusal(closed[-1].status if closed else None, state.status)
    if state.stop is not None:
        return answer_refusal("cancelled" if state.stop.error is None else "closed", state.status)
    if interrupt.due is not None and interrupt.due <= answer.at:
        # int-16 (OpenWOP interrupt, timeouts): the deadline counts, even if the timer has not fired yet.
        return answer_refusal("resolved", state.status)
    return interrupt


def _is_hidden(state: RunState, interrupt: InterruptState) -> bool:
    place = state.plan.nodes[interrupt.node_id]
    return place.hides_outputs or bool(place.node.sensitive_outputs)


def _open_under_same_key(state: RunState, interrupt: InterruptState) -> list[InterruptState]:
    """int-20 (OpenWOP interrupt): an answer belongs to its key and resolves every open interrupt with that key."""
    return [each for each in state.open_interrupts.values() if each.key == interrupt.key]


def _decide_approval(state: RunState, interrupt: InterruptState, value: Any, by: Answerer) -> tuple[Draft, ...]:
    """The events for an answer to an approval. Raises ClientFault."""
    answer = normalize_approval(interrupt.data, value)
    actor = resolve_actor(interrupt.data, answer, by, interrupt.votes)
    check_resume_value(interrupt, value, _is_hidden(state, interrupt))
    action: str = answer["action"]
    overridden = bool(answer.get("override"))
    bypasses = overridden and bool(interrupt.data.get("overrideBypassesQuorum"))
    if (action == "ask" or actor in interrupt.votes) and not bypasses and interrupt.response_count >= MAX_GATE_MESSAGES:
        text = f"This approval has reached its limit of {MAX_GATE_MESSAGES} messages. It accepts only first votes."
        raise ClientFault("conflict", text, {"limit": MAX_GATE_MESSAGES})
    if action == "ask":
        return (_remark_event(interrupt, actor, action, answer.get("question", answer.get("feedback"))),)
    quorum = interrupt.data.get("requiredApprovals", 1) > 1
    if quorum and not bypasses and interrupt.votes.get(actor) == ("accept" if action in GRANTING_ACTIONS else "reject"):
        # appr-09 (interrupt-profiles, quorum): the same vote again changes nothing.
        return ()
    tally = tally_votes(interrupt.data, {**interrupt.votes, actor: action}, action)
    final_action, decided_by, reason = tally.action, actor, tally.reason
    if bypasses:
        final_action, reason = action, None
    elif quorum and final_action in GRANTING_ACTIONS:
        decided_by = f"quorum:{tally.granted}-of-{tally.required}"
    drafts: list[Draft] = []
    if overridden:
        drafts.append(_event(interrupt, payloads.ApprovalOverridden(interrupt.node_id, actor, answer["reason"])))
    if quorum:
        drafts.append(_vote_event(interrupt, actor, action, tally.granted, answer))
        if action in GRANTING_ACTIONS and (text := answer.get("comment", answer.get("feedback"))):
            drafts.append(_remark_event(interrupt, actor, action, text))
    if final_action is not None:
        # The host computes these members itself, so values that the caller sends for them are dropped.
        resolution = {name: each for name, each in answer.items() if name not in ("votes", "voter")}
        resolution |= {"action": final_action, "decidedBy": decided_by}
        for each in _open_under_same_key(state, interrupt):
            drafts.append(_resolved_event(each, resolution, by, OUTCOMES[final_action], reason or UNSET))
            drafts.append(approval_received_event(each.node_id, each.interrupt_id, final_action, decided_by, answer))
    return tuple(drafts)


def _vote_event(interrupt: InterruptState, actor: str, action: str, granted: int, answer: dict[str, Any]) -> Draft:
    """appr-10 (RFC 0051): each vote of a quorum is an event of its own."""
    if action in GRANTING_ACTIONS:
        progress = {"granted": granted, "required": interrupt.data["requiredApprovals"]}
        return _event(interrupt, payloads.ApprovalGranted(interrupt.node_id, actor, progress))
    text = answer.get(
        "reason", answer.get("comment", answer.get("feedback", answer.get("refineFeedback", {}).get("text")))
    )
    return _event(interrupt, payloads.ApprovalRejected(interrupt.node_id, actor, text or UNSET))


def _event(interrupt: InterruptState, payload: Payload) -> Draft:
    return Draft.of(payload, interrupt.node_id, interrupt_id=interrupt.interrupt_id)


def _remark_event(interrupt: InterruptState, actor: str, action: str, text: Any) -> Draft:
    return _event(interrupt, payloads.ApprovalRemark(interrupt.node_id, actor, action, text))


def _resolved_event(
    interrupt: InterruptState,
    value: Any,
    by: Answerer,
    outcome: str | UnsetType = UNSET,
    reason: str | UnsetType = UNSET,
) -> Draft:
    identity = interrupt.node_id, interrupt.interrupt_id, interrupt.kind
    return _event(interrupt, payloads.InterruptResolved(*identity, value, by.principal, outcome, reason))


def _timeout_event(interrupt: InterruptState, outcome: str | UnsetType = UNSET) -> Draft:
    """An interrupt that timed out is resolved without a value and without a principal."""
    identity = interrupt.node_id, interrupt.interrupt_id, interrupt.kind
    return _event(interrupt, payloads.InterruptResolved(*identity, outcome=outcome, reason=TIMEOUT_REASON))


def time_out_interrupt(state: RunState, name: str) -> Decision:
    """int-17 (readings, Timeouts of interrupts): an approval that times out is rejected; for other kinds the node
    decides what the timeout means."""
    interrupt = state.interrupts.get(name)
    if interrupt is None or interrupt.status != "open" or state.stop is not None:
        return NOTHING
    drafts: list[Draft] = []
    for each in _open_under_same_key(state, interrupt):
        if each.kind != "approval":
            drafts.append(_timeout_event(each))
        else:
            drafts.append(_timeout_event(each, "rejected"))
            drafts.append(approval_received_event(each.node_id, each.interrupt_id, TIMEOUT_REASON, None, {}))
    return Decision(tuple(drafts))


def remind_of_interrupt(state: RunState, name: str, number: int) -> Decision:
    """int-18 (host): one reminder event stands for all reminders that are due by now; `number` is the newest of
    them."""
    interrupt = state.interrupts.get(name)
    if interrupt is None or interrupt.status != "open" or interrupt.reminders_sent >= number or state.stop is not None:
        return NOTHING
    return Decision((_event(interrupt, payloads.InterruptReminder(interrupt.node_id, name, number)),))
