"""The documents a host serves: discovery, OpenAPI, definitions, snapshots; and the headers around every answer."""

import json
import re
from importlib import resources
from typing import Any

import pytest

from tests.live import KEY, Host
from tests.live.envelopes import UNIVERSAL
from tests.live.fixtures import QUICK_WORKFLOW
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.errors import ERRORS
from weftwork.protocol.json import schema
from weftwork.protocol.wire.v1.routes import ROUTES

DISCOVERY = "/.well-known/openwop"
CACHED = (DISCOVERY, "/v1/openapi.json")
TRACE = "0af7651916cd43dd8448eb211c80319c"


def fixtures() -> dict[str, dict[str, Any]]:
    folder = resources.files("weftwork.conformance").joinpath("fixtures")
    return {document["id"]: document for document in (json.loads(file.read_bytes()) for file in folder.iterdir())}


@pytest.mark.rule("disc-01", "disc-02")
def test_discovery_says_what_is_wired(host: Host) -> None:
    answer = host.call("GET", DISCOVERY, key=None)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found = answer.document
    assert schema.check("capabilities", found) == []
    assert (found["protocolVersion"], found["supportedEnvelopes"]) == ("1.1", [*UNIVERSAL, *MEDIA_KINDS])
    assert all(isinstance(value, int) and value >= 0 for value in found["limits"].values())
    assert found["fixtures"] == sorted(fixtures())
    assert found["testing"]["testKeyPrefix"] == "hk_test_"
    assert found["observability"]["testSeams"] == {"otelScrape": True, "debugBundleExport": True}
    mirror = found["capabilities"]
    assert mirror == {name: found[name] for name in mirror}
    assert {"supportedEnvelopes", "schemaVersions", "limits"} <= mirror.keys()
    for fixture in found["fixtures"]:
        assert host.call("GET", f"/v1/workflows/{fixture}").status == 200


@pytest.mark.rule("disc-03")
@pytest.mark.parametrize("path", CACHED)
def test_an_unchanged_document_is_not_sent_again(host: Host, path: str) -> None:
    first = host.call("GET", path, key=None)
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[!-~]+"', tag)
    assert first.headers["cache-control"] == "public, max-age=300"
    assert first.headers.get("capabilities-etag") == (tag if path == DISCOVERY else None)
    again = host.call("GET", path, key=None)
    assert (again.body, again.headers["etag"]) == (first.body, tag)
    for wanted in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        unchanged = host.call("GET", path, key=None, headers={"If-None-Match": wanted})
        assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", tag)
        assert "content-length" not in unchanged.headers
        assert "cache-control" in unchanged.headers
    for wanted in ('"other"', "", tag.strip('"')):
        assert host.call("GET", path, key=None, headers={"If-None-Match": wanted}).status == 200


@pytest.mark.rule("disc-04")
def test_openapi_describes_the_routes_that_are_mounted(host: Host) -> None:
    document = host.call("GET", "/v1/openapi.json", key=None).document
    assert re.match(r"3\.[1-9]", document["openapi"])
    shown = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert shown == {(route.path, route.method) for route in ROUTES}
    for pointer in re.findall(r'"\$ref":\s*"([^"]+)"', json.dumps(document)):
        assert pointer.startswith("#/")
        place: Any = document
        for token in pointer[2:].split("/"):
            place = place[token.replace("~1", "/").replace("~0", "~")]


def test_definitions_are_served_word_for_word(host: Host) -> None:
    for workflow_id, document in fixtures().items():
        served = host.call("GET", f"/v1/workflows/{workflow_id}").document
        assert served == document
        assert schema.check("workflow-definition", served) == []


@pytest.mark.parametrize(("path", "status"), [("/health", "ok"), ("/readiness", "ready")])
def test_health_and_readiness_answer_without_a_key(host: Host, path: str, status: str) -> None:
    answer = host.call("GET", path, key=None)
    assert (answer.status, answer.document) == (200, {"status": status})
    assert schema.check("health", answer.document) == []


@pytest.mark.rule("run-06")
def test_a_run_is_told_in_the_shapes_we_publish(host: Host) -> None:
    body = {
        "workflowId": QUICK_WORKFLOW,
        "inputs": {"anything": [1, {"x": None}]},
        "tags": ["b", "a"],
        "metadata": {"ticket": {"id": 7}},
        "configurable": {"recursionLimit": 50, "mine": True},
        "tenantId": "acme",
    }
    created = host.call("POST", "/v1/runs", body)
    assert schema.check("create-run-response", created.document) == []
    run_id = created.document["runId"]
    base = f"/v1/runs/{run_id}"
    assert created.document == {
        "runId": run_id,
        "status": "pending",
        "eventsUrl": f"{base}/events",
        "statusUrl": base,
    }
    assert created.headers["location"] == base
    assert re.fullmatch(r"[A-Za-z0-9._~-]{16,128}", run_id)
    live = host.snapshot(run_id)
    log = host.log(run_id)
    snapshot = host.snapshot(run_id)
    for document in (live, snapshot):
        assert schema.check("run-snapshot", document) == []
        assert None not in document.values()
        for name in ("workflowId", "inputs", "tags", "metadata", "configurable"):
            assert document[name] == body[name]
        assert document["owner"]["tenant"] == "acme"
        assert KEY not in json.dumps(document)
    assert snapshot["status"] == "completed"
    assert snapshot["completedAt"] == log[-1]["timestamp"] >= snapshot["startedAt"] == log[0]["timestamp"]
    assert snapshot["nodeStates"] == {f"n{at}": {"status": "completed", "attempt": 1} for at in range(6)}
    listed = host.call("GET", f"/v1/runs?limit=1&tag=a&workflowId={QUICK_WORKFLOW}").document["runs"][0]
    assert listed.items() <= snapshot.items()
    cancelled = host.call("POST", f"{base}/cancel")
    assert schema.check("cancel-run-response", cancelled.document) == []
    assert cancelled.document == {"runId": run_id, "status": "completed"}


