"""The conformance workflows with supervisors, agents and prompts, seen through the official client."""

import hashlib
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient
from openwop_client.types import RunConfigurable, RunEventDoc

from tests.harness.cases import present
from tests.harness.child_workflows import check_chain
from tests.interop.client_calls import answer, completed, ended, payloads
from tests.live import Host, until
from weftwork.protocol.json import schema

CHAIN = "core.workflowChain.event"
DECIDED = "runOrchestrator.decided"
MAPPED = "conformance-dispatch-output-mapping"
HANDOFF = "conformance-dispatch-cross-worker-handoff"


def kinds(events: list[RunEventDoc]) -> list[str]:
    return [each["decision"]["kind"] for each in payloads(events, DECIDED)]


def phases(events: list[RunEventDoc]) -> list[str]:
    return [each["phase"] for each in payloads(events, CHAIN)]


def children(host: Host, events: list[RunEventDoc]) -> list[dict[str, Any]]:
    """The workers' runs in the order of their dispatch; each step was caused by the one before it."""
    check_chain([{name: value for name, value in vars(each).items() if value is not None} for each in events])
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


@pytest.mark.scenario("dispatchLoop")
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
@pytest.mark.scenario("orchestratorDispatch")
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
@pytest.mark.scenario("orchestratorTermination")
def test_orchestrator_terminate(client: OpenwopClient, host: Host) -> None:
    _, events = completed(client, "conformance-orchestrator-terminate")
    assert kinds(events) == ["terminate"]
    assert children(host, events) == []


@pytest.mark.rule("orch-03")
@pytest.mark.scenario("orchestratorConservativePath")
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
    error = present(client.runs_get(refused).error)
    assert error.code == "interrupt_rejected"
    sure = RunConfigurable(extras={"escalationThreshold": 0.4})
    assert kinds(completed(client, workflow, configurable=sure)[1]) == ["next-worker", "terminate"]


@pytest.mark.rule("orch-08")
@pytest.mark.scenario("dispatch-input-mapping")
def test_dispatch_input_mapping(client: OpenwopClient, host: Host) -> None:
    for inputs, given in (({}, "Alice"), ({"parentName": "Bob"}, "Bob")):
        _, events = completed(client, "conformance-dispatch-input-mapping", inputs=inputs)
        (child,) = children(host, events)
        assert child["inputs"] == {"childGreeting": given}


@pytest.mark.rule("orch-08")
@pytest.mark.scenario("dispatch-input-mapping")
def test_dispatch_input_mapping_no_default(client: OpenwopClient, host: Host) -> None:
    _, events = completed(client, "conformance-dispatch-input-mapping-no-default")
    (child,) = children(host, events)
    assert child["inputs"] == {}


