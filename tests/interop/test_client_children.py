"""The conformance workflows that start other runs, seen through the official client."""

from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError
from openwop_client.types import ResolveInterruptRequest, RunEventDoc

from tests.live import KEY, OTHER_KEY, Host, until
from weftwork.protocol.json import schema

CHILD = "conformance-subworkflow-child"
GATED = "conformance-interrupt-parent-child-cancel"
MUTATED = "conformance-subworkflow-mid-run-mutation"


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


def ended(client: OpenwopClient, run_id: str, status: str) -> list[RunEventDoc]:
    """The log of a run that ends so; every event is checked on the way."""
    events = list(client.runs_events(run_id, stream_mode="debug"))
    for event in events:
        assert schema.check_payload(event.type, event.payload) == []
    assert events[-1].type == f"run.{status}"
    assert client.runs_get(run_id).status == status
    return events


def completed(client: OpenwopClient, workflow: str, **members: Any) -> tuple[str, list[RunEventDoc]]:
    run_id = client.runs_create(CreateRunRequest(workflow, **members)).runId
    return run_id, ended(client, run_id, "completed")


def child_of(host: Host, run_id: str, node_id: str, status: str) -> dict[str, Any]:
    """The snapshot of the only child; both sides agree on who belongs to whom."""
    (told,) = host.snapshot(run_id)["childRuns"]
    child = host.snapshot(told["runId"])
    assert told == {"runId": child["runId"], "workflowId": child["workflowId"], "nodeId": node_id, "status": status}
    assert (child["parentRunId"], child["parentNodeId"], child["status"]) == (run_id, node_id, status)
    return child


def waiting(host: Host, workflow: str, node_id: str) -> tuple[str, dict[str, Any]]:
    """A parent that waits because its child does, and that child."""
    run_id = host.create(workflow)
    until(lambda: host.snapshot(run_id)["status"] == "waiting-approval", "the parent to wait with its child")
    assert host.snapshot(run_id)["currentNodeId"] == node_id
    child = child_of(host, run_id, node_id, "waiting-approval")
    assert child["currentNodeId"] == "child-gate"
    return run_id, child


def accept(client: OpenwopClient, run_id: str, node_id: str = "child-gate") -> str:
    return client.interrupts_resolve_by_run(run_id, node_id, ResolveInterruptRequest({"action": "accept"})).status


@pytest.mark.rule("kin-14", "kin-10")
def test_subworkflow_parent(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, "conformance-subworkflow-parent")
    child = child_of(host, run_id, "subwf-call", "completed")
    assert child["workflowId"] == CHILD
    assert host.snapshot(run_id)["variables"] == {"childOutcome": "child-completed"}
    (done,) = [each for each in events if each.type == "node.completed" and each.nodeId == "subwf-call"]
    assert (done.payload["outputs"]["childRunId"], done.payload["outputs"]["childStatus"]) == (
        child["runId"],
        "completed",
    )
    started = [each.nodeId for each in events if each.type == "node.started"]
    assert started == ["parent-start", "subwf-call", "parent-end"]


def test_subworkflow_child(client: OpenwopClient, host: Host) -> None:
    """On its own it is a run like any other; as a child it has a log of its own."""
    alone, events = completed(client, CHILD)
    assert not {"parentRunId", "parentNodeId", "childRuns"} & host.snapshot(alone).keys()
    parent, _ = completed(client, "conformance-subworkflow-parent")
    child = child_of(host, parent, "subwf-call", "completed")
    assert [each.type for each in ended(client, child["runId"], "completed")] == [each.type for each in events]
    assert child["owner"] == host.snapshot(parent)["owner"]
    assert host.call("GET", f"/v1/runs/{child['runId']}", key=OTHER_KEY).status == 404


