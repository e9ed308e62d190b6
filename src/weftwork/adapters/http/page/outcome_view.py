"""Renders how a question ended: the receipt after an answer, and the page of a link whose question is closed."""

from typing import Any

import msgspec

from weftwork.adapters.http.page.layout import (
    WORKFLOW_TEXT,
    fact_list,
    name_text,
    show_time,
    source_line,
    workflow_region,
)
from weftwork.adapters.http.page.markup import Child, Markup, element, fill
from weftwork.adapters.http.page.messages import Messages
from weftwork.adapters.http.page.question_view import vote_lines, voter_name
from weftwork.protocol.forms.visible_text import shorten
from weftwork.protocol.json.values import is_object
from weftwork.protocol.people.answer_pages import QUORUM_PREFIX, InterruptOutcome
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.surfaces.question_form import question_surface
from weftwork.protocol.timestamps import iso

_MAX_TITLE = 300


class Decision(msgspec.Struct, frozen=True):
    """What the reader has just sent."""

    value: Any
    button: str = ""
    """The label of the button of a surface that was pressed."""


def receipt(t: Messages, outcome: InterruptOutcome, question: dict[str, Any], decision: Decision) -> list[Child]:
    """What was decided, by whom, when, and what happens next."""
    person = outcome.person or question.get("for")
    who: Child = name_text(person) if isinstance(person, str) else t("you")
    if isinstance(person, str):
        who = fill(t("you-as"), name=name_text(person))
    now = outcome.context.now
    at = outcome.at or (iso(now) if now is not None else None)
    rows: list[tuple[str, Child]] = [
        (t("decided"), _decided(t, outcome, decision)),
        (t("decided-by"), who),
        (t("decided-at"), show_time(t, at)),
        (t("next"), _next(t, outcome)),
    ]
    thanks = element("p", {"class": "thanks"}, t("thanks"))
    card = element("section", {"class": "card done", "role": "status"}, thanks, fact_list(rows), *_votes(t, outcome))
    return [card, _subject(t, outcome, question)]


def closed_page(t: Messages, outcome: InterruptOutcome) -> tuple[str, list[Child]]:
    """The heading and the content for a question that is closed."""
    if outcome.status == "cancelled" or outcome.run_status in ("cancelled", "cancelling"):
        title, why = t("closed-cancelled"), t("closed-cancelled-why")
    elif outcome.has_timed_out:
        title, why = t("closed-expired"), t("closed-expired-why")
    elif outcome.status != "resolved":
        title, why = t("closed-ended"), t("closed-ended-why")
    else:
        title = t("closed-own" if outcome.is_own else "closed-answered")
        why = t("link-spent" if outcome.is_own else "closed-nothing")
    is_answered = outcome.status == "resolved" and not outcome.has_timed_out
    rows: list[tuple[str, Child]] = [
        (t("decided"), t(f"outcome-{outcome.outcome or 'answered'}") if is_answered else None),
        (t("decided-by"), _by(t, outcome)),
        (t("decided-at"), show_time(t, outcome.at, outcome.context.now)),
        (t("next"), _next(t, outcome) if is_answered else None),
    ]
    votes = _votes(t, outcome)
    card = element("section", {"class": "card done"}, fact_list(rows), *votes, element("p", {}, why))
    return title, [card, _subject(t, outcome, None)]


def _decided(t: Messages, outcome: InterruptOutcome, decision: Decision) -> Child:
    label = element("bdi", WORKFLOW_TEXT, shorten(decision.button, _MAX_TITLE))
    if decision.button and outcome.kind != "approval":
        return fill(t("outcome-button"), button=label)
    decided = _in_words(t, outcome, decision)
    # surf-70: the label is text of the workflow, and may say something else than what was decided.
    return fill(t("outcome-by-button"), outcome=decided, button=label) if decision.button else decided


def _in_words(t: Messages, outcome: InterruptOutcome, decision: Decision) -> str:
    """What was decided, in words of the host."""
    action = decision.value.get("action") if is_object(decision.value) and outcome.kind == "approval" else None
    if outcome.status == "open" and isinstance(action, str):
        return t.find(f"outcome-vote-{action}") or t.find(f"outcome-{action}") or t("outcome-answered")
    if action == "edit-accept":
        return t("outcome-edit-accept")
    return t(f"outcome-{outcome.outcome or 'answered'}")


def _by(t: Messages, outcome: InterruptOutcome) -> Child:
    by = outcome.by
    if by is None:
        return None
    if by.startswith(QUORUM_PREFIX):
        done, _, needed = by.removeprefix(QUORUM_PREFIX).partition("-of-")
        return t.count("approvals", int(needed), done=done) if needed.isdecimal() else None
    if outcome.may_be_own:
        return t("you-or-key")
    if not outcome.is_own:
        return name_text(voter_name(t, by))
    return fill(t("you-as"), name=name_text(outcome.person)) if outcome.person is not None else t("you")


def _votes(t: Messages, outcome: InterruptOutcome) -> list[Child]:
    if not outcome.votes:
        return []
    done = sum(action in ("accept", "edit-accept") for _, action in outcome.votes)
    count = []
    if outcome.status == "open":
        count = [element("p", {"class": "count"}, t.count("approvals", outcome.required, done=str(done)))]
    return [*count, *vote_lines(t, [*outcome.votes])]


def _next(t: Messages, outcome: InterruptOutcome) -> Child:
    text = t.find(f"run-{outcome.run_status}")
    if outcome.status == "open" or outcome.run_status in TERMINAL_STATUSES:
        return text
    return text or t("run-running")


def _title(question: dict[str, Any]) -> Any:
    """The title of a question, or else that of the surface which is its form."""
    data, surface = question.get("data"), question_surface(question)
    if is_object(data) and data.get("title"):
        return data["title"]
    return surface.bound.surface.title if surface is not None and surface.bound is not None else None


def _subject(t: Messages, outcome: InterruptOutcome, question: dict[str, Any] | None) -> Markup | None:
    """What the question was about, in the region for text from the workflow."""
    title = _title(question) if question is not None else None
    about = None
    if title and isinstance(title, str):
        subject = element("bdi", WORKFLOW_TEXT, shorten(title, _MAX_TITLE))
        about = element("p", {}, t("was-about"), subject)
    node, workflow = outcome.context.node_name, outcome.context.workflow_name
    if about is not None:
        return workflow_region(t, source_line(t, node, workflow), about)
    if not node and not workflow:
        return None
    asked = fill(t("was-asked"), node=name_text(node), workflow=name_text(workflow))
    return workflow_region(t, None, element("p", {}, asked))
