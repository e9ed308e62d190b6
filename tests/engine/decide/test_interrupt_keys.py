"""Keys of questions: an answer counts for all who ask the same under a key, and for nobody who asks something else."""

from typing import Any

import pytest

from tests.engine.run.test_waiting_runs import PICK, pass_time
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import ANSWERER, EngineHarness, run
from weftwork.engine.decide.interrupts import MAX_GATE_MESSAGES
from weftwork.protocol.errors import ClientFault

ALTERNATING = ("accept", "reject")
ASK = {"kind": "custom", "data": PICK}


@pytest.mark.rule("int-20")
async def test_who_asks_under_one_key_gets_one_answer() -> None:
    gate = {"kind": "custom", "key": "shared", "data": PICK}
    both = [node("a", "core.interrupt", config=gate), node("b", "core.interrupt", config=gate)]

    bench = EngineHarness()
    key = await bench.start(workflow(both))
    assert await bench.answer(key, "one", "b") == "completed"
    resolved = await bench.payloads(key, "interrupt.resolved")
    assert {each["interruptId"]: each["resumeValue"] for each in resolved} == {"a.1": "one", "b.1": "one"}
    (ended,) = await bench.payloads(key, "run.completed")
    assert ended["outputs"] == {"a": {"output": "one"}, "b": {"output": "one"}}
    timed = {**gate, "timeoutMs": 5}
    key = await bench.start({**workflow([node(each, "core.interrupt", config=timed) for each in "ab"]), "id": "late"})
    await pass_time(bench, 5)
    await bench.run_to_end(key)
    assert [each["reason"] for each in await bench.payloads(key, "interrupt.resolved")] == ["timeout", "timeout"]


@pytest.mark.rule("int-20")
@pytest.mark.parametrize(
    "other",
    [
        ("core.interrupt", {"kind": "custom", "key": "pay", "data": {"customKind": "other"}}),
        ("core.approvalGate", {"key": "pay", "approversList": ["ada"]}),
        ("core.clarificationGate", {"key": "pay", "questions": [{"id": "q", "question": "?"}]}),
    ],
)
async def test_a_key_is_shared_only_by_those_who_ask_the_same(other: tuple[str, dict[str, Any]]) -> None:
    first = node("a", "core.interrupt", config={"kind": "custom", "key": "pay", "data": PICK})
    second = node("b", other[0], config=other[1])

    bench = EngineHarness()
    await bench.store.open()
    (wrong,) = await bench.catalog.register(workflow([first, second], [edge("a", "b")]))
    assert (wrong.pointer, wrong.rule) == ("/nodes/1/config/key", "unique")
    assert await bench.catalog.register(workflow([first, {**first, "id": "b"}])) == []


async def test_an_answer_of_another_kind_is_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.protocol.workflow.validation.check_interrupt_keys", lambda nodes: [])
    first = node("a", "core.interrupt", config={"kind": "custom", "key": "pay", "data": PICK})
    second = node("b", "core.approvalGate", config={"key": "pay", "approversList": ["ada"]})

    bench = EngineHarness()
    key = await bench.start(workflow([first, second], [edge("a", "b")]))
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

    bench = EngineHarness()
    key = await bench.start(document)
    for number in range(1, 6):
        assert await bench.answer(key, number) == ("waiting-input" if number < 5 else "completed")
    assert folded == []


@pytest.mark.rule("int-20")
@pytest.mark.parametrize("parallel", [True, False])
def test_one_approval_is_none_of_something_else_under_the_same_key(
    parallel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gate(name: str, what: str) -> dict[str, Any]:
        given = {"artifactData": {"type": "variable", "variableName": what}}
        return node(name, "core.approvalGate", config={"key": "pay"}, inputs=given)

    document = workflow(
        [gate("small", "coffee"), gate("large", "house")],
        [] if parallel else [edge("small", "large")],
        [variable("coffee", "number", defaultValue=3), variable("house", "number", defaultValue=10**6)],
    )

    async def work() -> None:
        bench = EngineHarness()
        key = await bench.start(document)
        (first,) = {each["nodeId"] for each in await bench.payloads(key, "node.suspended")}
        assert await bench.answer(key, {"action": "accept"}, first) == "failed"
        (failed,) = await bench.payloads(key, "node.failed")
        assert ({failed["nodeId"], first}, failed["error"]["code"]) == ({"small", "large"}, "node_misused")

    run(work)
    monkeypatch.setattr("weftwork.adapters.nodes.people.interrupt_request.is_answer_to", lambda *arguments: True)
    monkeypatch.setattr("weftwork.engine.decide.transitions.request_refusal", lambda *arguments: None)
    with pytest.raises((AssertionError, ValueError)):
        run(work)


async def test_a_key_is_not_the_id_of_another_node() -> None:
    strict = node("strict", "core.approvalGate", config={"approversList": ["ada"]})
    loose = node("loose", "core.approvalGate", config={"key": "strict"})

    bench = EngineHarness()
    await bench.store.open()
    (wrong,) = await bench.catalog.register(workflow([strict, loose]))
    assert wrong.pointer == "/nodes/1/config/key"


@pytest.mark.rule("appr-11")
async def test_a_gate_that_was_talked_to_death_still_takes_its_decision() -> None:
    config = {"actions": ["accept", "reject", "ask"], "requiredApprovals": 2, "rejectionPolicy": "majority"}

    bench = EngineHarness()
    key = await bench.start(workflow([node("ask", "core.approvalGate", config=config)]))
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
        [node("l", "core.loop", config={"times": 5}), node("ask", "core.interrupt", config=ASK)],
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