@pytest.mark.rule("kin-01")
def test_subworkflow_input_mapping(client: OpenwopClient, host: Host) -> None:
    for inputs, received in (({}, "prd-1"), ({"currentPrdId": "prd-2"}, "prd-2")):
        run_id, _ = completed(client, "conformance-subworkflow-input-mapping", inputs=inputs)
        assert child_of(host, run_id, "subwf-call", "completed")["variables"] == {"receivedPrdId": received}


def test_subworkflow_input_mapping_child(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-subworkflow-input-mapping-child")
    assert host.snapshot(run_id)["variables"] == {"receivedPrdId": "baked-in"}


@pytest.mark.rule("kin-01")
def test_subworkflow_input_mapping_no_default(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-subworkflow-input-mapping-no-default")
    child = child_of(host, run_id, "subwf-call", "completed")
    assert (child["variables"], child["inputs"]) == ({"receivedPrdId": "baked-in"}, {})
    assert host.snapshot(run_id)["variables"] == {}


@pytest.mark.rule("kin-03", "seam-01")
def test_subworkflow_mid_run_mutation(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting(host, MUTATED, "subwf-call")
    assert child["variables"] == {"receivedPrdId": "seeded-id"}
    changed = {"variables": {"currentPrdId": "mutated-id"}}
    assert host.call("POST", f"/v1/host/sample/test/runs/{run_id}/variables", changed).status == 200
    assert host.snapshot(run_id)["variables"] == {"currentPrdId": "mutated-id"}
    assert accept(client, child["runId"]) in ("running", "completed")
    ended(client, run_id, "completed")
    assert child_of(host, run_id, "subwf-call", "completed")["variables"] == {"receivedPrdId": "seeded-id"}


def test_subworkflow_mid_run_mutation_child(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(f"{MUTATED}-child")).runId
    assert accept(client, run_id) == "completed"
    assert client.runs_get(run_id).variables == {"receivedPrdId": "baked-in"}


@pytest.mark.rule("kin-06")
def test_interrupt_parent_child_cancel(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting(host, GATED, "spawn-child")
    token = child["interrupt"]["interruptToken"]
    assert client.runs_cancel(run_id).status in ("cancelling", "cancelled")
    assert "parentRunId" not in ended(client, run_id, "cancelled")[-1].payload
    told = ended(client, child["runId"], "cancelled")[-1].payload
    assert (told["reason"], told["parentRunId"]) == ("parent-cancelled", run_id)
    child_of(host, run_id, "spawn-child", "cancelled")
    with pytest.raises(WopError) as caught:
        accept(client, child["runId"])
    assert caught.value.envelope is not None
    assert (caught.value.status, caught.value.envelope.error) == (410, "interrupt_gone")
    late = host.call("POST", f"/v1/interrupts/{token}", {"resumeValue": {"action": "accept"}}, key=None)
    assert (late.status, late.document["error"]) == (410, "interrupt_gone")
    with pytest.raises(WopError) as caught:
        accept(client, run_id, "spawn-child")
    assert caught.value.status in (404, 410)


@pytest.mark.rule("kin-06")
def test_a_child_that_somebody_cancels_names_no_parent(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting(host, GATED, "spawn-child")
    assert client.runs_cancel(child["runId"]).status in ("cancelling", "cancelled")
    told = ended(client, child["runId"], "cancelled")[-1].payload
    assert "parentRunId" not in told
    assert told.get("reason") != "parent-cancelled"
    ended(client, run_id, "failed")
    error = client.runs_get(run_id).error
    assert error is not None
    assert error.code == "child_run_cancelled"
    assert error.details is not None
    assert error.details["childRunId"] == child["runId"]


def test_interrupt_parent_child_cancel_child(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting(host, GATED, "spawn-child")
    assert accept(client, child["runId"]) in ("running", "completed")
    ended(client, run_id, "completed")
    child_of(host, run_id, "spawn-child", "completed")
    alone = client.runs_create(CreateRunRequest(f"{GATED}-child")).runId
    assert accept(client, alone) == "completed"
