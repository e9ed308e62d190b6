"""The suspension core: a question is asked, the run waits, one answer counts for all who ask the same under a key."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.engine.run.test_waiting_runs import PICK, pass_time
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import ANSWERER, CALLER, EngineHarness, run_ready_tasks
from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.run_control import ControlOutcome, RunControl, apply_control
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.engine.decide.interrupts import MAX_GATE_MESSAGES
from weftwork.ports.node_outcome import Completed, NodeOutcome, Suspended
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt, answer_refusal
from weftwork.protocol.run.projection import StoredRun, run_snapshot
from weftwork.protocol.workflow.node_types import NodeDeclaration

ASK = node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "pick", "payload": [1, 2]}})
WAITS = workflow([node("first"), ASK, node("last")], [edge("first", "ask"), edge("ask", "last")])


async def answer(bench: EngineHarness, key: RunKey, value: Any, node_id: str = "ask", idem: str | None = None) -> Any:
    def refuse_late(stored: StoredRun) -> str:
        rows = [msgspec.json.decode(row.value) for row in stored.rows if row.kind == "interrupt"]
        mine = [row["status"] for row in rows if row["nodeId"] == node_id]
        raise answer_refusal(mine[-1] if mine else None, stored.projection.status)

    async def apply(claim: IdempotencyClaim) -> Any:
        given = AnswerReceived(node_id, value, ANSWERER, claim.now)
        outcome = ControlOutcome(key.run_id, "", claim.now, node_id)
        return await apply_control(bench.executor, key, claim, given, outcome, refuse_late)

    return await idempotent(bench.runtime, CALLER, f"answer/{node_id}", idem, value, ControlOutcome, apply)


async def shown(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(run_snapshot(await bench.stored_run(key))))


@pytest.mark.rule("int-01", "int-02", "int-03", "int-04", "int-07")
async def test_a_run_waits_for_what_its_node_asked() -> None:
    bench, key = await EngineHarness().with_settled_run(WAITS)
    document = await shown(bench, key)
    assert (document["status"], document["currentNodeId"]) == ("waiting-input", "ask")
    asked = document["interrupt"]
    assert (asked["interruptId"], asked["nodeId"], asked["kind"], asked["key"]) == ("ask.1", "ask", "custom", "ask")
    assert asked["data"] == {"customKind": "pick", "payload": [1, 2]}
    assert document["nodeStates"]["ask"]["status"] == "suspended"
    requested, suspended = (await bench.events(key))[-2:]
    assert (requested.type, suspended.type) == ("interrupt.requested", "node.suspended")
    told = msgspec.json.decode(requested.document)
    assert (told["interruptId"], told["nodeId"]) == ("ask.1", "ask")
    assert told["payload"] == {"kind": "custom", "key": "ask", "data": asked["data"]}
    assert schema.check("run-event", told) == []
    assert msgspec.json.decode(suspended.payload)["interruptId"] == "ask.1"
    await bench.close()


@pytest.mark.rule("int-05", "int-06")
async def test_an_answer_lets_the_node_go_on_as_the_same_attempt() -> None:
    bench, key = await EngineHarness().with_settled_run(WAITS)
    done = await answer(bench, key, {"choice": 2})
    assert (done.run_id, done.node_id, done.status) == (key.run_id, "ask", "completed")
    kinds = await bench.event_types(key)
    assert kinds[4:8] == ["interrupt.requested", "node.suspended", "interrupt.resolved", "node.resumed"]
    (resolved,) = await bench.payloads(key, "interrupt.resolved")
    assert resolved == {
        "nodeId": "ask",
        "interruptId": "ask.1",
        "kind": "custom",
        "resumeValue": {"choice": 2},
        "resolvedBy": "key_1",
    }
    (ended,) = [each for each in await bench.payloads(key, "node.completed") if each["nodeId"] == "ask"]
    assert ended["outputs"] == {"output": {"choice": 2}}
    assert [each["nodeId"] for each in await bench.payloads(key, "node.started")] == ["first", "ask", "last"]


@pytest.mark.rule("int-06")
async def test_an_interrupt_outlives_restarts_and_takes_exactly_one_of_many_answers() -> None:
    bench, key = await EngineHarness().with_settled_run(WAITS)
    after = await bench.restart()
    assert (await after.stored_run(key)).projection.status == "waiting-input"
    ends = await asyncio.gather(*(answer(after, key, n) for n in range(64)), return_exceptions=True)
    won = [each for each in ends if not isinstance(each, BaseException)]
    lost = [each for each in ends if isinstance(each, ClientFault)]
    assert (len(won), len(lost)) == (1, 63)
    assert {each.code for each in lost} == {"interrupt_already_resolved"}
    await after.run_to_end(key)
    assert (await after.event_types(key)).count("interrupt.resolved") == 1


@pytest.mark.rule("int-06")
async def test_why_an_answer_is_not_taken() -> None:
    async def refusal(bench: EngineHarness, key: RunKey, node_id: str = "ask") -> tuple[int, str]:
        with pytest.raises(ClientFault) as caught:
            await answer(bench, key, 1, node_id)
        return caught.value.status, caught.value.code

    bench, key = await EngineHarness().with_settled_run(WAITS)
    assert await refusal(bench, key, "no-such-node") == (404, "interrupt_not_found")
    assert await refusal(bench, key, "first") == (404, "interrupt_not_found")
    assert await refusal(bench, RunKey(key.partition, "gone")) == (404, "not_found")
    await answer(bench, key, 1)
    assert await refusal(bench, key) == (409, "interrupt_already_resolved")
    assert await refusal(bench, key, "first") == (404, "interrupt_not_found")
    other = await bench.start(WAITS)
    await run_ready_tasks()
    assert await bench.cancel(other) == "cancelled"
    assert await refusal(bench, other) == (409, "interrupt_already_resolved")
    assert (await bench.event_types(other))[-2:] == ["node.cancelled", "run.cancelled"]
    failed = await bench.start(WAITS, configurable={"runTimeoutMs": 50})
    await run_ready_tasks()
    bench.clock.advance(51)
    await bench.run_to_end(failed)
    assert await refusal(bench, failed) == (409, "interrupt_already_resolved")


@pytest.mark.rule("idem-01")
async def test_a_repeated_answer_with_the_same_key_is_the_first_one() -> None:
    bench, key = await EngineHarness().with_settled_run(WAITS)
    first = await answer(bench, key, 1, idem="k")
    assert await answer(bench, key, 1, idem="k") == msgspec.structs.replace(first, replayed=True)
    with pytest.raises(ClientFault, match="idempotency_key_mismatch"):
        await answer(bench, key, 2, idem="k")


def asks(wanted: dict[str, Any] | None = None) -> InstantNode:
    def work(call: NodeCall) -> NodeOutcome:
        if "q" in call.answers:
            return Completed({"output": call.answers["q"].value})
        return Suspended(Interrupt("custom", "q", {"customKind": "x"}, wanted))

    return InstantNode(NodeDeclaration("test.ask", "Asks.", config={"type": "object"}), work)


@pytest.mark.rule("int-06")
@fails_without("weftwork.protocol.people.interrupt_validation.check_value", lambda *arguments: [])
async def test_a_value_that_does_not_fit_changes_nothing() -> None:
    bench = EngineHarness(asks({"type": "object", "required": ["n"]}))
    key = await bench.start(workflow([node("ask", "test.ask")]))
    with pytest.raises(ClientFault) as caught:
        await answer(bench, key, {"secret": 1})
    assert (caught.value.status, caught.value.details) == (400, {"pointer": "/resumeValue"})
    assert await bench.status(key) == "waiting-input"
    assert (await answer(bench, key, {"n": 1})).status == "completed"


async def test_two_branches_wait_and_each_takes_its_own_answer() -> None:
    gate = node("gate", "test.gate")
    document = workflow(
        [{**ASK, "id": "b"}, {**ASK, "id": "a"}, gate, node("z", "core.merge")],
        [edge("a", "z"), edge("b", "z"), edge("gate", "z")],
    )
    bench, key = await EngineHarness().with_gated_run(document)
    assert (await shown(bench, key))["currentNodeId"] == "a"
    assert (await answer(bench, key, 1, "b")).status == "waiting-input"
    assert (await answer(bench, key, 2, "a")).status == "running"
    await bench.run_to_end(key, release="gate")
    assert (await bench.payload(key, "run.completed"))["outputs"]["z"]["output"] == {"a": 2, "b": 1}


async def test_an_answer_to_a_paused_run_waits_with_it() -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([ASK, node("gate", "test.gate")]))
    control = RunControl(bench.runtime, bench.executor)
    with pytest.raises(ClientFault) as caught:
        await control.pause_run(CALLER, key.run_id, {})
    assert caught.value.details == {"runStatus": "waiting-input"}
    await bench.close()


@pytest.mark.rule("hide-07")
async def test_what_a_node_asks_about_something_sensitive_is_shown_without_it() -> None:
    ask = node("ask", "core.interrupt", config=ASK["config"], inputs={"x": {"type": "variable", "variableName": "pin"}})
    document = workflow([ask], [], [variable("pin", sensitive=True)])
    bench, key = await EngineHarness().with_run(document, inputs={"pin": "4711-secret"})
    text = b"".join(event.document for event in await bench.events(key)) + msgspec.json.encode(await shown(bench, key))
    assert b"4711" not in text
    assert b'"payload":[1,2]' in text
    await answer(bench, key, "my 4711-secret answer")
    await bench.run_to_end(key)
    text = b"".join(event.document for event in await bench.events(key))
    assert b"4711" not in text


async def test_a_question_in_a_loop_is_a_new_one_each_round() -> None:
    document = workflow(
        [node("l", "core.loop", config={"times": 2}), ASK, node("end")],
        [edge("l", "ask", sourceOutput="body"), edge("ask", "l"), edge("l", "end", sourceOutput="done")],
    )
    bench, key = await EngineHarness().with_run(document)
    assert (await answer(bench, key, "one")).status == "waiting-input"
    assert (await shown(bench, key))["interrupt"]["interruptId"] == "ask.2"
    assert (await answer(bench, key, "two")).status == "completed"
    values = [each["resumeValue"] for each in await bench.payloads(key, "interrupt.resolved")]
    assert values == ["one", "two"]


ALTERNATING = ("accept", "reject")
PICK_ONE = {"kind": "custom", "data": PICK}


@pytest.mark.rule("int-20")
async def test_who_asks_under_one_key_gets_one_answer() -> None:
    gate = {"kind": "custom", "key": "shared", "data": PICK}
    both = [node("a", "core.interrupt", config=gate), node("b", "core.interrupt", config=gate)]
    bench, key = await EngineHarness().with_run(workflow(both))
    assert await bench.answer(key, "one", "b") == "completed"
    resolved = await bench.payloads(key, "interrupt.resolved")
    assert {each["interruptId"]: each["resumeValue"] for each in resolved} == {"a.1": "one", "b.1": "one"}
    assert (await bench.payload(key, "run.completed"))["outputs"] == {"a": {"output": "one"}, "b": {"output": "one"}}
    timed = {**gate, "timeoutMs": 5}
    key = await bench.start({**workflow([node(each, "core.interrupt", config=timed) for each in "ab"]), "id": "late"})
    await pass_time(bench, 5)
    await bench.run_to_end(key)
    assert [each["reason"] for each in await bench.payloads(key, "interrupt.resolved")] == ["timeout", "timeout"]


@pytest.mark.rule("int-20")
@each_case(
    "other",
    ("core.interrupt", {"kind": "custom", "key": "pay", "data": {"customKind": "other"}}),
    ("core.approvalGate", {"key": "pay", "approversList": ["ada"]}),
    ("core.clarificationGate", {"key": "pay", "questions": [{"id": "q", "question": "?"}]}),
)
async def test_a_key_is_shared_only_by_those_who_ask_the_same(other: tuple[str, dict[str, Any]]) -> None:
    first = node("a", "core.interrupt", config={"kind": "custom", "key": "pay", "data": PICK})
    second = node("b", other[0], config=other[1])
    bench = await EngineHarness().open()
    (wrong,) = await bench.catalog.register(workflow([first, second], [edge("a", "b")]))
    assert (wrong.pointer, wrong.rule) == ("/nodes/1/config/key", "unique")
    assert await bench.catalog.register(workflow([first, {**first, "id": "b"}])) == []


async def test_an_answer_of_another_kind_is_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.protocol.workflow.validation.check_interrupt_keys", lambda nodes: [])
    first = node("a", "core.interrupt", config={"kind": "custom", "key": "pay", "data": PICK})
    second = node("b", "core.approvalGate", config={"key": "pay", "approversList": ["ada"]})
    bench, key = await EngineHarness().with_run(workflow([first, second], [edge("a", "b")]))
    assert await bench.answer(key, {"action": "accept", "decidedBy": "ada"}, "a") == "failed"
    (failed,) = await bench.payloads(key, "node.failed")
    assert (failed["nodeId"], failed["error"]["code"]) == ("b", "node_misused")


async def test_a_run_that_rests_is_not_folded_anew_for_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []
    monkeypatch.setattr("weftwork.engine.host.run_loader.load_state", lambda *arguments: folded.append("again"))
    document = workflow(
        [
            node("l", "core.loop", config={"times": 5}),
            node("ask", "core.interrupt", config={"kind": "custom", "data": PICK}),
        ],
        [edge("l", "ask", sourceOutput="body"), edge("ask", "l")],
    )
    bench, key = await EngineHarness().with_run(document)
    for number in range(1, 6):
        assert await bench.answer(key, number) == ("waiting-input" if number < 5 else "completed")
    assert folded == []


@pytest.mark.rule("int-20")
@pytest.mark.parametrize("parallel", [True, False])
@fails_without(
    ["weftwork.adapters.nodes.people.interrupt_request.is_answer_to", lambda *arguments: True],
    ["weftwork.engine.decide.transitions.request_refusal", lambda *arguments: None],
    errors=(ValueError,),
)
async def test_one_approval_is_none_of_something_else_under_the_same_key(parallel: bool) -> None:
    def gate(name: str, what: str) -> dict[str, Any]:
        given = {"artifactData": {"type": "variable", "variableName": what}}
        return node(name, "core.approvalGate", config={"key": "pay"}, inputs=given)

    document = workflow(
        [gate("small", "coffee"), gate("large", "house")],
        [] if parallel else [edge("small", "large")],
        [variable("coffee", "number", defaultValue=3), variable("house", "number", defaultValue=10**6)],
    )
    bench, key = await EngineHarness().with_run(document)
    (first,) = {each["nodeId"] for each in await bench.payloads(key, "node.suspended")}
    assert await bench.answer(key, {"action": "accept"}, first) == "failed"
    (failed,) = await bench.payloads(key, "node.failed")
    assert ({failed["nodeId"], first}, failed["error"]["code"]) == ({"small", "large"}, "node_misused")


async def test_a_key_is_not_the_id_of_another_node() -> None:
    strict = node("strict", "core.approvalGate", config={"approversList": ["ada"]})
    loose = node("loose", "core.approvalGate", config={"key": "strict"})
    bench = await EngineHarness().open()
    (wrong,) = await bench.catalog.register(workflow([strict, loose]))
    assert wrong.pointer == "/nodes/1/config/key"


@pytest.mark.rule("appr-11")
async def test_a_gate_that_was_talked_to_death_still_takes_its_decision() -> None:
    config = {"actions": ["accept", "reject", "ask"], "requiredApprovals": 2, "rejectionPolicy": "majority"}
    bench, key = await EngineHarness().with_run(workflow([node("ask", "core.approvalGate", config=config)]))
    for at in range(MAX_GATE_MESSAGES):
        more = {"action": "ask", "question": "why?"} if at % 2 else {"action": ALTERNATING[at // 2 % 2], "voter": "a"}
        await bench.answer(key, more)
    for more in ({"action": "ask", "question": "why?"}, {"action": "accept", "voter": "a"}):
        with pytest.raises(ClientFault, match="conflict"):
            await bench.answer(key, more)
    await bench.answer(key, {"action": "accept", "voter": "b"})
    assert await bench.answer(key, {"action": "accept", "voter": "c"}, by=ANSWERER) == "completed"


async def test_a_run_that_has_much_to_remember_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.engine.host.run_loader.MAX_PARKED_BYTES", 2**18)
    document = workflow(
        [node("l", "core.loop", config={"times": 5}), node("ask", "core.interrupt", config=PICK_ONE)],
        [edge("l", "ask", sourceOutput="body"), edge("ask", "l")],
    )
    bench = EngineHarness()
    kept: list[bool] = []
    for size in (10, 2**18):
        key = await bench.start(document)
        await bench.answer(key, "x" * size)
        kept.append(key in bench.executor._loader._parked[False])
        assert await bench.answer(key, "y") == "waiting-input"
        kept.append(key in bench.executor._loader._parked[False])
    assert kept == [True, True, False, False]
