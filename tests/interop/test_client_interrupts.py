"""The conformance workflows that people, other systems or other runs answer, seen through the official client."""

import json
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError
from openwop_client.types import ResolveInterruptRequest

from tests.harness.cases import present
from tests.interop.client_calls import answer, completed, ended, refused
from tests.live import KEY, OTHER_KEY, Host, start_host, until, weftwork


def start(client: OpenwopClient, workflow: str, status: str, node_id: str) -> str:
    """A run that waits as its catalogue says."""
    run_id = client.runs_create(CreateRunRequest(workflow)).runId
    snapshot = client.runs_get(run_id)
    assert (snapshot.status, snapshot.currentNodeId) == (status, node_id)
    return run_id


def refusal(client: OpenwopClient, run_id: str, node_id: str, value: Any) -> tuple[int, str]:
    with pytest.raises(WopError) as caught:
        answer(client, run_id, node_id, value)
    assert caught.value.envelope is not None, caught.value.raw_text
    return caught.value.status, caught.value.envelope.error


def ended_with(client: OpenwopClient, run_id: str, status: str) -> list[str]:
    """The types of all events of a run that ends so, without our own."""
    return [event.type for event in ended(client, run_id, status) if not event.type.startswith("weftwork.")]


def token_of(host: Host, run_id: str) -> str:
    """What the snapshot of a waiting run gives to whoever may answer."""
    shown = host.snapshot(run_id)["interrupt"]
    assert shown["callbackUrl"].endswith(f"/v1/interrupts/{shown['interruptToken']}")
    return shown["interruptToken"]


@pytest.mark.scenario("interrupt-approval")
def test_approval(client: OpenwopClient) -> None:
    run_id = start(client, "conformance-approval", "waiting-approval", "gate")
    assert refusal(client, run_id, "gate", {"action": "maybe"})[0] == 400
    assert refusal(client, run_id, "no-such-node", {"action": "accept"})[0] == 404
    assert client.runs_get(run_id).status == "waiting-approval"
    assert answer(client, run_id, "gate", {"action": "accept"}) == "completed"
    assert ended_with(client, run_id, "completed") == [
        *("run.started", "node.started", "interrupt.requested", "approval.requested", "node.suspended"),
        *("interrupt.resolved", "approval.received", "node.resumed", "node.completed", "run.completed"),
    ]
    assert refusal(client, run_id, "gate", {"action": "accept"}) == (409, "interrupt_already_resolved")
    rejected = start(client, "conformance-approval", "waiting-approval", "gate")
    assert answer(client, rejected, "gate", {"action": "reject"}) == "failed"
    error = present(client.runs_get(rejected).error)
    assert error.code == "interrupt_rejected"


@pytest.mark.scenario("interrupt-clarification")
def test_clarification(client: OpenwopClient) -> None:
    for answers in ({"q1": "blue"}, [{"id": "q1", "answer": "blue"}]):
        run_id = start(client, "conformance-clarification", "waiting-input", "ask")
        assert refusal(client, run_id, "ask", {"answers": {}})[0] == 400
        assert answer(client, run_id, "ask", {"answers": answers}) == "completed"
        types = ended_with(client, run_id, "completed")
        assert [each for each in types if each.startswith("clarification.")] == [
            "clarification.requested",
            "clarification.resolved",
        ]
        (told,) = [event for event in client.runs_events(run_id) if event.type == "run.completed"]
        assert told.payload["outputs"] == {"ask": {"answers": {"q1": "blue"}}}


@pytest.mark.scenario("interrupt-quorum-resolution")
def test_interrupt_quorum(client: OpenwopClient) -> None:
    """One key votes for three people, who count by their names."""
    run_id = start(client, "conformance-interrupt-quorum", "waiting-approval", "gate")
    for voter in ("ada", "ada", "bob"):
        assert answer(client, run_id, "gate", {"action": "accept", "voter": voter}) == "waiting-approval"
    assert answer(client, run_id, "gate", {"action": "accept", "voter": "eve"}) == "completed"
    assert ended_with(client, run_id, "completed").count("approval.granted") == 3
    rejected = start(client, "conformance-interrupt-quorum", "waiting-approval", "gate")
    assert answer(client, rejected, "gate", {"action": "reject", "voter": "ada"}) == "waiting-approval"
    assert answer(client, rejected, "gate", {"action": "reject", "voter": "bob"}) == "failed"
    assert ended_with(client, rejected, "failed").count("approval.rejected") == 2


@pytest.mark.scenario("interrupt-auth-required-resume")
def test_interrupt_auth_required(client: OpenwopClient, host: Host) -> None:
    run_id = start(client, "conformance-interrupt-auth-required", "waiting-approval", "gate")
    token, accepted = token_of(host, run_id), {"resumeValue": {"action": "accept"}}
    by_token = host.call("POST", f"/v1/interrupts/{token}", accepted, key=None)
    assert (by_token.status, by_token.document["error"]) == (403, "forbidden")
    path = f"/v1/runs/{run_id}/interrupts/gate"
    assert host.call("POST", path, accepted, key=None).status == 401
    made = weftwork(
        host.data.parent, "keys", "create", "--data", host.data, "--tenant", "acme", "--scope", "runs:read", "--json"
    )
    assert made.returncode == 0, made.stderr
    poor = host.call("POST", path, accepted, key=json.loads(made.stdout)["key"])
    assert (poor.status, poor.document["error"]) == (403, "forbidden")
    assert client.runs_get(run_id).status == "waiting-approval"
    assert answer(client, run_id, "gate", {"action": "accept"}) == "completed"


