"""Decides about interrupts: requested by nodes, answered or voted on by people, reminded of, and timed out. Pure."""

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
"""The kind of question that the world answers, and no person."""
MAX_GATE_MESSAGES: Final = 200
"""appr-11 (host): after so many votes and questions back a gate takes no more questions and no changed votes: a link
must not fill a log. Whoever has not voted yet still may."""


def suspend_node(state: RunState, given: NodeSuspended) -> tuple[Draft, ...]:
    """int-04 (OpenWOP interrupt): the question, then the node that waits for its answer."""
    node_id, interrupt = given.node_id, given.interrupt
    name = interrupt_id(node_id, state.nodes[node_id].interrupts + 1)
    return (*given.effects, *interrupt_events(node_id, name, interrupt))


def interrupt_events(node_id: str, name: str, interrupt: Interrupt) -> tuple[Draft, ...]:
    """A question under its id, and the node that waits."""
    asked = Draft.of(interrupt_payload(interrupt), node_id, interrupt_id=name)
    return (asked, *requested_events(node_id, name, interrupt), suspended_event(node_id, name, interrupt))


def pass_interrupt(state: RunState, given: InterruptPassed) -> tuple[Draft, ...]:
    """int-19 (RFC 0094 E): what passes at once is asked and resolved in one commit, once per key."""
    node_id, interrupt = given.node_id, given.interrupt
    name = interrupt_id(node_id, state.nodes[node_id].interrupts + 1)
    asked = Draft.of(interrupt_payload(interrupt), node_id, interrupt_id=name)
    payload = payloads.InterruptResolved(node_id, name, interrupt.kind, given.value)
    trust = "untrusted" if state.nodes[node_id].untrusted else None
    resolved = Draft.of(payload, node_id, interrupt_id=name, content_trust=trust)
    return (asked, *passed_events(state, node_id, name, interrupt, given.value), resolved)


def answer_interrupt(state: RunState, given: AnswerReceived) -> Decision:
    """int-06 (readings, Answering an interrupt): one answer counts; a bad one changes nothing."""
    found = _find_answerable(state, given)
    if isinstance(found, ClientFault):
        return Decision(refusal=found)
    try:
        check_answer_trust(found.kind, given.by)
        if _is_hidden(state, found) and MARKER_PREFIX.encode() in encode_stored(given.value):
            raise invalid("The answer repeats a marker that stands for something hidden.", "/resumeValue")
        if found.kind == "approval":
            return Decision(_decide_approval(state, found, given.value, given.by))
        value = normalize_answer(found, given.value, _is_hidden(state, found))
    except ClientFault as fault:
        return Decision(refusal=fault)
    by = given.by.bound_person or given.by.principal
    drafts = tuple(
        draft
        for each in _open_under_same_key(state, found)
        for draft in (_resolved_event(each, value, given.by), *resolved_events(state, each, value, by))
    )
    if found.kind == EXTERNAL_EVENT or given.by.trust != "trusted":
        # trust-04 (RFC 0143): what an event of somewhere else holds, nobody here vouches for.
        drafts = tuple(msgspec.structs.replace(each, content_trust="untrusted") for each in drafts)
    return Decision(drafts)


def _find_answerable(state: RunState, given: AnswerReceived) -> InterruptState | ClientFault:
    """The interrupt that is meant, if it can still be answered."""

    def is_meant(each: InterruptState) -> bool:
        return each.node_id == given.node_id and given.interrupt_id in ("", each.interrupt_id)

    found = next(filter(is_meant, state.open_interrupts.values()), None)
    if found is None:
        mine = list(filter(is_meant, state.interrupts.values()))
        return answer_refusal(mine[-1].status if mine else None)
    if state.stop is not None:
        return answer_refusal("cancelled" if state.stop.error is None else "closed")
    if found.due is not None and found.due <= given.at:
        # int-16 (OpenWOP interrupt, timeouts): the time is up, whether its timer was faster or not.
        return answer_refusal("resolved")
    return found


def _is_hidden(state: RunState, found: InterruptState) -> bool:
    place = state.plan.nodes[found.node_id]
    return place.hides_outputs or bool(place.node.sensitive_outputs)


def _open_under_same_key(state: RunState, found: InterruptState) -> list[InterruptState]:
    """int-20 (OpenWOP interrupt): an answer counts for its key, so it resolves every question that is open under it."""
    return [each for each in state.open_interrupts.values() if each.key == found.key]


