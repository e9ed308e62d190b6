"""How each operation of the wire is called once, by the matrix of keys and routes."""

from itertools import count
from typing import Any, NamedTuple

from tests.live.workflows import delays

RANDOM = "01zzzzzzzzzzzzzzzzzzzzzzzz"
RUN = {"workflowId": "conformance-noop", "tags": ["matrix"]}
VERSIONS = count()
REFUSAL = {"nodeId": "n", "provider": "p", "model": "m"}


def flow() -> dict[str, Any]:
    """A definition that nobody has registered before."""
    return {**delays("matrix", 0), "version": str(next(VERSIONS))}


class Call(NamedTuple):
    """How the matrix calls one operation. `ids` says what the id in its path names; a function makes the document."""

    ids: str = ""
    document: Any = None
    query: str = ""
    found: int = 200


CALLS: dict[str, Call] = {
    **dict.fromkeys(("getCapabilities", "getOpenApiSpec", "getHealth", "getReadiness"), Call()),
    **dict.fromkeys(("listWorkflows", "listRuns", "listInterrupts", "listNodeTypes"), Call()),
    **dict.fromkeys(("getRun", "listRunInterrupts", "getArtifact", "listAnnotations", "streamRunEvents"), Call("run")),
    **dict.fromkeys(("getRunAncestry", "getRunTree"), Call("run")),
    "getWorkflow": Call("workflow"),
    "registerWorkflow": Call(document=flow, found=201),
    "registerSampleWorkflow": Call(document=flow, found=201),
    "createRun": Call(document=RUN, found=201),
    "cancelRun": Call("run", document={"reason": "matrix"}),
    "pauseRun": Call("run", document={"reason": "matrix"}, found=409),
    "resumeRun": Call("run", document={"reason": "matrix"}, found=409),
    "resolveInterruptByRun": Call("run", document={"resumeValue": 1}, found=404),
    "resolveApproval": Call("run", document={"action": "accept"}, found=404),
    "createInterruptLink": Call("run", document={}, found=404),
    "inspectInterruptByToken": Call(found=404),
    "resolveInterruptByToken": Call(document={"resumeValue": 1}, found=404),
    "bulkCancelRuns": Call(document={"runIds": [RANDOM]}),
    "deleteRun": Call("run", found=204),
    "createAnnotation": Call("run", document={"signal": {"kind": "flag"}}, found=201),
    "diffRun": Call("run", query="?against={id}"),
    "pollRunEvents": Call("run", query="?timeout=1"),
    "getDebugBundle": Call("run"),
    "listTestEvents": Call("run"),
    "scrapeSpans": Call("run", query="?runId={id}"),
    "exportDebugBundle": Call(document={"runId": RANDOM}),
    "resetSeams": Call(document={}),
    "getNodeType": Call("type"),
    "safeFetch": Call(document={"url": "https://127.0.0.1/"}),
    "callAi": Call(document={"messages": [{"role": "user", "content": "matrix"}]}),
    "programMockAi": Call(document={"nodeId": "n", "program": []}),
    "getMockAiBudget": Call(query="?nodeId=n"),
    **dict.fromkeys(("getSchema", "getEnvelopeSchema"), Call()),
    "acceptEnvelope": Call(document={"envelope": {}}),
    "toggleCapability": Call(document={"name": "matrix", "value": None}),
    "wrapPrompt": Call(document={"payload": 1}),
    "emitEnvelopeReliability": Call(document={"runId": RANDOM, "type": "envelope.refusal", "payload": REFUSAL}),
    "setVariables": Call("run", document={"variables": {"known": 1}}, found=409),
    "uploadAsset": Call(document={"any": "bytes"}, found=201),
    "listAssets": Call(),
    **dict.fromkeys(("getAsset", "getSampleAsset"), Call(found=404)),
    "putMedia": Call(document={"contentBase64": "bWF0cml4", "contentType": "text/plain"}, found=201),
}
