"""The test endpoint that emits a surface under the id of a run, which need not exist."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from weftwork.adapters.http.app import Handler
from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.conformance.endpoints.test_log import EventQuery, TestLog, named_run
from weftwork.engine.api.keyring import Principal
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import Draft
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.surface_frames import DELTA_PARAMETER, DELTA_TYPE, SurfaceDeltas, parse_delta


class _Identity(msgspec.Struct, rename="camel"):
    event_id: str


class EmittedSurface(msgspec.Struct, rename="camel"):
    surface_ref: str


class EmittedEvents(msgspec.Struct, rename="camel"):
    events: list[dict[str, object]]
    is_complete: bool = False
    deltas: list[dict[str, object]] | UnsetType = UNSET


_EMITTED = EventQuery(type=SURFACE_KIND)


class SurfaceEmission:
    """emitSurface, and streamRunEvents for the ids of runs that only this endpoint knows. `stream` is the route."""

    def __init__(self, log: TestLog, stream: Handler) -> None:
        self._log = log
        self._stream = stream

    async def emit(self, request: Request) -> Response:
        """seam-04 (RFC 0114, conformance): record a surface in the test log. All surfaces of a run are one chain, whose
        reference is the id of the first event."""
        body = await request.json()
        schema.require("emit-surface", body)
        run_id, payload = named_run(body), body["surface"]
        if diagnostics := check_stored(payload).diagnostics:
            listed = [{"pointer": f"/surface{each.pointer}", "message": each.message} for each in diagnostics]
            text = f"The payload is not a surface: the value at the pointer {diagnostics[0].message}."
            details = {"pointer": listed[0]["pointer"], "violations": listed}
            raise ClientFault("a2ui_surface_invalid", text, details)
        caller = request.caller
        written = self._log.append(caller.partition, run_id, (Draft(SURFACE_KIND, payload),))
        emitted = self._log.events(caller.partition, run_id, _EMITTED) or written
        return json_response(200, EmittedSurface(_reference(emitted)))

    async def events(self, request: Request) -> Response | None:
        """seam-04: the events of a run; for an unknown run, the surfaces that were emitted under its id, as JSON,
        and the deltas between them if the request asks for them."""
        try:
            return await self._stream(request)
        except ClientFault as fault:
            if fault.code != "not_found" or not streams.wants_json(request.header(b"accept")):
                raise
            emitted = self._emitted(request.caller, request)
            if not emitted:
                raise
            page = EmittedEvents(emitted)
            if parse_delta(request.query(DELTA_PARAMETER)):
                sent, reference = SurfaceDeltas(), _reference(emitted)
                frames = [sent.transport(each, reference) for each in emitted]
                page.deltas = [each for each in frames if each["type"] == DELTA_TYPE]
            return json_response(200, page)

    def _emitted(self, caller: Principal, request: Request) -> list[dict[str, object]]:
        (run_id,) = request.params.values()
        return self._log.events(caller.partition, run_id, _EMITTED)


def _reference(emitted: Sequence[dict[str, object]]) -> str:
    return msgspec.convert(emitted[0], _Identity).event_id
