"""Runs and workflows through the official client: discovery, creating, reading, streams, idempotency, errors."""

import json
import uuid
from typing import Any

import pytest
from openwop_client import CancelRunRequest, CreateRunRequest, OpenwopClient, RunConfigurable, WopError
from openwop_client.types import RunEventDoc, RunSnapshot

from tests.live import KEY, OTHER_KEY, Host, delays, until
from tests.live.child_workflows import PARENT, child_workflows
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
    assert error.trace_id is not None
    assert len(error.trace_id) == TRACE_LENGTH
    return error


@pytest.mark.rule("disc-01")
def test_discovery_is_decoded_whole(client: OpenwopClient) -> None:
    found = client.discovery_capabilities()
    assert found.protocolVersion == "1.1"
    assert found.limits.maxNodeExecutions == 10_000
    assert found.limits.maxRequestBodyBytes == 1_048_576
    assert (found.limits.clarificationRounds, found.limits.schemaRounds, found.limits.envelopesPerTurn) == (3, 2, 5)
    assert found.implementation is not None
    assert found.implementation["name"] == "weftwork"
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
    assert error.envelope is not None
    assert (error.status, error.envelope.error) == (409, "idempotency_key_mismatch")


@pytest.mark.rule("dedup-01")
def test_one_live_run_per_scope(client: OpenwopClient) -> None:
    body = CreateRunRequest("conformance-cancellable", scopeId=str(uuid.uuid4()))
    first = client.runs_create(body, dedup=True)
    error = error_of(client.runs_create, body, dedup=True)
    assert error.envelope is not None
    assert (error.status, error.envelope.error) == (409, "run_already_active")
    assert error.envelope.details is not None
    assert error.envelope.details["activeRunId"] == first.runId
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
    assert error.envelope is not None
    assert (error.status, error.envelope.error) == (status, code)


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
