"""Scenarios of the core family: documents, keys, errors, runs, streams, steering and bundles."""

import json
import re
import threading
import uuid
from typing import Any

import pytest

from tests.live import Answer, Host
from tests.live.steering import answer_over_http, await_status, pause, resume
from tests.protocol.privacy.test_credential_patterns import CREDENTIALS

UNKNOWN_RUN = "run-that-does-not-exist-0001"
TERMINAL = ("run.completed", "run.failed", "run.cancelled")


def discovery(host: Host) -> dict[str, Any]:
    return host.call("GET", "/.well-known/openwop", key=None).document


def assert_error(answer: Answer, *statuses: int) -> dict[str, Any]:
    """The error document of a refused request: closed, with texts for `error` and `message`."""
    assert answer.status in statuses, answer.body
    document = answer.document
    assert {"error", "message"} <= set(document) <= {"error", "message", "details"}
    assert isinstance(document["error"], str)
    assert isinstance(document["message"], str)
    return document


def event_names(host: Host, run_id: str, query: str) -> list[str]:
    return [frame.event for frame in host.stream(run_id, query).frames()]


@pytest.mark.scenario("discovery")
def test_discovery(host: Host) -> None:
    answer = host.call("GET", "/.well-known/openwop", key=None)
    assert answer.status == 200
    assert answer.headers["cache-control"]
    document = answer.document
    assert {"protocolVersion", "supportedEnvelopes", "schemaVersions", "limits"} <= set(document)
    assert document["protocolVersion"].startswith("1.")
    for name in ("clarificationRounds", "schemaRounds", "envelopesPerTurn"):
        assert isinstance(document["limits"][name], int)
        assert document["limits"][name] >= 0
    fixtures = document["fixtures"]
    assert len(set(fixtures)) == len(fixtures)
    assert all(isinstance(each, str) and each for each in fixtures)
    assert '"edit"' not in json.dumps(document)
    unchanged = host.call("GET", "/.well-known/openwop", key=None, headers={"If-None-Match": answer.headers["etag"]})
    assert unchanged.status == 304
    again = host.call("GET", "/.well-known/openwop", key=None)
    assert again.headers.get("capabilities-etag") == answer.headers.get("capabilities-etag")
    described = host.call("GET", "/v1/openapi.json", key=None)
    assert described.status == 200
    assert described.document["openapi"].startswith("3.1")


@pytest.mark.scenario("auth")
def test_auth(host: Host) -> None:
    for key in (None, "hk_definitely_not_a_real_key_12345"):
        assert_error(host.call("GET", f"/v1/runs/{UNKNOWN_RUN}", key=key), 401)
        assert_error(host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"}, key=key), 401)


@pytest.mark.scenario("errors")
def test_errors(host: Host) -> None:
    assert_error(host.call("GET", f"/v1/runs/{UNKNOWN_RUN}"), 403, 404)
    assert_error(host.call("POST", "/v1/runs", {}), 400, 422)
    assert_error(host.call("POST", "/v1/runs", body=b"{", headers={"Content-Type": "application/json"}), 400)


@pytest.mark.scenario("runs-lifecycle")
def test_runs_lifecycle(host: Host) -> None:
    created = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"})
    assert created.status == 201
    run_id = created.document["runId"]
    assert isinstance(run_id, str)
    assert isinstance(created.document["status"], str)
    assert await_status(host, run_id, "completed")["runId"] == run_id
    assert_error(host.call("GET", f"/v1/runs/{UNKNOWN_RUN}"), 403, 404)


@pytest.mark.scenario("failure-path")
def test_failure_path(host: Host) -> None:
    run_id = host.create("conformance-failure")
    error = await_status(host, run_id, "failed")["error"]
    assert error["code"] == "conformance_test_failure"
    assert error["message"] == "Intentional conformance failure"


@pytest.mark.scenario("eventOrdering")
def test_event_ordering(host: Host) -> None:
    run_id = host.create("conformance-noop")
    host.log(run_id)
    first = host.call("GET", f"/v1/runs/{run_id}/events/poll").document
    sequences = [event["sequence"] for event in first["events"]]
    assert sequences == sorted(sequences)
    assert host.call("GET", f"/v1/runs/{run_id}/events/poll").document == first
    ends = [event["type"] for event in first["events"] if event["type"] in TERMINAL]
    assert ends == [first["events"][-1]["type"]]


@pytest.mark.scenario("identity-passthrough")
def test_identity_passthrough(host: Host) -> None:
    payload = {"text": "a", "list": [1, {"deep": None}], "number": 2.5}
    run_id = host.create("conformance-identity", inputs={"payload": payload})
    assert await_status(host, run_id, "completed")["variables"]["payload"] == payload


@pytest.mark.scenario("multi-node-ordering")
def test_multi_node_ordering(host: Host) -> None:
    events = host.log(host.create("conformance-multi-node"))
    assert [event["nodeId"] for event in events if event["type"] == "node.completed"] == ["a", "b", "c"]


@pytest.mark.scenario("idempotency", "idempotencyRetry")
def test_idempotency(host: Host) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"workflowId": "conformance-idempotent", "inputs": {"nonce": "one"}}
    first = host.call("POST", "/v1/runs", body, headers=headers)
    assert first.status == 201
    assert "openwop-idempotent-replay" not in first.headers
    for _ in range(5):
        again = host.call("POST", "/v1/runs", body, headers=headers)
        assert (again.status, again.document["runId"]) == (first.status, first.document["runId"])
        assert again.headers["openwop-idempotent-replay"] == "true"
    other = host.call("POST", "/v1/runs", {**body, "inputs": {"nonce": "two"}}, headers=headers)
    assert assert_error(other, 409)["error"] == "idempotency_key_mismatch"
    assert "runId" not in other.document


