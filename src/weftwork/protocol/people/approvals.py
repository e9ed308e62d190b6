"""Approvals: the form of answers, who may give them, and when the votes decide.

Sources: OpenWOP interrupt (ApprovalResume), interrupt-profiles (quorum, auth-required), RFC 0051, RFC 0093 D.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.schema import check_inline
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import Trust
from weftwork.protocol.run.interrupts import Interrupt, Resolution, interrupt_payload
from weftwork.protocol.scopes import DEFAULT_TENANT, DELEGATE, OVERRIDE, missing_scope

ACTIONS: Final = ("accept", "reject", "refine", "edit-accept", "ask")
RESOLVING_ACTIONS: Final = frozenset(ACTIONS) - {"ask"}
"""appr-01 (OpenWOP interrupt): the actions that resolve an approval. After `ask` it stays open."""
GRANTING_ACTIONS: Final = frozenset({"accept", "edit-accept"})
OUTCOMES: Final = {"accept": "accepted", "edit-accept": "accepted", "reject": "rejected", "refine": "refined"}
APPROVAL_KINDS: Final = frozenset({"approval", "low-confidence"})
"""appr-05 (RFC 0021, trust): the interrupt kinds that only a trusted answer can resolve."""
UNTRUSTED_BLOCKED: Final = "untrusted_content_blocks_approval"
_GRANTS: Final = ("accepted", None)
"""Outcomes after which a node may continue. Only the resolution of an approval has an outcome."""
AUTH_REQUIRED: Final = "openwop-interrupt-auth-required"
MAX_TEXT: Final = 10_000
MAX_NAME: Final = 256
QUORUM_NOT_REACHED: Final = "quorum-not-reached"

_TEXT_SCHEMA: Final = {"type": "string", "maxLength": MAX_TEXT}
_NAME_SCHEMA: Final = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_PERSON_SCHEMA: Final = {
    **_NAME_SCHEMA,
    "pattern": r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+$",
    "not": {"pattern": "^(quorum|link):"},
}
"""The name of a person, without control characters and without the prefixes that the host uses for links and
quorums."""
_ANSWER_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["action"],
    "properties": {
        "action": {"enum": list(ACTIONS)},
        **dict.fromkeys(("feedback", "comment", "question"), _TEXT_SCHEMA),
        **dict.fromkeys(("voter", "decidedBy"), _PERSON_SCHEMA),
        "reason": _TEXT_SCHEMA,
        "override": {"type": "boolean"},
        "refineFeedback": {
            "type": "object",
            "required": ["scope"],
            "properties": {
                "scope": {"enum": ["whole", "section", "items"]},
                "sectionPath": _TEXT_SCHEMA,
                "text": _TEXT_SCHEMA,
                "itemIds": {"type": "array", "items": _NAME_SCHEMA},
                "tags": {"type": "array", "items": _NAME_SCHEMA},
            },
        },
    },
}
_ACTOR_MEMBERS: Final = ("voter", "decidedBy")
"""The members with which an answer names the person who gives it. The first one counts."""
_REQUIRED_MEMBERS: Final = {"refine": "refineFeedback", "edit-accept": "editedArtifactData"}


class Answerer(msgspec.Struct, frozen=True):
    """The sender of an answer: the holder of an API key, or of a link to one interrupt."""

    principal: str
    """The id of the API key, or `link:` and the id of the link."""
    aliases: frozenset[str] = frozenset()
    """Further verified names of the sender: the label of the key, the person for whom a link was created."""
    bound_person: str | None = None
    """The voter of a link: its person, else its key, else the link. If set, `voter` and `decidedBy` in the answer are
    ignored."""
    may_delegate: bool = False
    """Whether the sender may answer as another person (scope approvals:delegate)."""
    may_override: bool = False
    """Whether the sender may override a gate (scope approvals:override)."""
    has_key: bool = True
    """Whether the request had an API key. Some gates do not accept answers by link."""
    partition: str = f"live:{DEFAULT_TENANT}"
    """The mode and the tenant of the sender, for the message of a refusal."""
    trust: Trust = "trusted"
    """`untrusted` if the answer comes from a model or a tool."""


class VoteTally(msgspec.Struct, frozen=True):
    """The result of counting votes. There is no `action` while more votes are needed."""

    granted: int
    required: int
    action: str | None = None
    reason: str | None = None


def normalize_approval(data: dict[str, Any], value: Any) -> dict[str, Any]:
    """appr-02 (OpenWOP interrupt, ApprovalResume): the answer in canonical form. Raises ClientFault.

    Only the actions that the gate lists are accepted. `decision`, which older clients send, becomes an action.
    """
    answer = _upgrade_legacy_answer(value, data["actions"]) if is_object(value) else value
    if is_object(answer) and isinstance(answer.get("action"), str) and answer["action"] not in data["actions"]:
        raise invalid(
            f"This gate accepts only the actions {', '.join(data['actions'])}.",
            "/resumeValue/action",
            supported=data["actions"],
        )
    if wrong := check_inline(_ANSWER_SCHEMA, answer, "/resumeValue"):
        raise invalid(f"The answer is invalid: the value at the pointer {wrong[0].message}.", wrong[0].pointer)
    action = answer["action"]
    for each, member in _REQUIRED_MEMBERS.items():
        if (each == action) is not (member in answer):
            verb = "requires" if each == action else "does not allow"
            raise invalid(f"The action {action} {verb} the member {member}.", f"/resumeValue/{member}")
    if action == "ask" and not answer.get("question", answer.get("feedback")):
        raise invalid("The action ask requires the member question.", "/resumeValue/question")
    return answer


def resolve_actor(data: dict[str, Any], answer: dict[str, Any], by: Answerer, votes: Mapping[str, str]) -> str:
    """appr-03 (interrupt-profiles, quorum): the person to whom the answer is attributed. Raises ClientFault if the
    sender may not answer.

    That is the sender. An answer can name another person only if the sender has the scope approvals:delegate. If a gate
    names its approvers, that person must be one of them. An answer by a link is attributed to its person, else to the
    key that created it, unless that key may answer as another person. A sender with several names has one vote: `votes`
    has the votes so far, by actor.
    """
    _check_profile(data, by)
    approvers: list[str] = data.get("approversList", [])
    own_names = {by.principal, *by.aliases}
    claimed = [] if by.bound_person is not None else [answer[name] for name in _ACTOR_MEMBERS if name in answer]
    if not by.may_delegate and not own_names.issuperset(claimed):
        text = "This key can answer only as itself. To answer as another person, it needs the scope approvals:delegate."
        raise missing_scope(by.partition, DELEGATE, text)
    own_name = next((name for name in approvers if name in own_names), by.principal)
    actor = by.bound_person or next(iter(claimed), own_name)
    if actor in own_names:
        actor = next((name for name in votes if name in own_names), actor)
    if answer.get("override"):
        _check_override(data, answer, by)
    elif approvers and actor not in approvers:
        raise ClientFault("forbidden", "This gate accepts answers only from the approvers that it names.")
    return actor


def required_approvals(data: dict[str, Any]) -> int:
    """appr-04 (interrupt-profiles, quorum): the number of approvals that decide."""
    return data.get("requiredApprovals", 1)


def tally_votes(data: dict[str, Any], votes: Mapping[str, str], last: str) -> VoteTally:
    """appr-04 (interrupt-profiles, quorum): whether the votes decide the approval. `last` is the latest action.

    One rejection decides; with the policy `majority`, more rejections than half of the required approvals.
    """
    required = required_approvals(data)
    granted = sum(action in GRANTING_ACTIONS for action in votes.values())
    against = len(votes) - granted
    tolerated = required // 2 if data.get("rejectionPolicy") == "majority" else 0
    if granted >= required:
        return VoteTally(granted, required, last if last in GRANTING_ACTIONS else "accept")
    if against > tolerated:
        # A single `refine` sends the artifact back; together with other votes against it, the approval is rejected.
        return VoteTally(granted, required, last if against == 1 and last not in GRANTING_ACTIONS else "reject")
    approvers = data.get("approversList", [])
    if approvers and all(name in votes for name in approvers):
        return VoteTally(granted, required, "reject", QUORUM_NOT_REACHED)
    return VoteTally(granted, required)


def blocks_approval(kind: str, untrusted: bool) -> bool:
    """appr-05 (RFC 0021, trust): whether content must not decide an interrupt of this kind, because it is untrusted.

    It applies to everything that would decide without a person: answers of models and tools, answers of node code,
    default values after a timeout, and earlier answers about other content. A person can decide about untrusted
    content.
    """
    return untrusted and kind in APPROVAL_KINDS


def check_answer_trust(kind: str, by: Answerer) -> None:
    """appr-05 (RFC 0021, trust): raises ClientFault for an untrusted answer to an approval."""
    if blocks_approval(kind, by.trust != "trusted"):
        raise ClientFault(UNTRUSTED_BLOCKED, "An approval cannot be answered with content from an untrusted source.")


def is_granted_for_other_content(resolution: Resolution, interrupt: Interrupt, untrusted: bool) -> bool:
    """appr-05 (RFC 0021, trust): whether a recorded answer must not grant this interrupt, because a person gave it for
    content that has changed since, and the node has untrusted content."""
    if not blocks_approval(interrupt.kind, untrusted) or resolution.timed_out:
        return False
    return resolution.outcome in _GRANTS and resolution.data != interrupt_payload(interrupt).data


def _check_profile(data: dict[str, Any], by: Answerer) -> None:
    """appr-06 (interrupt-profiles, auth-required): raises ClientFault for an answer by link to a gate that requires a
    key."""
    if data.get("profile") == AUTH_REQUIRED and not by.has_key:
        raise ClientFault("forbidden", "This gate does not accept answers by link; answer it with an API key.")


def _check_override(data: dict[str, Any], answer: dict[str, Any], by: Answerer) -> None:
    """appr-07 (RFC 0051): raises ClientFault unless the gate allows overrides, the sender may override, and the answer
    has a reason."""
    if not data.get("override"):
        raise invalid("This gate cannot be overridden.", "/resumeValue/override")
    if not by.may_override:
        text = "To override a gate, the key needs the scope approvals:override."
        raise missing_scope(by.partition, OVERRIDE, text)
    if not answer.get("reason", "").strip():
        raise invalid("An override requires the member reason.", "/resumeValue/reason")


def _upgrade_legacy_answer(value: dict[str, Any], actions: list[str]) -> dict[str, Any]:
    """appr-08 (OpenWOP interrupt): replaces `decision`, which older clients send, by an action."""
    if "action" in value and "decision" in value:
        raise invalid("An answer may have an action or a decision, not both.", "/resumeValue/decision")
    if "action" in value or value.get("decision") not in ("approved", "rejected"):
        return value
    rest = {name: each for name, each in value.items() if name != "decision"}
    if value["decision"] == "approved":
        return {**rest, "action": "accept"}
    text = rest.get("feedback")
    if isinstance(text, str) and text and "refine" in actions:
        return {**rest, "action": "refine", "refineFeedback": {"scope": "whole", "text": text}}
    return {**rest, "action": "reject"}
