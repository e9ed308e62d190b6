"""OpenWOP v1 as a table: operations with their scopes, parameters and schemas, in one order.

Routing and the OpenAPI document are both made from ROUTES, so neither can know an operation that the other does not.
The order of ROUTES is the order of the document, and its ETag depends on it. Source: OpenWOP rest-endpoints.
"""

from typing import Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.wire.route import (
    DEDUP,
    DEFAULT_POLL_SECONDS,
    IDEMPOTENCY_KEY,
    IF_NONE_MATCH,
    LAST_EVENT_ID,
    MAX_CURSOR,
    MAX_EVENTS,
    MAX_POLL_SECONDS,
    SEQUENCE_SCHEMA,
    STRING_SCHEMA,
    Parameter,
    Route,
    integer_parameter,
    page_cursor,
    page_limit,
)
from weftwork.protocol.wire.streams import MAX_BUFFER_MS
from weftwork.protocol.wire.v1.assets import ASSET_ROUTES
from weftwork.protocol.wire.v1.envelopes import ENVELOPE_ROUTES
from weftwork.protocol.wire.v1.interrupts import INTERRUPT_ROUTES
from weftwork.protocol.wire.v1.paths import operation
from weftwork.protocol.wire.v1.review import BUNDLE_ROUTES, REVIEW_ROUTES
from weftwork.protocol.wire.v1.runs import RUN_ADMIN_ROUTES, RUN_STATE_ROUTES, RUN_TREE_ROUTES
from weftwork.protocol.wire.v1.test_endpoints import FETCH_TEST_ROUTES, MODEL_TEST_ROUTES
from weftwork.protocol.wire.v1.workflows import NODE_TYPE_ROUTES, WORKFLOW_ROUTES
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
    Route(*operation("getCapabilities"), "What this host offers.", response="capabilities", params=(IF_NONE_MATCH,)),
    Route(*operation("getOpenApiSpec"), "This interface as OpenAPI 3.1.", params=(IF_NONE_MATCH,)),
    Route(*operation("getHealth"), "Whether the process answers.", response="health"),
    Route(
        *operation("getReadiness"),
        "Whether the host can take work.",
        response="health",
        errors=("service_unavailable",),
    ),
    Route(
        *operation("getWorkflow"),
        "A workflow definition, verbatim.",
        scope="manifest:read",
        response="workflow-definition",
        params=(
            Parameter(
                "version",
                {"type": "string", "minLength": 1, "maxLength": MAX_VERSION_LENGTH},
                "This version; by default the one that new runs take.",
            ),
        ),
        errors=("not_found",),
    ),
    Route(
        *operation("createRun"),
        "Start a run.",
        scope="runs:create",
        success_status=201,
        request="create-run",
        body_required=True,
        response="create-run-response",
        params=(IDEMPOTENCY_KEY, DEDUP),
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
        *operation("listRuns"),
        "The tenant's runs, newest first.",
        scope="runs:read",
        response="run-list",
        params=(
            Parameter(
                "status",
                {"type": "array", "items": {"type": "string", "enum": list(STATUSES)}},
                "Only runs with this status; repeated or with commas: one of these.",
            ),
            Parameter("workflowId", STRING_SCHEMA, "Only runs of this workflow."),
            Parameter(
                "tag", {"type": "array", "items": STRING_SCHEMA}, "Only runs with this tag; repeated: with all of them."
            ),
            Parameter("parentRunId", {"type": "string", "pattern": ID_PATTERN}, "Only runs that this run has started."),
            page_limit("Runs"),
            page_cursor(),
        ),
    ),
    Route(
        *operation("getRun"), "The run's snapshot.", scope="runs:read", response="run-snapshot", errors=("not_found",)
    ),
    Route(
        *operation("cancelRun"),
        "Cancel a run; an ended run answers with how it ended.",
        scope="runs:cancel",
        request="cancel-run",
        response="cancel-run-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("not_found", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        *operation("streamRunEvents"),
        "The run's events as server-sent events, or as JSON when that alone is accepted.",
        scope="runs:read",
        response="event-list",
        stream=True,
        params=(
            Parameter(
                "streamMode",
                {
                    "type": "string",
                    "pattern": "^(values(,values)*|(updates|messages|debug)(,(updates|messages|debug))*)$",
                },
                "One mode, or several without `values`; `updates` by default.",
            ),
            integer_parameter("bufferMs", 0, MAX_BUFFER_MS, "Batch for up to so long."),
            integer_parameter("fromSequence", 0, MAX_CURSOR, "JSON only: first sequence to return."),
            integer_parameter("limit", 1, MAX_EVENTS, "JSON only: events to return."),
            LAST_EVENT_ID,
            Parameter("lastEventId", LAST_EVENT_ID.schema, "Last-Event-ID for clients that cannot set headers."),
        ),
        errors=("not_found", "unsupported_stream_mode", "rate_limited"),
    ),
    Route(
        *operation("pollRunEvents"),
        "Events after a sequence; waits for news while the run is live.",
        scope="runs:read",
        response="poll",
        params=(
            Parameter("lastSequence", SEQUENCE_SCHEMA, "Highest sequence already seen."),
            Parameter("since", SEQUENCE_SCHEMA, "Older name of lastSequence."),
            integer_parameter("timeout", 1, MAX_POLL_SECONDS, f"Seconds to wait, {DEFAULT_POLL_SECONDS} by default."),
        ),
        errors=("not_found", "rate_limited"),
    ),
    *RUN_STATE_ROUTES,
    *INTERRUPT_ROUTES,
    *RUN_ADMIN_ROUTES,
    *RUN_TREE_ROUTES,
    *REVIEW_ROUTES,
    *BUNDLE_ROUTES,
    *WORKFLOW_ROUTES,
    *NODE_TYPE_ROUTES,
    *FETCH_TEST_ROUTES,
    *MODEL_TEST_ROUTES,
    *ENVELOPE_ROUTES,
    *ASSET_ROUTES,
)

UNVERSIONED_NAMES: Final[frozenset[str]] = frozenset(
    """
    runs workflows interrupts webhooks agents prompts tools audit packs mcp a2a openapi.json
    """.split()
)
"""wire-01 (readings, Paths): protocol names that answer 400 when the /v1 prefix is missing."""

UNOFFERED_PATHS: Final[tuple[str, ...]] = (
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
