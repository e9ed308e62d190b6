"""What a question says, by its kind: the part of the page that is the workflow's."""

from typing import Any

from weftwork.adapters.http.form_plan import Plan
from weftwork.adapters.http.page_frame import facts
from weftwork.adapters.http.page_markup import Child, Markup, element, join
from weftwork.adapters.http.page_text import short
from weftwork.adapters.http.page_value import SAID, Budget, paragraphs, raw, view
from weftwork.adapters.http.page_votes import has_voted, listed

_MAX_TITLE = 300
_MAX_NAMES = 2_000
HEADINGS = {
    "approval": "Your approval is needed",
    "clarification": "Your answer is needed",
    "external-event": "An event is waited for",
    "custom": "Your answer is needed",
    "conversation.exchange": "Your reply is needed",
    "low-confidence": "A decision needs your confirmation",
}


def heading(question: dict[str, Any], plan: Plan) -> str:
    """What is asked, in the words of the host."""
    if plan.odd:
        return "A workflow waits for an answer"
    if has_voted(question, plan):
        return "Your vote is recorded"
    return HEADINGS[question["kind"]]


def content(question: dict[str, Any], plan: Plan, budget: Budget) -> Markup:
    """What the question says, and which node of which workflow says it: their names are the workflow's words too."""
    return join([_data(question, plan, budget), _asker(question)])


def _asker(question: dict[str, Any]) -> Child:
    names = [each for name in ("workflowId", "nodeId") if isinstance(each := question.get(name), str)]
    return _kind("Asked by", " · ".join(names)) if names else None


def _data(question: dict[str, Any], plan: Plan, budget: Budget) -> Markup:
    if plan.odd:
        return raw(question.get("data"), budget)
    data: dict[str, Any] = question["data"]
    match question["kind"]:
        case "approval":
            return _approval(data, budget)
        case "external-event":
            known = view(data["correlation"], budget) if data["correlation"] else None
            return join([_kind("Event", data["eventType"]), known])
        case "custom":
            return join([_kind("Question", data["customKind"]), _optional(data, "payload", budget)])
        case "conversation.exchange":
            return paragraphs(data["prompt"], budget)
        case "low-confidence":
            return _confidence(data, budget)
        case _:
            return join([_kind("About", data["contextType"]) if data.get("contextType") else None])


def _approval(data: dict[str, Any], budget: Budget) -> Markup:
    title = element("h2", SAID, budget.take(short(data["title"], _MAX_TITLE)))
    about = paragraphs(data["description"], budget) if data.get("description") else None
    named = _kind("Artifact", f"{data['artifactType']} · {data['artifactId']}")
    approvers: list[str] = data.get("approversList", [])
    who = _kind("Approvers", listed(approvers)) if approvers else None
    return join([title, about, named, who, _optional(data, "artifactData", budget)])


def _confidence(data: dict[str, Any], budget: Budget) -> Markup:
    rows: list[tuple[str, Child]] = [
        ("Agent", element("span", SAID, data["agentId"])),
        ("Its confidence", f"{data['observed']:g}"),
        ("Needed", f"{data['threshold']:g}"),
    ]
    title = element("h2", {}, "The decision") if "decision" in data else None
    return join([facts(rows), title, _optional(data, "decision", budget)])


def _optional(data: dict[str, Any], name: str, budget: Budget) -> Child:
    return view(data[name], budget) if name in data else None


def _kind(what: str, name: str) -> Markup:
    return element("p", {"class": "kind"}, f"{what}: ", element("bdi", SAID, short(name, _MAX_NAMES)))
