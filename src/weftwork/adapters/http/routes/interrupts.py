"""Routes of interrupts: as JSON with an API key, and as JSON or HTML with the token of a link."""

import re
from typing import Final

from weftwork.adapters.http.message import JSON, Request, Response, json_response, replay_headers
from weftwork.adapters.http.page import form_body, pages
from weftwork.adapters.http.page.layout import CONTENT_TYPE
from weftwork.adapters.http.page.outcome_view import Decision
from weftwork.adapters.http.page.site import Site
from weftwork.adapters.http.page.submission import check_origin, submitted_answer
from weftwork.adapters.http.page.surface_view import is_surface_button, pressed_label
from weftwork.engine.api.answer_pages import AnswerPages
from weftwork.engine.api.interrupts import Interrupts, decode_cursor
from weftwork.engine.api.run_control import ControlOutcome
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import MAX_INTERRUPT_ID, is_node_id
from weftwork.protocol.run.events import TRUSTED
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.surfaces.question_form import question_surface
from weftwork.protocol.timestamps import parse_iso
from weftwork.protocol.wire.route import MAX_PAGE
from weftwork.protocol.wire.v1.interrupts import INTERRUPT_CURSOR_PATTERN, INTERRUPT_FILTERS

FORM_CONTENT_TYPE: Final = b"application/x-www-form-urlencoded"
_CURSOR: Final = re.compile(INTERRUPT_CURSOR_PATTERN[1:-1])
_QUALITY: Final = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


class InterruptRoutes:
    """listRunInterrupts, listInterrupts, resolveInterruptByRun, resolveApproval, createInterruptLink, and by token:
    inspectInterruptByToken, resolveInterruptByToken."""

    def __init__(self, interrupts: Interrupts, answer_pages: AnswerPages, site: Site) -> None:
        self._interrupts = interrupts
        self._pages = answer_pages
        self._site = site

    async def list_for_run(self, request: Request) -> Response:
        status = request.query("status")
        if status not in (None, *INTERRUPT_FILTERS):
            raise invalid("status must be open or all.", parameter="status", supported=list(INTERRUPT_FILTERS))
        page = await self._interrupts.list_of_run(request.caller, request.run_id, closed=status == "all")
        return json_response(200, page)

    async def list_interrupts(self, request: Request) -> Response:
        query = InterruptQuery(
            kinds=_kinds(request),
            workflow_id=request.query_id("workflowId", "workflowId must be the id of a workflow."),
            run_id=request.query_id("runId", "runId must be the id of a run."),
            node_id=request.query_id("nodeId", "nodeId must be the id of a node.", is_node_id),
            due_before=_timestamp(request, "dueBefore"),
            after=decode_cursor(cursor) if (cursor := request.cursor(_CURSOR.fullmatch)) is not None else None,
            limit=request.query_integer("limit", 1, MAX_PAGE, 50),
        )
        return json_response(200, await self._interrupts.list_open(request.caller, query))

    async def resolve(self, request: Request) -> Response:
        interrupt_id = request.query("interruptId")
        if interrupt_id is not None and not 1 <= len(interrupt_id) <= MAX_INTERRUPT_ID:
            raise invalid("interruptId must be the id of an interrupt.", parameter="interruptId")
        document, key = await request.json(), request.idempotency_key
        run_id, node_id = request.run_id, request.params["nodeId"]
        return resolution_response(
            await self._interrupts.resolve(request.caller, run_id, node_id, document, key, interrupt_id)
        )

    async def resolve_approval(self, request: Request) -> Response:
        document, key = await request.json(), request.idempotency_key
        run_id, node_id = request.run_id, request.params["nodeId"]
        return resolution_response(
            await self._interrupts.resolve_approval(request.caller, run_id, node_id, document, key)
        )

    async def create_link(self, request: Request) -> Response:
        document = await request.json(optional=True)
        run_id, node_id = request.run_id, request.params["nodeId"]
        link = await self._interrupts.link(request.caller, run_id, node_id, document)
        return json_response(201, link, [(b"location", link["path"].encode())])

    async def inspect(self, request: Request) -> Response:
        token = request.params["token"]
        if not prefers_html(request.header(b"accept")):
            return json_response(200, await self._interrupts.inspect(token))
        request.error_renderer = self._error_page
        try:
            question, context = await self._pages.question(token)
        except ClientFault as fault:
            return await self._closed(token, fault)
        # The form posts to a relative URL, which also works behind a proxy that adds a path prefix.
        return self._page(200, pages.render_question(question, token, site=self._site, context=context))

    async def resolve_by_token(self, request: Request) -> Response:
        token = request.params["token"]
        if request.headers.get(b"content-type", b"").split(b";")[0].strip().lower() != FORM_CONTENT_TYPE:
            # An invalid token is reported before any error in the body.
            self._interrupts.check_token(token, "resolve")
            document, key = await request.json(), request.idempotency_key
            return resolution_response(await self._interrupts.resolve_by_token(token, document, key))
        request.error_renderer = self._error_page
        check_origin(request.header(b"sec-fetch-site"), request.header(b"origin"), request.header(b"host"))
        try:
            question, context = await self._pages.question(token, "resolve")
        except ClientFault as fault:
            return await self._closed(token, fault)
        request.check_encoding()
        fields = form_body.decode_form(await request.body())
        surface = question_surface(question)
        try:
            value = submitted_answer(question, surface, fields)
            trust = surface.trust if surface is not None and is_surface_button(fields) else TRUSTED
            await self._interrupts.resolve_by_token(token, {"resumeValue": value}, trust=trust)
        except ClientFault as fault:
            if fault.code == "validation_error":
                # Show the form again with the entered values.
                body = pages.render_question(question, token, fields, fault, self._site, context)
                return self._page(fault.status, body)
            return await self._closed(token, fault)
        decision = Decision(value, pressed_label(surface, fields))
        outcome = await self._pages.outcome(token)
        return self._page(200, pages.render_receipt(outcome, question, decision, self._site))

    async def _closed(self, token: str, fault: ClientFault) -> Response:
        """The page of a link whose question is closed: how it ended. Other errors are raised."""
        if fault.code != "interrupt_already_resolved":
            raise fault
        return self._page(fault.status, pages.render_outcome(await self._pages.outcome(token), self._site))

    def _page(self, status: int, body: bytes) -> Response:
        return Response(status, body, list(self._site.headers), CONTENT_TYPE)

    def _error_page(self, fault: ClientFault) -> Response:
        return self._page(fault.status, pages.render_refusal(fault, self._site))


