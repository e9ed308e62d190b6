"""Runs that start runs through the official client: snapshots of both sides, their ancestry, and a stream of values."""

import pytest
from openwop_client import CreateRunRequest, OpenwopClient

from tests.live import KEY, Host, until
from tests.live.child_workflows import PARENT, child_workflows
from tests.live.steering import answer_over_http, register


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
