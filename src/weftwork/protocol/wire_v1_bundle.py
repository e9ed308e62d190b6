"""The debug bundle, and the seams that look at runs from outside. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import MAX_CURSOR, TEXT, Param, Route

BUNDLE: Final[tuple[Route, ...]] = (
    Route(
        "getDebugBundle",
        "GET",
        "/v1/runs/{runId}/debug-bundle",
        "A run with its events and spans as one document that can be passed on.",
        scope="runs:read",
        response="debug-bundle",
        params=(
            Param(
                "maxEvents",
                {"type": "integer", "minimum": 1, "maximum": MAX_CURSOR},
                "Most events to put in; by default as many as fit.",
            ),
        ),
        errors=("not_found",),
    ),
    Route(
        "listTestEvents",
        "GET",
        "/v1/host/sample/test/runs/{runId}/events",
        "Events of a run, and those that seams have projected for its id.",
        scope="runs:read",
        response="test-event-list",
        params=(
            Param("type", TEXT, "Only events of this type."),
            Param("correlationId", TEXT, "Only events of the envelope with this correlation id."),
            Param("causationId", TEXT, "Only events with this cause."),
            Param("nodeId", TEXT, "Only events of this node."),
        ),
        seam=True,
    ),
    Route(
        "scrapeSpans",
        "GET",
        "/v1/host/sample/test/otel/spans",
        "Spans of a run, projected from its log, and of what seams have projected for its id.",
        scope="runs:read",
        params=(
            Param("runId", TEXT, "The run; without it, all that was projected."),
            Param("name", TEXT, "Only spans of this name."),
            Param("envelopeId", TEXT, "Only spans of this envelope."),
        ),
        seam=True,
    ),
    Route(
        "exportDebugBundle",
        "POST",
        "/v1/host/sample/test/debug-bundle/export",
        "The debug bundle of a run, or of what seams have projected for its id.",
        scope="runs:read",
        request="debug-bundle-export",
        response="debug-bundle",
        seam=True,
    ),
    Route(
        "resetSeams",
        "POST",
        "/v1/host/sample/test/reset",
        "Make all seams forget what they were told.",
        scope="runs:create",
        request="seam-reset",
        response="seam-reset-response",
        seam=True,
    ),
)
