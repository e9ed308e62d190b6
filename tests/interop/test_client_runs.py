"""Runs and workflows through the official client: discovery, creating, reading, streams, idempotency, errors."""

import json
import uuid
from typing import Any
from urllib.error import HTTPError

import pytest
from openwop_client import CancelRunRequest, CreateRunRequest, OpenwopClient, RunConfigurable, WopError, is_output_chunk
from openwop_client.types import ForkRunRequest, RunEventDoc, RunSnapshot, is_terminal_run_status

from tests.harness.cases import present
from tests.live import CHUNKS, KEY, OTHER_KEY, SEEDED_RUN, Host, delays, until
from tests.live.child_workflows import PARENT, child_workflows
from tests.live.fixtures import QUICK_WORKFLOW
from tests.live.steering import answer_over_http, register

TRACE_LENGTH = 32


def finish(client: OpenwopClient, run_id: str) -> tuple[list[RunEventDoc], RunSnapshot]:
    """Poll to the end as the client's users do; the log and the last snapshot."""
    events: list[RunEventDoc] = []
    while True:
        page = client.runs_poll_events(
            run_id, last_sequence=events[-1].sequence if events else None, timeout_seconds=15
        )
        events += page.events
        if page.isComplete:
            return events, client.runs_get(run_id)
        assert page.events, "the run did not go on"


def start(client: OpenwopClient, workflow: str, **members: Any) -> str:
    return client.runs_create(CreateRunRequest(workflow, **members)).runId


def error_of(call: Any, *args: Any, **keywords: Any) -> WopError:
    with pytest.raises(WopError) as raised:
        call(*args, **keywords)
    error = raised.value
    assert error.envelope is not None
    assert len(present(error.trace_id)) == TRACE_LENGTH
    return error


@pytest.mark.rule("disc-01")
def test_discovery_is_decoded_whole(client: OpenwopClient) -> None:
    found = client.discovery_capabilities()
    assert found.protocolVersion == "1.1"
    assert found.limits.maxNodeExecutions == 10_000
    assert found.limits.maxRequestBodyBytes == 1_048_576
    assert (found.limits.clarificationRounds, found.limits.schemaRounds, found.limits.envelopesPerTurn) == (3, 2, 5)
    assert present(found.implementation)["name"] == "weftwork"
    assert found.supportedTransports == ["rest"]
    assert client.discovery_openapi()["openapi"].startswith("3.1")


def test_a_definition_is_read(client: OpenwopClient) -> None:
    assert [node["id"] for node in client.workflows_get("conformance-multi-node")["nodes"]] == ["a", "b", "c"]
    assert error_of(client.workflows_get, "gone").status == 404


@pytest.mark.rule("run-06", "opt-02")
def test_a_run_gives_back_what_it_was_created_with(client: OpenwopClient) -> None:
    configurable = RunConfigurable(recursionLimit=40, model="m", temperature=0.5, extras={"own": [1]})
    run_id = start(
        client,
        "conformance-noop",
        inputs={"userField": "x", "delaySeconds": 3},
        tenantId="acme",
        scopeId="chat",
        configurable=configurable,
        tags=["one", "two"],
        metadata={"ticket": 7},
    )
    _, snapshot = finish(client, run_id)
    assert (snapshot.runId, snapshot.workflowId, snapshot.status) == (run_id, "conformance-noop", "completed")
    assert (snapshot.tags, snapshot.metadata) == (["one", "two"], {"ticket": 7})
    assert snapshot.configurable == {"recursionLimit": 40, "model": "m", "temperature": 0.5, "own": [1]}
    assert snapshot.startedAt is not None
    assert snapshot.completedAt is not None
    assert snapshot.error is None
    assert snapshot.engineVersion == "1"


@pytest.mark.rule("opt-02")
def test_options_may_be_a_plain_object_too(client: OpenwopClient) -> None:
    run_id = start(client, "conformance-noop", configurable={"recursionLimit": 3, "free": {"x": None}})
    assert client.runs_get(run_id).configurable == {"recursionLimit": 3, "free": {"x": None}}


