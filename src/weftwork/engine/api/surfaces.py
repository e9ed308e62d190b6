"""Surfaces for callers: read one of a run, and press one of its buttons.

A surface is addressed by the id of its envelope. The form that the host derives for an interrupt has the id of the
interrupt. An action becomes one answer to one interrupt, on the path of every other answer, so conflicts, repeats,
deadlines, quorums and permissions are the same.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.interrupts import Interrupts, final_status, interrupt_rows
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.run_control import ControlOutcome
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.surface_form import (
    SurfaceForm,
    at_values,
    closed_document,
    fold_a2ui,
    form_of,
    interrupts_of_surface,
    is_derived,
    open_form,
    records_surface,
)
from weftwork.protocol.json import schema
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import answer_refusal
from weftwork.protocol.run.projection import StoredRun

PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 262_144
"""Size of a page of the log; the event that reaches it is the last."""
MAX_CONCURRENT_SEARCHES: Final = 2
"""Logs that are searched concurrently for surfaces whose interrupt is not open."""


class Surfaces(msgspec.Struct, eq=False):
    """Surfaces for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _executor: Executor
    _interrupts: Interrupts
    _searches: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_SEARCHES))

    async def read(self, principal: Principal, run_id: str, surface_id: str) -> dict[str, Any]:
        """surf-24 (RFC 0102): a surface of a run, with what can be done with it."""
        run = principal.run(run_id)
        rows = interrupt_rows(require_run(await self._executor.read_run(run)))
        if (form := open_form(rows, surface_id, by_link=False)) is not None:
            document = form.document()
        else:
            closed = next(iter(interrupts_of_surface(rows, surface_id)), None)
            record = None
            if not is_derived(closed, surface_id):
                record = await self._find_record(principal, run, surface_id)
                if record is None:
                    raise ClientFault("not_found", "The run has no surface with this id.")
            document = closed_document(surface_id, closed, record)
        return {**document, "runId": run_id}

    async def _find_record(self, principal: Principal, run: RunKey, surface_id: str) -> Event | None:
        """The event that records the envelope of a surface. Reads the log from its start to the event."""
        after = -1
        while True:
            async with self._searches:
                # A store may answer without yielding; let other tasks have the event loop.
                await asyncio.sleep(0)
                page = await self._runtime.log.read(run, after, PAGE_EVENTS, PAGE_BYTES)
            for event in page:
                if records_surface(event, surface_id):
                    return principal.visible_events([event])[0]
            if not page:
                return None
            after = page[-1].sequence

    async def inspect(self, token: str) -> dict[str, Any]:
        """The form of the open interrupt of a link."""
        return form_of(await self._interrupts.inspect(token), by_link=True).document()

    async def act(
        self,
        principal: Principal,
        run_id: str,
        surface_id: str,
        action_id: str,
        document: Any,
        key: str | None = None,
        is_a2ui: bool = False,
    ) -> ControlOutcome:
        """surf-25 (RFC 0102, action confinement): press a button. It becomes one answer, and it is durable on return.

        The document has the values by field id, or with `is_a2ui` it is an action of A2UI.
        """
        # With the principal, because votes of two principals are different requests even if key and body are equal.
        place = "\0".join((principal.key_id, run_id, surface_id, action_id))
        by = self._interrupts.answerer(principal)
        act = partial(self._act, principal.run(run_id), surface_id, action_id, document, by, is_a2ui)
        operation = f"actOnSurface/{place}"
        return await idempotent(self._runtime, principal, operation, key, document, ControlOutcome, act)

    async def act_by_token(
        self, text: str, action_id: str, document: Any, key: str | None = None, is_a2ui: bool = False
    ) -> ControlOutcome:
        """surf-25: like `act`, for the bearer of a link. The token is checked before the body."""
        token, bearer, by = self._interrupts.open_link(text)
        operation = f"actOnSurfaceByToken/{token.run_id}/{token.jti}/{action_id}"
        act = partial(self._act, bearer.run(token.run_id), token.interrupt_id, action_id, document, by, is_a2ui)
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
        is_a2ui: bool,
        claim: IdempotencyClaim,
    ) -> ControlOutcome | SlotTaken:
        async with self._executor.loaded(run) as found:
            stored = require_run(found)
            if not is_a2ui:
                schema.require("surface-action", document)
            form = _require_open(stored, surface_id, by_link=not by.has_key)
            values: Mapping[str, Any] = fold_a2ui(form, action_id, document) if is_a2ui else document["values"]
            value = form.answer(action_id, values)
            # What a person chose from untrusted content is untrusted content, which never advances an approval.
            answerer = msgspec.structs.replace(by, trust=form.answer_trust)
            node_id, interrupt_id = form.place
            answer = {"resumeValue": value}
            try:
                return await self._interrupts.answer(run, node_id, interrupt_id, answer, answerer, claim)
            except ClientFault as fault:
                raise at_values(fault, form) from None


def _require_open(stored: StoredRun, surface_id: str, by_link: bool) -> SurfaceForm:
    """surf-26 (readings, Answering an interrupt): the form of an open interrupt. Raises the error of an answer to an
    interrupt in the same state. A surface that asks nothing has no interrupt, like one that does not exist."""
    rows = interrupt_rows(stored)
    form = open_form(rows, surface_id, by_link)
    if form is None:
        status = final_status(interrupts_of_surface(rows, surface_id))
        if status is None:
            raise ClientFault("interrupt_not_found", "The run has no surface with this id that waits for an answer.")
        raise answer_refusal(status, stored.projection.status)
    return form
