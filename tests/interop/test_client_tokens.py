"""Questions behind links through the official client, which sends no key with a token."""

import uuid

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError
from openwop_client import types as t

from tests.live import KEY, Host
from tests.live.steering import QUESTION, flow, interrupt_node, register
from tests.live.tokens import created_link, token_of

ASKS = flow("client-links", [interrupt_node("ask")])


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=20)


def refusal(caught: pytest.ExceptionInfo[WopError]) -> tuple[int, str]:
    assert caught.value.envelope is not None, caught.value.raw_text
    return caught.value.status, caught.value.envelope.error


@pytest.mark.rule("tok-01", "int-06")
def test_a_question_is_read_and_answered_by_token(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, ASKS))).runId
    for token in (token_of(host, run_id), created_link(host, run_id, node_id="ask")["token"]):
        seen = client.interrupts_inspect_by_token(token)
        assert (seen.kind, seen.key, seen.data) == (QUESTION["kind"], "ask", QUESTION["data"])
        assert (seen.resumeSchema, seen.timeoutMs) == (None, None)
    key, answer = str(uuid.uuid4()), t.ResolveInterruptRequest({"chosen": 2})
    done = client.interrupts_resolve_by_token(token, answer, idempotency_key=key)
    assert done == {"runId": run_id, "nodeId": "ask", "status": "completed"}
    assert client.interrupts_resolve_by_token(token, answer, idempotency_key=key) == done
    with pytest.raises(WopError) as caught:
        client.interrupts_resolve_by_token(token, answer)
    assert refusal(caught) == (409, "interrupt_already_resolved")
    with pytest.raises(WopError) as caught:
        client.interrupts_inspect_by_token(token)
    assert refusal(caught) == (409, "interrupt_already_resolved")


@pytest.mark.rule("tok-04")
def test_a_token_that_is_none_is_told_apart(host: Host, client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest(register(host, ASKS))).runId
    token = token_of(host, run_id)
    with pytest.raises(WopError) as caught:
        client.interrupts_inspect_by_token(token[:-1])
    assert refusal(caught) == (404, "interrupt_not_found")
    assert client.runs_cancel(run_id).status == "cancelled"
    for call in (
        lambda: client.interrupts_inspect_by_token(token),
        lambda: client.interrupts_resolve_by_token(token, t.ResolveInterruptRequest(1)),
    ):
        with pytest.raises(WopError) as caught:
            call()
        assert refusal(caught) == (410, "interrupt_gone")
