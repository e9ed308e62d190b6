"""The conformance workflows with supervisors and dispatches, seen through the official client."""

from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient
from openwop_client.types import ResolveInterruptRequest, RunConfigurable, RunEventDoc

from tests.live import KEY, Host, until
from weftwork.protocol.json import schema

CHAIN = "core.workflowChain.event"
DECIDED = "runOrchestrator.decided"
MAPPED = "conformance-dispatch-output-mapping"
HANDOFF = "conformance-dispatch-cross-worker-handoff"


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


def ended(client: OpenwopClient, run_id: str, status: str) -> list[RunEventDoc]:
    """The log of a run that ends so; every event is checked on the way."""
    events = list(client.runs_events(run_id, stream_mode="debug"))
    for event in events:
        assert schema.check_payload(event.type, event.payload) == []
    assert events[-1].type == f"run.{status}", events[-1].payload
    assert client.runs_get(run_id).status == status
    return events


def completed(client: OpenwopClient, workflow: str, **members: Any) -> tuple[str, list[RunEventDoc]]:
    run_id = client.runs_create(CreateRunRequest(workflow, **members)).runId
    return run_id, ended(client, run_id, "completed")


def payloads(events: list[RunEventDoc], kind: str) -> list[dict[str, Any]]:
    return [each.payload for each in events if each.type == kind]


def kinds(events: list[RunEventDoc]) -> list[str]:
    return [each["decision"]["kind"] for each in payloads(events, DECIDED)]


def phases(events: list[RunEventDoc]) -> list[str]:
    return [each["phase"] for each in payloads(events, CHAIN)]


def children(host: Host, events: list[RunEventDoc]) -> list[dict[str, Any]]:
    """The workers' runs in the order of their dispatch; each was dispatched because of a decision."""
    decisions = {each.eventId for each in events if each.type == DECIDED}
    sent = [each for each in events if each.type in ("node.dispatched", CHAIN)]
    assert {each.causationId for each in sent} <= decisions
    found = [host.snapshot(each["childRunId"]) for each in payloads(events, "node.dispatched")]
    assert [each["workflowId"] for each in found] == [
        each["childWorkflowId"] for each in payloads(events, "node.dispatched")
    ]
    return found


def waiting(client: OpenwopClient, host: Host, workflow: str, status: str, node_id: str) -> tuple[str, list[Any]]:
    """A run that waits so, and its log until then."""
    run_id = client.runs_create(CreateRunRequest(workflow)).runId
    until(lambda: host.snapshot(run_id)["status"] == status, f"the run to be {status}")
    assert host.snapshot(run_id)["currentNodeId"] == node_id
    answer = host.call("GET", f"/v1/runs/{run_id}/events", headers={"Accept": "application/json"})
    assert not answer.document["isComplete"]
    return run_id, answer.document["events"]


def answer(client: OpenwopClient, run_id: str, node_id: str, value: Any) -> str:
    return client.interrupts_resolve_by_run(run_id, node_id, ResolveInterruptRequest(value)).status


def test_dispatch_loop(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, "conformance-dispatch-loop")
    assert kinds(events) == ["next-worker", "terminate"]
    (child,) = children(host, events)
    assert (child["workflowId"], child["status"], child["parentNodeId"]) == (
        "conformance-noop",
        "completed",
        "dispatch",
    )
    assert host.snapshot(run_id)["runOrchestrator"] == {"agentId": "host:supervisor"}
    skipped = [each.nodeId for each in events if each.type == "node.skipped"]
    assert skipped == ["dispatch"]


@pytest.mark.rule("orch-02")
def test_orchestrator_dispatch(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, "conformance-orchestrator-dispatch")
    assert kinds(events) == ["next-worker", "terminate"]
    assert payloads(events, DECIDED)[0]["decision"]["nextWorkerIds"] == ["conformance-noop"]
    assert len(children(host, events)) == 1
    snapshot = host.snapshot(run_id)
    assert snapshot["runOrchestrator"]["agentId"] == "core.conformance.supervisor"
    assert {each["agentId"] for each in payloads(events, DECIDED)} == {"core.conformance.supervisor"}
    assert schema.check("run-snapshot", snapshot) == []


@pytest.mark.rule("orch-05")
def test_orchestrator_terminate(client: OpenwopClient, host: Host) -> None:
    _, events = completed(client, "conformance-orchestrator-terminate")
    assert kinds(events) == ["terminate"]
    assert children(host, events) == []


