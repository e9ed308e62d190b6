"""Pausing and resuming over HTTP: both policies, the order of events, conflicts, keys, bodies."""

from datetime import datetime
from typing import Any

import pytest

from tests.harness.definitions import node
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, delays
from tests.live.steering import (
    answer_over_http,
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
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import PAUSE_REQUESTED

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
    assert [event["type"] for event in log[2:]] == [
        "run.paused",
        "run.resumed",
        "node.started",
        "node.completed",
        "run.completed",
    ]
    assert log[3]["payload"] == {"reason": "back"}
    assert [event["payload"]["attempt"] for event in log if event["type"] == "node.started"] == [1, 2]
    assert milliseconds(log[5]) - milliseconds(log[4]) >= 900


@pytest.mark.rule("run-12", "run-13")
@pytest.mark.parametrize("document", [None, {}, {"drainPolicy": "drain-current-node"}])
def test_the_last_node_ends_and_the_run_stays_paused(host: Host, document: Any) -> None:
    run_id = host.create(SHORT, inputs={"delayMs": 900})
    assert pause(host, run_id, document).status == 202
    assert host.snapshot(run_id)["status"] == "running"
    about_to = pause(host, run_id)
    assert error_code(about_to) == (409, "conflict")
    assert about_to.document["details"] == {"runStatus": "running"}
    await_status(host, run_id, "paused")
    assert event_types(host, run_id) == ["run.started", "node.started", PAUSE_REQUESTED, "node.completed", "run.paused"]
    assert payloads(host, run_id, "run.paused") == [{"drainPolicy": "drain-current-node"}]
    shown = host.snapshot(run_id)
    assert shown["nodeStates"]["wait"]["status"] == "completed"
    assert "outputs" not in shown
    assert resume(host, run_id).status == 202
    assert [event["type"] for event in host.log(run_id)][-3:] == ["run.paused", "run.resumed", "run.completed"]


@pytest.mark.rule("run-12")
def test_nothing_follows_the_node_that_was_let_end(host: Host) -> None:
    run_id = host.create(register(host, delays("pause-chain", 600, 0, 0)))
    assert pause(host, run_id).status == 202
    await_status(host, run_id, "paused")
    assert [each["nodeId"] for each in payloads(host, run_id, "node.started")] == ["n0"]
    assert resume(host, run_id).status == 202
    ended = [event["nodeId"] for event in host.log(run_id) if event["type"] == "node.completed"]
    assert ended == ["n0", "n1", "n2"]


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
@pytest.mark.parametrize("steer", [pause, resume])
def test_a_run_that_has_ended_is_neither_paused_nor_resumed(host: Host, steer: Any) -> None:
    completed, failed, cancelled = (
        host.create("conformance-noop"),
        host.create("conformance-failure"),
        host.create(LONG),
    )
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


@pytest.mark.parametrize(
    "document",
    [
        [],
        "now",
        {"drainPolicy": "now"},
        {"drainPolicy": None},
        {"drainPolicy": ["immediate"]},
        {"reason": 1},
        {"reason": "x" * 513},
        {"force": True},
        {"DrainPolicy": "immediate"},
    ],
)
def test_a_pause_that_is_none_changes_nothing(host: Host, document: Any) -> None:
    run_id = host.create(LONG)
    assert error_code(pause(host, run_id, document)) == (400, "validation_error")
    assert error_code(pause(host, run_id, document, **{"Idempotency-Key": f"bad-{run_id}"})) == (
        400,
        "validation_error",
    )
    assert event_types(host, run_id) == ["run.started", "node.started"]
    assert pause(host, run_id, NOW, **{"Idempotency-Key": f"bad-{run_id}"}).status == 202
    assert error_code(resume(host, run_id, document)) == (400, "validation_error")
    assert error_code(resume(host, run_id, NOW)) == (400, "validation_error")
    assert host.snapshot(run_id)["status"] == "paused"
    cancel(host, run_id)


@pytest.mark.rule("auth-03", "auth-05")
@pytest.mark.parametrize("steer", [pause, resume])
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
    assert (
        host.call("POST", f"/v1/runs/{run_id}:pause", body=b"{}", headers={"Content-Type": "text/plain"}).status == 415
    )
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
    assert [event["type"] for event in log[3:]] == [
        "run.paused",
        "run.resumed",
        "node.started",
        "node.failed",
        "run.failed",
    ]
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
