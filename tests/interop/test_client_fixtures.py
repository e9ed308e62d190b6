"""The conformance workflows behave as their catalogue says, seen through the official client."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from openwop_client import CreateRunRequest, OpenwopClient
from openwop_client.types import RunConfigurable, RunEventDoc, RunSnapshot

from tests.interop import test_client_agents, test_client_interrupts, test_client_models
from tests.interop.client_calls import refused
from tests.live import Host
from weftwork.protocol.json import schema


def run(client: OpenwopClient, workflow: str, **members: Any) -> tuple[list[RunEventDoc], RunSnapshot]:
    """Create it, follow it to its end, and check every payload on the way."""
    run_id = client.runs_create(CreateRunRequest(workflow, **members)).runId
    events = list(client.runs_events(run_id, stream_mode="debug"))
    for event in events:
        assert schema.check_payload(event.type, event.payload) == []
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [event.type for event in events if event.type in ("run.completed", "run.failed", "run.cancelled")] == [
        events[-1].type
    ]
    return events, client.runs_get(run_id)


def types(events: list[RunEventDoc]) -> list[str]:
    return [event.type for event in events]


def test_noop(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-noop")
    assert types(events) == ["run.started", "node.started", "node.completed", "run.completed"]
    assert snapshot.status == "completed"


def test_identity(client: OpenwopClient) -> None:
    payload = {"a": [1, 2.5, None, True, {"é": "日本\u2028"}], "": {}, "deep": {"x": {"y": [[]]}}}
    events, snapshot = run(client, "conformance-identity", inputs={"payload": payload})
    assert snapshot.status == "completed"
    assert snapshot.variables is not None
    assert snapshot.variables["payload"] == payload
    assert events[-1].payload["outputs"] == {"echo": {"payload": payload}}


def test_delay(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-delay", inputs={"delayMs": 700})).runId
    assert client.runs_get(run_id).status == "running"
    assert client.runs_get(run_id).currentNodeId == "wait"
    events = list(client.runs_events(run_id))
    assert types(events) == ["run.started", "node.completed", "run.completed"]
    assert client.runs_get(run_id).status == "completed"


@pytest.mark.rule("run-03")
def test_cancellable(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-cancellable")).runId
    assert client.runs_get(run_id).status == "running"
    assert client.runs_cancel(run_id).status in ("cancelling", "cancelled")
    events = list(client.runs_events(run_id, stream_mode="debug"))
    assert types(events)[-2:] == ["node.cancelled", "run.cancelled"]
    assert "parentRunId" not in events[-1].payload
    assert client.runs_get(run_id).status == "cancelled"
    _, snapshot = run(client, "conformance-cancellable", inputs={"delayMs": 5})
    assert snapshot.status == "completed"


@pytest.mark.rule("run-04")
def test_failure(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-failure")
    assert types(events) == ["run.started", "node.started", "node.failed", "run.failed"]
    assert snapshot.status == "failed"
    assert snapshot.error is not None
    assert (snapshot.error.code, snapshot.error.message) == (
        "conformance_test_failure",
        "Intentional conformance failure",
    )
    for event in events[-2:]:
        assert event.payload["error"]["code"] == "conformance_test_failure"


def test_multi_node(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-multi-node")
    assert [event.nodeId for event in events if event.type == "node.completed"] == ["a", "b", "c"]
    assert snapshot.status == "completed"


def test_idempotent(client: OpenwopClient) -> None:
    _, snapshot = run(client, "conformance-idempotent", inputs={"nonce": "once"})
    assert snapshot.status == "completed"
    assert snapshot.variables == {"nonce": "once"}


@pytest.mark.rule("lim-01", "lim-03", "lim-04")
def test_cap_breach(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-cap-breach", configurable={"recursionLimit": 3})
    (breach,) = [event for event in events if event.type == "cap.breached"]
    assert breach.payload["kind"] == "node-executions"
    assert breach.payload["limit"] == 3
    assert breach.payload["observed"] > 3
    assert breach.payload["nodeId"] == breach.nodeId == "n4"
    assert types(events)[-2:] == ["cap.breached", "run.failed"]
    assert types(events).count("node.started") == 3
    assert snapshot.error is not None
    assert (snapshot.status, snapshot.error.code) == ("failed", "recursion_limit_exceeded")
    _, free = run(client, "conformance-cap-breach")
    assert free.status == "completed"


@pytest.mark.rule("lim-01", "lim-02", "lim-05")
def test_run_duration_breach(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-run-duration-breach", configurable={"runTimeoutMs": 200})
    (breach,) = [event for event in events if event.type == "cap.breached"]
    assert (breach.payload["kind"], breach.payload["limit"]) == ("run-duration", 200)
    assert breach.payload["observed"] > 200
    assert types(events)[-1] == "run.failed"
    assert snapshot.error is not None
    assert (snapshot.status, snapshot.error.code) == ("failed", "run_timeout")


@pytest.mark.rule("node-01", "node-02")
def test_capability_missing(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-capability-missing")
    assert snapshot.error is not None
    assert (snapshot.status, snapshot.error.code) == ("failed", "capability_not_provided")
    assert "conformance.never-provided" in snapshot.error.message
    assert snapshot.error.details is not None
    assert snapshot.error.details["capability"] == "conformance.never-provided"
    assert types(events)[-1] == "run.failed"


@pytest.mark.rule("opt-04")
def test_configurable_schema(client: OpenwopClient) -> None:
    wrong: list[dict[str, Any]] = [{"recursionLimit": "many"}, {"recursionLimit": 0}, {"tags": [1]}, {"more": True}]
    for configurable in wrong:
        with refused(400, "validation_error") as details:
            client.runs_create(CreateRunRequest("conformance-configurable-schema", configurable=configurable))
        assert details["pointer"].startswith("/configurable")
    for configurable in ({"recursionLimit": 1}, {"tags": ["a"]}, {}, RunConfigurable(recursionLimit=1)):
        events, snapshot = run(client, "conformance-configurable-schema", configurable=configurable)
        assert types(events) == ["run.started", "node.started", "node.completed", "run.completed"]
        assert snapshot.status == "completed"


@pytest.mark.rule("run-14")
def test_channel_ttl(client: OpenwopClient) -> None:
    """Three entries are too old when the fourth is written."""
    events, snapshot = run(client, "conformance-channel-ttl")
    assert snapshot.status == "completed"
    written = [event for event in events if event.type == "channel.written"]
    assert [event.nodeId for event in written] == ["write-a", "write-b", "write-c", "write-d"]
    assert [event.payload["reducer"] for event in written] == ["append"] * 4
    assert snapshot.variables is not None
    assert snapshot.channels is not None
    (left,) = snapshot.variables["events"]
    assert left["value"] == "d"
    assert isinstance(left["_ts"], int)
    assert set(left) == {"value", "_ts"}
    assert snapshot.channels["events"] == [left]


@pytest.mark.rule("run-14")
def test_message_reducer(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-message-reducer")
    assert snapshot.status == "completed"
    written = [event.payload["value"]["messageId"] for event in events if event.type == "channel.written"]
    assert written == ["msg-1", "msg-2", "msg-2"]
    assert snapshot.channels is not None
    assert [entry["messageId"] for entry in snapshot.channels["messages"]] == ["msg-1", "msg-2"]


@pytest.mark.rule("media-68")
def test_media_emit(client: OpenwopClient, host: Host) -> None:
    events, snapshot = run(client, "conformance-media-emit")
    assert snapshot.status == "completed"
    shown = [event for event in events if event.type.startswith("media.")]
    assert types(shown) == ["media.image", "media.audio", "media.file", "media.image"]
    assert all(event.payload["alt"] for event in shown)
    for event in shown[:3]:
        served = host.call("GET", urlsplit(event.payload["url"]).path, key=None)
        assert (served.status, len(served.body)) == (200, event.payload["bytes"])


def test_every_advertised_workflow_is_proved_here(host: Host) -> None:
    advertised = host.call("GET", "/.well-known/openwop").document["fixtures"]
    modules = (test_client_agents, test_client_interrupts, test_client_models)
    tests = (*globals(), *(name for module in modules for name in vars(module)))
    proved = {name.removeprefix("test_").replace("_", "-") for name in tests if name.startswith("test_")}
    assert {name.removeprefix("conformance-") for name in advertised} <= proved
