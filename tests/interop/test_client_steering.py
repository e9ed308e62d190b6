"""Steering through the official client: pausing, cancelling many, answers and tokens."""

import uuid
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient
from openwop_client import types as t
from openwop_client.types import BulkCancelRunsRequest

from tests.harness.definitions import edge, node
from tests.interop.client_calls import refused
from tests.live import OTHER_KEY, Host, until
from tests.live.steering import QUESTION, flow, interrupt_node, register
from tests.live.tokens import created_link, token_of
from weftwork.protocol.run.events import PAUSE_REQUESTED

ASKS = flow(
    "client-asks", [interrupt_node("ask"), node("last", "core.identity")], [edge("ask", "last", targetInput="given")]
)
NAMES = ["a:b", "b.c", "d_e~f", "..-", "(x)"]
"""What the client pastes into a path as it is."""


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
    with refused(409, "conflict", {"runStatus": "running"}):
        client.runs_resume(run_id)
    key, body = str(uuid.uuid4()), t.PauseRunRequest("why not", "immediate")
    first = client.runs_pause(run_id, body, idempotency_key=key)
    assert client.runs_pause(run_id, body, idempotency_key=key) == first
    with refused(409, "conflict") as details:
        client.runs_pause(run_id, body)
    assert (details["runStatus"], type(details["pausedAt"])) == ("paused", str)
    assert client.runs_cancel(run_id).status == "cancelled"
    for steer in (client.runs_pause, client.runs_resume):
        with refused(409, "conflict", {"runStatus": "cancelled"}):
            steer(run_id)


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
    with refused(409, "interrupt_already_resolved"):
        client.interrupts_resolve_by_run(run_id, "ask", answer)


@pytest.mark.rule("int-06")
def test_a_question_that_is_not_there_is_told_apart(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, ASKS))).runId
    answer = t.ResolveInterruptRequest(None)
    with refused(404, "interrupt_not_found"):
        client.interrupts_resolve_by_run(run_id, "no-such-node", answer)
    with refused(404, "not_found"):
        OpenwopClient(host.address, OTHER_KEY, timeout=60).interrupts_resolve_by_run(run_id, "ask", answer)
    assert client.runs_cancel(run_id).status == "cancelled"
    with refused(409, "interrupt_already_resolved"):
        client.interrupts_resolve_by_run(run_id, "ask", answer)


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


@pytest.mark.rule("run-10")
def test_many_runs_are_cancelled_and_each_is_answered(host: Host, client: OpenwopClient) -> None:
    flow = CreateRunRequest("conformance-cancellable")
    live = [client.runs_create(flow).runId for _ in range(3)]
    ended = client.runs_create(CreateRunRequest("conformance-noop")).runId
    theirs = OpenwopClient(host.address, OTHER_KEY, timeout=60).runs_create(flow).runId
    body = BulkCancelRunsRequest([*live, ended, "nowhere", theirs, live[0]], reason="enough")
    key = str(uuid.uuid4())
    found = client.runs_bulk_cancel(body, idempotency_key=key).results
    assert [entry.runId for entry in found] == body.runIds
    assert [entry.ok for entry in found] == [True, True, True, False, False, False, True]
    assert {entry.status for entry in found if entry.ok} <= {"cancelling", "cancelled"}
    codes = [entry.error["code"] for entry in found if entry.error is not None]
    assert codes == ["run_terminal", "not_found", "not_found"]
    for run_id in live:
        until(lambda run_id=run_id: client.runs_get(run_id).status == "cancelled", "the run to be cancelled", 5)
    assert client.runs_bulk_cancel(body, idempotency_key=key).results == found
    again = client.runs_bulk_cancel(BulkCancelRunsRequest(live)).results
    assert [(entry.ok, entry.status) for entry in again] == [(True, "cancelled")] * 3


@pytest.mark.rule("run-09")
def test_too_many_runs_are_refused_with_the_bound(client: OpenwopClient) -> None:
    with refused(400, "validation_error") as details:
        client.runs_bulk_cancel(BulkCancelRunsRequest(["r"] * 101))
    assert details["maxRunIds"] == 100


LINKED = flow("client-links", [interrupt_node("ask")])


@pytest.mark.rule("tok-01", "int-06")
def test_a_question_is_read_and_answered_by_token(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, LINKED))).runId
    for token in (token_of(host, run_id), created_link(host, run_id, node_id="ask")["token"]):
        seen = client.interrupts_inspect_by_token(token)
        assert (seen.kind, seen.key, seen.data) == (QUESTION["kind"], "ask", QUESTION["data"])
        assert (seen.resumeSchema, seen.timeoutMs) == (None, None)
    key, answer = str(uuid.uuid4()), t.ResolveInterruptRequest({"chosen": 2})
    done = client.interrupts_resolve_by_token(token, answer, idempotency_key=key)
    assert done == {"runId": run_id, "nodeId": "ask", "status": "completed"}
    assert client.interrupts_resolve_by_token(token, answer, idempotency_key=key) == done
    with refused(409, "interrupt_already_resolved"):
        client.interrupts_resolve_by_token(token, answer)
    with refused(409, "interrupt_already_resolved"):
        client.interrupts_inspect_by_token(token)


@pytest.mark.rule("tok-04")
def test_a_token_that_is_none_is_told_apart(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, LINKED))).runId
    token = token_of(host, run_id)
    with refused(404, "interrupt_not_found"):
        client.interrupts_inspect_by_token(token[:-1])
    assert client.runs_cancel(run_id).status == "cancelled"
    for call in (
        lambda: client.interrupts_inspect_by_token(token),
        lambda: client.interrupts_resolve_by_token(token, t.ResolveInterruptRequest(1)),
    ):
        with refused(409, "interrupt_already_resolved"):
            call()
