"""Interrupts for callers, without an edge: who an answer is by, and which requests are the same request."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.engine_harness import CALLER, EngineHarness, run
from tests.live.steering import flow, interrupt_node
from tests.live.tokens import approval_workflow
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts, decode_cursor, encode_cursor
from weftwork.engine.api.keyring import Keyring, Principal
from weftwork.engine.host.executor import Executor
from weftwork.engine.signer import Signer
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.wire.v1.routes import SCOPES

ASKS = flow("facade", [interrupt_node("ask")])
GATE = approval_workflow("facade-gate")
NAMED = approval_workflow("facade-named", approversList=["ada", "bob"])
PLAIN = Principal.of("key_9", "acme", "live", frozenset({"approvals:respond"}), "ada")


async def opened(*definitions: dict[str, Any]) -> tuple[EngineHarness, Interrupts]:
    bench = await EngineHarness().open()
    for document in definitions:
        assert await bench.catalog.register(document) == []
    signer = Signer(bench.store.signing, bench.clock, bench.ids)
    await signer.load()
    links = InterruptLinks(signer, bench.clock, bench.ids, "/at/", "https://here.example")
    return bench, Interrupts(bench.runtime, bench.executor, links)


async def waiting(bench: EngineHarness, workflow_id: str) -> str:
    return (await bench.service.create_run(CALLER, {"workflowId": workflow_id})).run_id


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_a_cursor_is_safe_in_a_query_and_read_again(place: str) -> None:
    text = encode_cursor(place)
    assert decode_cursor(text) == place
    assert all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in text)


@given(st.text("ABCxyz019-_", max_size=40))
def test_any_text_is_some_cursor(text: str) -> None:
    assert isinstance(decode_cursor(text), str)


async def linked(document: dict[str, Any]) -> dict[str, Any]:
    bench, interrupts = await opened(NAMED)
    return await interrupts.link(CALLER, await waiting(bench, "facade-named"), "gate", document)


@pytest.mark.rule("appr-03")
@pytest.mark.parametrize("document", [{}, {"for": "eve"}])
def test_a_link_that_could_never_answer_is_not_made(document: dict[str, Any]) -> None:
    with pytest.raises(ClientFault) as fault:
        run(lambda: linked(document))
    assert (fault.value.code, fault.value.details) == (
        "validation_error",
        {"pointer": "/for", "supported": ["ada", "bob"]},
    )
    assert run(lambda: linked({"for": "bob"}))["intent"] == "resolve"
    assert run(lambda: linked({**document, "intent": "inspect"}))["intent"] == "inspect"


def test_without_the_look_at_the_approvers_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.engine.api.interrupts._check_approver", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):
        test_a_link_that_could_never_answer_is_not_made({})


@pytest.mark.rule("appr-03")
async def test_an_answer_is_by_whoever_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Answerer] = []
    real = Executor.request

    async def noted(self: Executor, key: Any, asked: Any, record: Any) -> Any:
        given.append(asked.by)
        assert asked.at == self._runtime.clock.now()
        return await real(self, key, asked, record)

    bench, interrupts = await opened(ASKS)
    monkeypatch.setattr(Executor, "request", noted)
    body = {"resumeValue": 1}
    await interrupts.resolve(CALLER, await waiting(bench, "facade"), "ask", body)
    await interrupts.resolve(PLAIN, await waiting(bench, "facade"), "ask", body)
    run_id = await waiting(bench, "facade")
    plain = (await interrupts.list_of_run(CALLER, run_id))["interrupts"][0]["token"]
    await interrupts.resolve_by_token(plain, body)
    run_id = await waiting(bench, "facade")
    link = await interrupts.link(CALLER, run_id, "ask", {"for": "bob"})
    assert link["url"] == f"https://here.example/at/{link['token']}"
    await interrupts.resolve_by_token(link["token"], body)
    assert given[:2] == [
        Answerer("key_1", may_delegate=True, may_override=True),
        Answerer("key_9", frozenset({"ada"})),
    ]
    by_token, by_link = given[2:]
    assert by_token == Answerer(by_token.principal, bound_person=by_token.principal, has_key=False)
    assert by_link == Answerer(by_link.principal, frozenset({"bob"}), bound_person="bob", has_key=False)
    assert by_token.principal.startswith("link:")
    assert by_link.principal != by_token.principal


@pytest.mark.rule("idem-03")
async def test_both_names_of_one_request_are_the_same_request() -> None:
    bench, interrupts = await opened(GATE)
    run_id = await waiting(bench, "facade-gate")
    value = {"action": "accept"}
    first = await interrupts.resolve_approval(CALLER, run_id, "gate", value, "k")
    again = await interrupts.resolve(CALLER, run_id, "gate", {"resumeValue": value}, "k")
    assert (first.status, first.replayed, again.status, again.replayed) == ("completed", False, "completed", True)
    with pytest.raises(ClientFault) as caught:
        await interrupts.resolve(CALLER, run_id, "gate", {"resumeValue": value}, "k", "gate.1")
    assert caught.value.code == "interrupt_already_resolved"


@pytest.mark.rule("tok-05")
@pytest.mark.parametrize("document", [{}, [], 5, {"resumeValue": {"action": "accept"}, "action": "reject"}])
async def test_a_decision_is_said_in_one_way(document: Any) -> None:
    bench, interrupts = await opened(GATE)
    run_id = await waiting(bench, "facade-gate")
    with pytest.raises(ClientFault) as fault:
        await interrupts.resolve_approval(CALLER, run_id, "gate", document)
    assert fault.value.code == "validation_error"
    assert ('such as {"action": "accept"}' in fault.value.message) == (document in ({}, [], 5))
    assert (await interrupts.list_of_run(CALLER, run_id))["interrupts"], "it is still open"


async def test_a_snapshot_is_given_tokens_only_for_its_caller() -> None:
    bench, interrupts = await opened(ASKS)
    run_id = await waiting(bench, "facade")
    plain = await bench.service.get_run(CALLER, run_id)
    assert "interruptToken" not in str(plain)
    shown = interrupts.with_tokens(CALLER, plain)
    assert shown["interrupt"]["interruptToken"] in [row["interruptToken"] for row in shown["interrupts"]]
    assert "interruptToken" not in str(await bench.service.get_run(CALLER, run_id))
    page = await interrupts.list_open(CALLER, InterruptQuery(limit=1))
    assert [row["runId"] for row in page["interrupts"]] == [run_id]
    ended = {"runId": run_id, "status": "completed"}
    assert interrupts.with_tokens(CALLER, dict(ended)) == ended


async def test_a_key_that_was_given_at_start_has_no_name() -> None:
    bench, _ = await opened()
    ring = Keyring(bench.store.keys, bench.clock, bench.ids, SCOPES)
    await ring.load()
    ring.accept_for_process("given", "acme", None)
    assert ring.authenticate("given").label == ""
    key, _ = await ring.create("acme", label="ada")
    assert ring.authenticate(key).label == "ada"
