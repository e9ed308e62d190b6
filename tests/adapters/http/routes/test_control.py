"""Steering runs over HTTP: pausing, resuming, deleting, and cancelling many."""

import asyncio
import contextlib
import socket
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.live import (
    KEY,
    OTHER_KEY,
    TEST_KEY,
    Answer,
    Host,
    delays,
    in_thread,
    open_in_process,
    open_listening,
    start_host,
    until,
    write_workflows,
)
from tests.live.listening_host import until as eventually
from tests.live.steering import (
    answer_over_http,
    assert_replayed,
    await_status,
    cancel,
    error_code,
    event_types,
    events,
    flow,
    interrupt_node,
    pause,
    payloads,
    register,
    resume,
)
from weftwork.adapters.http import app
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import PAUSE_REQUESTED
from weftwork.testing.storage.samples import batch, make_run

LONG = "conformance-cancellable"
SHORT = "conformance-delay"
NOWHERE = "01zzzzzzzzzzzzzzzzzzzzzzzz"
NOW = {"drainPolicy": "immediate"}


def milliseconds(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["timestamp"]).timestamp() * 1000


@pytest.mark.rule("run-12", "run-13")
def test_a_run_that_is_paused_at_once_waits_its_whole_time_again(host: Host) -> None:
    run_id = host.create(SHORT, inputs={"delayMs": 900})
    answer = pause(host, run_id, {**NOW, "reason": "lunch"})
    assert answer.status == 202
    assert schema.check("pause-run-response", answer.document) == []
    assert set(answer.document) == {"runId", "status", "pausedAt"}
    assert (answer.document["runId"], answer.document["status"]) == (run_id, "paused")
    shown = host.snapshot(run_id)
    assert shown["status"] == "paused"
    assert "completedAt" not in shown
    assert event_types(host, run_id) == ["run.started", "node.started", "run.paused"]
    assert payloads(host, run_id, "run.paused") == [{"drainPolicy": "immediate", "reason": "lunch"}]
    answer = resume(host, run_id, {"reason": "back"})
    assert answer.status == 202
    assert schema.check("resume-run-response", answer.document) == []
    assert set(answer.document) == {"runId", "status", "resumedAt"}
    assert (answer.document["runId"], answer.document["status"]) == (run_id, "running")
    log = host.log(run_id)
    went_on = ["run.paused", "run.resumed", "node.started", "node.completed", "run.completed"]
    assert [event["type"] for event in log[2:]] == went_on
    assert log[3]["payload"] == {"reason": "back"}
    assert [event["payload"]["attempt"] for event in log if event["type"] == "node.started"] == [1, 2]
    assert milliseconds(log[5]) - milliseconds(log[4]) >= 900


@pytest.mark.rule("run-12", "run-13")
@pytest.mark.parametrize("document", [None, {}, {"drainPolicy": "drain-current-node"}])
def test_the_node_that_runs_ends_and_nothing_follows_it_while_the_run_is_paused(host: Host, document: Any) -> None:
    chain = host.create(register(host, delays("pause-chain", 600, 0, 0)))
    assert pause(host, chain, document).status == 202
    run_id = host.create(SHORT, inputs={"delayMs": 900})
    requested = pause(host, run_id, document)
    assert requested.status == 202
    assert host.snapshot(run_id)["status"] == "running"
    about_to = pause(host, run_id)
    assert error_code(about_to) == (409, "conflict")
    assert about_to.document["details"] == {"runStatus": "running", "pausedAt": requested.document["pausedAt"]}
    await_status(host, run_id, "paused")
    assert event_types(host, run_id) == ["run.started", "node.started", PAUSE_REQUESTED, "node.completed", "run.paused"]
    assert payloads(host, run_id, "run.paused") == [{"drainPolicy": "drain-current-node"}]
    shown = host.snapshot(run_id)
    assert shown["nodeStates"]["wait"]["status"] == "completed"
    assert "outputs" not in shown
    assert resume(host, run_id).status == 202
    assert [event["type"] for event in host.log(run_id)][-3:] == ["run.paused", "run.resumed", "run.completed"]
    await_status(host, chain, "paused")
    assert [each["nodeId"] for each in payloads(host, chain, "node.started")] == ["n0"]
    assert resume(host, chain).status == 202
    assert [e["nodeId"] for e in host.log(chain) if e["type"] == "node.completed"] == ["n0", "n1", "n2"]


