"""Operations on workflow definitions beyond reading one. Part of the table in wire_v1.

Operations on node types. Part of the table in wire_v1.
"""

from typing import Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, MAX_PAGE, Parameter, Route

_REGISTRATION_ERRORS: Final[tuple[str, ...]] = (
    "workflow_version_conflict",
    "workflow_limit_reached",
    "idempotency_key_mismatch",
    "capability_required",
)

WORKFLOW_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "listWorkflows",
        "GET",
        "/v1/workflows",
        "The workflows that the tenant can start, by id.",
        scope="manifest:read",
        response="workflow-list",
        params=(
            Parameter(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
                "Workflows per page, 50 by default.",
            ),
            Parameter("cursor", {"type": "string", "pattern": ID_PATTERN}, "nextCursor of the page before."),
        ),
    ),
    Route(
        "registerWorkflow",
        "POST",
        "/v1/workflows",
        "Register a workflow, or a new version of one, for the tenant.",
        scope="manifest:write",
        success_status=201,
        other_success_statuses=(200,),
        request="workflow-definition",
        response="register-workflow-response",
        params=(IDEMPOTENCY_KEY,),
        errors=_REGISTRATION_ERRORS,
    ),
    Route(
        "registerSampleWorkflow",
        "POST",
        "/v1/host/sample/workflows",
        "The same, also for the shorter bodies of the conformance suite and of example programs.",
        scope="manifest:write",
        success_status=201,
        other_success_statuses=(200,),
        request="register-sample-workflow",
        response="register-workflow-response",
        params=(IDEMPOTENCY_KEY,),
        errors=_REGISTRATION_ERRORS,
        test_only=True,
    ),
)


NODE_TYPE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "listNodeTypes",
        "GET",
        "/v1/host/weftwork/node-types",
        "The node types that definitions can use, by id.",
        scope="manifest:read",
        response="node-type-list",
    ),
    Route(
        "getNodeType",
        "GET",
        "/v1/host/weftwork/node-types/{typeId}",
        "One node type, with its schemas.",
        scope="manifest:read",
        response="node-type",
    ),
)