def prefers_html(accept: str | None) -> bool:
    return prefers(accept, "text/html")


def prefers(accept: str | None, wanted: str) -> bool:
    """Whether an Accept header names a media type with at least the weight of application/json."""
    weights: dict[str, float] = {}
    for part in (accept or "").lower().split(","):
        media_type, *parameters = (each.strip() for each in part.split(";"))
        quality = next((each for each in parameters if each.startswith("q=")), "q=1")
        # An invalid weight counts as 0.
        match = _QUALITY.fullmatch(quality)
        weights[media_type] = float(match[1]) if match is not None else 0.0
    weight = weights.get(wanted, 0.0)
    return weight > 0 and weight >= weights.get(JSON.decode(), 0.0)


def _kinds(request: Request) -> tuple[str, ...]:
    names = [name for value in request.query_values("kind") for name in value.split(",")]
    if any(name not in STATUS_BY_KIND for name in names):
        message = f"kind must be one or more of {', '.join(STATUS_BY_KIND)}."
        raise invalid(message, parameter="kind", supported=list(STATUS_BY_KIND))
    return tuple(dict.fromkeys(names))


def _timestamp(request: Request, name: str) -> int | None:
    text = request.query(name)
    if text is None:
        return None
    timestamp = parse_iso(text)
    if timestamp is None:
        raise invalid(f"{name} must be a timestamp such as 2026-01-31T08:00:00Z.", parameter=name)
    return timestamp


def resolution_response(outcome: ControlOutcome) -> Response:
    body = {"runId": outcome.run_id, "nodeId": outcome.node_id, "status": outcome.status}
    return json_response(200, body, replay_headers(outcome.replayed))
