"""The pages behind an interrupt link, where a person without an account reads a question and answers it.

These are pure functions from questions to bytes. Pages have no scripts and load no other resources, and text of a
question is never markup. Send `layout.HEADERS` with every page. `form_body` and
`protocol/forms` read the submitted form.
"""

from typing import Any, Final

import msgspec

from weftwork.adapters.http.page.form_view import SubmittedForm, error_summary, render_form
from weftwork.adapters.http.page.layout import fact_list, format_time, render_document, workflow_region
from weftwork.adapters.http.page.markup import Child, element
from weftwork.adapters.http.page.question_view import (
    WORKFLOW_TEXT,
    DisplayBudget,
    approval_status,
    question_content,
    question_heading,
)
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.plan import plan_for
from weftwork.protocol.forms.visible_text import shorten
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.interrupts import is_refusal_after_cancel

_MAX_MESSAGE: Final = 500
_MAX_ID: Final = 100
_STATUS_SENTENCES: Final = {
    "running": "The run continues.",
    "pending": "The run continues.",
    "completed": "The run is now complete.",
    "failed": "The run has failed.",
    "waiting-approval": "The run is still waiting for an approval.",
    "waiting-input": "The run is now waiting for another answer.",
    "waiting-external": "The run is now waiting for an event.",
    "paused": "The run is paused and will continue when it is resumed.",
}


class ErrorAdvice(msgspec.Struct, frozen=True):
    """The content of an error page."""

    title: str
    next: str
    """What the reader can do."""
    shows_message: bool = False
    """Whether the page also shows the message of the error."""


ADVICE_BY_CODE: Final = {
    "validation_error": ErrorAdvice(
        "Your answer was not accepted",
        "Nothing was recorded, and the link is still valid. Go back, correct your answer and send it again.",
        True,
    ),
    "interrupt_already_resolved": ErrorAdvice(
        "This question is closed",
        "It was already answered, or its deadline has passed. If you sent your answer twice, the first one counts. "
        "There is nothing left to do here.",
    ),
    "interrupt_expired": ErrorAdvice(
        "This link has expired",
        "The question may still be open. Ask the person who sent you the link for a new one.",
    ),
    "interrupt_not_found": ErrorAdvice(
        "This link does not work",
        "Part of it may be missing. Open it again from the message that you received, or ask for a new one.",
    ),
    "forbidden": ErrorAdvice(
        "You cannot answer with this link",
        "Nothing was recorded. Ask the person who sent you the link for one that was created for you.",
        True,
    ),
    "untrusted_content_blocks_approval": ErrorAdvice(
        "This answer was not accepted", "Nothing was recorded. Only a person can give this approval."
    ),
    "payload_too_large": ErrorAdvice(
        "Your answer is too long",
        "Nothing was recorded, and the link is still valid. Go back and send a shorter answer.",
    ),
    "service_unavailable": ErrorAdvice(
        "The host is busy", "Your answer may not have been recorded. Wait a moment, then open the link again."
    ),
    "internal_error": ErrorAdvice(
        "Something went wrong",
        "Your answer may or may not have been recorded. Open the link again: if it was recorded, the page says so.",
    ),
}

CANCELLED_ADVICE: Final = ErrorAdvice(
    "This question was withdrawn", "The run that asked it was cancelled. There is nothing left to do here."
)
"""The content of the page if the question is closed because its run was cancelled."""
DEFAULT_ADVICE: Final = ErrorAdvice(
    "This did not work", "Nothing was recorded. Open the link again, or ask for a new one.", True
)


def render_question(
    question: dict[str, Any],
    action: str,
    entered: list[tuple[str, str]] | None = None,
    fault: ClientFault | None = None,
) -> bytes:
    """The page with a question and a form that posts to `action`. Does not raise, even for a malformed question.

    With `entered` and `fault`, the page shows the submitted values again with their errors.
    """
    plan, budget, submitted = plan_for(question), DisplayBudget(), SubmittedForm(entered, fault)
    content = question_content(question, plan, budget)
    # `budget.is_cut` is known only after the content was rendered.
    form = render_form(plan, content, action, submitted, budget.is_cut)
    facts = fact_list(
        [
            ("You are answering as", _name(question.get("for"))),
            ("Asked on", format_time(question.get("requestedAt"))),
            ("Answer by", format_time(question.get("dueAt"))),
            ("Link valid until", format_time(question.get("expiresAt"))),
            ("Run", _run(question.get("runId"))),
        ]
    )
    return render_document(
        question_heading(question, plan), facts, error_summary(plan, submitted), approval_status(question, plan), form
    )


def render_done(status_text: str, question: dict[str, Any] | None) -> bytes:
    """The page after an answer was recorded. `status_text` is the status of the run, or a sentence."""
    text = _STATUS_SENTENCES.get(status_text, status_text)
    thanks = element("p", {}, "Thank you. Your answer was recorded. You can close this page.")
    data = (question or {}).get("data")
    title = data.get("title") if is_object(data) else None
    subject = element("bdi", WORKFLOW_TEXT, shorten(title, _MAX_MESSAGE)) if title and isinstance(title, str) else None
    about = element("p", {}, "It was about: ", subject) if subject else None
    card = element("section", {"class": "card", "role": "status"}, thanks, element("p", {}, text) if text else None)
    return render_document("Answer recorded", card, workflow_region(about) if about else None)


def render_refusal(fault: ClientFault) -> bytes:
    """The page for an error: what happened, and what the reader can do."""
    advice = ADVICE_BY_CODE.get(fault.code, DEFAULT_ADVICE)
    if is_refusal_after_cancel(fault):
        advice = CANCELLED_ADVICE
    message = element("p", {}, shorten(fault.message, _MAX_MESSAGE)) if advice.shows_message else None
    card = element("section", {"class": "card", "role": "alert"}, message, element("p", {}, advice.next))
    return render_document(advice.title, card)


def _run(run_id: Any) -> Child:
    return element("code", {}, shorten(run_id, _MAX_ID)) if isinstance(run_id, str) else None


def _name(person: Any) -> Child:
    return element("bdi", WORKFLOW_TEXT, shorten(person, _MAX_ID)) if isinstance(person, str) else None
