"""Endpoints for tests: runs that are observed, their log, and sample assets."""

import base64
import json
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node, workflow
from tests.live import OTHER_KEY, TEST_KEY, Answer, Host, open_in_process
from tests.live.assets import PNG, fetch
from tests.live.fixtures import host_fixture
from tests.live.steering import register
from weftwork.conformance.endpoints import test_log as module
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Draft
from weftwork.protocol.timestamps import parse_iso
from weftwork.testing.deterministic import ManualClock, SequentialIds

plain = host_fixture(store="memory")
"""A host without seams."""


def finished(host: Host, workflow_id: str) -> str:
    run_id = host.create(workflow_id)
    host.log(run_id)
    return run_id


SEAMS = [
    ("GET", "/v1/host/sample/test/runs/__probe__/events", None, {"events": []}),
    ("GET", "/v1/host/sample/test/otel/spans?runId=__probe__", None, {"spans": []}),
    ("GET", "/v1/host/sample/test/otel/spans?envelopeId=__probe__", None, {"spans": []}),
    ("POST", "/v1/host/sample/test/debug-bundle/export", {"runId": "__probe__"}, None),
    ("POST", "/v1/host/sample/test/reset", {}, {"ok": True}),
]


@pytest.mark.rule("seam-02", "seam-03", "bundle-06")
@pytest.mark.parametrize(("method", "path", "body", "expected"), SEAMS)
def test_a_seam_is_there_only_where_seams_are(
    host: Host, plain: Host, method: str, path: str, body: Any, expected: Any
) -> None:
    answer = host.call(method, path, body)
    assert answer.status == 200
    assert expected is None or answer.document == expected
    off = plain.call(method, path, body)
    assert (off.status, off.document["error"]) == (404, "not_found")
    for key in (None, "wrong"):
        assert host.call(method, path, body, key=key).status == plain.call(method, path, body, key=key).status == 401


FILL: dict[str, Any] = {
    **workflow(
        [
            node(
                "bundle-fill",
                "core.ai.structuredOutput",
                config={
                    "provider": "mock",
                    "model": "mock-mini",
                    "outputSchema": {
                        "type": "object",
                        "required": ["word"],
                        "properties": {"word": {"type": "string"}},
                    },
                },
                inputs={"messages": {"type": "static", "value": [{"role": "user", "content": "Say something."}]}},
            )
        ]
    ),
    "id": "bundle-fill",
}


@pytest.mark.rule("trace-06", "trace-07", "bundle-02")
def test_the_spans_of_a_model_call_tell_numbers_and_no_words(host: Host) -> None:
    program = [
        {"stopReason": "max_tokens", "content": '{"word": "unspoken', "inputTokens": 3, "outputTokens": 5},
        {"stopReason": "safety", "refusalText": "unspoken", "inputTokens": 4, "outputTokens": 1},
    ]
    seam = "/v1/host/sample/test/mock-ai/program"
    assert host.call("POST", seam, {"nodeId": "bundle-fill", "program": program}).status == 200
    run_id = finished(host, register(host, FILL))
    document = host.call("GET", f"/v1/runs/{run_id}/debug-bundle").document
    assert schema.check("debug-bundle", document) == []
    told = document["spans"][1]
    assert (
        told["attributes"].items()
        >= {
            "openwop.node_type": "core.ai.structuredOutput",
            "openwop.envelope.truncated.stop_reason": "max_tokens",
            "openwop.envelope.truncated.output_token_count": 5,
            "openwop.envelope.retry.attempt": 2,
            "openwop.cost.tokens.input": 7,
            "openwop.cost.tokens.output": 6,
            "openwop.cost.tokens.total": 13,
            "openwop.cost.provider": "mock",
        }.items()
    )
    assert [each["name"] for each in told["events"]][:2] == ["envelope.truncated", "envelope.retry.attempted"]
    assert "envelope.refusal" in [each["name"] for each in told["events"]]
    assert document["metrics"]["openwopCost"] == {"tokens": {"input": 7, "output": 6}}
    assert "unspoken" not in json.dumps(document["spans"])


