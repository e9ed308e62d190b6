"""Renders a question by its kind, and the status of an approval: who has decided, and what is still needed."""

import re
from typing import Any, Final

from weftwork.adapters.http.page.layout import WORKFLOW_TEXT, fact_list, folded, name_text
from weftwork.adapters.http.page.markup import Child, Markup, element, fill, join
from weftwork.adapters.http.page.messages import Messages
from weftwork.adapters.http.page.value_view import (
    DisplayBudget,
    render_json,
    render_paragraphs,
    render_value,
)
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.forms.plan import FormPlan
from weftwork.protocol.forms.visible_text import readable_name, shorten
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.people.approvals import GRANTING_ACTIONS, required_approvals

_MAX_LISTED_NAMES: Final = 50
_LINK_PREFIX: Final = "link:"
_KEY_ID: Final = re.compile("key_[0-9a-f]{16}")
_VOTES: Final = {"accept": "approved", "edit-accept": "approved", "reject": "rejected", "refine": "refine"}
_MAX_TITLE: Final = 300
_MAX_LABEL: Final = 2_000


def question_heading(t: Messages, question: dict[str, Any], plan: FormPlan) -> str:
    """The heading of the page. It contains no text from the workflow."""
    if plan.is_malformed:
        return t("malformed")
    return t("voted" if has_voted(question, plan) else question["kind"])


def question_content(
    question: dict[str, Any],
    plan: FormPlan,
    budget: DisplayBudget,
    has_surface: bool = False,
    node_name: str | None = None,
) -> Markup:
    """The data of the question. All of it belongs in the workflow's region. With `has_surface`, a surface follows.
    `node_name` is the name that the author gave to the node that asks."""
    if plan.is_malformed:
        return render_json(question.get("data"), budget)
    data: dict[str, Any] = question["data"]
    match question["kind"]:
        case "approval":
            return _approval(data, budget, _artifact_name(question, node_name))
        case "external-event":
            correlation = render_value(data["correlation"], budget) if data["correlation"] else None
            return join([_title(data["eventType"], budget), correlation])
        case "custom":
            name = data["customKind"]
            if name == SURFACE_KIND and is_object(payload := data.get("payload")):
                # The surface shows its own title. The payload repeats the title and has its id, which is no text for
                # people.
                title = payload.get("title")
                return join([_title(title, budget) if not has_surface and isinstance(title, str) else None])
            title = _title(readable_name(name), budget) if name != SURFACE_KIND else None
            return join([title, _optional_value(data, "payload", budget)])
        case "conversation.exchange":
            return element("div", {"class": "lead"}, render_paragraphs(data["prompt"], budget))
        case "low-confidence":
            return _confidence(data, budget)
        case _:
            return join(
                [_labelled(budget.messages("context"), data["contextType"]) if data.get("contextType") else None]
            )


def approval_status(t: Messages, question: dict[str, Any], plan: FormPlan) -> Child:
    """The status of an approval that needs several votes or already has one, in words; else None."""
    if plan.is_malformed or question["kind"] != "approval":
        return None
    data = question["data"]
    required = required_approvals(data)
    votes = _parse_votes(question.get("votes"))
    if required == 1 and not votes:
        return None
    granted = sum(action in GRANTING_ACTIONS for _, action in votes)
    own_vote = None
    if has_voted(question, plan):
        text = t(f"you-{'refined' if question['voted'] == 'refine' else _VOTES[question['voted']]}")
        own_vote = element("p", {"role": "status"}, element("strong", {}, text))
    count = element("p", {"class": "count"}, t.count("approvals", required, done=str(granted)))
    # As many rejections as more than half of the required approvals (protocol.people.approvals).
    enough = required // 2 + 1 if data.get("rejectionPolicy") == "majority" else 1
    rejection = element("p", {"class": "soft"}, t.count("rejections", enough)) if required > 1 else None
    lines = vote_lines(t, votes) or [element("p", {}, t("undecided"))]
    return element("section", {"class": "card", "aria-label": t("status")}, own_vote, count, *lines, rejection)


