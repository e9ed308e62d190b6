"""The method and path of every OpenWOP v1 operation, by operation id.

This is the only place that contains the paths: the route tables, the `Location` headers of the HTTP adapter and the
requests of the command line all use it. The module imports nothing else of weftwork, because the route tables would
add about 40 modules to the start-up of the command line.
"""

import re
from typing import Final
from urllib.parse import quote

VERSION_PREFIX: Final = "/v1"
"""The prefix of every versioned path. Requests below it need an API key, unless the operation is public."""
SAMPLE_PREFIX: Final = "/v1/host/sample/"
"""The prefix of the paths that the conformance suite uses for test endpoints."""

PATHS: Final[dict[str, tuple[str, str]]] = {
    "getCapabilities": ("GET", "/.well-known/openwop"),
    "getOpenApiSpec": ("GET", "/v1/openapi.json"),
    "getHealth": ("GET", "/health"),
    "getReadiness": ("GET", "/readiness"),
    "getWorkflow": ("GET", "/v1/workflows/{workflowId}"),
    "createRun": ("POST", "/v1/runs"),
    "listRuns": ("GET", "/v1/runs"),
    "getRun": ("GET", "/v1/runs/{runId}"),
    "cancelRun": ("POST", "/v1/runs/{runId}/cancel"),
    "streamRunEvents": ("GET", "/v1/runs/{runId}/events"),
    "pollRunEvents": ("GET", "/v1/runs/{runId}/events/poll"),
    "pauseRun": ("POST", "/v1/runs/{runId}:pause"),
    "resumeRun": ("POST", "/v1/runs/{runId}:resume"),
    "forkRun": ("POST", "/v1/runs/{runId}:fork"),
    "getArtifact": ("GET", "/v1/runs/{runId}/artifacts/{artifactId}"),
    "setVariables": ("POST", "/v1/host/sample/test/runs/{runId}/variables"),
    "listRunInterrupts": ("GET", "/v1/runs/{runId}/interrupts"),
    "resolveInterruptByRun": ("POST", "/v1/runs/{runId}/interrupts/{nodeId}"),
    "resolveApproval": ("POST", "/v1/runs/{runId}/approvals/{nodeId}"),
    "inspectInterruptByToken": ("GET", "/v1/interrupts/{token}"),
    "resolveInterruptByToken": ("POST", "/v1/interrupts/{token}"),
    "listInterrupts": ("GET", "/v1/host/weftwork/interrupts"),
    "createInterruptLink": ("POST", "/v1/host/weftwork/runs/{runId}/interrupts/{nodeId}/links"),
    "getOrganisationLogo": ("GET", "/v1/host/weftwork/organisation/logo"),
    "getSurface": ("GET", "/v1/host/weftwork/runs/{runId}/surfaces/{surfaceId}"),
    "actOnSurface": ("POST", "/v1/host/weftwork/runs/{runId}/surfaces/{surfaceId}/actions/{actionId}"),
    "getSurfaceByToken": ("GET", "/v1/host/weftwork/interrupts/{token}/surface"),
    "actOnSurfaceByToken": ("POST", "/v1/host/weftwork/interrupts/{token}/actions/{actionId}"),
    "getSurfaceModule": ("GET", "/v1/host/weftwork/weftwork-surface.js"),
    "bulkCancelRuns": ("POST", "/v1/runs:bulk-cancel"),
    "deleteRun": ("DELETE", "/v1/runs/{runId}"),
    "getRunAncestry": ("GET", "/v1/runs/{runId}/ancestry"),
    "getRunTree": ("GET", "/v1/host/weftwork/runs/{runId}/tree"),
    "retryRun": ("POST", "/v1/host/weftwork/runs/{runId}/retry"),
    "createAnnotation": ("POST", "/v1/runs/{runId}/annotations"),
    "listAnnotations": ("GET", "/v1/runs/{runId}/annotations"),
    "importRun": ("POST", "/v1/host/weftwork/runs:import"),
    "diffRun": ("GET", "/v1/runs/{runId}:diff"),
    "diffRunOutcome": ("GET", "/v1/host/weftwork/runs/{runId}/outcome-diff"),
    "getDebugBundle": ("GET", "/v1/runs/{runId}/debug-bundle"),
    "listTestEvents": ("GET", "/v1/host/sample/test/runs/{runId}/events"),
    "scrapeSpans": ("GET", "/v1/host/sample/test/otel/spans"),
    "exportDebugBundle": ("POST", "/v1/host/sample/test/debug-bundle/export"),
    "resetSeams": ("POST", "/v1/host/sample/test/reset"),
    "listWorkflows": ("GET", "/v1/workflows"),
    "registerWorkflow": ("POST", "/v1/workflows"),
    "registerSampleWorkflow": ("POST", "/v1/host/sample/workflows"),
    "listNodeTypes": ("GET", "/v1/host/weftwork/node-types"),
    "getNodeType": ("GET", "/v1/host/weftwork/node-types/{typeId}"),
    "safeFetch": ("POST", "/v1/host/sample/http/safe-fetch"),
    "callAi": ("POST", "/v1/host/sample/ai/call"),
    "programMockAi": ("POST", "/v1/host/sample/test/mock-ai/program"),
    "getMockAiBudget": ("GET", "/v1/host/sample/test/mock-ai/last-dispatch-budget"),
    "evaluateModelGate": ("POST", "/v1/host/sample/test/evaluate-model-capability-gate"),
    "listNodeCatalog": ("GET", "/v1/host/sample/node-catalog"),
    "getModelCacheKey": ("POST", "/v1/host/sample/test/llm-cache-key"),
    "resolvePrompts": ("POST", "/v1/host/sample/prompt/resolve"),
    "composePrompts": ("POST", "/v1/host/sample/prompt/compose"),
    "getSchema": ("GET", "/schemas/{schemaFile}"),
    "getEnvelopeSchema": ("GET", "/schemas/envelopes/{schemaFile}"),
    "acceptEnvelope": ("POST", "/v1/host/sample/envelope/accept"),
    "toggleCapability": ("POST", "/v1/host/sample/test/capability-toggle"),
    "wrapPrompt": ("POST", "/v1/host/sample/test/llm-prompt-wrap"),
    "emitEnvelopeReliability": ("POST", "/v1/host/sample/test/emit-envelope-reliability"),
    "emitSurface": ("POST", "/v1/host/sample/a2ui/emit-surface"),
    "uploadAsset": ("POST", "/v1/host/weftwork/assets"),
    "listAssets": ("GET", "/v1/host/weftwork/assets"),
    "getAsset": ("GET", "/v1/host/weftwork/assets/{token}"),
    "getSampleAsset": ("GET", "/v1/host/sample/assets/{token}"),
    "putMedia": ("POST", "/v1/host/sample/media/put"),
}
"""Operation id -> method and path, in the order of the route tables."""