@pytest.mark.rule("bundle-06", "seam-02")
def test_the_seams_show_a_run_as_it_is(host: Host) -> None:
    run_id = finished(host, "conformance-multi-node")
    events = host.log(run_id)
    path = f"/v1/host/sample/test/runs/{run_id}/events"
    assert host.call("GET", path).document["events"] == events
    of_type = host.call("GET", f"{path}?type=node.started").document["events"]
    assert of_type == [event for event in events if event["type"] == "node.started"]
    assert host.call("GET", f"{path}?correlationId=none").document["events"] == []
    exported = host.call("POST", "/v1/host/sample/test/debug-bundle/export", {"runId": run_id}).document
    real = host.call("GET", f"/v1/runs/{run_id}/debug-bundle").document
    assert schema.check("debug-bundle", exported) == []
    inner = exported["bundle"]
    for name in ("run", "events", "spans", "metrics", "host", "bundleVersion"):
        assert exported[name] == inner[name] == real[name]
    assert inner["runId"] == run_id
    assert inner["exportedAt"] == exported["generatedAt"]
    for key in (OTHER_KEY, TEST_KEY):
        assert host.call("GET", path, key=key).document["events"] == []
        theirs = host.call("POST", "/v1/host/sample/test/debug-bundle/export", {"runId": run_id}, key=key).document
        assert (theirs["events"], theirs["spans"]) == ([], [])
    host.call("POST", "/v1/host/sample/test/reset", {})
    assert host.call("GET", path).document["events"] == events, "a reset takes nothing from a run"


ACME, OTHER = "live:acme", "live:other"


def log() -> module.TestLog:
    return module.TestLog(ManualClock(1_000), SequentialIds())


def said(kind: str = "log.appended", node_id: str | None = "n", cause: str | None = None, **payload: Any) -> Draft:
    given = payload or {"level": "info", "message": "hello"}
    return Draft(kind, given, node_id, cause, content_trust="untrusted")


def recorded(envelope_id: str) -> Draft:
    payload = {"nodeId": "n", "correlationId": "c", "envelopeId": envelope_id, "type": "error", "status": "accepted"}
    return said(ENVELOPE_RECORDED, "n", "c", **payload)


def test_events_are_documents_numbered_by_run() -> None:
    made = log()
    first = made.append(ACME, "run-a", [said(), said(cause="corr-1")])
    again = made.append(ACME, "run-a", [said()])
    other = made.append(ACME, "run-b", [said()])
    assert [event["sequence"] for event in (*first, *again, *other)] == [0, 1, 2, 0]
    assert len({event["eventId"] for event in (*first, *again, *other)}) == 4
    for event in first:
        assert schema.check("run-event", event) == []
    assert first[1]["causationId"] == "corr-1"
    assert first[1]["contentTrust"] == "untrusted"
    assert made.events(ACME, "run-a") == [*first, *again]


@pytest.mark.rule("seam-02")
def test_a_query_takes_what_it_names_of_its_own_tenant_and_nothing_is_no_error() -> None:
    made = log()
    drafts = [said(), said("cap.breached", "n", "c-1", limit=1), said(node_id=None, cause="c-1")]
    events = made.append(ACME, "run", drafts)
    query = module.EventQuery
    for wanted, found in (
        (query(), events),
        (query(type="cap.breached"), events[1:2]),
        (query(correlation_id="c-1"), events[1:]),
        (query(causation_id="c-1"), events[1:]),
        (query(node_id="n"), events[:2]),
        (query(type="log.appended", correlation_id="c-1"), events[2:]),
        (query(type="log.appended", node_id="m"), []),
    ):
        assert made.events(ACME, "run", wanted) == found
    made = log()
    made.append(ACME, "run", [recorded("env-1")])
    assert made.events(OTHER, "run") == made.spans(OTHER, "run") == made.spans(OTHER) == []
    assert made.events(ACME, "__probe__") == made.spans(ACME, "__probe__") == []
    (span,) = made.spans(ACME, "run")
    assert made.spans(ACME) == [span]
    assert (span["name"], span["attributes"]["envelope_id"]) == ("openwop.envelope", "env-1")
    assert span["attributes"]["envelope_content_trust"] == "untrusted"


