"""The OpenAPI document against a real host, by generated requests: what it does not say never happens."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL, edge, node
from tests.live import KEY, Host, start_host
from tests.live.steering import cancel, flow, interrupt_node, register

EXAMPLES = 400 if FULL else 4
SECONDS = 3600 if FULL else 900
FLOW = "conformance-noop"

CHECKS = (
    "not_a_server_error status_code_conformance content_type_conformance response_headers_conformance "
    "response_schema_conformance negative_data_rejection positive_data_acceptance missing_required_header "
    "unsupported_method allow_header_conformance use_after_free ensure_resource_availability ignored_auth "
    "object_level_authorization"
).split()
BEYOND_SCHEMA: dict[str, str] = {
    "registerWorkflow": "A definition must hold together: references, node types, one content for each version.",
    "registerSampleWorkflow": "As registerWorkflow.",
    "callAi": "Parts must be of a shape that has its own order of checks.",
    "programMockAi": "An entry must say one thing.",
    "forkRun": "The fork point must be in the log, and only a branch has options.",
    "retryRun": "The run must have failed, or the node have started.",
    "importRun": "The bundle must be one of a whole run.",
    "setVariables": "They must be variables of that run.",
    "createAnnotation": "What is meant must be there, and the whole has a bound.",
    "resolveInterruptByRun": "Any value is an answer, within the bounds of what JSON may be here (json-01).",
    "resolveApproval": "As resolveInterruptByRun.",
    "resolveInterruptByToken": "As resolveInterruptByRun.",
    "acceptEnvelope": "Any value is judged, within the bounds of what JSON may be here (json-01).",
    "wrapPrompt": "As acceptEnvelope.",
    "evaluateModelGate": "Other members may have any value, within the bounds of what JSON may be here (json-01).",
    "resolvePrompts": "The template of a reference must be there.",
    "composePrompts": "As resolvePrompts, and its variables must have values of their types.",
    "emitEnvelopeReliability": "The payload must be one of its type.",
    "emitSurface": "The payload must be a surface.",
    "getAsset": "A range must be one of the asset.",
    "getSampleAsset": "As getAsset.",
    "uploadAsset": "The digests that are generated are not those of the bytes that are.",
    "putMedia": "A text of the schema need not be base64.",
    "createRun": "The workflow must be there and take these inputs, and metadata must be small and shallow.",
}
"""Operations that refuse what their schema allows, which no schema can say."""
SELDOM_FOUND = (
    "registerWorkflow registerSampleWorkflow setVariables diffRun diffRunOutcome inspectInterruptByToken "
    "resolveInterruptByToken emitEnvelopeReliability emitSurface getSchema getEnvelopeSchema getAsset getSampleAsset "
    "uploadAsset putMedia"
).split()
"""Operations that are asked for what no generated request names: two runs that are there, a token, a schema."""
MORE = {
    "uploadAsset": "checks.negative_data_rejection.enabled = false",
    # 501 is the documented answer to `mode: "eval"`, a form of the published schema that this host does not offer.
    "createRun": 'checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501"]',
}


def _operation(name: str) -> list[str]:
    lines = ["[[operations]]", f'include-operation-id = "{name}"']
    lines += ["checks.positive_data_acceptance.enabled = false"] * (name in BEYOND_SCHEMA)
    return [*lines, *["warnings = false"] * (name in SELDOM_FOUND), MORE.get(name, "")]


CONFIG = "\n".join(
    [
        # NUL is refused in every text and name (json-01), which no schema can say; the corpora send it instead.
        *("[generation]", "allow-x00 = false", "[parameters]", f'"path.workflowId" = "{FLOW}"', "[checks]"),
        *(f"{name}.enabled = true" for name in CHECKS),
        *(line for name in sorted({*BEYOND_SCHEMA, *SELDOM_FOUND}) for line in _operation(name)),
    ]
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("interface")
    with start_host(folder, "--conformance", "--test-seams", store="memory") as host:
        yield host
        assert "request failed" not in host.errors
        assert "Traceback" not in host.errors


def fuzz(folder: Path, host: Host, document: Any, *more: str) -> tuple[int, str]:
    """Exit code and report of a run with every check."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    (folder / "openapi.json").write_text(json.dumps(document))
    command = [sys.executable, "-m", "schemathesis.cli", "run", "openapi.json", "--url", host.address]
    command += ["--header", f"Authorization: Bearer {KEY}", "--seed", "1", "--max-examples", str(EXAMPLES)]
    command += ["--request-timeout", "10", "--continue-on-failure", "--no-color", *more]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def served(host: Host) -> Any:
    return host.call("GET", "/v1/openapi.json").document


