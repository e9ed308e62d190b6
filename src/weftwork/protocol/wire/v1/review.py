"""Operations that look back at runs: annotations, diffs, debug bundles, and the test endpoints for events and spans."""

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

REVIEW_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("createAnnotation"),
        "Say something of a run, an event or a node: a rating, a correction, a label or a flag.",
        scope="approvals:respond",
        success_status=201,
        request="annotation-create",
        response="annotation",
        params=(IDEMPOTENCY_KEY,),
        errors=("annotation_limit_reached", "idempotency_key_mismatch"),
    ),
    Route(
        *operation("listAnnotations"),
        "What was said of a run, oldest first.",
        scope="runs:read",
        response="annotation-list",
        params=(
            integer_parameter(
                "limit", 1, MAX_ANNOTATIONS, "Annotations per page, by default as many as a run can have."
            ),
            page_cursor(),
        ),
    ),
    Route(
        *operation("diffRun"),
        "How the events and the state of another run differ from those of this one.",
        scope="runs:read",
        response="run-diff-response",
        params=(Parameter("against", {"type": "string", "pattern": ID_PATTERN}, "The other run.", required=True),),
    ),
)


BUNDLE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("getDebugBundle"),
        "A run with its events and spans as one document that can be passed on.",
        scope="runs:read",
        response="debug-bundle",
        params=(integer_parameter("maxEvents", 1, MAX_CURSOR, "Most events to put in; by default as many as fit."),),
    ),
    Route(
        *operation("listTestEvents"),
        "Events of a run, and those that seams have projected for its id.",
        scope="runs:read",
        response="test-event-list",
        params=(
            Parameter("type", STRING_SCHEMA, "Only events of this type."),
            Parameter("correlationId", STRING_SCHEMA, "Only events of the envelope with this correlation id."),
            Parameter("causationId", STRING_SCHEMA, "Only events with this cause."),
            Parameter("nodeId", STRING_SCHEMA, "Only events of this node."),
        ),
        test_only=True,
    ),
    Route(
        *operation("scrapeSpans"),
        "Spans of a run, projected from its log, and of what seams have projected for its id.",
        scope="runs:read",
        params=(
            Parameter("runId", STRING_SCHEMA, "The run; without it, all that was projected."),
            Parameter("name", STRING_SCHEMA, "Only spans of this name."),
            Parameter("envelopeId", STRING_SCHEMA, "Only spans of this envelope."),
        ),
        test_only=True,
    ),
    Route(
        *operation("exportDebugBundle"),
        "The debug bundle of a run, or of what seams have projected for its id.",
        scope="runs:read",
        request="debug-bundle-export",
        body_optional=True,
        response="debug-bundle",
        test_only=True,
    ),
    Route(
        *operation("resetSeams"),
        "Make all seams forget what they were told.",
        scope="runs:create",
        request="seam-reset",
        body_optional=True,
        response="seam-reset-response",
        test_only=True,
    ),
)