@pytest.mark.rule("orch-03")
def test_orchestrator_low_confidence(client: OpenwopClient, host: Host) -> None:
    workflow = "conformance-orchestrator-low-confidence"
    run_id, events = waiting(client, host, workflow, "waiting-approval", "supervisor")
    assert DECIDED not in [each["type"] for each in events]
    (suspended,) = [each["payload"] for each in events if each["type"] == "node.suspended"]
    told = {each: suspended[each] for each in ("reason", "agentId", "threshold", "observed")}
    assert told == {
        "reason": "low-confidence",
        "agentId": "core.conformance.low-conf-supervisor",
        "threshold": 0.7,
        "observed": 0.5,
    }
    bad = host.call("POST", f"/v1/runs/{run_id}/interrupts/supervisor", {"resumeValue": {"kind": "dance"}})
    assert (bad.status, bad.document["error"]) == (400, "validation_error")
    answer(client, run_id, "supervisor", {"action": "accept"})
    assert kinds(ended(client, run_id, "completed")) == ["next-worker", "terminate"]
    other, _ = waiting(client, host, workflow, "waiting-approval", "supervisor")
    answer(client, other, "supervisor", {"kind": "terminate", "reason": "enough"})
    assert kinds(ended(client, other, "completed")) == ["terminate"]
    refused, _ = waiting(client, host, workflow, "waiting-approval", "supervisor")
    answer(client, refused, "supervisor", {"action": "reject"})
    assert kinds(ended(client, refused, "failed")) == []
    error = client.runs_get(refused).error
    assert error is not None
    assert error.code == "interrupt_rejected"
    sure = RunConfigurable(extras={"escalationThreshold": 0.4})
    assert kinds(completed(client, workflow, configurable=sure)[1]) == ["next-worker", "terminate"]


@pytest.mark.rule("orch-08")
def test_dispatch_input_mapping(client: OpenwopClient, host: Host) -> None:
    for inputs, given in (({}, "Alice"), ({"parentName": "Bob"}, "Bob")):
        _, events = completed(client, "conformance-dispatch-input-mapping", inputs=inputs)
        (child,) = children(host, events)
        assert child["inputs"] == {"childGreeting": given}


@pytest.mark.rule("orch-08")
def test_dispatch_input_mapping_no_default(client: OpenwopClient, host: Host) -> None:
    _, events = completed(client, "conformance-dispatch-input-mapping-no-default")
    (child,) = children(host, events)
    assert child["inputs"] == {}