def narrowed(host: Host) -> Any:
    """The document for a caller with one workflow, so that most generated runs are really created."""
    document = served(host)
    shape = document["components"]["schemas"]["create-run"]
    routing = shape["$defs"]["Routing"]
    for name in ("mode", "evalSuiteRef", "agentId"):
        del shape["properties"][name], routing["properties"][name]
    for name in ("if", "then", "else"):
        del routing[name]
    routing["properties"]["workflowId"] = {"const": FLOW}
    routing["required"] = ["workflowId"]
    return document


def steering(host: Host) -> Any:
    """The document for a caller with one run, which asks again and again, and whose artifact is there."""
    again = edge("ask", "ask", condition={"type": "expression", "expression": "true"})
    made = node("made", "core.artifact.emit", config={"artifactType": "t", "data": 1})
    settings = {"maxLoopbackIterations": 100_000}
    run_id = host.create(
        register(host, flow("steered", [made, interrupt_node("ask"), node("b")], [again], settings=settings))
    )
    names = {"runId": run_id, "nodeId": "ask", "artifactId": "made"}
    document = served(host)
    steered = [path for path in document["paths"] if path.endswith((":pause", ":resume", "{nodeId}", "{artifactId}"))]
    assert len(steered) == 5
    document["paths"] = {path: document["paths"][path] for path in steered}
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["name"] in names:
                    parameter["schema"] = {"enum": [names[parameter["name"]]]}
    return document


@pytest.mark.slow
def test_the_document_is_kept_by_a_run_that_is_steered(tmp_path: Path, running: Host) -> None:
    document = steering(running)
    run_id = running.call("GET", "/v1/runs?limit=1").document["runs"][0]["runId"]
    code, said = fuzz(tmp_path, running, document)
    assert code == 0, said
    assert running.snapshot(run_id)["status"] == "waiting-input"
    events = running.call("GET", f"/v1/runs/{run_id}/events").document["events"]
    assert sum(event["type"] == "interrupt.resolved" for event in events) > 2
    # Whoever follows a run that goes on waits for it: generated readers would, one after the other.
    cancel(running, run_id)
    assert running.call("DELETE", f"/v1/runs/{run_id}").status < 300


@pytest.mark.slow
def test_the_document_is_kept_as_it_is_served(tmp_path: Path, running: Host) -> None:
    code, said = fuzz(tmp_path, running, served(running), *(() if FULL else ("--phases", "fuzzing,stateful")))
    assert code == 0, said
    assert " failed" not in said


@pytest.mark.slow
def test_the_document_is_kept_for_one_workflow(tmp_path: Path, running: Host) -> None:
    document = narrowed(running)
    if not FULL:
        # Every value at a bound: for the narrowed operation, and for some others.
        paths = document["paths"]
        document["paths"] = {path: paths[path] for path in ["/v1/runs", *list(paths)[::8]]}
    before = len(running.call("GET", "/v1/runs?limit=200").document["runs"])
    code, said = fuzz(tmp_path, running, document, *(() if FULL else ("--phases", "coverage")))
    assert code == 0, said
    # Warnings remain: deleted runs, and what a run of this workflow never has, are answered with 404.
    assert " failed" not in said
    assert " failure" not in said
    assert len(running.call("GET", "/v1/runs?limit=200").document["runs"]) > before


@pytest.mark.slow
def test_a_document_that_is_wrong_is_seen(tmp_path: Path, running: Host) -> None:
    document = served(running)
    paths = ("/health", "/readiness", "/v1/runs/{runId}/interrupts", "/v1/runs")
    document["paths"] = {path: {"get": document["paths"][path]["get"]} for path in paths}
    health, ready, interrupts, runs = (each["get"] for each in document["paths"].values())
    health["responses"]["200"]["content"]["application/json"]["schema"] = {"type": "array"}
    ready["responses"]["200"]["headers"]["X-Never"] = {"required": True, "schema": {"type": "string"}}
    del interrupts["responses"]["400"]
    next(each for each in runs["parameters"] if each["name"] == "limit")["schema"]["maximum"] = 5
    code, said = fuzz(tmp_path, running, document, "--phases", "coverage")
    assert code == 1, said
    assert "4 failed" in said
    for reason in ('not of type "array"', "`X-Never`", "Received: 400", "parameter `limit` in query"):
        assert reason in said, reason