def vote_lines(t: Messages, votes: list[tuple[str, str]]) -> list[Child]:
    """Who has decided how: "Ann and Ben approved." """
    lines: list[Child] = []
    for verb in ("approved", "rejected", "refine"):
        names = [voter_name(t, voter) for voter, action in votes if _VOTES[action] == verb]
        if names:
            text = element("bdi", WORKFLOW_TEXT, join_names(t, names))
            lines.append(element("p", {}, fill(t(f"person-{verb}"), names=text)))
    return lines


def voter_name(t: Messages, voter: str) -> str:
    """The name of a person, without the id of a link or of a key, which means nothing to people."""
    if _KEY_ID.fullmatch(voter) is not None:
        return t("key-voter")
    return t("link-voter") if voter.startswith(_LINK_PREFIX) else voter


def has_voted(question: dict[str, Any], plan: FormPlan) -> bool:
    """Whether this link was already used for a vote that still counts."""
    return not plan.is_malformed and question["kind"] == "approval" and question.get("voted") in _VOTES


def _parse_votes(value: Any) -> list[tuple[str, str]]:
    rows = [each for each in value if is_object(each)] if is_array(value) else []
    pairs = [(each.get("voter"), each.get("action")) for each in rows]
    return [
        (voter, action)
        for voter, action in pairs
        if isinstance(voter, str) and isinstance(action, str) and action in _VOTES
    ]


def join_names(t: Messages, names: list[str]) -> str:
    shown = [shorten(name, 100) for name in names[:_MAX_LISTED_NAMES]]
    if len(names) <= _MAX_LISTED_NAMES:
        return t.join(shown)
    return t("more", names=t.language.list.join(shown), n=str(len(names) - _MAX_LISTED_NAMES))


def _artifact_name(question: dict[str, Any], node_name: str | None) -> str:
    """The name of the artifact of an approval. Its id is the author's text, or made of the id of the node, which means
    nothing to people: then it is the name of the node."""
    artifact_id: str = question["data"]["artifactId"]
    name, _, number = artifact_id.rpartition("-")
    of_node = question.get("nodeId") in (artifact_id, name if number.isdecimal() else artifact_id)
    return node_name if of_node and node_name else readable_name(artifact_id)


def _approval(data: dict[str, Any], budget: DisplayBudget, artifact_name: str) -> Markup:
    t = budget.messages
    title = _title(shorten(data["title"], _MAX_TITLE), budget)
    description = render_paragraphs(data["description"], budget) if data.get("description") else None
    names: list[str] = data.get("approversList", [])
    value = _optional_value(data, "artifactData", budget)
    facts = fact_list(
        [
            (t("artifact"), name_text(artifact_name)),
            (t("artifact-type"), name_text(data["artifactType"])),
            (t("approvers"), element("bdi", WORKFLOW_TEXT, join_names(t, names)) if names else None),
        ]
    )
    return join([title, description, value, folded(t("details"), facts)])


def _confidence(data: dict[str, Any], budget: DisplayBudget) -> Markup:
    t = budget.messages
    rows: list[tuple[str, Child]] = [
        (t("agent"), element("span", WORKFLOW_TEXT, data["agentId"])),
        (t("observed"), f"{data['observed']:g}"),
        (t("threshold"), f"{data['threshold']:g}"),
    ]
    title = element("h2", {}, t("decision" if "decision" in data else "confidence"))
    return join([title, _optional_value(data, "decision", budget), folded(t("details"), fact_list(rows))])


def _title(text: str, budget: DisplayBudget) -> Markup:
    return element("h2", WORKFLOW_TEXT, budget.take(shorten(text, _MAX_LABEL)))


def _optional_value(data: dict[str, Any], name: str, budget: DisplayBudget) -> Child:
    return render_value(data[name], budget) if name in data else None


def _labelled(label: str, text: str) -> Markup:
    return element("p", {"class": "kind"}, f"{label}: ", element("bdi", WORKFLOW_TEXT, shorten(text, _MAX_LABEL)))
