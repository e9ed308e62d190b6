"""Workflows through the official client, which reads them and cannot register any."""

import json

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError

from tests.live import KEY, OTHER_KEY, Host, delays


def test_the_client_reads_and_starts_what_was_registered(host: Host) -> None:
    client, other = (OpenwopClient(host.address, key, timeout=20) for key in (KEY, OTHER_KEY))
    for version in ("1", "2"):
        document = {**delays("for-the-client", 0), "version": version, "metadata": {"author": "Zoë"}}
        assert host.call("POST", "/v1/workflows", document).status == 201
        assert client.workflows_get("for-the-client") == document
    run_id = client.runs_create(CreateRunRequest("for-the-client")).runId
    assert host.log(run_id)[-1]["type"] == "run.completed"
    with pytest.raises(WopError) as raised:
        other.workflows_get("for-the-client")
    assert raised.value.envelope is not None
    assert (raised.value.status, raised.value.envelope.error) == (404, "not_found")
    assert json.loads(raised.value.raw_text)["message"]
