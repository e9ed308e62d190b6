"""Test endpoints that observe runs, and the one that resets all test endpoints."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.conformance.endpoints.test_log import EventQuery, TestLog, event_document, named_run
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import Bundles
from weftwork.engine.api.runs import Runs
from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json import schema
from weftwork.protocol.review.debug_bundle import unattached_bundle
from weftwork.protocol.timestamps import iso

MAX_EVENTS_READ: Final = 10_000
"""Events of one run that are read for one response."""
PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 262_144
MAX_EXPORT_BYTES: Final = 1_000_000


class RunObservation:
    """Events, spans and bundles by run id, from the log and the test log. An unknown id gives empty results."""

    def __init__(self, events: EventLog, clock: Clock, service: Runs, bundles: Bundles, log: TestLog) -> None:
        self._log = events
        self._clock = clock
        self._service = service
        self._bundles = bundles
        self._test_log = log

    async def events(self, principal: Principal, run_id: str, query: EventQuery) -> list[dict[str, Any]]:
        """The events of a run, followed by those in the test log for its id."""
        documents: list[dict[str, Any]] = []
        last = -1
        while last + 1 < MAX_EVENTS_READ:
            page = await self._log.read(principal.run(run_id), last, PAGE_EVENTS, PAGE_BYTES)
            if not page:
                break
            documents += [event_document(event) for event in principal.visible_events(page) if query.matches(event)]
            last = page[-1].sequence
        return documents + self._test_log.events(principal.partition, run_id, query)

    async def spans(self, principal: Principal, run_id: str | None) -> list[dict[str, Any]]:
        """The spans of a run and of the test log for its id; without an id, all spans of the test log."""
        run_spans = await self._service.run_spans(principal, run_id) if run_id is not None else []
        return [*run_spans, *self._test_log.spans(principal.partition, run_id)]

    async def export(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """The debug bundle of a run. For an unknown run, a bundle of the test log for its id."""
        try:
            pieces = await self._bundles.open(principal, run_id, cap=MAX_EXPORT_BYTES)
        except ClientFault as fault:
            if fault.code != "not_found":
                raise
            events = self._test_log.events(principal.partition, run_id)
            spans = self._test_log.spans(principal.partition, run_id)
            links = self._bundles.media_links(principal, run_id)
            await links.look_up(map(msgspec.json.encode, [*events, *spans]))
            return unattached_bundle(run_id, events, spans, self._bundles.version, iso(self._clock.now()), links.url)
        parts: list[bytes] = []
        while (piece := await pieces.next_chunk()) is not None:
            parts.append(piece)
        return msgspec.json.decode(b"".join(parts))


class ObservationEndpoints:
    """listTestEvents, scrapeSpans, exportDebugBundle, resetSeams. A reset calls all `reset_callbacks` with the
    partition of the caller."""

    def __init__(self, observation: RunObservation, reset_callbacks: Iterable[Callable[[str], object]]) -> None:
        self._observation = observation
        self._reset_callbacks = tuple(reset_callbacks)

    async def events(self, request: Request) -> Response:
        """seam-02 (RFC 0021, conformance): the events of a run of the caller's tenant. An unknown id has none."""
        query = EventQuery(
            type=request.query("type"),
            correlation_id=request.query("correlationId"),
            causation_id=request.query("causationId"),
            node_id=request.query("nodeId"),
        )
        events = await self._observation.events(request.caller, request.params["runId"], query)
        return json_response(200, {"events": events})

    async def spans(self, request: Request) -> Response:
        """Spans, optionally by run, name and envelope. An unknown or malformed run id gives an empty list."""
        run_id = request.query("runId")
        name = request.query("name")
        envelope_id = request.query("envelopeId")
        is_valid_id = run_id is None or is_path_id(run_id)
        spans = await self._observation.spans(request.caller, run_id) if is_valid_id else []
        described = [_describe_span(span) for span in spans if name is None or span["name"] == name]
        matching = [span for span in described if envelope_id is None or span.get("envelopeId") == envelope_id]
        return json_response(200, {"spans": matching})

    async def export(self, request: Request) -> Response:
        """bundle-06 (readings, Debug bundle): the members of the bundle, and the same bundle again as `bundle`."""
        body = await request.json()
        schema.require("debug-bundle-export", body)
        run_id = named_run(body)
        bundle = await self._observation.export(request.caller, run_id)
        bundle |= {"runId": run_id, "exportedAt": bundle["generatedAt"]}
        return json_response(200, {**bundle, "bundle": bundle})

    async def reset(self, request: Request) -> Response:
        """seam-03 (RFC 0021, conformance): delete the test endpoints' state of the caller's partition. Runs and their
        logs are not affected."""
        schema.require("seam-reset", await request.json(optional=True))
        for reset in self._reset_callbacks:
            reset(request.caller.partition)
        return json_response(200, {"ok": True})


def _describe_span(span: dict[str, Any]) -> dict[str, Any]:
    attributes = span["attributes"]
    described = {**span, "runId": attributes["openwop.run_id"], "timestamp": span["startedAt"]}
    envelope_id = attributes.get("envelope_id")
    return described if envelope_id is None else {**described, "envelopeId": envelope_id}