@pytest.mark.rule("idem-03")
def test_a_key_gives_the_same_run_again(client: OpenwopClient) -> None:
    key = str(uuid.uuid4())
    body = CreateRunRequest("conformance-idempotent", inputs={"nonce": "n"}, configurable=RunConfigurable())
    first = client.runs_create(body, idempotency_key=key)
    assert [client.runs_create(body, idempotency_key=key) for _ in range(5)] == [first] * 5
    other = CreateRunRequest("conformance-idempotent", inputs={"nonce": "m"})
    error = error_of(client.runs_create, other, idempotency_key=key)
    assert (error.status, present(error.envelope).error) == (409, "idempotency_key_mismatch")


@pytest.mark.rule("dedup-01")
def test_one_live_run_per_scope(client: OpenwopClient) -> None:
    body = CreateRunRequest("conformance-cancellable", scopeId=str(uuid.uuid4()))
    first = client.runs_create(body, dedup=True)
    error = error_of(client.runs_create, body, dedup=True)
    assert error.envelope is not None
    assert (error.status, error.envelope.error) == (409, "run_already_active")
    assert present(error.envelope.details)["activeRunId"] == first.runId
    assert client.runs_cancel(first.runId).status in ("cancelling", "cancelled")


@pytest.mark.rule("run-03")
def test_a_run_is_cancelled_once_and_stays_so(client: OpenwopClient) -> None:
    run_id = start(client, "conformance-cancellable")
    assert client.runs_get(run_id).status == "running"
    key = str(uuid.uuid4())
    first = client.runs_cancel(run_id, CancelRunRequest("enough"), idempotency_key=key)
    assert first.status in ("cancelling", "cancelled")
    log, snapshot = finish(client, run_id)
    assert (log[-1].type, snapshot.status) == ("run.cancelled", "cancelled")
    assert log[-1].payload["reason"] == "enough"
    assert client.runs_cancel(run_id, CancelRunRequest("enough"), idempotency_key=key) == first
    assert client.runs_cancel(run_id).status == "cancelled"
    assert finish(client, run_id)[0] == log


def test_a_finished_run_answers_a_cancel_with_its_end(client: OpenwopClient) -> None:
    run_id = start(client, "conformance-noop")
    finish(client, run_id)
    assert client.runs_cancel(run_id).status == "completed"


@pytest.mark.rule("err-01")
@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        (lambda client: client.runs_create(CreateRunRequest("gone")), 400, "validation_error"),
        (lambda client: client.runs_create(CreateRunRequest("")), 400, "validation_error"),
        (lambda client: client.runs_create(CreateRunRequest("conformance-idempotent")), 400, "validation_error"),
        (lambda client: client.runs_poll_events("x", timeout_seconds=0), 400, "validation_error"),
        (lambda client: client.runs_create(CreateRunRequest("conformance-noop", tenantId="x")), 403, "forbidden"),
        (lambda client: client.runs_get("nowhere"), 404, "not_found"),
        (lambda client: client.runs_cancel("nowhere"), 404, "not_found"),
        (lambda client: client.runs_poll_events("nowhere"), 404, "not_found"),
    ],
)
def test_an_error_reaches_the_caller_with_its_code_and_trace(
    client: OpenwopClient, call: Any, status: int, code: str
) -> None:
    error = error_of(call, client)
    assert (error.status, present(error.envelope).error) == (status, code)


@pytest.mark.rule("auth-03")
def test_another_tenant_sees_nothing(host: Host, client: OpenwopClient) -> None:
    run_id = start(client, "conformance-cancellable")
    other = OpenwopClient(host.address, OTHER_KEY, timeout=60)
    for call in (other.runs_get, other.runs_cancel, other.runs_poll_events):
        assert error_of(call, run_id).status == 404
    assert client.runs_get(run_id).status == "running"
    client.runs_cancel(run_id)


