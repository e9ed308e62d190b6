"""Operations on workflow definitions beyond reading one, and on node types."""

from typing import Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, MAX_PAGE, Parameter, Route
from weftwork.protocol.wire.v1.paths import PATHS

_REGISTRATION_ERRORS: Final[tuple[str, ...]] = (
    "workflow_version_conflict",
    "workflow_limit_reached",
    "idempotency_key_mismatch",
    "capability_required",
)

WORKFLOW_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "listWorkflows",
        *PATHS["listWorkflows"],
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
        *PATHS["registerWorkflow"],
        "Register a workflow, or a new version of one, for the tenant.",
        scope="manifest:write",
        success_status=201,
        other_success_statuses=(200,),
        request="workflow-definition",
        body_required=True,
        response="register-workflow-response",
        params=(IDEMPOTENCY_KEY,),
        errors=_REGISTRATION_ERRORS,
    ),
    Route(
        "registerSampleWorkflow",
        *PATHS["registerSampleWorkflow"],
        "The same, also for the shorter bodies of the conformance suite and of example programs.",
        scope="manifest:write",
        success_status=201,
        other_success_statuses=(200,),
        request="register-sample-workflow",
        body_required=True,
        response="register-workflow-response",
        params=(IDEMPOTENCY_KEY,),
        errors=_REGISTRATION_ERRORS,
        test_only=True,
    ),
)


NODE_TYPE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "listNodeTypes",
        *PATHS["listNodeTypes"],
        "The node types that definitions can use, by id.",
        scope="manifest:read",
        response="node-type-list",
    ),
    Route(
        "getNodeType",
        *PATHS["getNodeType"],
        "One node type, with its schemas.",
        scope="manifest:read",
        response="node-type",
    ),
)