@pytest.mark.rule("seam-03")
def test_a_reset_forgets_everything_of_a_tenant() -> None:
    made = log()
    made.append(ACME, "run", [recorded("env-1")])
    made.reset("other")
    assert len(made.spans(ACME)) == 1
    made.reset(ACME)
    assert made.events(ACME, "run") == made.spans(ACME) == []
    assert [event["sequence"] for event in made.append(ACME, "run", [said()])] == [0]


def test_it_is_bounded_in_runs_events_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNS", 3)
    monkeypatch.setattr(module, "MAX_EVENTS_PER_RUN", 5)
    made = log()
    for at in range(4):
        made.append(ACME, f"run-{at}", [said()] * 7)
    assert [len(made.events(ACME, f"run-{at}")) for at in range(4)] == [0, 5, 5, 5]
    assert [event["sequence"] for event in made.events(ACME, "run-3")] == [2, 3, 4, 5, 6]
    # Numbers go on where they were, as long as the run is known.
    assert made.append(ACME, "run-3", [said()])[0]["sequence"] == 7
    monkeypatch.setattr(module, "MAX_BYTES", 3_000)
    made.append(ACME, "run-4", [said(text="x" * 4_000)])
    assert [len(made.events(ACME, f"run-{at}")) for at in range(5)] == [0, 0, 0, 0, 1]
    made.append(ACME, "run-4", [said(text="x")])
    assert len(made.events(ACME, "run-4")) == 1
    assert made._size == sum(event.size for events in made._runs.values() for event in events)
    assert set(made._next) == set(made._runs)


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.document["error"]) == (status, code), answer.body
    assert schema.check("error-envelope", answer.document) == []
    return answer.document.get("details", {})


@pytest.mark.rule("media-38")
def test_the_seam_keeps_bytes_for_a_while(host: Host) -> None:
    body = {"contentBase64": base64.b64encode(PNG).decode(), "contentType": "image/png", "ttlSeconds": 60}
    answer = host.call("POST", "/v1/host/sample/media/put", body)
    assert answer.status == 201
    made = answer.document
    assert schema.check("media-put-response", made) == []
    assert made["url"] == f"{host.address}/v1/host/sample/assets/{made['token']}"
    served = fetch(host, made["url"])
    assert (served.status, served.body, served.headers["content-type"]) == (200, PNG, "image/png")
    again = host.call("POST", "/v1/host/sample/media/put", {**body, "ttlSeconds": 100.0}).document
    assert schema.check("media-put-response", again) == []
    assert parse_iso(again["expiresAt"]) is not None


@pytest.mark.rule("media-38")
@each_case(
    "body",
    {"contentType": "image/png"},
    {"contentBase64": "", "contentType": "image/png"},
    {"contentBase64": "YWJ", "contentType": "image/png"},
    {"contentBase64": "YW J=", "contentType": "image/png"},
    {"contentBase64": "\u00e9\u00e9\u00e9\u00e9", "contentType": "image/png"},
    {"contentBase64": "YWJj"},
    {"contentBase64": "YWJj", "contentType": "image/png", "ttlSeconds": 0},
    {"contentBase64": 1, "contentType": "image/png"},
    [],
)
def test_the_seam_refuses_what_is_no_base64(host: Host, body: Any) -> None:
    refused(host.call("POST", "/v1/host/sample/media/put", body), 400, "validation_error")


@pytest.mark.rule("media-38")
async def test_the_seam_has_a_cap() -> None:
    async with open_in_process(test_seams=True, max_upload_bytes=3) as inside:
        small, large = ({"contentBase64": text, "contentType": "text/plain"} for text in ("YWJj", "YWJjZA=="))
        assert (await inside.call("POST", "/v1/host/sample/media/put", small)).status == 201
        answer = await inside.call("POST", "/v1/host/sample/media/put", large)
        assert refused(answer, 413, "payload_too_large") == {"limit": 3}
