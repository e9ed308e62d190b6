"""Cancelling many runs through the official client."""

import uuid

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError
from openwop_client.types import BulkCancelRunsRequest

from tests.live import KEY, OTHER_KEY, Host, until


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


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
    with pytest.raises(WopError) as caught:
        client.runs_bulk_cancel(BulkCancelRunsRequest(["r"] * 101))
    error = caught.value
    assert error.envelope is not None
    assert (error.status, error.envelope.error) == (400, "validation_error")
    assert error.envelope.details is not None
    assert error.envelope.details["maxRunIds"] == 100
