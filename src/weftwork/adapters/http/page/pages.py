"""The pages behind an interrupt link, where a person without an account reads a question and answers it.

These are pure functions from questions to bytes. Pages have no scripts and load no other resources but the logo of the
organisation, and text of a question is never markup. Send the headers of the site with every page. `submission` reads
the submitted form.
"""

from typing import Any, Final

from weftwork.adapters.http.page.form_view import FormView, SubmittedForm, disabled, error_summary, render_form
from weftwork.adapters.http.page.layout import (
    fact_list,
    folded,
    name_text,
    render_document,
    show_time,
    source_line,
    workflow_region,
)
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.adapters.http.page.messages import Messages
from weftwork.adapters.http.page.outcome_view import Decision, closed_page, receipt
from weftwork.adapters.http.page.question_view import approval_status, question_content, question_heading
from weftwork.adapters.http.page.site import DEFAULT_SITE, Site
from weftwork.adapters.http.page.submission import host_plan
from weftwork.adapters.http.page.surface_view import field_subjects, render_surface
from weftwork.adapters.http.page.value_view import DisplayBudget
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.plan import FormPlan, page_plan
from weftwork.protocol.forms.visible_text import shorten
from weftwork.protocol.people.answer_pages import InterruptOutcome, PageContext
from weftwork.protocol.people.approvals import required_approvals
from weftwork.protocol.run.interrupts import is_refusal_after_cancel
from weftwork.protocol.surfaces.question_form import QuestionSurface, question_surface

_MAX_MESSAGE: Final = 500

ADVISED_CODES: Final = (
    "validation_error",
    "interrupt_already_resolved",
    "interrupt_expired",
    "interrupt_not_found",
    "forbidden",
    "untrusted_content_blocks_approval",
    "payload_too_large",
    "service_unavailable",
    "internal_error",
)
"""Codes of errors with their own texts in the catalogue: what happened, and what the reader can do."""
_WITH_MESSAGE: Final = ("validation_error", "forbidden")
"""Of these, the page also shows the message of the error."""


def render_question(
    question: dict[str, Any],
    action: str,
    entered: list[tuple[str, str]] | None = None,
    fault: ClientFault | None = None,
    site: Site = DEFAULT_SITE,
    context: PageContext | None = None,
) -> bytes:
    """The page with a question and a form that posts to `action`. Does not raise, even for a malformed question.

    With `entered` and `fault`, the page shows the submitted values again with their errors.
    """
    t, plan, submitted = site.messages, page_plan(question), SubmittedForm(entered, fault)
    surface = None if plan.is_malformed else question_surface(question)
    context = context or PageContext()
    content = [
        _noticed_facts(t, question, context),
        error_summary(t, _subjects(t, plan, surface), submitted),
        _question_form(t, question, plan, surface, submitted, context, action),
        _about(t, question, context),
    ]
    return render_document(site, question_heading(t, question, plan), *content)


def render_receipt(
    outcome: InterruptOutcome, question: dict[str, Any], decision: Decision, site: Site = DEFAULT_SITE
) -> bytes:
    """The page after an answer was recorded."""
    return render_document(site, site.messages("recorded"), *receipt(site.messages, outcome, question, decision))


def render_outcome(outcome: InterruptOutcome, site: Site = DEFAULT_SITE) -> bytes:
    """The page of a link whose question is closed."""
    title, content = closed_page(site.messages, outcome)
    return render_document(site, title, *content)


def render_refusal(fault: ClientFault, site: Site = DEFAULT_SITE) -> bytes:
    """The page for an error: what happened, and what the reader can do."""
    t = site.messages
    key = fault.code if fault.code in ADVISED_CODES else "other-error"
    title, next_step = t(key), t(f"{key}-next")
    shows_message = key in _WITH_MESSAGE or key not in ADVISED_CODES
    if is_refusal_after_cancel(fault):
        title, next_step = t("closed-cancelled"), t("closed-cancelled-why")
    message = element("p", {}, t.rule(shorten(fault.message, _MAX_MESSAGE))) if shows_message else None
    card = element("section", {"class": "card", "role": "alert"}, message, element("p", {}, next_step))
    return render_document(site, title, card)


