"""Operations on workflow definitions beyond reading one, and on node types."""

from typing import Final

from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, Route, page_cursor, page_limit
from weftwork.protocol.wire.v1.paths import operation

_REGISTRATION_ERRORS: Final[tuple[str, ...]] = (
    "workflow_version_conflict",
    "workflow_limit_reached",
    "idempotency_key_mismatch",
    "capability_required",
)

WORKFLOW_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("listWorkflows"),
        "The workflows that the tenant can start, by id.",
        scope="manifest:read",
        response="workflow-list",
        params=(
            page_limit("Workflows"),
            page_cursor(),
        ),
    ),
    Route(
        *operation("registerWorkflow"),
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
        *operation("registerSampleWorkflow"),
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
        *operation("listNodeTypes"),
        "The node types that definitions can use, by id.",
        scope="manifest:read",
        response="node-type-list",
    ),
    Route(*operation("getNodeType"), "One node type, with its schemas.", scope="manifest:read", response="node-type"),
)
