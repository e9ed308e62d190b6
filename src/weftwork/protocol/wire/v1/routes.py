"""OpenWOP v1 as a table: paths, operation ids, scopes, parameters, schemas. Only the wire_v1 modules know v1 paths.

Routing and the OpenAPI document are both made from ROUTES, so neither can know an operation that the
other does not. Source: OpenWOP rest-endpoints.
"""

from typing import Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.wire.route import (
    CURSOR_HEADER,
    DEDUP,
    IDEMPOTENCY,
    MAX_CURSOR,
    MAX_EVENTS,
    MAX_PAGE,
    MAX_POLL_SECONDS,
    NOT_MODIFIED,
    POLL_SECONDS,
    SEQUENCE,
    TEXT,
    Param,
    Route,
)
from weftwork.protocol.wire.streams import MAX_BUFFER_MS
from weftwork.protocol.wire.v1.assets import ASSET_ROUTES
from weftwork.protocol.wire.v1.envelopes import ENVELOPES
from weftwork.protocol.wire.v1.interrupts import INTERRUPTS
from weftwork.protocol.wire.v1.review import BUNDLE, REVIEW
from weftwork.protocol.wire.v1.runs import CONTROL, KINSHIP, STEERING
from weftwork.protocol.wire.v1.test_endpoints import FETCH, MODELS
from weftwork.protocol.wire.v1.workflows import NODES, WORKFLOWS
from weftwork.protocol.workflow.registration import MAX_VERSION_LENGTH

