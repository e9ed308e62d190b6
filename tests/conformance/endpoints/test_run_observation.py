"""The seams that look at runs from outside, over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.live import OTHER_KEY, TEST_KEY, Host, start_host
from tests.live.steering import register
from weftwork.protocol.json import schema


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host without seams."""
    with start_host(tmp_path_factory.mktemp("plain"), store="memory") as running:
        yield running


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
