"""Pausing, resuming, answering and fetching artifacts through the official client."""

import uuid
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError
from openwop_client import types as t

from tests.harness.definitions import edge, node
from tests.live import KEY, OTHER_KEY, Host, until
from tests.live.steering import QUESTION, flow, interrupt_node, register
from weftwork.protocol.run.events import PAUSE_REQUESTED

ASKS = flow(
    "client-asks", [interrupt_node("ask"), node("last", "core.identity")], [edge("ask", "last", targetInput="given")]
)
NAMES = ["a:b", "b.c", "d_e~f", "..-", "(x)"]
"""What the client pastes into a path as it is."""


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


def refusal(caught: pytest.ExceptionInfo[WopError]) -> tuple[int, str, dict[str, Any]]:
    envelope = caught.value.envelope
    assert envelope is not None, caught.value.raw_text
    return caught.value.status, envelope.error, envelope.details or {}


def types(client: OpenwopClient, run_id: str) -> list[str]:
    return [event.type for event in client.runs_poll_events(run_id, timeout_seconds=1).events]


@pytest.mark.rule("run-12", "run-13")
def test_a_run_is_paused_at_once_and_goes_on(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-delay", inputs={"delayMs": 800})).runId
    paused = client.runs_pause(run_id, t.PauseRunRequest(drainPolicy="immediate"))
    assert (paused.runId, paused.status) == (run_id, "paused")
    assert paused.pausedAt is not None
    assert client.runs_get(run_id).status == "paused"
    resumed = client.runs_resume(run_id, t.ResumeRunRequest("go"))
    assert (resumed.runId, resumed.status) == (run_id, "running")
    assert resumed.resumedAt is not None
    events = list(client.runs_events(run_id, stream_mode="debug"))
    assert [event.type for event in events] == [
        "run.started",
        "node.started",
        "run.paused",
        "run.resumed",
        "node.started",
        "node.completed",
        "run.completed",
    ]
    assert client.runs_get(run_id).status == "completed"


@pytest.mark.rule("run-12", "run-13")
@pytest.mark.parametrize("body", [None, t.PauseRunRequest(), t.PauseRunRequest(drainPolicy="drain-current-node")])
def test_the_last_node_ends_before_the_pause(client: OpenwopClient, body: Any) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-delay", inputs={"delayMs": 800})).runId
    assert client.runs_pause(run_id, body).status == "paused"
    until(lambda: client.runs_get(run_id).status == "paused", "the run to pause")
    assert types(client, run_id)[-3:] == [PAUSE_REQUESTED, "node.completed", "run.paused"]
    assert client.runs_resume(run_id).status == "running"
    until(lambda: client.runs_get(run_id).status == "completed", "the run to end")
    shown = [event.type for event in client.runs_events(run_id)]
    assert shown == ["run.started", "node.completed", "run.paused", "run.resumed", "run.completed"]


@pytest.mark.rule("run-12", "run-13", "idem-03")
def test_a_run_that_cannot_be_steered_says_how_it_stands(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-cancellable")).runId
    with pytest.raises(WopError) as caught:
        client.runs_resume(run_id)
    assert refusal(caught) == (409, "conflict", {"runStatus": "running"})
    key, body = str(uuid.uuid4()), t.PauseRunRequest("why not", "immediate")
    first = client.runs_pause(run_id, body, idempotency_key=key)
    assert client.runs_pause(run_id, body, idempotency_key=key) == first
    with pytest.raises(WopError) as caught:
        client.runs_pause(run_id, body)
    status, code, details = refusal(caught)
    assert (status, code, details["runStatus"]) == (409, "conflict", "paused")
    assert isinstance(details["pausedAt"], str)
    assert client.runs_cancel(run_id).status == "cancelled"
    for steer in (client.runs_pause, client.runs_resume):
        with pytest.raises(WopError) as caught:
            steer(run_id)
        assert refusal(caught) == (409, "conflict", {"runStatus": "cancelled"})


@pytest.mark.rule("int-06", "int-07")
def test_a_question_is_answered(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, ASKS))).runId
    shown = client.runs_get(run_id)
    assert (shown.status, shown.currentNodeId) == ("waiting-input", "ask")
    (asked,) = [event for event in client.runs_poll_events(run_id).events if event.type == "interrupt.requested"]
    assert asked.payload == {"key": "ask", **QUESTION}
    key = str(uuid.uuid4())
    answer = t.ResolveInterruptRequest({"chosen": 2})
    done = client.interrupts_resolve_by_run(run_id, "ask", answer, idempotency_key=key)
    assert (done.runId, done.nodeId, done.status) == (run_id, "ask", "completed")
    assert client.interrupts_resolve_by_run(run_id, "ask", answer, idempotency_key=key) == done
    events = list(client.runs_events(run_id))
    assert events[-1].payload["outputs"] == {"last": {"given": {"chosen": 2}}}
    with pytest.raises(WopError) as caught:
        client.interrupts_resolve_by_run(run_id, "ask", answer)
    assert refusal(caught)[:2] == (409, "interrupt_already_resolved")


@pytest.mark.rule("int-06")
def test_a_question_that_is_not_there_is_told_apart(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, ASKS))).runId
    answer = t.ResolveInterruptRequest(None)
    with pytest.raises(WopError) as caught:
        client.interrupts_resolve_by_run(run_id, "no-such-node", answer)
    assert refusal(caught)[:2] == (404, "interrupt_not_found")
    with pytest.raises(WopError) as caught:
        OpenwopClient(host.address, OTHER_KEY, timeout=60).interrupts_resolve_by_run(run_id, "ask", answer)
    assert refusal(caught)[:2] == (404, "not_found")
    assert client.runs_cancel(run_id).status == "cancelled"
    with pytest.raises(WopError) as caught:
        client.interrupts_resolve_by_run(run_id, "ask", answer)
    assert refusal(caught)[:2] == (410, "interrupt_gone")


@pytest.mark.rule("wire-03")
def test_names_of_nodes_are_taken_as_the_client_writes_them(host: Host, client: OpenwopClient) -> None:
    document = flow("client-names", [interrupt_node(name) for name in NAMES])
    run_id = client.runs_create(CreateRunRequest(register(host, document))).runId
    for name in NAMES:
        assert client.interrupts_resolve_by_run(run_id, name, t.ResolveInterruptRequest(name)).nodeId == name
    assert client.runs_get(run_id).status == "completed"


def test_an_artifact_is_fetched(host: Host, client: OpenwopClient) -> None:
    made = node("made", "core.artifact.emit", config={"artifactType": "report", "data": {"rows": [1]}})
    run_id = client.runs_create(CreateRunRequest(register(host, flow("client-makes", [made])))).runId
    found = client.runs_get_artifact(run_id, "made")
    assert found is not None
    assert (found["artifactId"], found["artifactType"], found["data"]) == ("made", "report", {"rows": [1]})
    assert client.runs_get_artifact(run_id, "other/one") is None
    assert OpenwopClient(host.address, OTHER_KEY, timeout=60).runs_get_artifact(run_id, "made") is None
