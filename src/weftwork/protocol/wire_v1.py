"""OpenWOP v1 as a table: paths, operation ids, scopes, parameters, schemas. The only place that knows v1 paths.

Routing and the OpenAPI document are both made from ROUTES, so neither can know an operation that the
other does not. Source: OpenWOP rest-endpoints.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.run import STATUSES
from weftwork.protocol.streams import CURSOR_PATTERN, MAX_BUFFER_MS

SCOPES: Final[tuple[str, ...]] = (
    "manifest:read",
    "runs:create",
    "runs:read",
    "runs:cancel",
    "artifacts:read",
    "webhooks:manage",
    "approvals:respond",
    "packs:publish",
    "packs:yank",
    "packs:yank-revert",
    "audit:read",
    "workspace:read",
    "workspace:write",
    "prompts:read",
    "prompts:write",
)
"""auth-04 (OpenWOP auth): the scope vocabulary; no scope implies another."""

REPLAY_HEADER: Final = "openwop-Idempotent-Replay"
MAX_PAGE: Final = 200
MAX_EVENTS: Final = 10_000
MAX_CURSOR: Final = 2**53 - 1
POLL_SECONDS: Final = 30
MAX_POLL_SECONDS: Final = 60


class Param(msgspec.Struct, frozen=True):
    """A query or header parameter; `schema` is its JSON Schema."""

    name: str
    schema: dict[str, Any]
    text: str
    where: Literal["query", "header"] = "query"


class Route(msgspec.Struct, frozen=True):
    """One operation. `scope` None means public; `seam` routes exist only with --test-seams."""

    operation: str
    method: str
    path: str
    text: str
    scope: str | None = None
    ok: int = 200
    request: str | None = None
    response: str | None = None
    params: tuple[Param, ...] = ()
    errors: tuple[str, ...] = ()
    seam: bool = False
    stream: bool = False


_TEXT: Final[dict[str, Any]] = {"type": "string"}
_SEQUENCE: Final[dict[str, Any]] = {"type": "integer", "minimum": -1, "maximum": MAX_CURSOR}
_IDEMPOTENCY = Param(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "Repeating a request with the same key and body gives the first outcome again.",
    "header",
)
_DEDUP = Param("X-Dedup", {"enum": ["enforce"]}, "Refuse when a run of the same scopeId is live.", "header")
_CURSOR_HEADER = Param(
    "Last-Event-ID",
    {"type": "string", "pattern": f"^({CURSOR_PATTERN})?$"},
    "Resume after this id.",
    "header",
)
_NOT_MODIFIED = Param("If-None-Match", _TEXT, "Answers 304 when the document is unchanged.", "header")

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "getCapabilities",
        "GET",
        "/.well-known/openwop",
        "What this host offers.",
        response="capabilities",
        params=(_NOT_MODIFIED,),
    ),
    Route("getOpenApiSpec", "GET", "/v1/openapi.json", "This interface as OpenAPI 3.1.", params=(_NOT_MODIFIED,)),
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
        params=(_IDEMPOTENCY, _DEDUP),
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
            Param("workflowId", _TEXT, "Only runs of this workflow."),
            Param("tag", {"type": "array", "items": _TEXT}, "Only runs with this tag; repeated: with all of them."),
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
        params=(_IDEMPOTENCY,),
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
            _CURSOR_HEADER,
            Param("lastEventId", _CURSOR_HEADER.schema, "Last-Event-ID for clients that cannot set headers."),
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
            Param("lastSequence", _SEQUENCE, "Highest sequence already seen."),
            Param("since", _SEQUENCE, "Older name of lastSequence."),
            Param(
                "timeout",
                {"type": "integer", "minimum": 1, "maximum": MAX_POLL_SECONDS},
                f"Seconds to wait, {POLL_SECONDS} by default.",
            ),
        ),
        errors=("not_found", "rate_limited"),
    ),
    Route(
        "scrapeSpans",
        "GET",
        "/v1/host/sample/test/otel/spans",
        "Spans of a run, projected from its log.",
        scope="runs:read",
        params=(Param("runId", _TEXT, "The run."), Param("name", _TEXT, "Only spans of this name.")),
        seam=True,
    ),
)

UNVERSIONED: Final[frozenset[str]] = frozenset(
    """
    runs workflows interrupts webhooks agents prompts tools audit packs mcp a2a openapi.json
    """.split()
)
"""wire-01 (readings, Paths): protocol names that answer 400 when the /v1 prefix is missing."""

UNOFFERED: Final[tuple[str, ...]] = (
    "/v1/runs/{runId}/annotations",
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
