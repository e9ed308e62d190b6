"""Every state of the page, as documents: for the pictures in the documentation, and for tests in a browser."""

from typing import Any

from tests.adapters.http.page.sample_questions import KINDS, approval, clarification, quorum
from tests.adapters.http.page.sample_surfaces import (
    ASKED,
    EXCHANGE,
    GATE,
    INERT,
    INVALID,
    PARTIAL,
    TRIP,
    UNTRUSTED_GATE,
)
from weftwork.adapters.http.page import pages
from weftwork.adapters.http.page.outcome_view import Decision
from weftwork.adapters.http.page.site import Site
from weftwork.adapters.http.page.submission import submitted_answer
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.people.answer_pages import InterruptOutcome, PageContext
from weftwork.protocol.people.organisation import palette
from weftwork.protocol.surfaces.question_form import question_surface
from weftwork.protocol.timestamps import parse_iso

NOW = parse_iso("2026-03-02T11:45:00.000Z") or 0
CONTEXT = PageContext("Purchasing", "Approve the offer", NOW)
SITE = Site("Harbour Foods", False, palette("#0b5d66"))
WITH_LOGO = Site("Harbour Foods", True, palette("#0b5d66"))
SITES = {"approval-logo": WITH_LOGO, "approval-plain": Site()}
"""The settings of the pages in states where they are not `SITE`."""
DUE = "2026-03-05T18:00:00.000Z"


def shown(question: dict[str, Any], site: Site = SITE, context: PageContext = CONTEXT) -> bytes:
    return pages.render_question(question, "token", site=site, context=context)


def refused(question: dict[str, Any], fields: list[tuple[str, str]]) -> bytes:
    """The form again, with what is wrong."""
    try:
        submitted_answer(question, question_surface(question), fields)
    except ClientFault as fault:
        return pages.render_question(question, "token", fields, fault, SITE, CONTEXT)
    raise AssertionError("the form was accepted")


def outcome(status: Any, run_status: str, kind: str = "approval", **more: Any) -> InterruptOutcome:
    return InterruptOutcome(status, run_status, CONTEXT, kind, **more)


def receipt(result: InterruptOutcome, value: Any, button: str = "", question: dict[str, Any] | None = None) -> bytes:
    return pages.render_receipt(result, question or approval(), Decision(value, button), SITE)


def refusal(code: str, message: str = "This link cannot answer.") -> bytes:
    return pages.render_refusal(ClientFault(code, message), SITE)


