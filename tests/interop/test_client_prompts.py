"""The conformance workflows with prompts by reference, seen through the official client."""

import hashlib

import pytest
from openwop_client import OpenwopClient
from openwop_client.types import RunEventDoc

from tests.interop.test_client_supervised import completed
from tests.live import KEY, Host
from weftwork.protocol.json import schema


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


def told(events: list[RunEventDoc]) -> list[RunEventDoc]:
    """Pairs of where a prompt came from and what became of it, each of them right."""
    found = [each for each in events if each.type in ("agent.promptResolved", "prompt.composed")]
    assert [each.type for each in found] == ["agent.promptResolved", "prompt.composed"] * (len(found) // 2)
    for resolved, composed in zip(found[::2], found[1::2], strict=True):
        for each in (resolved, composed):
            assert schema.check_payload(each.type, each.payload) == []
            assert each.payload["nodeId"] == each.nodeId
        (applied,) = [entry for entry in resolved.payload["chain"] if entry["applied"]]
        assert (applied["layer"], applied["source"]) == ("node", resolved.payload["resolved"])
        assert composed.payload["refs"] == [resolved.payload["resolved"]]
        digest = hashlib.sha256(composed.payload["composed"].encode()).hexdigest()
        assert composed.payload["hash"] == f"sha256:{digest}"
    return found


@pytest.mark.rule("prompt-09")
def test_prompt_end_to_end(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-prompt-end-to-end")
    resolved, composed = told(events)
    assert resolved.payload["resolved"] == "prompt:conformance.prompt.writer-system@1.0.0"
    assert (resolved.payload["kind"], composed.payload["kind"]) == ("system", "system-only")


@pytest.mark.rule("prompt-09")
def test_prompt_all_four_kinds(client: OpenwopClient) -> None:
    _, events = completed(client, "conformance-prompt-all-four-kinds")
    found = told(events)
    assert [each.payload["kind"] for each in found[::2]] == ["system", "schema-hint", "few-shot", "few-shot", "user"]
    assert len({each.payload["resolved"] for each in found[::2]}) == 5


@pytest.mark.rule("prompt-11")
def test_prompts_are_advertised(client: OpenwopClient, host: Host) -> None:
    block = host.call("GET", "/.well-known/openwop").document["prompts"]
    assert (block["supported"], block["endpointsSupported"], block["observability"]) == (True, False, "full")