@pytest.mark.rule("run-03", "run-12", "run-13")
def test_a_run_that_is_about_to_pause_can_still_be_cancelled(host: Host) -> None:
    run_id = host.create(LONG)
    assert pause(host, run_id).status == 202
    refused = resume(host, run_id)
    assert error_code(refused) == (409, "conflict")
    assert refused.document["details"] == {"runStatus": "running"}
    cancel(host, run_id)
    assert [event["type"] for event in host.log(run_id)][-2:] == ["node.cancelled", "run.cancelled"]
    assert "run.paused" not in event_types(host, run_id)


@pytest.mark.rule("run-12")
def test_a_run_that_waits_for_somebody_is_not_paused(host: Host) -> None:
    nodes = [node("slow", "core.delay", config={"ms": 60_000}), interrupt_node("ask")]
    run_id = host.create(register(host, flow("pause-asks", nodes)))
    refused = pause(host, run_id, NOW)
    assert error_code(refused) == (409, "conflict")
    assert refused.document["details"] == {"runStatus": "waiting-input"}
    assert answer_over_http(host, run_id, "ask", 1).document["status"] == "running"
    assert pause(host, run_id, NOW).status == 202
    assert error_code(answer_over_http(host, run_id, "ask", 2)) == (409, "interrupt_already_resolved")
    assert host.snapshot(run_id)["nodeStates"]["ask"]["status"] == "completed"
    cancel(host, run_id)


@pytest.mark.rule("run-12")
@each_case("policy, kind", ("immediate", "run.paused"), ("drain-current-node", PAUSE_REQUESTED))
def test_a_pause_has_one_time(tmp_path_factory: pytest.TempPathFactory, policy: str, kind: str) -> None:
    """The time of the event that records the request, wherever it is shown, also after a drain and a restart."""
    folder = tmp_path_factory.mktemp("host")
    flows = write_workflows(folder / "flows", delays("wait", 300, 60_000))
    body, headers = {"drainPolicy": policy}, {"Idempotency-Key": "once"}
    with start_host(folder, "--workflows", flows) as host:
        run_id = host.create("wait")
        until(lambda: "node.started" in event_types(host, run_id), "the node to start")
        paused_at = pause(host, run_id, body, **headers).document["pausedAt"]
        assert [event["timestamp"] for event in events(host, run_id) if event["type"] == kind] == [paused_at]

        def check(host: Host) -> None:
            assert pause(host, run_id, body, **headers).document["pausedAt"] == paused_at
            assert pause(host, run_id).document["details"]["pausedAt"] == paused_at

        check(host)
        await_status(host, run_id, "paused")
        check(host)
        host.kill()
    with start_host(folder, "--workflows", flows) as host:
        check(host)
        resumed_at = resume(host, run_id).document["resumedAt"]
        assert [each["timestamp"] for each in events(host, run_id) if each["type"] == "run.resumed"] == [resumed_at]
        assert "pausedAt" not in pause(host, run_id, {"drainPolicy": "wrong"}).document["details"]
        again = pause(host, run_id, {"drainPolicy": "immediate"}).document["pausedAt"]
        assert again > paused_at


@pytest.mark.rule("run-12")
def test_a_paused_run_is_told_apart(host: Host) -> None:
    run_id = host.create(LONG)
    assert pause(host, run_id, NOW).status == 202
    refused = pause(host, run_id, NOW)
    assert error_code(refused) == (409, "conflict")
    at = next(event["timestamp"] for event in events(host, run_id) if event["type"] == "run.paused")
    assert refused.document["details"] == {"runStatus": "paused", "pausedAt": at}
    listed = host.call("GET", "/v1/runs?status=paused&limit=200").document["runs"]
    assert run_id in [run["runId"] for run in listed]
    cancelled = host.call("POST", f"/v1/runs/{run_id}/cancel")
    assert (cancelled.status, cancelled.document["status"]) == (200, "cancelled")
    assert event_types(host, run_id)[-1] == "run.cancelled"
    assert event_types(host, run_id).count("run.paused") == 1


@pytest.mark.rule("run-12", "run-13")
@each_case("steer", pause, resume)
def test_a_run_that_has_ended_is_neither_paused_nor_resumed(host: Host, steer: Any) -> None:
    completed, failed, cancelled = map(host.create, ("conformance-noop", "conformance-failure", LONG))
    cancel(host, cancelled)
    await_status(host, cancelled, "cancelled")
    for run_id, status in ((completed, "completed"), (failed, "failed"), (cancelled, "cancelled")):
        before = event_types(host, run_id)
        refused = steer(host, run_id, {})
        assert error_code(refused) == (409, "conflict")
        assert refused.document["details"] == {"runStatus": status}
        assert event_types(host, run_id) == before


