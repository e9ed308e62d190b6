"""Debug bundles over HTTP: whole or broken off, for their owner alone, and without what must not get out."""

import asyncio
import base64
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.live import OTHER_KEY, TEST_KEY, Host, open_listening, start_host, write_workflows
from tests.protocol.review.test_credential_patterns import CREDENTIALS
from weftwork.protocol.json import schema
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.review.debug_bundle import EVENTS_TRUNCATED

NOBODY = "01zzzzzzzzzzzzzzzzzzzzzzzz"
SECRET = "canary of the night 5e0f/+"
ECHO: dict[str, Any] = {
    **workflow(
        [
            node("echo", "core.identity", inputs={"x": {"type": "variable", "variableName": "text"}}),
            node("tell", "core.log", config={"message": "it goes on"}),
            node("hide", "core.identity", inputs={"x": {"type": "variable", "variableName": "secret"}}),
        ],
        [edge("echo", "tell"), edge("tell", "hide")],
        [variable("text"), variable("secret", sensitive=True)],
    ),
    "id": "bundle-echo",
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host without seams."""
    folder = tmp_path_factory.mktemp("plain")
    with start_host(folder, "--workflows", write_workflows(folder / "flows", ECHO), store="memory") as running:
        yield running
        assert "raceback" not in running.errors


def finished(host: Host, workflow_id: str, **members: Any) -> str:
    run_id = host.create(workflow_id, **members)
    host.log(run_id)
    return run_id


@pytest.mark.rule("bundle-01")
@pytest.mark.parametrize("flow", ["conformance-noop", "conformance-multi-node", "conformance-failure"])
def test_a_bundle_has_what_polling_gives(host: Host, flow: str) -> None:
    run_id = finished(host, flow)
    answer = host.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", answer.headers["traceparent"])
    document = answer.document
    assert schema.check("debug-bundle", document) == []
    assert document["events"] == host.log(run_id)
    assert document["metrics"]["eventCount"] == len(document["events"])
    shown = host.snapshot(run_id)
    assert {**shown, **document["run"]} == {**document["run"], **shown}
    assert document["spans"][0]["name"] == "openwop.run"


@pytest.mark.rule("bundle-01", "trace-03")
def test_the_spans_are_in_the_callers_trace(host: Host) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    made = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"}, headers=headers).document
    host.log(made["runId"])
    spans = host.call("GET", f"/v1/runs/{made['runId']}/debug-bundle").document["spans"]
    assert {span["traceId"] for span in spans} == {trace}
    assert all(re.fullmatch("[0-9a-f]{16}", span["spanId"]) for span in spans)


@pytest.mark.rule("bundle-04")
def test_max_events_is_a_number_of_events(host: Host) -> None:
    run_id = finished(host, "conformance-multi-node")
    path = f"/v1/runs/{run_id}/debug-bundle"
    count = len(host.log(run_id))
    for most in (1, 2, count - 1):
        document = host.call("GET", f"{path}?maxEvents={most}").document
        assert (len(document["events"]), document["truncated"]) == (most, True)
        assert document["truncatedReason"] == EVENTS_TRUNCATED
    for most in (count, 2**53 - 1):
        assert host.call("GET", f"{path}?maxEvents={most}").document["truncated"] is False
    for bad in ("0", "-1", "", "a", "1.5", "1e3", "9007199254740992", "%C2%B2", "1,2"):
        answer = host.call("GET", f"{path}?maxEvents={bad}")
        assert (answer.status, answer.document["error"]) == (400, "validation_error"), bad
        assert answer.document["details"]["parameter"] == "maxEvents"


@pytest.mark.rule("bundle-05", "auth-03")
def test_a_bundle_is_for_the_owner_of_the_run(host: Host) -> None:
    run_id = finished(host, "conformance-noop")
    for key in (OTHER_KEY, TEST_KEY):
        theirs = host.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=key)
        nobodys = host.call("GET", f"/v1/runs/{NOBODY}/debug-bundle", key=key)
        assert (theirs.status, theirs.body) == (nobodys.status, nobodys.body)
        assert theirs.status == 404
    assert host.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=None).status == 401
    only_head = host.call("HEAD", f"/v1/runs/{run_id}/debug-bundle")
    assert (only_head.status, only_head.body) == (200, b"")


def forms(secret: str) -> dict[str, bytes]:
    """A text as it may come out when somebody has passed it on."""
    raw = secret.encode()
    return {
        "plain": raw,
        "json": json.dumps(secret)[1:-1].encode(),
        "base64": base64.b64encode(raw).rstrip(b"="),
        "base64url": base64.urlsafe_b64encode(raw).rstrip(b"="),
        "hex": raw.hex().encode(),
        "url": quote(secret).encode(),
        "url, all of it": quote(secret, safe="").encode(),
    }


@pytest.mark.rule("bundle-02")
def test_no_credential_and_no_sensitive_value_comes_out(plain: Host) -> None:
    planted = dict(CREDENTIALS.items())
    inputs = {"text": "\n".join(planted.values()), "secret": SECRET, "deep": {"list": [SECRET, *planted.values()]}}
    run_id = finished(plain, "bundle-echo", inputs=inputs, metadata={"k": planted["model key"]}, tags=[SECRET])
    body = plain.call("GET", f"/v1/runs/{run_id}/debug-bundle").body
    assert schema.check("debug-bundle", json.loads(body)) == []
    for name, secret in planted.items():
        assert json.dumps(secret)[1:-1].encode() not in body, name
    # A tag is what its caller wants to be read; everything else is masked.
    for name, form in forms(SECRET).items():
        assert form not in body.replace(json.dumps([SECRET]).encode(), b""), name
    assert body.count(b"[REDACTED:") > len(planted)


def test_nothing_of_the_machine_comes_out(plain: Host) -> None:
    run_id = finished(plain, "bundle-echo", inputs={"text": "hello"})
    body = plain.call("GET", f"/v1/runs/{run_id}/debug-bundle").body.decode()
    for name in (socket.gethostname(), str(plain.data), str(Path.cwd()), str(Path.home()), "127.0.0.1", "sqlite"):
        assert name not in body or len(name) < 4


async def test_the_proof_sees_a_sensitive_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redactor, "hide_payload", lambda self, kind, node_id, payload: (payload, []))

    async def work() -> bytes:
        async with open_listening(ECHO) as served:
            run_id = await served.create("bundle-echo", inputs={"text": "x", "secret": SECRET})
            path = f"/v1/runs/{run_id}"
            while (await served.in_process.call("GET", path)).document["status"] != "completed":
                await asyncio.sleep(0)
            return (await served.in_process.call("GET", f"{path}/debug-bundle")).body

    assert forms(SECRET)["json"] in (await work())