@pytest.mark.scenario("interrupt-external-event-correlation")
def test_interrupt_external_event(client: OpenwopClient, host: Host) -> None:
    run_id = start(client, "conformance-interrupt-external-event", "waiting-external", "wait-for-external")
    token = token_of(host, run_id)
    seen = client.interrupts_inspect_by_token(token)
    assert (seen.kind, seen.timeoutMs) == ("external-event", 60_000)
    event = {"orderId": "fixture-order-1", "status": "completed", "amount": 3}
    for other in ({**event, "orderId": "fixture-order-2"}, {"orderId": "fixture-order-1"}, {}):
        with refused(422, "validation_error"):
            client.interrupts_resolve_by_token(token, ResolveInterruptRequest(other))
        assert client.runs_get(run_id).status == "waiting-external"
    client.interrupts_resolve_by_token(token, ResolveInterruptRequest(event))
    ended_with(client, run_id, "completed")
    (told,) = [each for each in client.runs_events(run_id) if each.type == "run.completed"]
    assert told.payload["outputs"] == {"wait-for-external": {"output": event}}
    again = host.call("POST", f"/v1/interrupts/{token}", {"resumeValue": event}, key=None)
    assert (again.status, again.document["error"]) == (409, "interrupt_already_resolved")


def talked(client: OpenwopClient, workflow: str, turns: int) -> str:
    run_id = client.runs_create(CreateRunRequest(workflow)).runId
    types = ended_with(client, run_id, "completed")
    assert [each for each in types if each.startswith(("conversation.", "clarification."))] == [
        *("conversation.opened", *["conversation.exchanged"] * turns, "conversation.closed")
    ]
    told = [event.payload for event in client.runs_events(run_id, stream_mode="debug") if "conversation." in event.type]
    assert len({payload["conversationId"] for payload in told}) == 1
    return run_id


@pytest.mark.scenario("conversationLifecycle")
def test_conversation_lifecycle(client: OpenwopClient) -> None:
    run_id = talked(client, "conformance-conversation-lifecycle", 1)
    channels = present(client.runs_get(run_id).channels)
    assert [each["role"] for each in channels["conversation"]] == ["system", "user"]


@pytest.mark.scenario("conversationVsLegacySuspend")
def test_conversation_vs_clarification(client: OpenwopClient) -> None:
    talked(client, "conformance-conversation-vs-clarification", 1)


def test_conversation_replay(client: OpenwopClient, host: Host) -> None:
    """What a run writes to the channel holds nothing of the run itself."""
    runs = [talked(client, "conformance-conversation-replay", 3) for _ in "ab"]
    first, second = (host.snapshot(run_id)["channels"]["conversation"] for run_id in runs)
    assert first == second
    assert len({each["messageId"] for each in first}) == len(first) == 6


NEGOTIATION = "conformance-conversation-capability-negotiation"