_PARAMETER: Final = re.compile(r"\{(\w+)\}")


def operation(operation_id: str) -> tuple[str, str, str]:
    """Id, method and path of an operation: the first arguments of its `Route`."""
    return (operation_id, *PATHS[operation_id])


def path_for(operation_id: str, **parameters: str) -> str:
    """The path of an operation with its parameters filled in, each percent-encoded as one segment.

    Parameters have the names of the table: `path_for("getRun", runId=run_id)`. Raises KeyError for an unknown operation
    or a missing parameter and TypeError for a parameter that the path does not have: both are bugs of the caller.
    """
    template = PATHS[operation_id][1]
    path = _PARAMETER.sub(lambda found: quote(parameters[found[1]], safe=""), template)
    if unknown := parameters.keys() - set(_PARAMETER.findall(template)):
        raise TypeError(f"{template} has no parameter {', '.join(sorted(unknown))}")
    return path


def run_urls(run_id: str) -> dict[str, str]:
    """The paths of a new run, as the responses that announce it name them."""
    events, status = PATHS["streamRunEvents"][1], PATHS["getRun"][1]
    return {"eventsUrl": events.replace("{runId}", run_id), "statusUrl": status.replace("{runId}", run_id)}


def path_prefix(operation_id: str) -> str:
    return PATHS[operation_id][1].partition("{")[0]


def method_and_path(operation_id: str) -> str:
    """An operation as messages name it, such as `GET /v1/runs`."""
    method, path = PATHS[operation_id]
    return f"{method} {path}"


PROBE_PATHS: Final = frozenset({path_for("getHealth"), path_for("getReadiness")})
"""What monitors and load balancers request, under any name or address of the host."""