def test_a_tenant_in_the_body_must_be_the_one_of_the_key(host: Host) -> None:
    answer = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop", "tenantId": "other"})
    assert (answer.status, answer.document["error"]) == (403, "forbidden")


@pytest.mark.rule("opt-01")
def test_a_mock_provider_is_refused_by_the_mode_of_the_key(host: Host) -> None:
    body = {"workflowId": "conformance-noop", "configurable": {"mockProvider": {"id": "nobody"}}}
    live = host.call("POST", "/v1/runs", body)
    assert (live.status, live.document["error"]) == (403, "mock_provider_forbidden")
    test = host.call("POST", "/v1/runs", body, key="hk_test_of_acme")
    assert (test.status, test.document["error"]) == (400, "unsupported_mock_provider")


@pytest.mark.rule("err-01", "err-02")
def test_every_error_is_the_closed_envelope_with_its_headers(host: Host) -> None:
    answers = [
        host.call("GET", "/v1/runs", key=None),
        host.call("GET", "/v1/runs/nowhere"),
        host.call("PUT", "/v1/runs/nowhere"),
        host.call("GET", "/runs"),
        host.call("POST", "/v1/runs", {}),
        host.call("POST", "/v1/runs", body=b"{}"),
        host.call("GET", "/v1/prompts"),
        host.call("POST", "/v1/runs", {"mode": "eval", "evalSuiteRef": "x", "agentId": "core.x"}),
        host.call("GET", "/v1/runs/nowhere/events?streamMode=x", headers={"Accept": "text/event-stream"}),
        host.call("GET", "/v1/runs/nowhere/events", headers={"Accept": "text/event-stream"}),
    ]
    for answer in answers:
        document = answer.document
        assert schema.check("error-envelope", document) == []
        assert set(document) <= {"error", "message", "details"}
        assert answer.status == ERRORS[document["error"]].status
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert ("www-authenticate" in answer.headers) is (answer.status == 401)
        assert ("allow" in answer.headers) is (answer.status == 405)
    assert [answer.status for answer in answers] == [401, 404, 405, 400, 400, 415, 501, 501, 400, 404]


@pytest.mark.rule("trace-02")
def test_an_answer_belongs_to_the_trace_of_its_caller(host: Host) -> None:
    sent = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    for method, path in (("GET", "/v1/runs"), ("GET", "/v1/runs/nowhere"), ("GET", DISCOVERY), ("POST", "/v1/runs")):
        back = host.call(method, path, headers=sent).headers["traceparent"]
        assert re.fullmatch(rf"00-{TRACE}-[0-9a-f]{{16}}-01", back)
        assert back != sent["traceparent"]
    run_id = host.create("conformance-noop")
    stream = host.call("GET", f"/v1/runs/{run_id}/events", headers={**sent, "Accept": "text/event-stream"})
    assert stream.headers["traceparent"].startswith(f"00-{TRACE}-")


@pytest.mark.rule("trace-01", "trace-02")
@pytest.mark.parametrize(
    "header",
    ["", "x", f"00-{TRACE}-b7ad6b7169203331", f"ff-{TRACE}-b7ad6b7169203331-01", f"00-{'0' * 32}-b7ad6b7169203331-01"],
)
def test_without_a_usable_trace_the_answer_starts_one(host: Host, header: str) -> None:
    seen = {host.call("GET", "/health", headers={"traceparent": header}).headers["traceparent"] for _ in range(2)}
    assert len(seen) == 2
    assert all(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", back) and TRACE not in back for back in seen)


@pytest.mark.rule("trace-03", "trace-04")
def test_a_run_belongs_to_the_trace_that_created_it(host: Host) -> None:
    sent = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    run_id = host.call("POST", "/v1/runs", {"workflowId": "conformance-multi-node"}, headers=sent).document["runId"]
    host.log(run_id)
    spans = host.call("GET", f"/v1/host/sample/test/otel/spans?runId={run_id}").document["spans"]
    assert len(spans) == 4
    assert {span["traceId"] for span in spans} == {TRACE}
    (root,) = [span for span in spans if span["parentSpanId"] == "b7ad6b7169203331"]
    assert {span["parentSpanId"] for span in spans if span is not root} == {root["spanId"]}
    named = host.call("GET", f"/v1/host/sample/test/otel/spans?runId={run_id}&name={root['name']}").document["spans"]
    assert named == [root]
