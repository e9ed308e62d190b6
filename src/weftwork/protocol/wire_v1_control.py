"""Operations that steer runs. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import IDEMPOTENCY, Route

CONTROL: Final[tuple[Route, ...]] = (
    Route(
        "bulkCancelRuns",
        "POST",
        "/v1/runs:bulk-cancel",
        "Cancel up to 100 runs; each has its own entry in the answer.",
        scope="runs:cancel",
        request="bulk-cancel",
        response="bulk-cancel-response",
        params=(IDEMPOTENCY,),
        errors=("idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        "deleteRun",
        "DELETE",
        "/v1/runs/{runId}",
        "Delete an ended run with everything that belongs to it.",
        scope="runs:delete",
        ok=204,
        params=(IDEMPOTENCY,),
        errors=("not_found", "conflict", "service_unavailable"),
    ),
)