@pytest.mark.scenario("cancellation")
def test_cancellation(host: Host) -> None:
    run_id = host.create("conformance-cancellable")
    await_status(host, run_id, "running")
    cancelled = host.call("POST", f"/v1/runs/{run_id}/cancel", {"reason": "no longer needed"})
    assert cancelled.status == 200
    assert cancelled.document["status"] in ("cancelling", "cancelled")
    await_status(host, run_id, "cancelled")
    assert host.log(run_id)[-1]["type"] == "run.cancelled"
    assert_error(host.call("POST", f"/v1/runs/{UNKNOWN_RUN}/cancel"), 403, 404)


@pytest.mark.scenario("bulk-cancel")
def test_bulk_cancel(host: Host) -> None:
    live = [host.create("conformance-cancellable", inputs={"delaySeconds": 30}) for _ in range(2)]
    ended = host.create("conformance-noop")
    await_status(host, ended, "completed")
    answer = host.call("POST", "/v1/runs:bulk-cancel", {"runIds": [live[0], UNKNOWN_RUN, ended, live[1]]})
    assert answer.status == 200
    results = answer.document["results"]
    assert [each["runId"] for each in results] == [live[0], UNKNOWN_RUN, ended, live[1]]
    assert [each["ok"] for each in results] == [True, False, False, True]
    assert {results[0]["status"], results[3]["status"]} <= {"cancelling", "cancelled"}
    assert [results[1]["error"]["code"], results[2]["error"]["code"]] == ["not_found", "run_terminal"]
    for run_id in live:
        await_status(host, run_id, "cancelled")
    bad_bodies: list[dict[str, Any]] = [{}, {"runIds": []}, {"runIds": [5]}]
    for body in bad_bodies:
        refused = assert_error(host.call("POST", "/v1/runs:bulk-cancel", body), 400)
        assert refused["error"] == "validation_error"
    oversized = assert_error(host.call("POST", "/v1/runs:bulk-cancel", {"runIds": ["x"] * 101}), 400)
    assert (oversized["error"], oversized["details"]["maxRunIds"]) == ("validation_error", 100)


@pytest.mark.scenario("pause-resume")
def test_pause_resume(host: Host) -> None:
    policies = discovery(host)["runs"]["pauseResume"]["drainPolicies"]
    assert set(policies) == {"immediate", "drain-current-node"}
    run_id = host.create("conformance-delay", inputs={"delayMs": 300})
    paused = pause(host, run_id, {"drainPolicy": "immediate", "reason": "wait"})
    assert (paused.status, paused.document["status"]) == (202, "paused")
    assert host.snapshot(run_id)["status"] == "paused"
    assert assert_error(pause(host, run_id), 409)["details"]["runStatus"] == "paused"
    assert resume(host, run_id).document["status"] == "running"
    types = [event["type"] for event in host.log(run_id)]
    at = types.index("run.paused")
    assert types[at + 1] == "run.resumed"
    assert types.count("node.started") == 2
    drained = host.create("conformance-delay", inputs={"delayMs": 300})
    assert pause(host, drained, {"drainPolicy": "drain-current-node"}).status == 202
    await_status(host, drained, "paused")
    poll = host.call("GET", f"/v1/runs/{drained}/events/poll?timeout=1").document["events"]
    types = [event["type"] for event in poll]
    assert types.index("node.completed") < types.index("run.paused")
    assert resume(host, drained).status == 202
    await_status(host, drained, "completed")
    for steer in (pause, resume):
        assert assert_error(steer(host, drained), 409)["details"]["runStatus"] == "completed"
    waiting = host.create("conformance-approval")
    await_status(host, waiting, "waiting-approval")
    assert assert_error(pause(host, waiting), 409)["details"]["runStatus"] == "waiting-approval"


