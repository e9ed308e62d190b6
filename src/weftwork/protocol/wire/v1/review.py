"""Operations for reviewing runs: annotations, diffs, debug bundles, and the test endpoints for events and spans."""

from typing import Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.review.annotations import MAX_ANNOTATIONS
from weftwork.protocol.wire.route import (
    IDEMPOTENCY_KEY,
    MAX_CURSOR,
    STRING_SCHEMA,
    Parameter,
    Route,
    integer_parameter,
    page_cursor,
)
from weftwork.protocol.wire.v1.paths import operation

_AGAINST: Final = Parameter("against", {"type": "string", "pattern": ID_PATTERN}, "The other run.", required=True)

REVIEW_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("createAnnotation"),
        "Annotate a run, an event or a node with a rating, a correction, a label or a flag.",
        scope="approvals:respond",
        success_status=201,
        request="annotation-create",
        response="annotation",
        params=(IDEMPOTENCY_KEY,),
        errors=("annotation_limit_reached", "idempotency_key_mismatch"),
    ),
    Route(
        *operation("listAnnotations"),
        "List the annotations of a run, oldest first.",
        scope="runs:read",
        response="annotation-list",
        params=(
            integer_parameter(
                "limit", 1, MAX_ANNOTATIONS, "Annotations per page; all annotations of the run by default."
            ),
            page_cursor(),
        ),
    ),
    Route(
        *operation("importRun"),
        "Import a debug bundle of any OpenWOP host as a read-only run.",
        scope="runs:create",
        success_status=201,
        request="debug-bundle",
        response="import-run-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("idempotency_key_mismatch", "payload_too_large", "tenant_quota_exceeded"),
    ),
    Route(
        *operation("diffRun"),
        "Compare the events and the state of this run with those of another run.",
        scope="runs:read",
        response="run-diff-response",
        params=(_AGAINST,),
    ),
    Route(
        *operation("diffRunOutcome"),
        "Compare the outcome of this run with that of another run, in any order of their events.",
        scope="runs:read",
        response="run-outcome-diff",
        params=(_AGAINST,),
    ),
)


BUNDLE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("getDebugBundle"),
        "Export a run with its events and spans as one document that can be shared.",
        scope="runs:read",
        response="debug-bundle",
        params=(integer_parameter("maxEvents", 1, MAX_CURSOR, "Maximum number of events; as many as fit by default."),),
    ),
    Route(
        *operation("listTestEvents"),
        "List the events of a run, and those that test endpoints recorded for its id.",
        scope="runs:read",
        response="test-event-list",
        params=(
            Parameter("type", STRING_SCHEMA, "Only events of this type."),
            Parameter("correlationId", STRING_SCHEMA, "Only events of the envelope with this correlation id."),
            Parameter("causationId", STRING_SCHEMA, "Only events with this causation id."),
            Parameter("nodeId", STRING_SCHEMA, "Only events of this node."),
        ),
        test_only=True,
    ),
    Route(
        *operation("scrapeSpans"),
        "List the spans of a run, derived from its log, and those that test endpoints recorded for its id.",
        scope="runs:read",
        params=(
            Parameter("runId", STRING_SCHEMA, "The run; all recorded spans by default."),
            Parameter("name", STRING_SCHEMA, "Only spans with this name."),
            Parameter("envelopeId", STRING_SCHEMA, "Only spans of this envelope."),
        ),
        test_only=True,
    ),
    Route(
        *operation("exportDebugBundle"),
        "Export the debug bundle of a run, or of the events that test endpoints recorded for its id.",
        scope="runs:read",
        request="debug-bundle-export",
        body_optional=True,
        response="debug-bundle",
        test_only=True,
    ),
    Route(
        *operation("resetSeams"),
        "Reset the state of all test endpoints.",
        scope="runs:create",
        request="seam-reset",
        body_optional=True,
        response="seam-reset-response",
        test_only=True,
    ),
)