def test_the_client_reads_and_starts_what_was_registered(host: Host) -> None:
    client, other = (OpenwopClient(host.address, key, timeout=20) for key in (KEY, OTHER_KEY))
    for version in ("1", "2"):
        document = {**delays("for-the-client", 0), "version": version, "metadata": {"author": "Zoë"}}
        assert host.call("POST", "/v1/workflows", document).status == 201
        assert client.workflows_get("for-the-client") == document
    run_id = client.runs_create(CreateRunRequest("for-the-client")).runId
    assert host.log(run_id)[-1]["type"] == "run.completed"
    error = error_of(other.workflows_get, "for-the-client")
    assert (error.status, json.loads(error.raw_text)["error"]) == (404, "not_found")
    assert json.loads(error.raw_text)["message"]


@pytest.mark.rule("kin-09", "kin-10")
def test_parent_and_child_are_read(host: Host) -> None:
    for document in child_workflows():
        register(host, document)
    client = OpenwopClient(host.address, KEY, timeout=20)
    top = client.runs_create(CreateRunRequest(PARENT)).runId
    until(lambda: client.runs_get(top).status == "waiting-input", "the child to ask")
    (named,) = host.snapshot(top)["childRuns"]
    parent, child = client.runs_get(top), client.runs_get(named["runId"])
    assert (parent.status, child.status, child.currentNodeId) == ("waiting-input", "waiting-input", "ask")
    above, below = client.runs_ancestry(top), client.runs_ancestry(named["runId"])
    assert above is not None
    assert below is not None
    assert below.parent is not None
    assert (above.parent, below.parent.runId, below.parent.cause) == (None, top, "core.subWorkflow")
    assert above.hostId == below.hostId == below.parent.hostId
    assert answer_over_http(host, named["runId"], "ask", 1).status == 200
    frames = list(client.runs_events(top, stream_mode="values"))
    assert frames
    assert client.runs_get(top).status == "completed"


def polled(client: OpenwopClient, run_id: str) -> list[RunEventDoc]:
    page = client.runs_poll_events(run_id, timeout_seconds=15)
    while not page.isComplete:
        page = client.runs_poll_events(run_id, last_sequence=page.events[-1].sequence, timeout_seconds=15)
    return client.runs_poll_events(run_id).events


@pytest.fixture
def run_id(client: OpenwopClient) -> str:
    return client.runs_create(CreateRunRequest(QUICK_WORKFLOW)).runId


@pytest.mark.rule("sse-01")
@pytest.mark.parametrize("mode", [None, "updates", "debug"])
@pytest.mark.parametrize("buffer_ms", [None, 0, 60])
def test_a_live_run_is_followed_to_its_end(
    client: OpenwopClient, run_id: str, mode: str | None, buffer_ms: int
) -> None:
    seen = list(client.runs_events(run_id, stream_mode=mode, buffer_ms=buffer_ms))  # pyright: ignore[reportArgumentType]
    log = polled(client, run_id)
    shown = [event for event in log if mode == "debug" or event.type != "node.started"]
    assert seen == shown
    assert [seen[0].type, seen[-1].type] == ["run.started", "run.completed"]