@pytest.mark.rule("run-13")
def test_only_a_paused_run_is_resumed(host: Host) -> None:
    run_id = host.create(LONG)
    refused = resume(host, run_id)
    assert error_code(refused) == (409, "conflict")
    assert refused.document["details"] == {"runStatus": "running"}
    waiting = host.create(register(host, flow("pause-waits", [interrupt_node("ask")])))
    assert resume(host, waiting).document["details"] == {"runStatus": "waiting-input"}
    cancel(host, run_id)


@each_case(
    "document",
    [],
    "now",
    {"drainPolicy": "now"},
    {"drainPolicy": None},
    {"drainPolicy": ["immediate"]},
    {"reason": 1},
    {"reason": "x" * 513},
    {"force": True},
    {"DrainPolicy": "immediate"},
)
def test_a_pause_that_is_none_changes_nothing(host: Host, document: Any) -> None:
    run_id = host.create(LONG)
    key = {"Idempotency-Key": f"bad-{run_id}"}
    assert error_code(pause(host, run_id, document)) == (400, "validation_error")
    assert error_code(pause(host, run_id, document, **key)) == (400, "validation_error")
    assert event_types(host, run_id) == ["run.started", "node.started"]
    assert pause(host, run_id, NOW, **key).status == 202
    assert error_code(resume(host, run_id, document)) == (400, "validation_error")
    assert error_code(resume(host, run_id, NOW)) == (400, "validation_error")
    assert host.snapshot(run_id)["status"] == "paused"
    cancel(host, run_id)


@pytest.mark.rule("auth-03", "auth-05")
@each_case("steer", pause, resume)
def test_others_steer_nothing(host: Host, steer: Any) -> None:
    run_id = host.create(LONG)
    for key, body in ((None, {}), ("wrong", {}), (None, {"bad": 1}), (None, None)):
        for each in (run_id, NOWHERE):
            assert error_code(steer(host, each, body, key)) == (401, "unauthenticated")
    for key in (OTHER_KEY, TEST_KEY):
        assert error_code(steer(host, run_id, {}, key)) == (404, "not_found")
    for key in (KEY, OTHER_KEY):
        assert error_code(steer(host, NOWHERE, {}, key)) == (404, "not_found")
    assert event_types(host, run_id) == ["run.started", "node.started"]
    plain = {"Content-Type": "text/plain"}
    assert host.call("POST", f"/v1/runs/{run_id}:pause", body=b"{}", headers=plain).status == 415
    cancel(host, run_id)


RETRIES = {"maxRetries": 1, "retryDelayMs": 700, "retryBackoff": 1}


@pytest.mark.rule("run-12", "node-12")
def test_a_node_that_waits_to_be_tried_again_is_paused_too(host: Host) -> None:
    document = flow("pause-retry", [node("try", "core.fail", settings=RETRIES)])
    run_id = host.create(register(host, document))
    shown = host.snapshot(run_id)
    assert (shown["status"], shown["nodeStates"]["try"]["status"]) == ("running", "retrying")
    assert pause(host, run_id).status == 202
    assert host.snapshot(run_id)["status"] == "paused"
    other = host.create("pause-retry")
    assert host.log(other)[-1]["type"] == "run.failed"
    assert event_types(host, run_id) == ["run.started", "node.started", "node.retried", "run.paused"]
    assert resume(host, run_id).status == 202
    log = host.log(run_id)
    tried_again = ["run.paused", "run.resumed", "node.started", "node.failed", "run.failed"]
    assert [event["type"] for event in log[3:]] == tried_again
    assert log[-2]["payload"]["attempts"] == 2


@pytest.mark.rule("lim-02", "run-12")
def test_the_time_of_a_run_goes_on_while_it_is_paused(host: Host) -> None:
    run_id = host.create(LONG, configurable={"runTimeoutMs": 600})
    assert pause(host, run_id, NOW).status == 202
    log = host.log(run_id)
    assert [event["type"] for event in log[2:]] == ["run.paused", "cap.breached", "run.failed"]
    assert host.snapshot(run_id)["error"]["code"] == "run_timeout"
    refused = resume(host, run_id)
    assert refused.document["details"] == {"runStatus": "failed"}


DELAY = "conformance-cancellable"
NOOP = "conformance-noop"
END = b"\r\n0\r\n\r\n"


