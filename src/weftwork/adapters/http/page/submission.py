"""Decides which form of a page a submission belongs to, and reads its answer: the surface of the question, or the form
of the host."""

from typing import Any
from urllib.parse import urlsplit

from weftwork.adapters.http.page.surface_view import is_surface_button, surface_answer
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.forms.answer import resume_value
from weftwork.protocol.forms.plan import FormPlan, page_plan
from weftwork.protocol.surfaces.question_form import QuestionSurface

FOREIGN_FORM = "This form was sent by another site, so nothing was recorded. Open the link itself and answer there."


def submitted_answer(question: dict[str, Any], surface: QuestionSurface | None, fields: list[tuple[str, str]]) -> Any:
    """The answer in a submitted form, for the one path on which every interrupt is resumed. Raises ClientFault."""
    plan = page_plan(question)
    if plan.closed_reason:
        raise ClientFault("forbidden", plan.closed_reason)
    if surface is not None and is_surface_button(fields):
        return surface_answer(surface, fields)
    if host_plan(question, surface) is None:
        raise invalid("Press one of the buttons of the form.")
    return resume_value(question, fields)


def host_plan(question: dict[str, Any], surface: QuestionSurface | None) -> FormPlan | None:
    """The form of the host for this question; None if the surface is the only form.

    The host's own form remains where a surface does not work, and at an approval it has the actions that the surface
    leaves out: a form must not take a person's way to say no.
    """
    plan = page_plan(question)
    if surface is None or surface.dead_reason is not None:
        return plan
    if question.get("kind") != "approval" or surface.bound is None:
        return None
    offered = {each.id for each in surface.bound.surface.buttons if surface.button_reason(each) is None}
    buttons = tuple(each for each in plan.buttons if each.action not in offered)
    return FormPlan(buttons, plan.schema, plan.closed_reason) if buttons else None


def check_origin(fetch_site: str | None, origin: str | None, host: str | None) -> None:
    """surf-69 (host, CSRF): refuse a form that a page of another origin posts. Raises ClientFault.

    Browsers say where a request comes from in Sec-Fetch-Site. Older ones send Origin, which is `null` for the page of
    this host, because it has the referrer policy no-referrer. The token in the address remains the only authority.
    """
    if fetch_site is not None:
        is_foreign = fetch_site.strip().lower() not in ("same-origin", "none")
    else:
        is_foreign = origin not in (None, "null") and urlsplit(origin or "").netloc.lower() != (host or "").lower()
    if is_foreign:
        raise ClientFault("forbidden", FOREIGN_FORM)
