"""Operations that look back at runs: what people said of them, how two of them differ. Part of wire_v1."""

from typing import Final

from weftwork.protocol.annotation import MAX_ANNOTATIONS
from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.route import IDEMPOTENCY, Param, Route

REVIEW: Final[tuple[Route, ...]] = (
    Route(
        "createAnnotation",
        "POST",
        "/v1/runs/{runId}/annotations",
        "Say something of a run, an event or a node: a rating, a correction, a label or a flag.",
        scope="approvals:respond",
        ok=201,
        request="annotation-create",
        response="annotation",
        params=(IDEMPOTENCY,),
        errors=("not_found", "annotation_limit_reached", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        "listAnnotations",
        "GET",
        "/v1/runs/{runId}/annotations",
        "What was said of a run, oldest first.",
        scope="runs:read",
        response="annotation-list",
        params=(
            Param(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_ANNOTATIONS},
                "Annotations per page, by default as many as a run can have.",
            ),
            Param("cursor", {"type": "string", "pattern": ID_PATTERN}, "nextCursor of the page before."),
        ),
        errors=("not_found",),
    ),
    Route(
        "diffRun",
        "GET",
        "/v1/runs/{runId}:diff",
        "How the events and the state of another run differ from those of this one.",
        scope="runs:read",
        response="run-diff-response",
        params=(Param("against", {"type": "string", "pattern": ID_PATTERN}, "The other run.", required=True),),
        errors=("not_found",),
    ),
)