def bulk(host: Host, run_ids: list[Any], key: str = KEY, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    return host.call("POST", "/v1/runs:bulk-cancel", {"runIds": run_ids, **more}, key=key, headers=headers)


def delete(host: Host, run_id: str, key: str = KEY, **headers: str) -> Answer:
    return host.call("DELETE", f"/v1/runs/{run_id}", key=key, headers=headers)


def cancelled(host: Host, run_id: str) -> bool:
    return host.snapshot(run_id)["status"] == "cancelled"


@pytest.mark.rule("run-08")
def test_a_deleted_run_is_unknown_on_every_path(host: Host) -> None:
    run_id = host.create(NOOP, tags=["doomed"])
    kept = host.create(NOOP, tags=["doomed"])
    answer = delete(host, run_id)
    assert (answer.status, answer.body) == (204, b"")
    assert "content-length" not in answer.headers
    assert "content-type" not in answer.headers
    assert "openwop-idempotent-replay" not in answer.headers
    base = f"/v1/runs/{run_id}"
    for method, path in (
        ("GET", base),
        ("GET", f"{base}/events"),
        ("GET", f"{base}/events/poll?timeout=1"),
        ("POST", f"{base}/cancel"),
        ("DELETE", base),
    ):
        for accept in ("application/json", "text/event-stream"):
            gone = host.call(method, path, headers={"Accept": accept})
            never = host.call(method, path.replace(run_id, "01zzzzzzzzzzzzzzzzzzzzzzzz"), headers={"Accept": accept})
            assert (gone.status, gone.body) == (404, never.body)
    listed = host.call("GET", "/v1/runs?tag=doomed").document["runs"]
    assert [run["runId"] for run in listed] == [kept]


@pytest.mark.rule("run-08")
def test_a_live_run_has_to_be_cancelled_first(host: Host) -> None:
    run_id = host.create(DELAY, inputs={"delayMs": 60_000})
    refused = delete(host, run_id)
    assert (refused.status, refused.document["error"]) == (409, "conflict")
    assert refused.document["details"] == {"runStatus": "running"}
    assert "cancel" in refused.document["message"]
    host.call("POST", f"/v1/runs/{run_id}/cancel")
    until(lambda: cancelled(host, run_id), "the run to be cancelled")
    assert delete(host, run_id).status == 204


@pytest.mark.rule("auth-03", "idem-03")
def test_a_delete_can_be_repeated_with_its_key_and_others_delete_nothing(host: Host) -> None:
    run_id = host.create(NOOP)
    for other in (OTHER_KEY, TEST_KEY):
        assert delete(host, run_id, other).status == 404
    assert host.snapshot(run_id)["status"] == "completed"
    key = {"Idempotency-Key": f"delete-{run_id}"}
    first, again = delete(host, run_id, **key), delete(host, run_id, **key)
    assert (first.status, first.body) == (204, b"")
    assert_replayed(first, again)
    assert delete(host, run_id, **{"Idempotency-Key": "another"}).status == 404


def test_a_connection_goes_on_after_an_answer_without_a_body(host: Host) -> None:
    ids = [host.create(NOOP) for _ in range(3)]
    with contextlib.closing(host.connect()) as connection:
        for run_id in ids:
            head = f"DELETE /v1/runs/{run_id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"
            connection.sendall(head.encode())
            received = b""
            while not received.endswith(b"\r\n\r\n"):
                chunk = connection.recv(4096)
                assert chunk
                received += chunk
            assert received.startswith(b"HTTP/1.1 204 ")
            assert b"transfer-encoding" not in received.lower()


async def sent_as_any_document(request: Any, response: Any, real: Any = app._send) -> None:
    response.status = 200 if response.status == 204 else response.status
    await real(request, response)


@fails_without(app, "_send", sent_as_any_document)
async def test_an_answer_without_a_body_has_no_length() -> None:
    async with open_in_process(delays("now", 0)) as inside:
        made = await inside.call("POST", "/v1/runs", {"workflowId": "now"})
        path = f"/v1/runs/{made.document['runId']}"
        while (await inside.call("GET", path)).document["status"] != "completed":
            await asyncio.sleep(0.005)
        assert "content-length" not in (await inside.call("DELETE", path)).headers


@pytest.mark.rule("run-08")
@pytest.mark.parametrize(("size", "count"), [(100, 40_000), (100_000, 200)], ids=["between frames", "inside a frame"])
async def test_a_slow_stream_of_a_deleted_run_ends(size: int, count: int, caplog: pytest.LogCaptureFixture) -> None:
    """A reader has taken a part of a long log when the run is deleted. A frame that is begun cannot be finished."""

    async with open_listening() as served:
        run = await make_run(served.in_process.host._store, "long", "live:acme")
        last = batch(run, -1, count, "completed")
        payload = b'{"line":"%b"}' % (b"x" * size)
        given = tuple(replace(event, payload=payload) for event in last.events)
        await served.log.append(run, -1, replace(last, events=given))
        with contextlib.closing(served.ask("/v1/runs/long/events?streamMode=debug", 8192)) as connection:
            received = await in_thread(connection.recv, 1000)
            assert (await served.in_process.call("DELETE", "/v1/runs/long")).status == 204
            received += await in_thread(to_the_end, connection)
        await eventually(lambda: not served.readers, "the reader to leave")
    assert received.startswith(b"HTTP/1.1 200 ")
    assert 0 < received.count(b"event: log.appended") < count
    assert received.endswith(END) is (size == 100)
    assert "request failed" not in caplog.text


def to_the_end(connection: socket.socket) -> bytes:
    """What comes until the end is announced, or the connection breaks."""
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while not received.endswith(END) and (chunk := connection.recv(1 << 20)):
            received += chunk
    return bytes(received)


@pytest.mark.rule("run-10")
def test_many_runs_are_cancelled_with_one_request(host: Host) -> None:
    live = [host.create(DELAY, inputs={"delayMs": 60_000}) for _ in range(5)]
    done = host.create(NOOP)
    theirs = host.create(DELAY, key=OTHER_KEY, inputs={"delayMs": 60_000})
    asked = [live[0], done, "no such:id", *live[1:], theirs, live[0]]
    answer = bulk(host, asked, reason="tidying up")
    assert answer.status == 200
    assert schema.check("bulk-cancel-response", answer.document) == []
    results = answer.document["results"]
    assert [entry["runId"] for entry in results] == asked
    codes = [entry["status"] if entry["ok"] else entry["error"]["code"] for entry in results]
    assert codes[:3] == ["cancelling", "run_terminal", "validation_error"]
    assert codes[3:] == ["cancelling"] * 4 + ["not_found", "cancelling"]
    for run_id in live:
        until(lambda run_id=run_id: cancelled(host, run_id), "the run to be cancelled")
        assert host.log(run_id)[-1]["payload"]["reason"] == "tidying up"
    assert host.snapshot(theirs, key=OTHER_KEY)["status"] == "running"
    again = bulk(host, live).document["results"]
    assert {entry["status"] for entry in again} == {"cancelled"}
    bulk(host, [theirs], key=OTHER_KEY)


@pytest.mark.rule("run-09")
def test_too_many_at_once_are_told_how_many_may_be(host: Host) -> None:
    most = host.call("GET", "/.well-known/openwop", key=None).document["runs"]["bulkCancel"]["maxRunIds"]
    assert bulk(host, ["unknown"] * most).status == 200
    refused = bulk(host, ["unknown"] * (most + 1))
    assert (refused.status, refused.document["error"]) == (400, "validation_error")
    assert refused.document["details"]["maxRunIds"] == most == 100


@pytest.mark.rule("run-09")
@each_case("document", {}, [], {"runIds": []}, {"runIds": [1]}, {"runIds": ["r"], "all": True})
def test_a_body_that_is_none_is_refused_as_is_another_verb(host: Host, document: Any) -> None:
    assert error_code(host.call("POST", "/v1/runs:bulk-cancel", document)) == (400, "validation_error")
    assert host.call("POST", "/v1/runs:bulk-cancel").status == 415
    assert host.call("GET", "/v1/runs:bulk-cancel").status == 405
    assert host.call("POST", "/v1/runs:bulk-cancel", {"runIds": ["r"]}, key=None).status == 401
    assert host.call("POST", "/v1/runs:bulk-delete", {}).status == 404
    assert host.call("DELETE", "/v1/runs").status == 405


@pytest.mark.rule("idem-03")
def test_a_bulk_cancel_can_be_repeated_with_its_key(host: Host) -> None:
    run_id = host.create(DELAY, inputs={"delayMs": 60_000})
    key = {"Idempotency-Key": f"bulk-{run_id}"}
    first = bulk(host, [run_id, "unknown"], headers=key)
    until(lambda: cancelled(host, run_id), "the run to be cancelled")
    again = bulk(host, [run_id, "unknown"], headers=key)
    assert_replayed(first, again)
    other = bulk(host, [run_id], headers=key)
    assert (other.status, other.document["error"]) == (409, "idempotency_key_mismatch")
