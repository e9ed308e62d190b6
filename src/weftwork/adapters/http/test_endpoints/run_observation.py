"""Test endpoints that observe runs, and the one that resets all test endpoints."""

from collections.abc import Callable, Iterable
from typing import Any

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.api.test_endpoints import EventQuery, RunObservation
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json import schema


class ObservationEndpoints:
    """listTestEvents, scrapeSpans, exportDebugBundle, resetSeams. A reset calls all `reset_callbacks` with the
    partition of the caller."""

    def __init__(self, observation: RunObservation, reset_callbacks: Iterable[Callable[[str], object]]) -> None:
        self._observation = observation
        self._reset_callbacks = tuple(reset_callbacks)

    async def events(self, request: Request) -> Response:
        """seam-02 (RFC 0021, conformance): of the caller's tenant alone; an id that is not there has none."""
        query = EventQuery(
            type=request.query("type"),
            correlation_id=request.query("correlationId"),
            causation_id=request.query("causationId"),
            node_id=request.query("nodeId"),
        )
        found = await self._observation.events(request.caller, request.params["runId"], query)
        return json_response(200, {"events": found})

    async def spans(self, request: Request) -> Response:
        """Spans of a run, and of what was projected for its id; a probe for an id that is not there gets none."""
        run_id = request.query("runId")
        name = request.query("name")
        envelope_id = request.query("envelopeId")
        known = run_id is None or is_path_id(run_id)
        found = await self._observation.spans(request.caller, run_id) if known else []
        shown = [_describe_span(span) for span in found if name is None or span["name"] == name]
        wanted = [span for span in shown if envelope_id is None or span.get("envelopeId") == envelope_id]
        return json_response(200, {"spans": wanted})

    async def export(self, request: Request) -> Response:
        """bundle-06 (readings, Debug bundle): a bundle as it is, and once more under a name."""
        body = await request.json()
        schema.require("debug-bundle-export", body)
        run_id = body["runId"]
        bundle = await self._observation.export(request.caller, run_id)
        bundle |= {"runId": run_id, "exportedAt": bundle["generatedAt"]}
        return json_response(200, {**bundle, "bundle": bundle})

    async def reset(self, request: Request) -> Response:
        """seam-03 (RFC 0021, conformance): what seams were told by the caller's tenant is gone, and what runs
        have recorded stays."""
        schema.require("seam-reset", await request.json(optional=True))
        for reset in self._reset_callbacks:
            reset(request.caller.partition)
        return json_response(200, {"ok": True})


def _describe_span(span: dict[str, Any]) -> dict[str, Any]:
    attributes = span["attributes"]
    told = {**span, "runId": attributes["openwop.run_id"], "timestamp": span["startedAt"]}
    envelope_id = attributes.get("envelope_id")
    return told if envelope_id is None else {**told, "envelopeId": envelope_id}
