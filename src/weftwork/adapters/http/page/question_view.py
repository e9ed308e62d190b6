"""Renders a question by its kind, and the status of an approval: votes required, votes given, rejection policy.

Strings are shown as paragraphs, objects and arrays as lists down to a limited depth, other values as JSON.
"""

import re
from typing import Any, Final

from weftwork.adapters.http.page.layout import fact_list
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.protocol.forms.plan import FormPlan
from weftwork.protocol.forms.visible_text import json_text, shorten
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.people.approvals import GRANTING_ACTIONS

_MAX_LISTED_NAMES = 50
_MAX_NAME = 100
_VERBS = {"accept": "approved", "edit-accept": "approved", "reject": "rejected", "refine": "asked for changes"}
_MAX_TITLE = 300
_MAX_LABEL = 2_000
HEADINGS = {
    "approval": "Your approval is needed",
    "clarification": "Your answer is needed",
    "external-event": "A workflow is waiting for an event",
    "custom": "Your answer is needed",
    "conversation.exchange": "Your reply is needed",
    "low-confidence": "A decision needs your confirmation",
}
MAX_CHARACTERS: Final = 50_000
"""Characters of a question that a page shows; the rest is cut."""
MAX_PARTS: Final = 2_000
_MAX_DEPTH: Final = 4
_MAX_MEMBER_NAME: Final = 200
_INLINE_LENGTH: Final = 60
"""Texts of up to this many characters are shown on the same line as their label."""
_PARAGRAPHS: Final = re.compile(r"\n(?:[ \t]*\n)+")
WORKFLOW_TEXT: Final = {"lang": "", "dir": "auto"}
"""Attributes of elements with text from the workflow, whose language and direction are unknown."""


class DisplayBudget:
    """Limits how much of a question a page shows. The first cut adds a notice at its place."""

    def __init__(self, characters: int = MAX_CHARACTERS) -> None:
        self._characters = characters
        self._parts = MAX_PARTS
        self.is_cut = False

    def take(self, text: str) -> str:
        """The part of the text that is within the budget."""
        self._parts -= 1
        visible = text[: max(self._characters, 0)] if self._parts > 0 else ""
        self._characters -= len(text)
        return visible

    def cut_note(self, is_complete: bool) -> Child:
        """The notice, at the first text that was not shown completely; else None."""
        if is_complete or self.is_cut:
            return None
        self.is_cut = True
        return element("p", {"class": "cut"}, "Cut here: the rest is too long for this page.")


def render_paragraphs(text: str, budget: DisplayBudget) -> Markup:
    """A text with its line breaks. Consecutive empty lines become one paragraph break."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    visible = budget.take(text)
    parts = [part for part in _PARAGRAPHS.split(visible.strip("\n")) if part.strip()]
    shown = [element("p", {"class": "text", **WORKFLOW_TEXT}, part) for part in parts]
    return join([*shown, budget.cut_note(len(visible) == len(text))])


def render_value(value: Any, budget: DisplayBudget, depth: int = 0) -> Markup:
    if isinstance(value, str):
        return render_paragraphs(value, budget) if value.strip() else _code('""', budget)
    if depth < _MAX_DEPTH and is_object(value) and value:
        return _members(value, budget, depth)
    if depth < _MAX_DEPTH and is_array(value) and value:
        return _items(value, budget, depth)
    if is_object(value) or is_array(value):
        return render_json(value, budget) if value else _code(json_text(value), budget)
    return _code(json_text(value, None), budget)


def render_json(value: Any, budget: DisplayBudget) -> Markup:
    text = json_text(value)
    visible = budget.take(text)
    return join([element("pre", {"dir": "ltr", "lang": ""}, visible), budget.cut_note(len(visible) == len(text))])


def _members(value: dict[str, Any], budget: DisplayBudget, depth: int) -> Markup:
    rows: list[Child] = []
    for name, inner in value.items():
        if budget.is_cut:
            break
        visible = budget.take(shorten(str(name), _MAX_MEMBER_NAME)).strip() or "?"
        is_block = (
            is_object(inner)
            or is_array(inner)
            or (isinstance(inner, str) and (len(inner) > _INLINE_LENGTH or "\n" in inner))
        )
        style = {"class": "nest" if is_block else "pair"}
        content = element("dd", {}, render_value(inner, budget, depth + 1))
        rows.append(element("div", style, element("dt", WORKFLOW_TEXT, visible), content))
    return element("dl", {}, *rows)


def _items(value: list[Any], budget: DisplayBudget, depth: int) -> Markup:
    rows: list[Child] = []
    for inner in value:
        if budget.is_cut:
            break
        rows.append(element("li", {}, render_value(inner, budget, depth + 1)))
    return element("ul", {}, *rows)


def _code(text: str, budget: DisplayBudget) -> Markup:
    visible = budget.take(text)
    return join([element("code", {"dir": "ltr", "lang": ""}, visible), budget.cut_note(len(visible) == len(text))])


def question_heading(question: dict[str, Any], plan: FormPlan) -> str:
    """The heading of the page. It contains no text from the workflow."""
    if plan.is_malformed:
        return "A workflow is waiting for an answer"
    if has_voted(question, plan):
        return "You have already voted"
    return HEADINGS[question["kind"]]


def question_content(question: dict[str, Any], plan: FormPlan, budget: DisplayBudget) -> Markup:
    """The data of the question, and the ids of its workflow and node. All of it belongs in the workflow's region."""
    return join([_question_data(question, plan, budget), _source(question)])


