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

EXAMPLES = 400 if FULL else 1
PHASES = () if FULL else ("--phases", "examples,fuzzing")
"""What the short proof leaves out makes requests of every value at a bound, and chains of requests."""
SECONDS = 3600 if FULL else 900
FLOW = "conformance-noop"

CONFIG = f"""
[generation]
# NUL is refused in every text and name (json-01), which no schema can say; the corpora send it instead.
allow-x00 = false

[parameters]
"path.workflowId" = "{FLOW}"

[checks]
not_a_server_error.enabled = true
status_code_conformance.enabled = true
content_type_conformance.enabled = true
response_headers_conformance.enabled = true
response_schema_conformance.enabled = true
negative_data_rejection.enabled = true
positive_data_acceptance.enabled = true
missing_required_header.enabled = true
unsupported_method.enabled = true
allow_header_conformance.enabled = true
use_after_free.enabled = true
ensure_resource_availability.enabled = true
ignored_auth.enabled = true
object_level_authorization.enabled = true

[[operations]]
include-operation-id = "registerWorkflow"
# A definition must also hold together: references, node types, and one content for each version.
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "registerSampleWorkflow"
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "callAi"
# Parts must be of a shape that has its own order of checks.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "programMockAi"
# An entry must say one thing.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "setVariables"
# They must be variables of that run.
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "createAnnotation"
# What is meant must be there, and the whole has a bound.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "diffRun"
# It takes two runs that are there, which generated requests seldom name.
warnings = false

[[operations]]
include-operation-id = "resolveInterruptByRun"
# Any value is an answer, within the bounds of what JSON may be here (json-01), which no schema can say.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "resolveApproval"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "inspectInterruptByToken"
# No generated text is a token.
warnings = false

[[operations]]
include-operation-id = "resolveInterruptByToken"
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "acceptEnvelope"
# Any value is judged, within the bounds of what JSON may be here (json-01), which no schema can say.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "wrapPrompt"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = "emitEnvelopeReliability"
# The payload must be one of its type.
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "getSchema"
# Generated names are names of nothing.
warnings = false

[[operations]]
include-operation-id = "getEnvelopeSchema"
warnings = false

[[operations]]
include-operation-id = "getAsset"
# No generated text is a token, and a range must be one of the asset.
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "getSampleAsset"
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "uploadAsset"
# The digests that are generated are not those of the bytes that are.
checks.positive_data_acceptance.enabled = false
checks.negative_data_rejection.enabled = false
warnings = false

[[operations]]
include-operation-id = "putMedia"
# A text of the schema need not be base64.
checks.positive_data_acceptance.enabled = false
warnings = false

[[operations]]
include-operation-id = "createRun"
# Whether a body is accepted depends on more than its schema: the workflow must be there and take these inputs, and
# metadata must be small and shallow.
checks.positive_data_acceptance.enabled = false
# 501 is the documented answer to `mode: "eval"`, a form of the published schema that this host does not offer.
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501"]
"""


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
@pytest.mark.parametrize("of", [served, narrowed], ids=["as served", "for one workflow"])
def test_the_document_is_kept(tmp_path: Path, running: Host, of: Any) -> None:
    before = len(running.call("GET", "/v1/runs?limit=200").document["runs"])
    code, said = fuzz(tmp_path, running, of(running), *PHASES)
    assert code == 0, said
    assert " failed" not in said
    if of is narrowed:
        # Warnings remain: deleted runs, and what a run of this workflow never has, are answered with 404.
        assert " failure" not in said
        assert len(running.call("GET", "/v1/runs?limit=200").document["runs"]) > before


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["status", "schema", "header", "parameter"])
def test_a_document_that_is_wrong_is_seen(tmp_path: Path, running: Host, broken: str) -> None:
    document = served(running)
    health = document["paths"]["/health"]["get"]["responses"]["200"]
    poll = document["paths"]["/v1/runs"]["get"]
    if broken == "status":
        del poll["responses"]["400"]
    elif broken == "schema":
        health["content"]["application/json"]["schema"] = {"type": "array"}
    elif broken == "header":
        health["headers"]["X-Never"] = {"required": True, "schema": {"type": "string"}}
    else:
        next(each for each in poll["parameters"] if each["name"] == "limit")["schema"]["maximum"] = 5
    kept = "/health" if broken in ("schema", "header") else "/v1/runs"
    document["paths"] = {kept: document["paths"][kept]}
    code, said = fuzz(tmp_path, running, document, "--phases", "coverage")
    assert code == 1, said
