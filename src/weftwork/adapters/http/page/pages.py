"""The pages behind a link: a person without an account reads a question there and answers it.

Pure functions from questions to bytes. There is no script, nothing is loaded, and all text of a question is shown as
text. layout.HEADERS go with every page. The submitted form is read by form_answer.
"""

from typing import Any, Final

import msgspec

from weftwork.adapters.http.page.form_plan import plan_for
from weftwork.adapters.http.page.form_view import SubmittedForm, error_summary, render_form
from weftwork.adapters.http.page.layout import fact_list, format_time, render_document, workflow_region
from weftwork.adapters.http.page.markup import Child, element, shorten
from weftwork.adapters.http.page.question_view import (
    WORKFLOW_TEXT,
    DisplayBudget,
    approval_status,
    question_content,
    question_heading,
)
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.values import is_object

_MAX_MESSAGE: Final = 500
_MAX_ID: Final = 100
_STATUS_SENTENCES: Final = {
    "running": "The run goes on.",
    "pending": "The run goes on.",
    "completed": "The run has gone on and is complete.",
    "failed": "The run has gone on and has failed.",
    "waiting-approval": "The run still waits for an approval.",
    "waiting-input": "The run waits for another answer.",
    "waiting-external": "The run waits for an event.",
    "paused": "The run is paused and goes on later.",
}


class ErrorAdvice(msgspec.Struct, frozen=True):
    """A heading, and what can be done."""

    title: str
    next: str
    shows_message: bool = False
    """Whether what the host says about it helps as well."""


ADVICE_BY_CODE: Final = {
    "validation_error": ErrorAdvice(
        "Your answer was not taken",
        "Nothing was recorded, and the link is still good. Go back, correct the answer and send it again.",
        True,
    ),
    "interrupt_already_resolved": ErrorAdvice(
        "This has been answered",
        "The question has its answer, or it is past its time. If you sent yours twice, the first one counts. There "
        "is nothing left to do here.",
    ),
    "interrupt_gone": ErrorAdvice(
        "This is no longer asked",
        "The run that asked was cancelled, and its question with it. There is nothing left to do here.",
    ),
    "interrupt_expired": ErrorAdvice(
        "This link has expired", "The question may still be open. Ask whoever sent you the link for a new one."
    ),
    "interrupt_not_found": ErrorAdvice(
        "This link leads nowhere",
        "Perhaps a part of it was lost on the way. Open it again from the message in which it was sent, or ask for "
        "a new one.",
    ),
    "forbidden": ErrorAdvice(
        "You cannot answer with this link",
        "Nothing was recorded. Ask whoever sent you the link for one that is made for you.",
        True,
    ),
    "untrusted_content_blocks_approval": ErrorAdvice(
        "This answer is not taken", "Nothing was recorded. An approval takes the word of a person only."
    ),
    "payload_too_large": ErrorAdvice(
        "Your answer is too long", "Nothing was recorded, and the link is still good. Go back and send a shorter one."
    ),
    "service_unavailable": ErrorAdvice(
        "The host is busy", "Your answer may not have been recorded. Wait for a moment, then open the link again."
    ),
    "internal_error": ErrorAdvice(
        "Something went wrong here",
        "It is not known whether your answer was recorded. Open the link again: if it was, the page will say so.",
    ),
}

DEFAULT_ADVICE: Final = ErrorAdvice(
    "This did not work", "Nothing was recorded. Open the link again, or ask for a new one.", True
)


def render_question(
    question: dict[str, Any],
    action: str,
    entered: list[tuple[str, str]] | None = None,
    fault: ClientFault | None = None,
) -> bytes:
    """The question with a form that posts to `action`; never raises, whatever the question is.

    With `entered` and `fault` it is the form as somebody filled it in, and what is wrong with it.
    """
    plan, budget, filled = plan_for(question), DisplayBudget(), SubmittedForm(entered, fault)
    shown = question_content(question, plan, budget)
    answer = render_form(plan, shown, action, filled, budget.is_cut)
    about = fact_list(
        [
            ("You answer as", _name(question.get("for"))),
            ("Asked", format_time(question.get("requestedAt"))),
            ("Answer by", format_time(question.get("dueAt"))),
            ("Link good until", format_time(question.get("expiresAt"))),
            ("Run", _run(question.get("runId"))),
        ]
    )
    return render_document(
        question_heading(question, plan), about, error_summary(plan, filled), approval_status(question, plan), answer
    )


def render_done(status_text: str, question: dict[str, Any] | None) -> bytes:
    """After an answer: `status_text` is the status of the run, or a sentence."""
    text = _STATUS_SENTENCES.get(status_text, status_text)
    thanks = element("p", {}, "Thank you. Your answer was recorded. You can close this page.")
    data = (question or {}).get("data")
    title = data.get("title") if is_object(data) else None
    named = element("bdi", WORKFLOW_TEXT, shorten(title, _MAX_MESSAGE)) if title and isinstance(title, str) else None
    about = element("p", {}, "It was about: ", named) if named else None
    card = element("section", {"class": "card", "role": "status"}, thanks, element("p", {}, text) if text else None)
    return render_document("Answer recorded", card, workflow_region(about) if about else None)


def render_refusal(fault: ClientFault) -> bytes:
    """Why nothing was done, and what to do next."""
    advice = ADVICE_BY_CODE.get(fault.code, DEFAULT_ADVICE)
    told = element("p", {}, shorten(fault.message, _MAX_MESSAGE)) if advice.shows_message else None
    card = element("section", {"class": "card", "role": "alert"}, told, element("p", {}, advice.next))
    return render_document(advice.title, card)


def _run(run_id: Any) -> Child:
    return element("code", {}, shorten(run_id, _MAX_ID)) if isinstance(run_id, str) else None


def _name(person: Any) -> Child:
    return element("bdi", WORKFLOW_TEXT, shorten(person, _MAX_ID)) if isinstance(person, str) else None