def _source(question: dict[str, Any]) -> Child:
    names = [each for name in ("workflowId", "nodeId") if isinstance(each := question.get(name), str)]
    return _labelled("Asked by", " · ".join(names)) if names else None


def _question_data(question: dict[str, Any], plan: FormPlan, budget: DisplayBudget) -> Markup:
    if plan.is_malformed:
        return render_json(question.get("data"), budget)
    data: dict[str, Any] = question["data"]
    match question["kind"]:
        case "approval":
            return _approval(data, budget)
        case "external-event":
            correlation = render_value(data["correlation"], budget) if data["correlation"] else None
            return join([_labelled("Event", data["eventType"]), correlation])
        case "custom":
            return join([_labelled("Question", data["customKind"]), _optional_value(data, "payload", budget)])
        case "conversation.exchange":
            return render_paragraphs(data["prompt"], budget)
        case "low-confidence":
            return _confidence(data, budget)
        case _:
            return join([_labelled("About", data["contextType"]) if data.get("contextType") else None])


def approval_status(question: dict[str, Any], plan: FormPlan) -> Child:
    """The status of an approval that needs several votes or already has one; else None."""
    if plan.is_malformed or question["kind"] != "approval":
        return None
    data = question["data"]
    required: int = data.get("requiredApprovals", 1)
    votes = _parse_votes(question.get("votes"))
    if required == 1 and not votes:
        return None
    granted = sum(action in GRANTING_ACTIONS for _, action in votes)
    # As many rejections as more than half of the required approvals (protocol.people.approvals).
    enough = required // 2 + 1 if data.get("rejectionPolicy") == "majority" else 1
    rejection = "One rejection is final" if enough == 1 else f"{enough} rejections are final"
    summary = join_names([f"{voter} {_VERBS[action]}" for voter, action in votes])
    rows: list[tuple[str, Child]] = [
        ("Approvals", f"{granted} of {required} given"),
        ("Rejection", rejection if required > 1 else None),
        ("Votes so far", element("bdi", WORKFLOW_TEXT, summary) if votes else None),
    ]
    own_vote = None
    if has_voted(question, plan):
        text = f"You have {_VERBS[question['voted']]}. Sending the form again changes your vote."
        own_vote = element("p", {"role": "status"}, element("strong", {}, text))
    return element("section", {"class": "card", "aria-label": "Status of the approval"}, own_vote, fact_list(rows))


def has_voted(question: dict[str, Any], plan: FormPlan) -> bool:
    """Whether this link was already used for a vote that still counts."""
    return not plan.is_malformed and question["kind"] == "approval" and question.get("voted") in _VERBS


def _parse_votes(value: Any) -> list[tuple[str, str]]:
    rows = [each for each in value if is_object(each)] if is_array(value) else []
    pairs = [(each.get("voter"), each.get("action")) for each in rows]
    return [
        (voter, action)
        for voter, action in pairs
        if isinstance(voter, str) and isinstance(action, str) and action in _VERBS
    ]


def join_names(names: list[str]) -> str:
    shown = ", ".join(shorten(name, _MAX_NAME) for name in names[:_MAX_LISTED_NAMES])
    return shown if len(names) <= _MAX_LISTED_NAMES else f"{shown} and {len(names) - _MAX_LISTED_NAMES} more"


def _approval(data: dict[str, Any], budget: DisplayBudget) -> Markup:
    title = element("h2", WORKFLOW_TEXT, budget.take(shorten(data["title"], _MAX_TITLE)))
    description = render_paragraphs(data["description"], budget) if data.get("description") else None
    artifact = _labelled("Artifact", f"{data['artifactType']} · {data['artifactId']}")
    names: list[str] = data.get("approversList", [])
    approvers = _labelled("Approvers", join_names(names)) if names else None
    return join([title, description, artifact, approvers, _optional_value(data, "artifactData", budget)])


def _confidence(data: dict[str, Any], budget: DisplayBudget) -> Markup:
    rows: list[tuple[str, Child]] = [
        ("Agent", element("span", WORKFLOW_TEXT, data["agentId"])),
        ("Confidence", f"{data['observed']:g}"),
        ("Required confidence", f"{data['threshold']:g}"),
    ]
    title = element("h2", {}, "The decision") if "decision" in data else None
    return join([fact_list(rows), title, _optional_value(data, "decision", budget)])


def _optional_value(data: dict[str, Any], name: str, budget: DisplayBudget) -> Child:
    return render_value(data[name], budget) if name in data else None


def _labelled(label: str, text: str) -> Markup:
    return element("p", {"class": "kind"}, f"{label}: ", element("bdi", WORKFLOW_TEXT, shorten(text, _MAX_LABEL)))
