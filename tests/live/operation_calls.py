"""How each operation of the wire is called once, by the matrix of keys and routes."""

from itertools import count
from typing import Any, NamedTuple

from tests.live.workflows import delays

UNKNOWN_ID = "01zzzzzzzzzzzzzzzzzzzzzzzz"
RUN = {"workflowId": "conformance-noop", "tags": ["matrix"]}
VERSIONS = count()
TIME = "2026-01-31T08:05:09.042Z"
BUNDLE = {
    "bundleVersion": "1.0",
    "generatedAt": TIME,
    "host": {"name": "matrix", "version": "1"},
    "redactionApplied": True,
    "redactionMode": "mask",
    "run": {"runId": "there-1", "workflowId": "matrix", "status": "completed"},
    "events": [
        {"eventId": "e-0", "runId": "there-1", "type": "run.started", "sequence": 0, "timestamp": TIME}
        | {"payload": {"workflowId": "matrix"}},
        {"eventId": "e-1", "runId": "there-1", "type": "run.completed", "sequence": 1, "timestamp": TIME}
        | {"payload": {"outputs": {}}},
    ],
}
REFUSAL = {"nodeId": "n", "provider": "p", "model": "m"}


def new_definition() -> dict[str, Any]:
    return {**delays("matrix", 0), "version": str(next(VERSIONS))}


class OperationCall(NamedTuple):
    """How the matrix calls one operation. `ids` says what the id in its path names; a function makes the document."""

    ids: str = ""
    document: Any = None
    query: str = ""
    found: int = 200


CALLS: dict[str, OperationCall] = {
    **dict.fromkeys(
        ("getCapabilities", "getOpenApiSpec", "getHealth", "getReadiness", "getSurfaceModule"), OperationCall()
    ),
    "getOrganisationLogo": OperationCall(found=404),
    **dict.fromkeys(("listWorkflows", "listRuns", "listInterrupts", "listNodeTypes"), OperationCall()),
    **dict.fromkeys(
        ("getRun", "listRunInterrupts", "getArtifact", "listAnnotations", "streamRunEvents"), OperationCall("run")
    ),
    **dict.fromkeys(("getRunAncestry", "getRunTree"), OperationCall("run")),
    "getWorkflow": OperationCall("workflow"),
    "registerWorkflow": OperationCall(document=new_definition, found=201),
    "registerSampleWorkflow": OperationCall(document=new_definition, found=201),
    "createRun": OperationCall(document=RUN, found=201),
    "cancelRun": OperationCall("run", document={"reason": "matrix"}),
    "pauseRun": OperationCall("run", document={"reason": "matrix"}, found=409),
    "resumeRun": OperationCall("run", document={"reason": "matrix"}, found=409),
    "forkRun": OperationCall("run", document={"mode": "branch", "fromSeq": 0}, found=201),
    "retryRun": OperationCall("run", document={}, found=409),
    "resolveInterruptByRun": OperationCall("run", document={"resumeValue": 1}, found=404),
    "resolveApproval": OperationCall("run", document={"action": "accept"}, found=404),
    "createInterruptLink": OperationCall("run", document={}, found=404),
    "inspectInterruptByToken": OperationCall(found=404),
    "resolveInterruptByToken": OperationCall(document={"resumeValue": 1}, found=404),
    "getSurface": OperationCall("run", found=404),
    "actOnSurface": OperationCall("run", document={"values": {}}, found=404),
    "getSurfaceByToken": OperationCall(found=404),
    "actOnSurfaceByToken": OperationCall(document={"values": {}}, found=404),
    "bulkCancelRuns": OperationCall(document={"runIds": [UNKNOWN_ID]}),
    "deleteRun": OperationCall("run", found=204),
    "createAnnotation": OperationCall("run", document={"signal": {"kind": "flag"}}, found=201),
    "importRun": OperationCall(document=BUNDLE, found=201),
    "diffRun": OperationCall("run", query="?against={id}"),
    "diffRunOutcome": OperationCall("run", query="?against={id}"),
    "pollRunEvents": OperationCall("run", query="?timeout=1"),
    "getDebugBundle": OperationCall("run"),
    "listTestEvents": OperationCall("run"),
    "scrapeSpans": OperationCall("run", query="?runId={id}"),
    "exportDebugBundle": OperationCall(document={"runId": UNKNOWN_ID}),
    "resetSeams": OperationCall(document={}),
    "getNodeType": OperationCall("type"),
    "safeFetch": OperationCall(document={"url": "https://127.0.0.1/"}),
    "callAi": OperationCall(document={"messages": [{"role": "user", "content": "matrix"}]}),
    "programMockAi": OperationCall(document={"nodeId": "n", "program": []}),
    "getMockAiBudget": OperationCall(query="?nodeId=n"),
    **dict.fromkeys(("getSchema", "getEnvelopeSchema"), OperationCall()),
    "acceptEnvelope": OperationCall(document={"envelope": {}}),
    "toggleCapability": OperationCall(document={"name": "matrix", "value": None}),
    "wrapPrompt": OperationCall(document={"payload": 1}),
    "evaluateModelGate": OperationCall(document={"activeProvider": "p", "activeModel": "m"}),
    "listNodeCatalog": OperationCall(),
    "getModelCacheKey": OperationCall(document={"provider": "p", "model": "m", "messages": []}),
    **dict.fromkeys(("resolvePrompts", "composePrompts"), OperationCall(document={})),
    "emitEnvelopeReliability": OperationCall(
        document={"runId": UNKNOWN_ID, "type": "envelope.refusal", "payload": REFUSAL}
    ),
    "emitSurface": OperationCall(
        document={"runId": "matrix-surface", "surface": {"catalogVersion": "0.9.1", "surface": {"components": []}}}
    ),
    "setVariables": OperationCall("run", document={"variables": {"known": 1}}, found=409),
    "uploadAsset": OperationCall(document={"any": "bytes"}, found=201),
    "listAssets": OperationCall(),
    **dict.fromkeys(("getAsset", "getSampleAsset"), OperationCall(found=404)),
    "putMedia": OperationCall(document={"contentBase64": "bWF0cml4", "contentType": "text/plain"}, found=201),
}
