"""Operations on single runs: pause, resume, artifacts. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import IDEMPOTENCY, Route

STEERING: Final[tuple[Route, ...]] = (
    Route(
        "pauseRun",
        "POST",
        "/v1/runs/{runId}:pause",
        "Pause a run, at once or when the nodes that run have ended.",
        scope="runs:cancel",
        ok=202,
        request="pause-run",
        response="pause-run-response",
        params=(IDEMPOTENCY,),
        errors=("not_found", "conflict", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        "resumeRun",
        "POST",
        "/v1/runs/{runId}:resume",
        "Let a paused run go on.",
        scope="runs:cancel",
        ok=202,
        request="resume-run",
        response="resume-run-response",
        params=(IDEMPOTENCY,),
        errors=("not_found", "conflict", "idempotency_key_mismatch", "service_unavailable"),
    ),
    Route(
        "getArtifact",
        "GET",
        "/v1/runs/{runId}/artifacts/{artifactId}",
        "Something that a run made.",
        scope="artifacts:read",
        response="artifact",
        errors=("not_found",),
    ),
    Route(
        "setVariables",
        "POST",
        "/v1/host/sample/test/runs/{runId}/variables",
        "Set variables of a run, for what comes after the node at which it stands.",
        scope="runs:create",
        request="set-variables",
        response="set-variables-response",
        errors=("not_found", "conflict", "service_unavailable"),
        seam=True,
    ),
)
