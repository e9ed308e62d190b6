"""Interrupts for callers: who an answer is by; and idempotency: equal requests get the same answer."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import fails_without
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from tests.live.steering import flow, interrupt_node
from tests.live.tokens import approval_workflow
from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts, decode_cursor, encode_cursor
from weftwork.engine.api.keyring import Keyring, Principal, require_run
from weftwork.engine.host.executor import Executor
from weftwork.engine.signer import Signer
from weftwork.ports.storage.event_log import SlotTaken
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.batch import ReplayableOutcome
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
@fails_without("weftwork.engine.api.interrupts._check_approver", lambda *_: None)
async def test_a_link_that_could_never_answer_is_not_made(document: dict[str, Any]) -> None:
    with pytest.raises(ClientFault) as fault:
        await linked(document)
    assert (fault.value.code, fault.value.details) == (
        "validation_error",
        {"pointer": "/for", "supported": ["ada", "bob"]},
    )
    assert (await linked({"for": "bob"}))["intent"] == "resolve"
    assert (await linked({**document, "intent": "inspect"}))["intent"] == "inspect"


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
        Answerer("key_1", may_delegate=True, may_override=True, partition="live:acme"),
        Answerer("key_9", frozenset({"ada"}), partition="live:acme"),
    ]
    by_token, by_link = given[2:]
    of_link = {"has_key": False, "partition": "live:acme"}
    assert by_token == Answerer(by_token.principal, bound_person=by_token.principal, **of_link)
    assert by_link == Answerer(by_link.principal, frozenset({"bob"}), bound_person="bob", **of_link)
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
    with pytest.raises(ClientFault, match=r"^interrupt_already_resolved: "):
        await interrupts.resolve(CALLER, run_id, "gate", {"resumeValue": value}, "k", "gate.1")


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
    assert plain is not None
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


WAITS = workflow([node("a", "test.gate")])


class Number(ReplayableOutcome, frozen=True):
    number: int


class Counter:
    """Work that records how often it was done, and then may be refused."""

    def __init__(self, bench: EngineHarness, fault: ClientFault | None = None) -> None:
        self._bench = bench
        self._fault = fault
        self.done = 0

    async def apply(self, key: str | None, body: Any = None) -> Number:
        return await idempotent(self._bench.runtime, CALLER, "count", key, body, Number, self._work)

    async def _work(self, claim: IdempotencyClaim) -> Number | SlotTaken:
        self.done += 1
        outcome = Number(self.done)
        record = claim.make_record(outcome)
        taken = await self._bench.log.save_record(record) if record is not None else None
        if self._fault is not None:
            raise self._fault
        return taken or outcome


@pytest.mark.rule("idem-01")
async def test_a_key_does_its_work_once() -> None:
    work = Counter(await EngineHarness().open())
    assert [await work.apply("k"), await work.apply("k")] == [Number(1), Number(1, replayed=True)]
    assert [await work.apply("other"), work.done] == [Number(2), 2]
    with pytest.raises(ClientFault) as caught:
        await work.apply("k", "another body")
    assert (caught.value.code, work.done) == ("idempotency_key_mismatch", 2)


async def test_without_a_key_the_work_is_done_each_time() -> None:
    work = Counter(await EngineHarness().open())
    assert [await work.apply(None), await work.apply(None)] == [Number(1), Number(2)]


@pytest.mark.rule("idem-02")
async def test_requests_that_look_at_the_same_time_get_the_outcome_that_was_recorded_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(*_: Any) -> None:
        return None

    work = Counter(await EngineHarness().open())
    monkeypatch.setattr(IdempotencyClaim, "find_outcome", nothing)
    assert [await work.apply("k"), await work.apply("k")] == [Number(1), Number(1, replayed=True)]


@pytest.mark.rule("idem-03")
async def test_a_refusal_gives_way_to_an_outcome_that_was_recorded_meanwhile() -> None:
    """What refuses the second of two equal requests may be the effect of the first."""
    work = Counter(await EngineHarness().open(), ClientFault("conflict", "Done already."))
    assert await work.apply("k") == Number(1, replayed=True)
    with pytest.raises(ClientFault, match="Done already"):
        await work.apply(None)


@pytest.mark.rule("idem-02")
async def test_equal_creates_for_the_last_place_of_a_tenant_make_one_run() -> None:
    bench = await EngineHarness(limits=Limits(max_live_runs_per_tenant=1)).open()
    assert await bench.catalog.register(WAITS) == []
    asked = [bench.service.create_run(CALLER, {"workflowId": WAITS["id"]}, "k") for _ in range(4)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    await bench.close()
    assert len({outcome.run_id for outcome in outcomes if not isinstance(outcome, BaseException)}) == 1


@pytest.mark.parametrize("nothing", [None, False, []])
def test_nothing_found_of_a_run_is_a_run_that_is_not_there(nothing: Any) -> None:
    assert require_run("found") == "found"
    with pytest.raises(ClientFault) as caught:
        require_run(nothing)
    assert (caught.value.code, caught.value.message) == ("not_found", "There is no such run.")