SCOPES: Final[tuple[str, ...]] = (
    "manifest:read",
    "manifest:write",
    "runs:create",
    "runs:read",
    "runs:cancel",
    "runs:delete",
    "artifacts:read",
    "webhooks:manage",
    "approvals:respond",
    "approvals:delegate",
    "approvals:override",
    "packs:publish",
    "packs:yank",
    "packs:yank-revert",
    "audit:read",
    "workspace:read",
    "workspace:write",
    "prompts:read",
    "prompts:write",
)
"""auth-04 (OpenWOP auth): the scope vocabulary; no scope implies another. Four are ours."""

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "getCapabilities",
        "GET",
        "/.well-known/openwop",
        "What this host offers.",
        response="capabilities",
        params=(NOT_MODIFIED,),
    ),
    Route("getOpenApiSpec", "GET", "/v1/openapi.json", "This interface as OpenAPI 3.1.", params=(NOT_MODIFIED,)),
    Route("getHealth", "GET", "/health", "Whether the process answers.", response="health"),
    Route(
        "getReadiness",
        "GET",
        "/readiness",
        "Whether the host can take work.",
        response="health",
        errors=("service_unavailable",),
    ),
    Route(
        "getWorkflow",
        "GET",
        "/v1/workflows/{workflowId}",
        "A workflow definition, verbatim.",
        scope="manifest:read",
        response="workflow-definition",
        params=(
            Param(
                "version",
                {"type": "string", "minLength": 1, "maxLength": MAX_VERSION_LENGTH},
                "This version; by default the one that new runs take.",
            ),
        ),
        errors=("not_found",),
    ),
    Route(
        "createRun",
        "POST",
        "/v1/runs",
        "Start a run.",
        scope="runs:create",
        ok=201,
        request="create-run",
        response="create-run-response",
        params=(IDEMPOTENCY, DEDUP),
        errors=(
            "mock_provider_forbidden",
            "unsupported_mock_provider",
            "run_already_active",
            "idempotency_key_mismatch",
            "capability_not_provided",
            "rate_limited",
            "service_unavailable",
        ),
    ),
    Route(
        "listRuns",
        "GET",
        "/v1/runs",
        "The tenant's runs, newest first.",
        scope="runs:read",
        response="run-list",
        params=(
            Param(
                "status",
                {"type": "array", "items": {"type": "string", "enum": list(STATUSES)}},
                "Only runs with this status; repeated or with commas: one of these.",
            ),
            Param("workflowId", TEXT, "Only runs of this workflow."),
            Param("tag", {"type": "array", "items": TEXT}, "Only runs with this tag; repeated: with all of them."),
            Param("parentRunId", {"type": "string", "pattern": ID_PATTERN}, "Only runs that this run has started."),
            Param(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
                "Runs per page, 50 by default.",
            ),
            Param(
                "cursor",
                {"type": "string", "pattern": ID_PATTERN},
                "nextCursor of the page before.",
            ),
        ),
    ),
    Route(
        "getRun",
        "GET",
        "/v1/runs/{runId}",
        "The run's snapshot.",
        scope="runs:read",
        response="run-snapshot",
        errors=("not_found",),
    ),
    Route(
        "cancelRun",
        "POST",
        "/v1/runs/{runId}/cancel",
        "Cancel a run; an ended run answers with how it ended.",
        scope="runs:cancel",
        request="cancel-run",
        response="cancel-run-response",
        params=(IDEMPOTENCY,),
        errors=("not_found", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        "streamRunEvents",
        "GET",
        "/v1/runs/{runId}/events",
        "The run's events as server-sent events, or as JSON when that alone is accepted.",
        scope="runs:read",
        response="event-list",
        stream=True,
        params=(
            Param(
                "streamMode",
                {
                    "type": "string",
                    "pattern": "^(values(,values)*|(updates|messages|debug)(,(updates|messages|debug))*)$",
                },
                "One mode, or several without `values`; `updates` by default.",
            ),
            Param(
                "bufferMs",
                {"type": "integer", "minimum": 0, "maximum": MAX_BUFFER_MS},
                "Batch for up to so long.",
            ),
            Param(
                "fromSequence",
                {"type": "integer", "minimum": 0, "maximum": MAX_CURSOR},
                "JSON only: first sequence to return.",
            ),
            Param(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_EVENTS},
                "JSON only: events to return.",
            ),
            CURSOR_HEADER,
            Param("lastEventId", CURSOR_HEADER.schema, "Last-Event-ID for clients that cannot set headers."),
        ),
        errors=("not_found", "unsupported_stream_mode", "rate_limited"),
    ),
    Route(
        "pollRunEvents",
        "GET",
        "/v1/runs/{runId}/events/poll",
        "Events after a sequence; waits for news while the run is live.",
        scope="runs:read",
        response="poll",
        params=(
            Param("lastSequence", SEQUENCE, "Highest sequence already seen."),
            Param("since", SEQUENCE, "Older name of lastSequence."),
            Param(
                "timeout",
                {"type": "integer", "minimum": 1, "maximum": MAX_POLL_SECONDS},
                f"Seconds to wait, {POLL_SECONDS} by default.",
            ),
        ),
        errors=("not_found", "rate_limited"),
    ),
    *STEERING,
    *INTERRUPTS,
    *CONTROL,
    *KINSHIP,
    *REVIEW,
    *BUNDLE,
    *WORKFLOWS,
    *NODES,
    *FETCH,
    *MODELS,
    *ENVELOPES,
    *ASSET_ROUTES,
)

UNVERSIONED: Final[frozenset[str]] = frozenset(
    """
    runs workflows interrupts webhooks agents prompts tools audit packs mcp a2a openapi.json
    """.split()
)
"""wire-01 (readings, Paths): protocol names that answer 400 when the /v1 prefix is missing."""

UNOFFERED: Final[tuple[str, ...]] = (
    "/v1/prompts",
    "/v1/prompts:render",
    "/v1/prompts/{templateId}",
    "/v1/content/pages",
    "/v1/content/pages/{slug}",
    "/v1/content/pages/{slug}/sections/{sectionId}",
    "/v1/content/settings",
    "/v1/host/workspace/files",
    "/v1/host/workspace/files/{path}",
    "/v1/trigger-subscriptions",
)
"""wire-02 (OpenWOP rest-endpoints): optional surfaces that answer 501 while they are not offered."""


def split_path(path: str) -> tuple[list[str], str]:
    """wire-03 (OpenWOP rest-endpoints): the segments of a path and the verb after the last colon of the last one."""
    segments = path.split("/")[1:]
    name, colon, verb = segments[-1].rpartition(":")
    if colon:
        segments[-1] = name
    return segments, verb if colon else ""
