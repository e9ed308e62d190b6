"""Approvals: what an approver may answer, who counts as one (Answerer), and when the votes decide.

Sources: OpenWOP interrupt (ApprovalResume), interrupt-profiles (quorum, auth-required), RFC 0051, RFC 0093 D.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.schema import check_inline
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import Trust

ACTIONS: Final = ("accept", "reject", "refine", "edit-accept", "ask")
RESOLVING_ACTIONS: Final = frozenset(ACTIONS) - {"ask"}
"""appr-01 (OpenWOP interrupt): the actions that end the wait; `ask` leaves it open."""
GRANTING_ACTIONS: Final = frozenset({"accept", "edit-accept"})
OUTCOMES: Final = {"accept": "accepted", "edit-accept": "accepted", "reject": "rejected", "refine": "refined"}
APPROVAL_KINDS: Final = frozenset({"approval", "low-confidence"})
"""appr-05 (RFC 0021, trust): the kinds of questions that only a person decides."""
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
"""A name that says who somebody is and nothing else: the host has names of its own for links and quorums."""
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
_REQUIRED_MEMBERS: Final = {"refine": "refineFeedback", "edit-accept": "editedArtifactData"}


class Answerer(msgspec.Struct, frozen=True):
    """Who answers an interrupt: the holder of a key, or of a link to one interrupt."""

    principal: str
    """The id of the key, or `link:` and the id of the link."""
    aliases: frozenset[str] = frozenset()
    """Other names that are surely theirs: the label of the key, the person a link was made for."""
    bound_person: str | None = None
    """The one person whose link this is: what the answer says about who gives it is not looked at."""
    may_delegate: bool = False
    """May answer in the name of approvers that a gate names (scope approvals:delegate)."""
    may_override: bool = False
    """May override a gate (scope approvals:override)."""
    has_key: bool = True
    """Came with a key; a link alone is not enough for some gates."""
    trust: Trust = "trusted"
    """`untrusted` if what is said comes from a model or a tool."""


class VoteTally(msgspec.Struct, frozen=True):
    """How the votes stand. `action` is None while more are needed."""

    granted: int
    required: int
    action: str | None = None
    reason: str | None = None


def normalize_approval(data: dict[str, Any], value: Any) -> dict[str, Any]:
    """appr-02 (OpenWOP interrupt, ApprovalResume): the answer in its one form. Raises ClientFault.

    The gate's own list of actions is enforced. `decision`, which older clients send, becomes an action.
    """
    answer = _upgrade_legacy_answer(value, data["actions"]) if is_object(value) else value
    if is_object(answer) and isinstance(answer.get("action"), str) and answer["action"] not in data["actions"]:
        raise invalid(
            f"This gate takes {', '.join(data['actions'])}.", "/resumeValue/action", supported=data["actions"]
        )
    if wrong := check_inline(_ANSWER_SCHEMA, answer, "/resumeValue"):
        raise invalid(f"The answer to an approval: the value at the pointer {wrong[0].message}.", wrong[0].pointer)
    action = answer["action"]
    for each, member in _REQUIRED_MEMBERS.items():
        if (each == action) is not (member in answer):
            word = "needs" if each == action else "takes no"
            raise invalid(f"{action} {word} {member}.", f"/resumeValue/{member}")
    if action == "ask" and not answer.get("question", answer.get("feedback")):
        raise invalid("ask needs a question.", "/resumeValue/question")
    return answer


def resolve_actor(data: dict[str, Any], answer: dict[str, Any], by: Answerer) -> str:
    """appr-03 (interrupt-profiles, quorum): whose answer it is. Raises ClientFault for one who may not give it.

    The answer may say so itself. Where a gate names its approvers, only their own word counts, or that of
    somebody who may speak for them; a link that was made for one person speaks for nobody else.
    """
    _check_profile(data, by)
    approvers: list[str] = data.get("approversList", [])
    mine = {by.principal, *by.aliases}
    claimed: str | None = None if by.bound_person is not None else answer.get("voter", answer.get("decidedBy"))
    if claimed is not None and approvers and claimed not in mine and not by.may_delegate:
        details = {"scopeRequired": "approvals:delegate"}
        raise ClientFault(
            "forbidden", "This key may not answer for others at a gate that names its approvers.", details
        )
    actor = by.bound_person or claimed or next((name for name in approvers if name in mine), by.principal)
    if answer.get("override"):
        _check_override(data, answer, by)
    elif approvers and actor not in approvers:
        raise ClientFault("forbidden", "This gate names its approvers, and you are none of them.")
    return actor


def tally_votes(data: dict[str, Any], votes: Mapping[str, str], last: str) -> VoteTally:
    """appr-04 (interrupt-profiles, quorum): whether these votes decide, the last of which is `last`.

    One rejection is enough, or with the policy `majority` more than half of the approvals that are required.
    """
    required: int = data.get("requiredApprovals", 1)
    granted = sum(action in GRANTING_ACTIONS for action in votes.values())
    against = len(votes) - granted
    enough = required // 2 if data.get("rejectionPolicy") == "majority" else 0
    if granted >= required:
        return VoteTally(granted, required, last if last in GRANTING_ACTIONS else "accept")
    if against > enough:
        # Who wants it done better alone sends it back; with others against it, it is refused.
        return VoteTally(granted, required, last if against == 1 and last not in GRANTING_ACTIONS else "reject")
    approvers = data.get("approversList", [])
    if approvers and all(name in votes for name in approvers):
        return VoteTally(granted, required, "reject", QUORUM_NOT_REACHED)
    return VoteTally(granted, required)


def check_answer_trust(kind: str, by: Answerer) -> None:
    """appr-05 (RFC 0021, trust): nothing that an untrusted source says advances an approval. Raises ClientFault."""
    if kind in APPROVAL_KINDS and by.trust != "trusted":
        raise ClientFault("untrusted_content_blocks_approval", "An approval takes no answer from an untrusted source.")


def _check_profile(data: dict[str, Any], by: Answerer) -> None:
    """appr-06 (interrupt-profiles, auth-required): such a gate takes no answer by a link."""
    if data.get("profile") == AUTH_REQUIRED and not by.has_key:
        raise ClientFault("forbidden", "This gate takes answers with a key only, not by a link.")


def _check_override(data: dict[str, Any], answer: dict[str, Any], by: Answerer) -> None:
    """appr-07 (RFC 0051): an override is allowed by the gate, done by somebody who may, and says why."""
    if not data.get("override"):
        raise invalid("This gate cannot be overridden.", "/resumeValue/override")
    if not by.may_override:
        raise ClientFault("forbidden", "This key may not override a gate.", {"scopeRequired": "approvals:override"})
    if not answer.get("reason", "").strip():
        raise invalid("An override needs a reason.", "/resumeValue/reason")


def _upgrade_legacy_answer(value: dict[str, Any], actions: list[str]) -> dict[str, Any]:
    """appr-08 (OpenWOP interrupt): `decision` without an action, as older clients send it."""
    if "action" in value and "decision" in value:
        raise invalid("An answer has an action or a decision, not both.", "/resumeValue/decision")
    if "action" in value or value.get("decision") not in ("approved", "rejected"):
        return value
    rest = {name: each for name, each in value.items() if name != "decision"}
    if value["decision"] == "approved":
        return {**rest, "action": "accept"}
    text = rest.get("feedback")
    if isinstance(text, str) and text and "refine" in actions:
        return {**rest, "action": "refine", "refineFeedback": {"scope": "whole", "text": text}}
    return {**rest, "action": "reject"}