def _decide_approval(state: RunState, found: InterruptState, value: Any, by: Answerer) -> tuple[Draft, ...]:
    """What an answer to an approval adds to the log. Raises ClientFault."""
    said = normalize_approval(found.data, value)
    actor = resolve_actor(found.data, said, by)
    check_resume_value(found, value, _is_hidden(state, found))
    action: str = said["action"]
    overridden = bool(said.get("override"))
    bypasses = overridden and bool(found.data.get("overrideBypassesQuorum"))
    if (action == "ask" or actor in found.votes) and not bypasses and found.response_count >= MAX_GATE_MESSAGES:
        text = "This gate takes no more questions back, and nobody may change their vote any more."
        raise ClientFault("conflict", text, {"limit": MAX_GATE_MESSAGES})
    if action == "ask":
        return (_remark_event(found, actor, action, said.get("question", said.get("feedback"))),)
    quorum = found.data.get("requiredApprovals", 1) > 1
    if quorum and not bypasses and found.votes.get(actor) == ("accept" if action in GRANTING_ACTIONS else "reject"):
        # appr-09 (interrupt-profiles, quorum): the same vote again changes nothing.
        return ()
    standing = tally_votes(found.data, {**found.votes, actor: action}, action)
    ends, decided_by, reason = standing.action, actor, standing.reason
    if bypasses:
        ends, reason = action, None
    elif quorum and ends in GRANTING_ACTIONS:
        decided_by = f"quorum:{standing.granted}-of-{standing.required}"
    drafts: list[Draft] = []
    if overridden:
        drafts.append(_event(found, payloads.ApprovalOverridden(found.node_id, actor, said["reason"])))
    if quorum:
        drafts.append(_vote_event(found, actor, action, standing.granted, said))
        if action in GRANTING_ACTIONS and (text := said.get("comment", said.get("feedback"))):
            drafts.append(_remark_event(found, actor, action, text))
    if ends is not None:
        # What the host knows better than whoever answers is not theirs to say.
        kept = {name: each for name, each in said.items() if name not in ("votes", "voter")}
        kept |= {"action": ends, "decidedBy": decided_by}
        for each in _open_under_same_key(state, found):
            drafts.append(_resolved_event(each, kept, by, OUTCOMES[ends], reason or UNSET))
            drafts.append(approval_received_event(each.node_id, each.interrupt_id, ends, decided_by, said))
    return tuple(drafts)


def _vote_event(found: InterruptState, actor: str, action: str, granted: int, said: dict[str, Any]) -> Draft:
    """appr-10 (RFC 0051): each vote of a quorum stands in the log when it is given."""
    if action in GRANTING_ACTIONS:
        progress = {"granted": granted, "required": found.data["requiredApprovals"]}
        return _event(found, payloads.ApprovalGranted(found.node_id, actor, progress))
    text = said.get("reason", said.get("comment", said.get("feedback", said.get("refineFeedback", {}).get("text"))))
    return _event(found, payloads.ApprovalRejected(found.node_id, actor, text or UNSET))


def _event(found: InterruptState, payload: Payload) -> Draft:
    return Draft.of(payload, found.node_id, interrupt_id=found.interrupt_id)


def _remark_event(found: InterruptState, actor: str, action: str, text: Any) -> Draft:
    return _event(found, payloads.ApprovalRemark(found.node_id, actor, action, text))


def _resolved_event(
    found: InterruptState,
    value: Any,
    by: Answerer,
    outcome: str | UnsetType = UNSET,
    reason: str | UnsetType = UNSET,
) -> Draft:
    known = found.node_id, found.interrupt_id, found.kind
    return _event(found, payloads.InterruptResolved(*known, value, by.principal, outcome, reason))


def _timeout_event(found: InterruptState, outcome: str | UnsetType = UNSET) -> Draft:
    """Nobody answered: no value, and no name."""
    known = found.node_id, found.interrupt_id, found.kind
    return _event(found, payloads.InterruptResolved(*known, outcome=outcome, reason=TIMEOUT_REASON))


def time_out_interrupt(state: RunState, name: str) -> Decision:
    """int-17 (readings, Timeouts of interrupts): an approval is rejected; of others their node decides."""
    found = state.interrupts.get(name)
    if found is None or found.status != "open" or state.stop is not None:
        return NOTHING
    drafts: list[Draft] = []
    for each in _open_under_same_key(state, found):
        if each.kind != "approval":
            drafts.append(_timeout_event(each))
        else:
            drafts.append(_timeout_event(each, "rejected"))
            drafts.append(approval_received_event(each.node_id, each.interrupt_id, TIMEOUT_REASON, None, {}))
    return Decision(tuple(drafts))


def remind_of_interrupt(state: RunState, name: str, number: int) -> Decision:
    """int-18 (host): one reminder for all that are due by now; `number` is the newest of them."""
    found = state.interrupts.get(name)
    if found is None or found.status != "open" or found.reminders_sent >= number or state.stop is not None:
        return NOTHING
    return Decision((_event(found, payloads.InterruptReminder(found.node_id, name, number)),))
