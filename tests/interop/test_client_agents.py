"""The conformance workflows with agents, seen through the official client."""

import pytest
from openwop_client import OpenwopClient

from tests.interop.test_client_supervised import answer, completed, ended, payloads, waiting
from tests.live import KEY, Host
from weftwork.protocol.json import schema


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


@pytest.mark.rule("agent-01")
def test_agent_identity(client: OpenwopClient, host: Host) -> None:
    run_id, events = completed(client, "conformance-agent-identity")
    snapshot = host.snapshot(run_id)
    assert snapshot["agent"] == {"agentId": "core.conformance.identity-agent", "modelClass": "chat"}
    assert schema.check("run-snapshot", snapshot) == []
    assert not any(each.type.startswith("agent.") for each in events)


@pytest.mark.rule("agent-02")
@pytest.mark.rule("agent-04")
def test_agent_reasoning(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-agent-reasoning")
    told = [each for each in events if each.type.startswith("agent.")]
    assert [each.type.removeprefix("agent.") for each in told] == [
        *("reasoned", "toolCalled", "toolReturned", "handoff", "decided")
    ]
    assert {each.payload["agentId"] for each in told} == {"core.conformance.reasoning-agent"}
    called, returned = told[1], told[2]
    assert called.payload["callId"] == returned.payload["callId"]
    assert returned.causationId == called.eventId


@pytest.mark.rule("agent-03")
def test_agent_reasoning_streaming(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-agent-reasoning-streaming")
    told = [each for each in events if each.type.startswith("agent.")]
    assert [each.type for each in told] == ["agent.reasoning.delta"] * 3 + ["agent.reasoned"]
    assert [each.payload["sequence"] for each in told[:3]] == [0, 1, 2]
    assert told[3].payload["reasoning"] == "".join(each.payload["delta"] for each in told[:3])


@pytest.mark.rule("agent-02")
def test_agent_low_confidence(client: OpenwopClient, host: Host) -> None:
    run_id, events = waiting(client, host, "conformance-agent-low-confidence", "waiting-approval", "low-conf-decider")
    types = [each["type"] for each in events]
    assert types.index("agent.decided") < types.index("node.suspended")
    (suspended,) = [each["payload"] for each in events if each["type"] == "node.suspended"]
    assert (suspended["reason"], suspended["threshold"], suspended["observed"]) == ("low-confidence", 0.7, 0.5)
    answer(client, run_id, "low-conf-decider", {"action": "accept"})
    last = ended(client, run_id, "completed")
    assert last[-1].payload["outputs"] == {"low-conf-decider": {"decision": {"kind": "stub-low-conf"}}}
    assert len(payloads(last, "agent.decided")) == 1
