"""Surfaces for callers: read one of a run, and press one of its buttons.

A surface is addressed by the id of its envelope. The form that the host derives for an interrupt has the id of the
interrupt. An action becomes one answer to one interrupt, on the path of every other answer, so conflicts, repeats,
deadlines, quorums and permissions are the same.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.interrupts import Interrupts, Row, final_status, interrupt_rows
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.run_control import ControlOutcome
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.surface_form import (
    HELD_BACK,
    SHOWN,
    STATUSES,
    SurfaceForm,
    bound_form,
    derived_form,
    form_of,
    surface_document,
)
from weftwork.protocol.json import schema
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.events import ENVELOPE_RECORDED, TRUSTED, Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import answer_refusal, shown_surface_payload
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.surfaces.surface import Surface

PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 262_144
"""Size of a page of the log; the event that reaches it is the last."""
MAX_CONCURRENT_SEARCHES: Final = 2
"""Logs that are searched concurrently for surfaces whose interrupt is not open."""
_ANSWER: Final = "/resumeValue"

Fold = Callable[[Surface, Any], Mapping[str, Any]]
"""Reads the values by field id from a document of another form. It drops what has no field."""


class Surfaces(msgspec.Struct, eq=False):
    """Surfaces for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _executor: Executor
    _interrupts: Interrupts
    _searches: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_SEARCHES))

    async def read(self, principal: Principal, run_id: str, surface_id: str) -> dict[str, Any]:
        """surf-24 (RFC 0102): a surface of a run, with what can be done with it."""
        run = principal.run(run_id)
        stored = require_run(await self._executor.read_run(run))
        rows = interrupt_rows(stored)
        form = _open_form(rows, surface_id, by_link=False)
        if form is not None:
            return {**form.document(), "runId": run_id}
        closed = next((row for row in rows if surface_id in (row["interruptId"], row.get("surfaceId"))), None)
        return await self._closed_document(principal, run, surface_id, closed)

    async def act(
        self,
        principal: Principal,
        run_id: str,
        surface_id: str,
        action_id: str,
        document: Any,
        key: str | None = None,
        fold: Fold | None = None,
    ) -> ControlOutcome:
        """surf-25 (RFC 0102, action confinement): press a button. It becomes one answer, and it is durable on
        return."""
        operation = "\0".join(("actOnSurface", principal.key_id, run_id, surface_id, action_id))
        by = self._interrupts.answerer(principal)
        act = partial(self._act, principal.run(run_id), surface_id, action_id, document, by, fold)
        return await idempotent(self._runtime, principal, operation, key, document, ControlOutcome, act)

    async def _closed_document(
        self, principal: Principal, run: RunKey, surface_id: str, row: Row | None
    ) -> dict[str, Any]:
        """A surface that cannot be answered: its interrupt is closed, or it has none."""
        names: dict[str, Any] = {"runId": run.run_id}
        status = SHOWN
        if row is not None:
            names |= {"nodeId": row["nodeId"], "interruptId": row["interruptId"]}
            status = STATUSES[row["status"]]
            if surface_id == row["interruptId"]:
                # The log has the question of a form that the host derived, but nobody is asked it any more.
                return {**surface_document(surface_id, status, TRUSTED, None, None), **names}
        event = await self._find_record(run, surface_id)
        if event is None:
            raise ClientFault("not_found", "The run has no surface with this id.")
        record = msgspec.json.decode(principal.visible_events([event])[0].payload)
        if record["status"] != "accepted":
            status = HELD_BACK
        payload = shown_surface_payload(record.get("payload"))
        checked = check_stored(payload)
        trust = event.content_trust or TRUSTED
        document = surface_document(surface_id, status, trust, payload, checked.surface, checked.diagnostics)
        return {**document, "nodeId": record["nodeId"], **names}

    async def _find_record(self, run: RunKey, surface_id: str) -> Event | None:
        """The event that records the envelope of a surface. Reads the log from its start to the event."""
        after = -1
        wanted = surface_id.encode()
        while True:
            async with self._searches:
                # A store may answer without yielding; let other tasks have the event loop.
                await asyncio.sleep(0)
                page = await self._runtime.log.read(run, after, PAGE_EVENTS, PAGE_BYTES)
            for event in page:
                if event.type == ENVELOPE_RECORDED and wanted in event.payload:
                    record = msgspec.json.decode(event.payload)
                    if record["type"] == SURFACE_KIND and record["envelopeId"] == surface_id:
                        return event
            if not page:
                return None
            after = page[-1].sequence

    async def inspect(self, token: str) -> dict[str, Any]:
        """The form of the open interrupt of a link."""
        return form_of(await self._interrupts.inspect(token), by_link=True).document()

    async def act_by_token(
        self, text: str, action_id: str, document: Any, key: str | None = None, fold: Fold | None = None
    ) -> ControlOutcome:
        """surf-25: like `act`, for the bearer of a link. The token is checked before the body."""
        token, bearer, by = self._interrupts.open_link(text)
        operation = f"actOnSurfaceByToken/{token.run_id}/{token.jti}/{action_id}"
        act = partial(self._act, bearer.run(token.run_id), token.interrupt_id, action_id, document, by, fold)
        try:
            return await idempotent(self._runtime, bearer, operation, key, document, ControlOutcome, act)
        except ClientFault as fault:
            raise interrupt_tokens.as_token_fault(fault) from None

    async def _act(
        self,
        run: RunKey,
        surface_id: str,
        action_id: str,
        document: Any,
        by: Answerer,
        fold: Fold | None,
        claim: IdempotencyClaim,
    ) -> ControlOutcome | SlotTaken:
        stored = require_run(await self._executor.read_run(run))
        if fold is None:
            schema.require("surface-action", document)
        form = _require_open(stored, surface_id, by_link=not by.has_key)
        values = document.get("values", {}) if fold is None else fold(_require_surface(form), document)
        value = form.answer(action_id, values, drop_unknown=fold is not None)
        # What a person chose from untrusted content is untrusted content; it never advances an approval.
        answerer = msgspec.structs.replace(by, trust=form.trust)
        node_id, interrupt_id = form.question["nodeId"], form.question["interruptId"]
        try:
            return await self._interrupts.answer(run, node_id, interrupt_id, {"resumeValue": value}, answerer, claim)
        except ClientFault as fault:
            raise _at_values(fault) from None