@pytest.mark.rule("wf-09", "disc-06")
@pytest.mark.scenario("conversationCapabilityNegotiation")
def test_a_host_without_conversations_neither_shows_nor_takes_them(host: Host, tmp_path: Any) -> None:
    document = host.call("GET", "/.well-known/openwop").document
    assert document["conversationPrimitive"] is True
    assert document["extensions"]["interrupts"]["signedCallbackTokens"] is True
    talk = {"id": "convo", "typeId": "core.conversationGate", "name": "c", "position": {"x": 0, "y": 0}}
    talk |= {"config": {}, "inputs": {}}
    empty: dict[str, Any] = {"edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    flow = {"id": "talks", "name": "Talks", "version": "1", "nodes": [talk], **empty}
    with start_host(tmp_path, "--conformance", "--no-conversation", store="memory") as other:
        bare = other.call("GET", "/.well-known/openwop").document
        assert "conversationPrimitive" not in bare
        conversations = {each for each in document["fixtures"] if each.startswith("conformance-conversation-")}
        assert len(conversations) == 3
        assert NEGOTIATION not in conversations
        assert set(document["fixtures"]) ^ set(bare["fixtures"]) == {*conversations, NEGOTIATION}
        refused = other.call("POST", "/v1/workflows", flow)
        assert (refused.status, refused.document["error"]) == (422, "capability_required")
        assert refused.document["details"]["requiredCapability"] == "conversationPrimitive"
        created = other.call("POST", "/v1/runs", {"workflowId": "conformance-conversation-lifecycle"})
        assert created.status == 400
        assert other.call("GET", f"/v1/workflows/{NEGOTIATION}").status == 404
        with pytest.raises(WopError) as negotiated:
            OpenwopClient(other.address, KEY, timeout=60).runs_create(CreateRunRequest(NEGOTIATION))
        assert negotiated.value.status == 422
        missing = {"requiredCapability": "conversationPrimitive", "offendingTypeId": "core.conversationGate"}
        known = {"error": "capability_required", "details": {"pointer": "/workflowId", **missing, "nodeId": "convo"}}
        turned_away = other.call("POST", "/v1/runs", {"workflowId": NEGOTIATION}).document
        assert {name: turned_away[name] for name in known} == known
        assert other.call("GET", "/v1/runs").document["runs"] == []
    assert host.call("POST", "/v1/workflows", flow).status == 201
    assert host.call("POST", "/v1/runs", {"workflowId": NEGOTIATION}).status == 400


CHILD = "conformance-subworkflow-child"
GATED = "conformance-interrupt-parent-child-cancel"
MUTATED = "conformance-subworkflow-mid-run-mutation"


def child_of(host: Host, run_id: str, node_id: str, status: str) -> dict[str, Any]:
    """The snapshot of the only child; both sides agree on who belongs to whom."""
    (told,) = host.snapshot(run_id)["childRuns"]
    child = host.snapshot(told["runId"])
    assert told == {"runId": child["runId"], "workflowId": child["workflowId"], "nodeId": node_id, "status": status}
    assert (child["parentRunId"], child["parentNodeId"], child["status"]) == (run_id, node_id, status)
    return child


def waiting_parent(host: Host, workflow: str, node_id: str) -> tuple[str, dict[str, Any]]:
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
@pytest.mark.scenario("subworkflow")
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


@pytest.mark.scenario("subworkflow")
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
@pytest.mark.scenario("subworkflow-input-mapping")
def test_subworkflow_input_mapping(client: OpenwopClient, host: Host) -> None:
    for inputs, received in (({}, "prd-1"), ({"currentPrdId": "prd-2"}, "prd-2")):
        run_id, _ = completed(client, "conformance-subworkflow-input-mapping", inputs=inputs)
        assert child_of(host, run_id, "subwf-call", "completed")["variables"] == {"receivedPrdId": received}


def test_subworkflow_input_mapping_child(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-subworkflow-input-mapping-child")
    assert host.snapshot(run_id)["variables"] == {"receivedPrdId": "baked-in"}


@pytest.mark.rule("kin-01")
@pytest.mark.scenario("subworkflow-input-mapping")
def test_subworkflow_input_mapping_no_default(client: OpenwopClient, host: Host) -> None:
    run_id, _ = completed(client, "conformance-subworkflow-input-mapping-no-default")
    child = child_of(host, run_id, "subwf-call", "completed")
    assert (child["variables"], child["inputs"]) == ({"receivedPrdId": "baked-in"}, {})
    assert host.snapshot(run_id)["variables"] == {}


@pytest.mark.rule("kin-03", "seam-01")
@pytest.mark.scenario("subworkflow-input-mapping")
def test_subworkflow_mid_run_mutation(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting_parent(host, MUTATED, "subwf-call")
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
@pytest.mark.scenario("interrupt-parent-child-cascade")
def test_interrupt_parent_child_cancel(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting_parent(host, GATED, "spawn-child")
    token = child["interrupt"]["interruptToken"]
    assert client.runs_cancel(run_id).status in ("cancelling", "cancelled")
    assert "parentRunId" not in ended(client, run_id, "cancelled")[-1].payload
    told = ended(client, child["runId"], "cancelled")[-1].payload
    assert (told["reason"], told["parentRunId"]) == ("parent-cancelled", run_id)
    child_of(host, run_id, "spawn-child", "cancelled")
    with refused(409, "interrupt_already_resolved"):
        accept(client, child["runId"])
    late = host.call("POST", f"/v1/interrupts/{token}", {"resumeValue": {"action": "accept"}}, key=None)
    assert (late.status, late.document["error"]) == (409, "interrupt_already_resolved")
    with pytest.raises(WopError) as caught:
        accept(client, run_id, "spawn-child")
    assert caught.value.status in (404, 409)


@pytest.mark.rule("kin-06")
def test_a_child_that_somebody_cancels_names_no_parent(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting_parent(host, GATED, "spawn-child")
    assert client.runs_cancel(child["runId"]).status in ("cancelling", "cancelled")
    told = ended(client, child["runId"], "cancelled")[-1].payload
    assert "parentRunId" not in told
    assert told.get("reason") != "parent-cancelled"
    ended(client, run_id, "failed")
    error = present(client.runs_get(run_id).error)
    assert error.code == "child_run_cancelled"
    assert present(error.details)["childRunId"] == child["runId"]


def test_interrupt_parent_child_cancel_child(client: OpenwopClient, host: Host) -> None:
    run_id, child = waiting_parent(host, GATED, "spawn-child")
    assert accept(client, child["runId"]) in ("running", "completed")
    ended(client, run_id, "completed")
    child_of(host, run_id, "spawn-child", "completed")
    alone = client.runs_create(CreateRunRequest(f"{GATED}-child")).runId
    assert accept(client, alone) == "completed"