@pytest.mark.scenario("interruptRace")
def test_interrupt_race(host: Host) -> None:
    """A cancel and an answer at the same time: at least one succeeds, and the end agrees with the winner."""
    for _ in range(5):
        run_id = host.create("conformance-approval")
        await_status(host, run_id, "waiting-approval")
        statuses: dict[str, int] = {}

        def cancel(run_id: str = run_id, statuses: dict[str, int] = statuses) -> None:
            statuses["cancel"] = host.call("POST", f"/v1/runs/{run_id}/cancel").status

        racer = threading.Thread(target=cancel)
        racer.start()
        answered = answer_over_http(host, run_id, "gate", {"action": "accept"}).status
        racer.join(60)
        assert 200 in (statuses["cancel"], answered)
        await_status(host, run_id, "completed" if answered == 200 else "cancelled")
    ended = host.create("conformance-noop")
    await_status(host, ended, "completed")
    assert host.call("POST", f"/v1/runs/{ended}/cancel").status == 200


@pytest.mark.scenario("cap-breach")
def test_cap_breach(host: Host) -> None:
    run_id = host.create("conformance-cap-breach", configurable={"recursionLimit": 3})
    assert await_status(host, run_id, "failed")["error"]["code"] == "recursion_limit_exceeded"
    events = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=0&timeout=1").document["events"]
    types = [event["type"] for event in events]
    (breach,) = [event["payload"] for event in events if event["type"] == "cap.breached"]
    assert (breach["kind"], breach["limit"], breach["observed"] > 3) == ("node-executions", 3, True)
    assert isinstance(breach["nodeId"], str)
    assert types.index("cap.breached") < types.index("run.failed")
    assert types.count("node.started") <= 3
    await_status(host, host.create("conformance-cap-breach"), "completed")


@pytest.mark.scenario("run-execution-bounds-shape")
def test_run_execution_bounds(host: Host) -> None:
    run_id = host.create("conformance-run-duration-breach", configurable={"runTimeoutMs": 100})
    assert await_status(host, run_id, "failed")["error"]["code"] == "run_timeout"
    (breach,) = [event["payload"] for event in host.log(run_id) if event["type"] == "cap.breached"]
    assert (breach["kind"], breach["limit"], breach["observed"] > 100) == ("run-duration", 100, True)


@pytest.mark.scenario("runtime-capabilities")
def test_runtime_capabilities(host: Host) -> None:
    run_id = host.create("conformance-capability-missing")
    error = await_status(host, run_id, "failed")["error"]
    assert error["code"] == "capability_not_provided"
    assert "conformance.never-provided" in error["message"]


@pytest.mark.scenario("configurable-schema")
def test_configurable_schema(host: Host) -> None:
    body = {"workflowId": "conformance-configurable-schema"}
    bad = host.call("POST", "/v1/runs", {**body, "configurable": {"recursionLimit": "many"}})
    assert assert_error(bad, 400, 422)["error"] == "validation_error"
    assert host.call("POST", "/v1/runs", {**body, "configurable": {"recursionLimit": 1}}).status == 201


@pytest.mark.scenario("stream-modes")
def test_stream_modes(host: Host) -> None:
    run_id = host.create("conformance-delay", inputs={"delayMs": 50})
    updates = event_names(host, run_id, "?streamMode=updates")
    assert {"run.started", "run.completed"} <= set(updates)
    values = event_names(host, run_id, "?streamMode=values")
    assert len(values) >= 1
    debug = event_names(host, run_id, "?streamMode=debug")
    assert len(debug) >= len(updates)
    refused = assert_error(host.call("GET", f"/v1/runs/{run_id}/events?streamMode=bogus"), 400)
    assert "updates" in refused["details"]["supported"]


@pytest.mark.scenario("stream-modes-mixed")
def test_stream_modes_mixed(host: Host) -> None:
    run_id = host.create("conformance-delay", inputs={"delayMs": 50})
    mixed = event_names(host, run_id, "?streamMode=updates,messages")
    assert "run.completed" in mixed
    assert set(event_names(host, run_id, "?streamMode=updates")) <= set(mixed)
    for modes in ("values,updates", "updates,bogus"):
        refused = assert_error(host.call("GET", f"/v1/runs/{run_id}/events?streamMode={modes}"), 400)
        assert refused["error"] == "unsupported_stream_mode"


