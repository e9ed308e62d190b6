"""The official client says things of runs and compares them."""

import pytest
from openwop_client import OpenwopClient, WopError
from openwop_client import types as t

from tests.live import KEY, Host


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=60)


def finished(host: Host, workflow_id: str) -> str:
    run_id = host.create(workflow_id)
    host.log(run_id)
    return run_id


def test_the_client_says_something_and_finds_it_again(host: Host, client: OpenwopClient) -> None:
    run_id = finished(host, "conformance-multi-node")
    event = host.log(run_id)[1]
    requests = [
        t.CreateAnnotationRequest({"kind": "rating", "rating": 5}),
        t.CreateAnnotationRequest({"kind": "correction", "correction": "four"}, target={"eventId": event["eventId"]}),
        t.CreateAnnotationRequest({"kind": "label", "label": "good"}, target={"nodeId": event["nodeId"]}, note="well"),
        t.CreateAnnotationRequest({"kind": "flag"}),
    ]
    said = [client.create_annotation(run_id, each) for each in requests]
    assert [each.signal for each in said] == [each.signal for each in requests]
    assert [each.note for each in said] == [None, None, "well", None]
    assert said[1].target == {"runId": run_id, "eventId": event["eventId"]}
    assert client.list_annotations(run_id) == said
    again = [client.create_annotation(run_id, requests[0], idempotency_key="once") for _ in range(2)]
    assert again[0] == again[1]
    assert client.list_annotations(run_id) == [*said, again[0]]


def test_the_client_is_told_while_it_reads(host: Host, client: OpenwopClient) -> None:
    run_id = host.create("conformance-cancellable")
    events = client.runs_events(run_id)
    assert next(events).type == "run.started"
    said = client.create_annotation(run_id, t.CreateAnnotationRequest({"kind": "flag"}, note="now"))
    noticed = next(events)
    assert (noticed.type, noticed.payload["annotationId"]) == ("run.annotated", said.annotationId)
    client.runs_cancel(run_id)
    assert [event.type for event in events][-1] == "run.cancelled"


def test_the_client_sees_what_is_refused(host: Host, client: OpenwopClient) -> None:
    run_id = finished(host, "conformance-noop")
    with pytest.raises(WopError) as caught:
        client.create_annotation(run_id, t.CreateAnnotationRequest({"kind": "rating"}))
    assert caught.value.envelope is not None
    assert (caught.value.status, caught.value.envelope.error) == (400, "validation_error")
    assert client.list_annotations("nowhere") is None
    assert client.runs_diff(run_id, "nowhere") is None


def test_the_client_compares_runs(host: Host, client: OpenwopClient) -> None:
    flows = ("conformance-multi-node", "conformance-multi-node", "conformance-noop")
    a, b, c = (finished(host, flow) for flow in flows)
    same, other = client.runs_diff(a, b), client.runs_diff(a, c)
    assert same is not None
    assert (same.a, same.b, same.divergedAtSeq, same.eventDiffs, same.stateDiff) == (a, b, None, [], {})
    assert other is not None
    assert other.divergedAtSeq == 0
    assert {each.op for each in other.eventDiffs} == {"changed", "removed"}
    assert all((each.bEvent is None) is (each.op == "removed") for each in other.eventDiffs)
    assert not other.truncated


def test_the_client_reads_a_bundle(host: Host, client: OpenwopClient) -> None:
    run_id = finished(host, "conformance-multi-node")
    bundle = client.runs_debug_bundle(run_id)
    assert bundle is not None
    assert (bundle.bundleVersion, bundle.redactionApplied, bundle.redactionMode) == ("1.0", True, "mask")
    assert bundle.events == host.log(run_id)
    assert (bundle.run["status"], bundle.truncated, bundle.truncatedReason) == ("completed", False, None)
    cut = client.runs_debug_bundle(run_id, max_events=2)
    assert cut is not None
    assert (len(cut.events), cut.truncated, cut.truncatedReason) == (2, True, "events_truncated_to_size_cap")
    assert client.runs_debug_bundle("nowhere") is None
