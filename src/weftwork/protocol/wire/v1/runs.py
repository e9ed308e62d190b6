"""Operations on runs beyond create, read and cancel: pause, resume, artifacts, bulk cancel, delete, run tree."""

from typing import Final

from weftwork.protocol.run.child_runs import DEFAULT_TREE_RUNS, MAX_TREE_RUNS
from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, Route, integer_parameter
from weftwork.protocol.wire.v1.paths import operation

RUN_STATE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("pauseRun"),
        "Pause a run, at once or when the nodes that run have ended.",
        scope="runs:cancel",
        success_status=202,
        request="pause-run",
        response="pause-run-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("not_found", "conflict", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        *operation("resumeRun"),
        "Let a paused run go on.",
        scope="runs:cancel",
        success_status=202,
        request="resume-run",
        response="resume-run-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("not_found", "conflict", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        *operation("getArtifact"),
        "Something that a run made.",
        scope="artifacts:read",
        response="artifact",
        errors=("not_found",),
    ),
    Route(
        *operation("setVariables"),
        "Set variables of a run, for what comes after the node at which it stands.",
        scope="runs:create",
        request="set-variables",
        response="set-variables-response",
        errors=("not_found", "conflict", "service_unavailable"),
        test_only=True,
    ),
)


RUN_ADMIN_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("bulkCancelRuns"),
        "Cancel up to 100 runs; each has its own entry in the answer.",
        scope="runs:cancel",
        request="bulk-cancel",
        body_required=True,
        response="bulk-cancel-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        *operation("deleteRun"),
        "Delete an ended run with everything that belongs to it.",
        scope="runs:delete",
        success_status=204,
        params=(IDEMPOTENCY_KEY,),
        errors=("not_found", "conflict", "service_unavailable"),
    ),
)


RUN_TREE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("getRunAncestry"),
        "Which run started this one.",
        scope="runs:read",
        response="run-ancestry-response",
        errors=("not_found",),
    ),
    Route(
        *operation("getRunTree"),
        "A run and those below it: each parent before its children, siblings in the order of their creation.",
        scope="runs:read",
        response="run-tree",
        params=(integer_parameter("limit", 1, MAX_TREE_RUNS, f"Runs in the answer, {DEFAULT_TREE_RUNS} by default."),),
        errors=("not_found",),
    ),
)