@pytest.mark.rule("sse-02", "sse-09")
def test_values_are_snapshots_that_the_client_decodes(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-cancellable")).runId
    stream = client.runs_events(run_id, stream_mode="values")
    seen = [next(stream)]
    client.runs_cancel(run_id)
    seen += stream
    assert {event.type for event in seen} == {"state.snapshot"}
    assert len({event.eventId for event in seen}) == len(seen) >= 2
    statuses = [event.payload["status"] for event in seen]
    assert [is_terminal_run_status(status) for status in statuses] == [False] * (len(seen) - 1) + [True]
    last = client.runs_get(run_id)
    assert seen[-1].payload["nodeStates"] == last.nodeStates


@pytest.mark.rule("sse-08")
@pytest.mark.parametrize("buffer_ms", [None, 50])
def test_messages_are_chunks(client: OpenwopClient, buffer_ms: int | None) -> None:
    seen = list(client.runs_events(SEEDED_RUN, stream_mode="messages", buffer_ms=buffer_ms))
    assert [event.type for event in seen] == ["ai.message.chunk"] * len(CHUNKS)
    assert [event.payload["chunk"] for event in seen] == list(CHUNKS)
    assert all(event.nodeId == "talk" for event in seen)


@pytest.mark.rule("sse-04")
def test_several_modes_are_one_stream(client: OpenwopClient) -> None:
    seen = list(client.runs_events(SEEDED_RUN, stream_mode=("updates", "messages")))
    assert [event.type for event in seen] == [
        "run.started",
        *["ai.message.chunk"] * len(CHUNKS),
        "node.completed",
        "run.completed",
    ]
    stored = [event for event in client.runs_events(SEEDED_RUN, stream_mode="debug") if event.type == "output.chunk"]
    assert len(stored) == len(CHUNKS)
    assert all(is_output_chunk(event) for event in stored)


@pytest.mark.rule("sse-06")
def test_a_stream_goes_on_after_the_last_id(client: OpenwopClient, run_id: str) -> None:
    whole = list(client.runs_events(run_id, stream_mode="debug"))
    for at, event in enumerate(whole):
        rest = list(client.runs_events(run_id, stream_mode="debug", last_event_id=str(event.sequence)))
        assert rest == whole[at + 1 :]


def test_a_reader_may_leave_in_the_middle(client: OpenwopClient, run_id: str) -> None:
    stream = client.runs_events(run_id)
    assert next(stream).type == "run.started"
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert list(client.runs_events(run_id, last_event_id="0"))[-1].type == "run.completed"


@pytest.mark.rule("sse-04", "sse-05", "sse-11")
@pytest.mark.parametrize(
    ("keywords", "status", "code"),
    [
        ({"stream_mode": "bogus"}, 400, "unsupported_stream_mode"),
        ({"stream_mode": ("values", "updates")}, 400, "unsupported_stream_mode"),
        ({"buffer_ms": 99_999}, 400, "validation_error"),
        ({"last_event_id": "not-an-id"}, 400, "validation_error"),
        ({}, 404, "not_found"),
    ],
)
def test_a_stream_that_cannot_be_opened_says_why(client: OpenwopClient, keywords: dict, status: int, code: str) -> None:
    with pytest.raises(HTTPError) as raised:
        list(client.runs_events("nowhere" if not keywords else SEEDED_RUN, **keywords))
    with raised.value as error:
        assert (error.code, json.loads(error.read())["error"]) == (status, code)


def test_a_stream_with_a_refused_key_is_refused(host: Host) -> None:
    with pytest.raises(HTTPError) as raised:
        list(OpenwopClient(host.address, "wrong").runs_events(SEEDED_RUN))
    with raised.value as error:
        assert error.code == 401


@pytest.mark.rule("fork-01", "fork-02")
def test_a_run_is_forked(client: OpenwopClient) -> None:
    source = start(client, "conformance-multi-node")
    events, _ = finish(client, source)
    made = client.runs_fork(source, ForkRunRequest(2, "branch"))
    assert (made.sourceRunId, made.mode) == (source, "branch")
    branch, ended = finish(client, made.runId)
    assert ended.status == "completed"
    assert [(each.type, each.nodeId, each.payload) for each in branch[:2]] == [
        (each.type, each.nodeId, each.payload) for each in events[:2]
    ]
    assert {each.runId for each in branch} == {made.runId}
    replays = [finish(client, client.runs_fork(source, ForkRunRequest(0, "replay")).runId)[0] for _ in range(2)]
    for replay in replays:
        assert [(each.type, each.nodeId, each.payload) for each in replay] == [
            (each.type, each.nodeId, each.payload) for each in events
        ]
    assert error_of(client.runs_fork, source, ForkRunRequest(99_999, "branch")).status == 422
    assert error_of(client.runs_fork, "01zzzzzzzzzzzzzzzzzzzzzzzz", ForkRunRequest(0, "replay")).status == 404