def test_dispatch_input_mapping_child(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-dispatch-input-mapping-child", inputs={"childGreeting": "x"})
    assert host.snapshot(run_id)["inputs"] == {"childGreeting": "x"}


@pytest.mark.rule("orch-08")
@pytest.mark.scenario("dispatch-output-mapping")
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
@pytest.mark.scenario("dispatch-output-mapping")
def test_dispatch_deterministic_fail_child(client: OpenwopClient, host: Host) -> None:
    worker = "conformance-dispatch-deterministic-fail-child"
    run_id = client.runs_create(CreateRunRequest(parent_of(host, worker))).runId
    events = ended(client, run_id, "failed")
    (child,) = children(host, events)
    assert (child["status"], child["error"]["code"]) == ("failed", "hvmap_1b_failed_fixture")
    assert host.snapshot(run_id)["variables"] == {"parentResult": ""}
    assert phases(events) == ["dispatch.began", "dispatch.succeeded", "child.failed"]
    assert payloads(events, CHAIN)[2]["error"]["code"] == "hvmap_1b_failed_fixture"
    error = present(client.runs_get(run_id).error)
    assert error.code == "child_run_failed"
    assert (error.details or {})["workerId"] == worker


@pytest.mark.rule("orch-09")
@pytest.mark.scenario("dispatch-output-mapping")
def test_dispatch_cancellable_child(client: OpenwopClient, host: Host) -> None:
    run_id = client.runs_create(CreateRunRequest(parent_of(host, "conformance-dispatch-cancellable-child"))).runId
    (told,) = until(lambda: host.snapshot(run_id).get("childRuns"), "the worker")
    assert client.runs_cancel(told["runId"]).status in ("cancelling", "cancelled")
    events = ended(client, run_id, "failed")
    assert phases(events) == ["dispatch.began", "dispatch.succeeded", "child.cancelled"]
    assert host.snapshot(run_id)["variables"] == {"parentResult": ""}
    error = present(client.runs_get(run_id).error)
    assert error.code == "child_run_cancelled"
    assert host.snapshot(told["runId"])["status"] == "cancelled"


@pytest.mark.rule("orch-09")
@pytest.mark.scenario("dispatch-cross-worker-handoff")
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
@pytest.mark.scenario("dispatch-cross-worker-handoff")
def test_dispatch_per_worker_override(client: OpenwopClient, host: Host) -> None:
    _, events = completed(client, "conformance-dispatch-per-worker-override")
    first, second = children(host, events)
    assert (first["inputs"], second["inputs"]) == ({"input": "default-x-value"}, {"input": "shared-value"})


@pytest.mark.rule("orch-04")
@pytest.mark.scenario("multi-agent-handoff-state-machine")
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
@pytest.mark.scenario("multi-agent-confidence-escalation")
def test_multi_agent_confidence_escalation(client: OpenwopClient, host: Host) -> None:
    workflow = "conformance-multi-agent-confidence-escalation"
    model = host.call("GET", "/.well-known/openwop").document["multiAgent"]["executionModel"]
    assert model["confidenceEscalationInterruptKind"] == "x-host-weftwork-clarification"
    assert model["confidenceEscalationFloor"] == 0.5
    run_id, events = waiting(client, host, workflow, "waiting-input", "dispatch")
    types = [each["type"] for each in events]
    (escalated,) = [each for each in events if each["type"] == "core.workflowChain.confidence-escalated"]
    assert escalated["payload"]["escalationKind"] == "clarify"
    assert (escalated["payload"]["confidence"], escalated["payload"]["floor"]) == (0.3, 0.5)
    assert [each["type"] for each in events if each["eventId"] == escalated["causationId"]] == [DECIDED]
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


@pytest.mark.rule("agent-01")
@pytest.mark.scenario("agentMetadata")
def test_agent_identity(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, "conformance-agent-identity")
    snapshot = host.snapshot(run_id)
    assert snapshot["agent"] == {"agentId": "core.conformance.identity-agent", "modelClass": "chat"}
    assert schema.check("run-snapshot", snapshot) == []
    assert not any(each.type.startswith("agent.") for each in events)


@pytest.mark.rule("agent-02")
@pytest.mark.rule("agent-04")
@pytest.mark.scenario("agentReasoningEvents")
def test_agent_reasoning(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-agent-reasoning")
    told = [each for each in events if each.type.startswith("agent.")]
    assert [each.type.removeprefix("agent.") for each in told] == [
        *("reasoned", "toolCalled", "toolReturned", "handoff", "decided")
    ]
    assert {each.payload["agentId"] for each in told} == {"core.conformance.reasoning-agent"}
    called, returned = told[1], told[2]
    assert called.payload["callId"] == returned.payload["callId"]
    assert returned.causationId == called.eventId


@pytest.mark.rule("agent-03")
@pytest.mark.scenario("agentReasoningStreaming")
def test_agent_reasoning_streaming(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-agent-reasoning-streaming")
    told = [each for each in events if each.type.startswith("agent.")]
    assert [each.type for each in told] == ["agent.reasoning.delta"] * 3 + ["agent.reasoned"]
    assert [each.payload["sequence"] for each in told[:3]] == [0, 1, 2]
    assert told[3].payload["reasoning"] == "".join(each.payload["delta"] for each in told[:3])


@pytest.mark.rule("agent-02")
@pytest.mark.scenario("agentConfidenceEscalation")
def test_agent_low_confidence(client: OpenwopClient, host: Host) -> None:
    run_id, events = waiting(client, host, "conformance-agent-low-confidence", "waiting-approval", "low-conf-decider")
    types = [each["type"] for each in events]
    assert types.index("agent.decided") < types.index("node.suspended")
    (suspended,) = [each["payload"] for each in events if each["type"] == "node.suspended"]
    assert (suspended["reason"], suspended["threshold"], suspended["observed"]) == ("low-confidence", 0.7, 0.5)
    answer(client, run_id, "low-conf-decider", {"action": "accept"})
    last = ended(client, run_id, "completed")
    assert last[-1].payload["outputs"] == {"low-conf-decider": {"decision": {"kind": "stub-low-conf"}}}
    assert len(payloads(last, "agent.decided")) == 1


def told(events: list[RunEventDoc]) -> list[RunEventDoc]:
    """Pairs of where a prompt came from and what became of it, each of them right."""
    found = [each for each in events if each.type in ("agent.promptResolved", "prompt.composed")]
    assert [each.type for each in found] == ["agent.promptResolved", "prompt.composed"] * (len(found) // 2)
    for resolved, composed in zip(found[::2], found[1::2], strict=True):
        for each in (resolved, composed):
            assert schema.check_payload(each.type, each.payload) == []
            assert each.payload["nodeId"] == each.nodeId
        (applied,) = [entry for entry in resolved.payload["chain"] if entry["applied"]]
        assert (applied["layer"], applied["source"]) == ("node", resolved.payload["resolved"])
        assert composed.payload["refs"] == [resolved.payload["resolved"]]
        digest = hashlib.sha256(composed.payload["composed"].encode()).hexdigest()
        assert composed.payload["hash"] == f"sha256:{digest}"
    return found


@pytest.mark.rule("prompt-09")
@pytest.mark.scenario("prompt-composed")
def test_prompt_end_to_end(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-prompt-end-to-end")
    resolved, composed = told(events)
    assert resolved.payload["resolved"] == "prompt:conformance.prompt.writer-system@1.0.0"
    assert (resolved.payload["kind"], composed.payload["kind"]) == ("system", "system-only")


@pytest.mark.rule("prompt-09")
@pytest.mark.scenario("prompt-composed")
def test_prompt_all_four_kinds(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-prompt-all-four-kinds")
    found = told(events)
    assert [each.payload["kind"] for each in found[::2]] == ["system", "schema-hint", "few-shot", "few-shot", "user"]
    assert len({each.payload["resolved"] for each in found[::2]}) == 5


@pytest.mark.rule("prompt-11")
def test_prompts_are_advertised(client: OpenwopClient, host: Host) -> None:
    block = host.call("GET", "/.well-known/openwop").document["prompts"]
    assert (block["supported"], block["endpointsSupported"], block["observability"]) == (True, False, "full")