def test_dispatch_input_mapping_child(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-dispatch-input-mapping-child", inputs={"childGreeting": "x"})
    assert host.snapshot(run_id)["inputs"] == {"childGreeting": "x"}


@pytest.mark.rule("orch-08")
def test_dispatch_output_mapping(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, MAPPED)
    assert host.snapshot(run_id)["variables"] == {"parentResult": "done"}
    done = [each for each in events if each.type == "node.completed" and each.nodeId == "dispatch"]
    outputs = done[0].payload["outputs"]
    (child,) = children(host, events)
    assert (outputs["childRunId"], outputs["childStatus"]) == (child["runId"], "completed")


def test_dispatch_output_mapping_child(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, f"{MAPPED}-child")
    assert host.snapshot(run_id)["variables"] == {"childOutcome": "done"}


def parent_of(host: Host, worker: str) -> str:
    """The workflow of the output mapping, with another worker."""
    workflow = host.call("GET", f"/v1/workflows/{MAPPED}").document
    plan = [{"kind": "next-worker", "nextWorkerIds": [worker]}, {"kind": "terminate"}]
    nodes = [{**workflow["nodes"][0], "config": {"mockDispatchPlan": plan}}, *workflow["nodes"][1:]]
    document = {**workflow, "id": f"mapped-{worker}", "nodes": nodes}
    made = host.call("POST", "/v1/workflows", document)
    assert made.status in (200, 201), made.body
    return document["id"]


@pytest.mark.rule("orch-09")
def test_dispatch_deterministic_fail_child(client: OpenwopClient, host: Host) -> None:
    worker = "conformance-dispatch-deterministic-fail-child"
    run_id = client.runs_create(CreateRunRequest(parent_of(host, worker))).runId
    events = ended(client, run_id, "failed")
    (child,) = children(host, events)
    assert (child["status"], child["error"]["code"]) == ("failed", "hvmap_1b_failed_fixture")
    assert host.snapshot(run_id)["variables"] == {"parentResult": ""}
    assert phases(events) == ["dispatch.began", "dispatch.succeeded", "child.failed"]
    assert payloads(events, CHAIN)[2]["error"]["code"] == "hvmap_1b_failed_fixture"
    error = client.runs_get(run_id).error
    assert error is not None
    assert error.code == "child_run_failed"
    assert (error.details or {})["workerId"] == worker


@pytest.mark.rule("orch-09")
def test_dispatch_cancellable_child(client: OpenwopClient, host: Host) -> None:
    run_id = client.runs_create(CreateRunRequest(parent_of(host, "conformance-dispatch-cancellable-child"))).runId
    (told,) = until(lambda: host.snapshot(run_id).get("childRuns"), "the worker")
    assert client.runs_cancel(told["runId"]).status in ("cancelling", "cancelled")
    events = ended(client, run_id, "failed")
    assert phases(events) == ["dispatch.began", "dispatch.succeeded", "child.cancelled"]
    assert host.snapshot(run_id)["variables"] == {"parentResult": ""}
    error = client.runs_get(run_id).error
    assert error is not None
    assert error.code == "child_run_cancelled"
    assert host.snapshot(told["runId"])["status"] == "cancelled"


@pytest.mark.rule("orch-09")
def test_dispatch_cross_worker_handoff(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, HANDOFF)
    first, second = children(host, events)
    assert (first["workflowId"], second["workflowId"]) == (f"{HANDOFF}-child-a", f"{HANDOFF}-child-b")
    assert (first["inputs"], second["inputs"]) == ({}, {"input": "hello"})
    assert host.snapshot(run_id)["variables"] == {"sharedVar": "hello"}


def test_dispatch_cross_worker_handoff_child_a(client: OpenwopClient, host: Host) -> None:
    assert host.snapshot(completed(client, f"{HANDOFF}-child-a")[0])["variables"] == {"output": "hello"}


def test_dispatch_cross_worker_handoff_child_b(client: OpenwopClient, host: Host) -> None:
    assert host.snapshot(completed(client, f"{HANDOFF}-child-b")[0])["variables"] == {}


@pytest.mark.rule("orch-08")
def test_dispatch_per_worker_override(client: OpenwopClient, host: Host) -> None:
    _, events = completed(client, "conformance-dispatch-per-worker-override")
    first, second = children(host, events)
    assert (first["inputs"], second["inputs"]) == ({"input": "default-x-value"}, {"input": "shared-value"})


@pytest.mark.rule("orch-04")
def test_multi_agent_handoff(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, "conformance-multi-agent-handoff")
    assert phases(events) == ["dispatch.began", "dispatch.succeeded", "child.completed", "output.harvested"]
    (child,) = children(host, events)
    steps = payloads(events, CHAIN)
    assert {each["parentRunId"] for each in steps} == {run_id}
    assert {each["workerId"] for each in steps} == {"conformance-multi-agent-handoff-child"}
    assert [each.get("childRunId") for each in steps] == [None, *[child["runId"]] * 3]
    assert steps[3]["harvestedKeys"] == ["parentResult"]
    assert host.snapshot(run_id)["variables"] == {"parentResult": "handoff-complete"}


def test_multi_agent_handoff_child(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-multi-agent-handoff-child")
    assert host.snapshot(run_id)["variables"] == {"childOutcome": "handoff-complete"}


@pytest.mark.rule("orch-06")
def test_multi_agent_confidence_escalation(client: OpenwopClient, host: Host) -> None:
    workflow = "conformance-multi-agent-confidence-escalation"
    run_id, events = waiting(client, host, workflow, "waiting-input", "dispatch")
    types = [each["type"] for each in events]
    assert types.count("core.workflowChain.confidence-escalated") == 1
    assert CHAIN not in types
    assert types.index("core.workflowChain.confidence-escalated") < types.index("interrupt.requested")
    assert [each["payload"]["kind"] for each in events if each["type"] == "interrupt.requested"] == ["clarification"]
    assert "childRuns" not in host.snapshot(run_id)
    answer(client, run_id, "dispatch", {"answers": {"proceed": "proceed"}})
    gone_on = ended(client, run_id, "completed")
    assert phases(gone_on) == ["dispatch.began", "dispatch.succeeded", "child.completed"]
    assert len(payloads(gone_on, "core.workflowChain.confidence-escalated")) == 1
    other, _ = waiting(client, host, workflow, "waiting-input", "dispatch")
    answer(client, other, "dispatch", {"answers": {"proceed": "stop"}})
    assert phases(ended(client, other, "failed")) == []
