"""How an approval stands: how many are needed, who has decided, what a rejection does."""

from typing import Any

from weftwork.adapters.http.form_plan import Plan
from weftwork.adapters.http.page_frame import facts
from weftwork.adapters.http.page_markup import Child, element
from weftwork.adapters.http.page_text import short
from weftwork.adapters.http.page_value import SAID
from weftwork.protocol.approval import GRANTS
from weftwork.protocol.json_value import is_array, is_object

_MAX_NAMES = 50
_MAX_NAME = 100
_VERBS = {"accept": "approved", "edit-accept": "approved", "reject": "rejected", "refine": "asked for changes"}


def approvals(question: dict[str, Any], plan: Plan) -> Child:
    """The state of an approval that several people give."""
    if plan.odd or question["kind"] != "approval":
        return None
    data = question["data"]
    required: int = data.get("requiredApprovals", 1)
    votes = _votes(question.get("votes"))
    if required == 1 and not votes:
        return None
    granted = sum(action in GRANTS for _, action in votes)
    majority = data.get("rejectionPolicy") == "majority"
    rejection = "Rejected by more than half of those needed" if majority else "One rejection ends it"
    done = (
        f"You have {_VERBS[question['voted']]}. Sending again changes your vote." if has_voted(question, plan) else None
    )
    rows: list[tuple[str, Child]] = [
        ("Approvals", f"{granted} of {required} given"),
        ("Rejection", rejection if required > 1 else None),
        (
            "So far",
            element("bdi", SAID, listed([f"{voter} {_VERBS[action]}" for voter, action in votes])) if votes else None,
        ),
    ]
    said = element("p", {"role": "status"}, element("strong", {}, done)) if done else None
    return element("section", {"class": "card", "aria-label": "How it stands"}, said, facts(rows))


def has_voted(question: dict[str, Any], plan: Plan) -> bool:
    """Whether the link was used before, for a vote that still counts."""
    return not plan.odd and question["kind"] == "approval" and question.get("voted") in _VERBS


def _votes(given: Any) -> list[tuple[str, str]]:
    rows = [each for each in given if is_object(each)] if is_array(given) else []
    found = [(each.get("voter"), each.get("action")) for each in rows]
    return [
        (voter, action)
        for voter, action in found
        if isinstance(voter, str) and isinstance(action, str) and action in _VERBS
    ]


def listed(names: list[str]) -> str:
    shown = ", ".join(short(name, _MAX_NAME) for name in names[:_MAX_NAMES])
    return shown if len(names) <= _MAX_NAMES else f"{shown} and {len(names) - _MAX_NAMES} more"