ANN = {"for": "Ann", "dueAt": DUE}
CLOSED_AT = "2026-03-02T11:20:00.000Z"
VOTES = (("Ann", "accept"), ("Ben", "accept"))
BOARD = {
    **quorum(),
    **ANN,
    "for": "Cleo",
    "votes": [{"voter": "Ann", "action": "accept"}, {"voter": "Ben", "action": "accept"}],
}
TWO_QUESTIONS = clarification(
    ("colour", "Which colour should the awning have?", {"enum": ["Blue", "Red", "White"]}),
    ("width", "How wide is the front, in metres?", {"type": "number", "minimum": 1, "maximum": 30}),
)
STATES = {
    "approval": shown({**approval(), **ANN}),
    "approval-dark": shown({**approval(), **ANN}),
    "approval-logo": shown({**approval(["accept", "reject"]), **ANN}, WITH_LOGO),
    "approval-plain": shown(
        approval(["accept", "reject"], artifactData="Good morning,\n\nyour order is on its way."), Site()
    ),
    "quorum": shown(BOARD),
    "voted": shown({**BOARD, "for": "Ben", "voted": "accept"}),
    "question": shown(clarification(("q", "Which supplier should deliver the coffee machines?", None))),
    "questions": shown(TWO_QUESTIONS),
    "errors": refused(TWO_QUESTIONS, [("f1", "99")]),
    "event": shown(KINDS["external event with a schema"]),
    "custom": shown(KINDS["custom with a schema"]),
    "conversation": shown(KINDS["exchange"]),
    "decision": shown(KINDS["low confidence"]),
    "unknown": shown(KINDS["odd"]),
    "inspect": shown({**approval(), "intent": "inspect"}),
    "surface": shown(TRIP),
    "surface-dark": shown(TRIP),
    "surface-errors": refused(TRIP, [("s3", ""), ("s4", ""), ("press", "book")]),
    "surface-clarification": shown(ASKED),
    "surface-conversation": shown(EXCHANGE),
    "surface-approval": shown({**GATE, **ANN}),
    "surface-untrusted": shown(UNTRUSTED_GATE),
    "surface-partial": shown(PARTIAL),
    "surface-inert-button": shown(INERT),
    "surface-not-shown": shown(INVALID),
    "receipt": receipt(
        outcome("resolved", "completed", outcome="accepted", by="Ann", at=CLOSED_AT, person="Ann"),
        {"action": "accept"},
    ),
    "receipt-vote": receipt(
        outcome("open", "waiting-approval", votes=VOTES, required=3, person="Ben"), {"action": "accept"}
    ),
    "receipt-surface": receipt(
        outcome("resolved", "running", "custom", at=CLOSED_AT), {"action": "book"}, "Book the journey", TRIP
    ),
    "answered-by-you": pages.render_outcome(
        outcome("resolved", "completed", outcome="accepted", by="Ann", at=CLOSED_AT, is_own=True, person="Ann"),
        SITE,
    ),
    "answered": pages.render_outcome(
        outcome("resolved", "completed", outcome="rejected", by="Ben", at=CLOSED_AT), SITE
    ),
    "answered-quorum": pages.render_outcome(
        outcome("resolved", "completed", outcome="accepted", by="quorum:2-of-2", at=CLOSED_AT, votes=VOTES), SITE
    ),
    "deadline-passed": pages.render_outcome(outcome("resolved", "completed", has_timed_out=True, at=CLOSED_AT), SITE),
    "withdrawn": pages.render_outcome(outcome("cancelled", "cancelled"), SITE),
    "run-ended": pages.render_outcome(outcome("closed", "failed"), SITE),
    "link-expired": refusal("interrupt_expired"),
    "link-wrong": refusal("interrupt_not_found"),
    "not-your-link": refusal("forbidden", "This gate accepts answers only from the approvers that it names."),
    "host-busy": refusal("service_unavailable"),
}
"""Name of the state -> its page."""

ABOUT = {
    "approval": "An approval. The question is first, and each button says what it does.",
    "approval-dark": "The same page for a person whose device is set to dark.",
    "approval-logo": "A host with a logo in its settings.",
    "approval-plain": "A host without settings for its pages.",
    "quorum": "An approval that needs three people. Two have approved.",
    "voted": "The same link after its vote.",
    "question": "One question.",
    "questions": "Several questions.",
    "errors": "Answers that were not valid. Nothing was recorded, and what was entered is still there.",
    "event": "An external event that a person reports.",
    "custom": "A custom interrupt with a schema for its answer.",
    "conversation": "The next turn of a conversation.",
    "decision": "A decision of an agent that was not sure.",
    "unknown": "An interrupt of a kind that the host does not know.",
    "inspect": "A link that only shows the question.",
    "surface": "A surface with all components.",
    "surface-dark": "The same surface in the dark.",
    "surface-errors": "A surface whose required fields were left empty.",
    "surface-clarification": "A surface as the form of two questions.",
    "surface-conversation": "A surface as the form of the next turn of a conversation.",
    "surface-approval": "A surface at an approval. The actions that it leaves out are under “Other ways to answer”.",
    "surface-untrusted": "A surface of untrusted content at an approval. Its button is disabled; the host's decide.",
    "surface-partial": "A surface that is not complete yet.",
    "surface-inert-button": "A surface with a button that does not fit the interrupt.",
    "surface-not-shown": "A surface that is not valid on this host.",
    "receipt": "After an approval.",
    "receipt-vote": "After a vote, when more are needed.",
    "receipt-surface": "After a button of a surface was pressed.",
    "answered-by-you": "A later visit of the person who answered.",
    "answered": "A link to a question that another person has answered.",
    "answered-quorum": "A link to an approval that several people gave.",
    "deadline-passed": "A link to a question whose deadline has passed.",
    "withdrawn": "A link to a question whose run was cancelled.",
    "run-ended": "A link to a question whose run ended without an answer.",
    "link-expired": "A link that has expired.",
    "link-wrong": "A link that is incomplete or forged.",
    "not-your-link": "A link of a person who is not among the approvers.",
    "host-busy": "The host cannot answer at the moment.",
}
"""What each state is, for the page with the pictures."""