@pytest.mark.scenario("stream-modes-buffer")
def test_stream_modes_buffer(host: Host) -> None:
    run_id = host.create("conformance-delay", inputs={"delayMs": 50})
    frames = host.stream(run_id, "?streamMode=debug&bufferMs=5000").frames()
    batches = [frame.document for frame in frames if frame.event == "batch"]
    assert batches
    for batch in batches:
        assert isinstance(batch, list)
        assert all(isinstance(event["sequence"], int) and isinstance(event["type"], str) for event in batch)
    # A terminal event is not held back: the stream ends long before its buffer time.
    assert batches[-1][-1]["type"] == "run.completed"
    assert "batch" not in event_names(host, run_id, "?bufferMs=0")
    assert_error(host.call("GET", f"/v1/runs/{run_id}/events?bufferMs=99999"), 400)


@pytest.mark.scenario("streamReconnect")
def test_stream_reconnect(host: Host) -> None:
    run_id = host.create("conformance-cancellable", inputs={"delayMs": 50})
    frames = host.stream(run_id, "?streamMode=debug").frames()
    ids = [int(frame.id) for frame in frames]
    resumed = host.stream(run_id, "?streamMode=debug", last=str(ids[1])).frames()
    assert [int(frame.id) for frame in resumed] == ids[2:]
    assert host.stream(run_id, "?streamMode=debug", last=str(ids[-1])).frames() == []


@pytest.mark.scenario("debugBundle")
def test_debug_bundle(host: Host) -> None:
    assert discovery(host)["debugBundle"]["supported"] is True
    inputs = {"payload": {name: secret for name, secret in CREDENTIALS.items() if isinstance(secret, str)}}
    run_id = host.create("conformance-identity", inputs=inputs)
    events = host.log(run_id)
    bundle = host.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    assert (bundle.status, bundle.headers["cache-control"]) == (200, "no-store")
    document = bundle.document
    assert document["bundleVersion"] == "1.0"
    assert len(document["events"]) == len(events) == document["metrics"]["eventCount"]
    assert document["redactionMode"] != "passthrough" or not document["redactionApplied"]
    for name, secret in inputs["payload"].items():
        assert secret not in bundle.body.decode(), name
    cut = host.call("GET", f"/v1/runs/{run_id}/debug-bundle?maxEvents=2").document
    assert (cut["truncated"], len(cut["events"])) == (True, 2)
    assert host.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=None).status == 401
    assert host.call("GET", f"/v1/runs/{UNKNOWN_RUN}/debug-bundle").status == 404


@pytest.mark.scenario("redaction")
def test_redaction(host: Host) -> None:
    """A credential in the inputs of a run is in nothing that the host shows of it."""
    secret = next(each for each in CREDENTIALS.values() if isinstance(each, str))
    run_id = host.create("conformance-identity", inputs={"payload": {"deep": [f"use {secret} now"]}})
    assert "[REDACTED:" in json.dumps(host.log(run_id))
    run = f"/v1/runs/{run_id}"
    paths = [run, f"{run}/events", f"{run}/events/poll", f"{run}/debug-bundle", "/v1/runs"]
    paths += [f"{run}/events?streamMode={mode}" for mode in ("updates", "values", "messages", "debug")]
    for path in paths:
        answer = host.call("GET", path)
        assert answer.status == 200, path
        assert secret not in answer.body.decode(), path


@pytest.mark.scenario("test-seam-unauthenticated")
def test_test_endpoints_need_a_key(host: Host) -> None:
    described = host.call("GET", "/v1/openapi.json", key=None).document["paths"]
    served = [path for path in described if path.startswith("/v1/host/sample/")]
    assert len(served) > 10
    others = ("governance/approval-gate", "packs/install-gate", "subrun/attest")
    for path in (*served, *(f"/v1/host/sample/{each}" for each in others)):
        concrete = re.sub(r"\{\w+\}", "x", path)
        for method, document in (("GET", None), ("POST", {})):
            assert host.call(method, concrete, document, key=None).status in (401, 403, 404, 405, 501), path


@pytest.mark.scenario("safefetch-behavior")
def test_safe_fetch(host: Host) -> None:
    path = "/v1/host/sample/http/safe-fetch"
    for url in ("https://169.254.169.254/latest", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/"):
        blocked = host.call("POST", path, {"url": url})
        assert blocked.document == {"outcome": "blocked", "blocked": "ssrf"}
    moved = host.call("POST", path, {"url": "https://example.com/", "simulateRebindTo": "127.0.0.1"})
    assert moved.document == {"outcome": "blocked", "blocked": "ssrf"}
    upgrade = {"headers": {"Connection": "Upgrade", "Upgrade": "websocket"}}
    assert host.call("POST", path, {"url": "https://example.com/", "init": upgrade}).document["blocked"] == "upgrade"