def _open_form(rows: list[Row], surface_id: str, by_link: bool) -> SurfaceForm | None:
    """The form of an open interrupt: by its envelope the one that the node sent, by the interrupt the derived one. A
    link names its interrupt and shows the first of them that can be rendered."""
    for row in rows:
        if row["status"] != "open":
            continue
        if surface_id == row["interruptId"]:
            return form_of(row, by_link) if by_link else derived_form(row)
        form = bound_form(row, by_link)
        if form is not None and form.surface_id == surface_id:
            return form
    return None


def _require_open(stored: StoredRun, surface_id: str, by_link: bool) -> SurfaceForm:
    """surf-26 (readings, Answering an interrupt): the form of an open interrupt. Raises the error of an answer to an
    interrupt in the same state: a surface that asks nothing has none."""
    rows = interrupt_rows(stored)
    form = _open_form(rows, surface_id, by_link)
    if form is None:
        closed = [row for row in rows if surface_id in (row["interruptId"], row.get("surfaceId"))]
        raise answer_refusal(final_status(closed), stored.projection.status)
    return form


def _require_surface(form: SurfaceForm) -> Surface:
    if form.surface is None:
        form.answer("", {})
    assert form.surface is not None, "the form without a surface raises"
    return form.surface


def _at_values(fault: ClientFault) -> ClientFault:
    """The error of an answer, with pointers into the values of the action."""
    details = fault.details or {}
    pointer = details.get("pointer")
    if not isinstance(pointer, str) or not pointer.startswith(_ANSWER):
        return fault
    place = pointer.removeprefix(_ANSWER).removeprefix("/answers")
    return ClientFault(fault.code, fault.message, {**details, "pointer": f"/values{place}"}, status=fault.status)
