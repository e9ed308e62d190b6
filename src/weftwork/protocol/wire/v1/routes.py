"""The operations of OpenWOP v1 as a table, with their scopes, parameters and schemas.

Routing and the OpenAPI document are both generated from ROUTES, so they always have the same operations. The document
lists them in the order of ROUTES, and its ETag depends on that order.

Source: OpenWOP rest-endpoints.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from weftwork.protocol.ids import ID_PATTERN, is_node_id, is_schema_file, is_surface_id
from weftwork.protocol.run.child_runs import DEFAULT_TREE_RUNS, MAX_TREE_RUNS
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.run.projection import AT_SEQUENCE
from weftwork.protocol.surfaces.limits import is_component_id
from weftwork.protocol.wire import route
from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, Parameter, Route, integer_parameter, page_cursor, page_limit
from weftwork.protocol.wire.streams import MAX_BUFFER_MS
from weftwork.protocol.wire.surface_frames import DELTA_PARAMETER
from weftwork.protocol.wire.v1.assets import ASSET_ROUTES
from weftwork.protocol.wire.v1.interrupts import INTERRUPT_ROUTES
from weftwork.protocol.wire.v1.paths import operation
from weftwork.protocol.wire.v1.review import BUNDLE_ROUTES, REVIEW_ROUTES
from weftwork.protocol.wire.v1.surfaces import SURFACE_ROUTES
from weftwork.protocol.wire.v1.test_endpoints import ENVELOPE_ROUTES, FETCH_TEST_ROUTES, MODEL_TEST_ROUTES
from weftwork.protocol.workflow.registration import MAX_VERSION_LENGTH

SCOPES: Final[tuple[str, ...]] = tuple(
    """
    manifest:read manifest:write runs:create runs:read runs:debug runs:cancel runs:delete artifacts:read
    webhooks:manage approvals:respond approvals:delegate approvals:override packs:publish packs:yank
    packs:yank-revert audit:read workspace:read workspace:write prompts:read prompts:write
    """.split()
)
"""auth-04 (OpenWOP auth): all scopes, five of which are additions of this host. No scope implies another."""

_register: Final = partial(
    Route,
    scope="manifest:write",
    success_status=201,
    other_success_statuses=(200,),
    response="register-workflow-response",
    params=(IDEMPOTENCY_KEY,),
    errors=("workflow_version_conflict", "workflow_limit_reached", "idempotency_key_mismatch", "capability_required"),
)
_change_run: Final = partial(
    Route,
    scope="runs:cancel",
    success_status=202,
    body_optional=True,
    params=(IDEMPOTENCY_KEY,),
    errors=("conflict", "idempotency_key_mismatch"),
)

_fork: Final = partial(
    Route,
    scope="runs:create",
    success_status=201,
    response="fork-run-response",
    params=(IDEMPOTENCY_KEY,),
    errors=(
        "conflict",
        "mock_provider_forbidden",
        "unsupported_mock_provider",
        "idempotency_key_mismatch",
        "tenant_quota_exceeded",
        "rate_limited",
    ),
)

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("getCapabilities"),
        "Discovery: the features and limits of this host.",
        response="capabilities",
        params=(route.IF_NONE_MATCH,),
    ),
    Route(*operation("getOpenApiSpec"), "This API as an OpenAPI 3.1 document.", params=(route.IF_NONE_MATCH,)),
    Route(*operation("getHealth"), "Liveness: 200 while the process responds.", response="health"),
    Route(*operation("getReadiness"), "Readiness: whether the host accepts work.", response="health"),
    Route(
        *operation("getWorkflow"),
        "Get a workflow definition as it was registered.",
        scope="manifest:read",
        response="workflow-definition",
        params=(
            Parameter(
                "version",
                {"type": "string", "minLength": 1, "maxLength": MAX_VERSION_LENGTH},
                "The version; by default the one that new runs use.",
            ),
        ),
    ),
    Route(
        *operation("createRun"),
        "Create and start a run.",
        scope="runs:create",
        success_status=201,
        request="create-run",
        response="create-run-response",
        params=(IDEMPOTENCY_KEY, route.DEDUP),
        errors=(
            "mock_provider_forbidden",
            "unsupported_mock_provider",
            "run_already_active",
            "idempotency_key_mismatch",
            "tenant_quota_exceeded",
            "capability_not_provided",
            "rate_limited",
        ),
    ),
    Route(
        *operation("listRuns"),
        "List the tenant's runs, newest first.",
        scope="runs:read",
        response="run-list",
        params=(
            Parameter(
                "status",
                {"type": "array", "items": {"type": "string", "enum": list(STATUSES)}},
                "Only runs with this status; several values, repeated or separated by commas, match any of them.",
            ),
            Parameter("workflowId", route.STRING_SCHEMA, "Only runs of this workflow."),
            Parameter(
                "tag",
                {"type": "array", "items": route.STRING_SCHEMA},
                "Only runs with this tag; if repeated, runs with all of the tags.",
            ),
            Parameter("parentRunId", {"type": "string", "pattern": ID_PATTERN}, "Only child runs of this run."),
            page_limit("Runs"),
            page_cursor(),
        ),
    ),
    Route(
        *operation("getRun"),
        "Get the snapshot of a run.",
        scope="runs:read",
        response="run-snapshot",
        unprocessable=True,
        params=(
            Parameter(
                AT_SEQUENCE,
                {"type": "integer", "minimum": 0},
                "The snapshot that the run had directly after the event with this sequence, without the tokens of its "
                "interrupts; by default the current one. A sequence behind the last event is refused with 422.",
            ),
        ),
        errors=("conflict",),
    ),
    Route(
        *operation("cancelRun"),
        "Cancel a run; for an ended run, return its final status.",
        scope="runs:cancel",
        request="cancel-run",
        body_optional=True,
        response="cancel-run-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("idempotency_key_mismatch",),
    ),
    Route(
        *operation("streamRunEvents"),
        "Stream the run's events as server-sent events, or return them as JSON if the client accepts only JSON.",
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
            integer_parameter("bufferMs", 0, MAX_BUFFER_MS, "Batch events for up to this many milliseconds."),
            Parameter(
                DELTA_PARAMETER,
                {"type": "string", "enum": ["0", "1"]},
                "1: send a surface as a JSON Patch if the client received the one before.",
            ),
            integer_parameter("fromSequence", 0, route.MAX_CURSOR, "JSON only: the first sequence to return."),
            integer_parameter("limit", 1, route.MAX_EVENTS, "JSON only: the maximum number of events to return."),
            route.LAST_EVENT_ID,
            Parameter("lastEventId", route.LAST_EVENT_ID.schema, "Last-Event-ID for clients that cannot set headers."),
        ),
        errors=("unsupported_stream_mode", "rate_limited"),
    ),
    Route(
        *operation("pollRunEvents"),
        "Get the events after a sequence. If there are none and the run is active, wait for the next one.",
        scope="runs:read",
        response="poll",
        params=(
            Parameter("lastSequence", route.SEQUENCE_SCHEMA, "The highest sequence that the client has."),
            Parameter("since", route.SEQUENCE_SCHEMA, "An older name of lastSequence."),
            integer_parameter(
                "timeout", 1, route.MAX_POLL_SECONDS, f"Seconds to wait, {route.DEFAULT_POLL_SECONDS} by default."
            ),
        ),
        errors=("rate_limited",),
    ),
    _change_run(
        *operation("pauseRun"),
        "Pause a run, immediately or when its running nodes have ended.",
        request="pause-run",
        response="pause-run-response",
    ),
    _change_run(
        *operation("resumeRun"),
        "Resume a paused run.",
        request="resume-run",
        response="resume-run-response",
    ),
    _fork(
        *operation("forkRun"),
        "Fork a run from any of its events, to replay what was recorded or to act differently.",
        request="fork-run",
    ),
    Route(*operation("getArtifact"), "Get an artifact of a run.", scope="artifacts:read", response="artifact"),
    Route(
        *operation("setVariables"),
        "Set variables of a run, for the nodes after the current one.",
        scope="runs:create",
        request="set-variables",
        body_optional=True,
        response="set-variables-response",
        errors=("conflict",),
        test_only=True,
    ),
    *INTERRUPT_ROUTES,
    *SURFACE_ROUTES,
    Route(
        *operation("bulkCancelRuns"),
        "Cancel up to 100 runs; the response has one result per run.",
        scope="runs:cancel",
        request="bulk-cancel",
        response="bulk-cancel-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("idempotency_key_mismatch",),
    ),
    Route(
        *operation("deleteRun"),
        "Delete an ended run and all its data.",
        scope="runs:delete",
        success_status=204,
        params=(IDEMPOTENCY_KEY,),
        errors=("conflict",),
    ),
    Route(
        *operation("getRunAncestry"),
        "Get the run that started this run.",
        scope="runs:read",
        response="run-ancestry-response",
    ),
    Route(
        *operation("getRunTree"),
        "Get a run with its child runs and forks, and theirs: each run before its children, then its forks.",
        scope="runs:read",
        response="run-tree",
        params=(
            integer_parameter("limit", 1, MAX_TREE_RUNS, f"Maximum number of runs, {DEFAULT_TREE_RUNS} by default."),
        ),
    ),
    _fork(
        *operation("retryRun"),
        "Retry a failed run: a branch from before the failure that runs the failed node again.",
        request="retry-run",
        body_optional=True,
    ),
    *REVIEW_ROUTES,
    *BUNDLE_ROUTES,
    Route(
        *operation("listWorkflows"),
        "List the workflows that the tenant can start, sorted by id.",
        scope="manifest:read",
        response="workflow-list",
        params=(page_limit("Workflows"), page_cursor()),
    ),
    _register(
        *operation("registerWorkflow"),
        "Register a workflow or a new version of it for the tenant.",
        request="workflow-definition",
    ),
    _register(
        *operation("registerSampleWorkflow"),
        "Register a workflow; also accepts the short form of the conformance suite and of example programs.",
        request="register-sample-workflow",
        test_only=True,
    ),
    Route(
        *operation("listNodeTypes"),
        "List the node types of this host, sorted by id.",
        scope="manifest:read",
        response="node-type-list",
    ),
    Route(*operation("getNodeType"), "Get a node type with its schemas.", scope="manifest:read", response="node-type"),
    *FETCH_TEST_ROUTES,
    *MODEL_TEST_ROUTES,
    *ENVELOPE_ROUTES,
    *ASSET_ROUTES,
)

UNVERSIONED_NAMES: Final[frozenset[str]] = frozenset(
    "runs workflows interrupts webhooks agents prompts tools audit packs mcp a2a openapi.json".split()
)
"""wire-01 (readings, Paths): first path segments that return 400 if the /v1 prefix is missing."""

SEGMENT_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "nodeId": is_node_id,
    "schemaFile": is_schema_file,
    "surfaceId": is_surface_id,
    "actionId": is_component_id,
}
"""The checks of path parameters that are not plain ids."""
WITH_COLON: Final = frozenset({"nodeId", "token", "surfaceId", "actionId"})
"""Path parameters whose text may have a colon. After any other segment, a colon starts a verb."""

LONG_POLLS: Final = frozenset({"pollRunEvents"})
"""Operations that wait for events."""

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
"""wire-02 (OpenWOP rest-endpoints): paths of optional features that this host does not offer; they return 501."""


def split_path(path: str) -> tuple[list[str], str]:
    """wire-03 (OpenWOP rest-endpoints): the segments of a path, and the verb after the last colon of the last
    segment."""
    segments = path.split("/")[1:]
    name, colon, verb = segments[-1].rpartition(":")
    if colon:
        segments[-1] = name
    return segments, verb if colon else ""