def _question_form(
    t: Messages,
    question: dict[str, Any],
    plan: FormPlan,
    surface: QuestionSurface | None,
    submitted: SubmittedForm,
    context: PageContext,
    action: str,
) -> Markup:
    """The region with the question, and the forms that answer it: the surface of the question, that of the host, or
    both."""
    budget = DisplayBudget(t)
    node, workflow = context.node_name or question.get("nodeId"), context.workflow_name or question.get("workflowId")
    source = source_line(t, node if isinstance(node, str) else "", workflow if isinstance(workflow, str) else "")
    has_surface = surface is not None and surface.bound is not None
    content = question_content(question, plan, budget, has_surface, context.node_name)
    own = plan if surface is None else host_plan(question, surface)
    is_vote = not plan.is_malformed and question["kind"] == "approval" and required_approvals(question["data"]) > 1
    view = FormView(t, own, submitted, is_vote) if own is not None else None
    fields = view.workflow_fields if view is not None else []
    status = approval_status(t, question, plan)
    notes: list[Child] = []
    if budget.is_cut:
        notes.append(element("p", {"class": "note"}, t("cut-warning")))
    if surface is None or surface.bound is None:
        above = element("p", {"class": "note"}, t("not-shown"), " ", t("own-form")) if surface is not None else None
        region = workflow_region(t, source, content, *fields)
        if plan.closed_reason:
            return join([disabled(t.rule(plan.closed_reason), region), status])
        assert view is not None, "without a surface, the host has a form"
        return render_form(action, above, region, status, view.controls(*notes), has_choice=view.has_choice)
    shown = render_surface(t, surface, submitted)
    if plan.closed_reason:
        return join([disabled(t.rule(plan.closed_reason), workflow_region(t, source, content, shown)), status])
    if surface.dead_reason is None:
        has_choice = len(surface.bound.surface.buttons) > 1
        form = render_form(action, workflow_region(t, source, content, shown), has_choice=has_choice)
        if view is None:
            return join([form, *notes])
        others = folded(t("others"), *fields, view.controls(*notes) or "", style="card fold")
        return join([form, status, render_form(action, others, has_choice=view.has_choice)])
    key = "own-buttons" if question.get("kind") == "approval" else "own-form"
    notes.insert(0, element("p", {"class": "note"}, t(key)))
    assert view is not None, "a surface that does not work leaves the form of the host"
    region = workflow_region(t, source, content, shown, *fields)
    return render_form(action, region, status, view.controls(*notes), has_choice=view.has_choice)


def _subjects(t: Messages, plan: FormPlan, surface: QuestionSurface | None) -> dict[str, str]:
    subjects = {field.name: t.rule(field.subject) for button in plan.buttons for field in button.fields}
    if surface is not None and surface.bound is not None:
        subjects |= field_subjects(t, surface)
    return subjects


def _noticed_facts(t: Messages, question: dict[str, Any], context: PageContext) -> Child:
    """What a person has to know before they answer: as whom, and until when."""
    return fact_list(
        [
            (t("answering-as"), _name(question.get("for"))),
            (t("answer-by"), show_time(t, question.get("dueAt"), context.now)),
        ]
    )


def _about(t: Messages, question: dict[str, Any], context: PageContext) -> Child:
    facts = fact_list(
        [
            (t("asked"), show_time(t, question.get("requestedAt"), context.now)),
            (t("valid-until"), show_time(t, question.get("expiresAt"), context.now)),
        ]
    )
    return folded(t("about"), facts) if facts else None


def _name(person: Any) -> Child:
    return name_text(person) if isinstance(person, str) else None
