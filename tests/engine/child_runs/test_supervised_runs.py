"""Supervised runs in the engine: decisions, questions, limits, and what is hidden."""

from typing import Any

import msgspec
import pytest

from tests.harness.child_workflows import (
    TERMINATE,
    WORKERS,
    child_keys,
    handover_steps,
    next_worker,
    release_worker,
    settle,
    start_run,
    supervised_workflow,
)
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run
from weftwork.protocol.limits import Limits
from weftwork.protocol.privacy import value_paths


@pytest.mark.rule("orch-11")
async def test_the_newest_decision_counts() -> None:
    bench, key = await start_run(supervised_workflow([next_worker("a"), next_worker("b"), TERMINATE]), *WORKERS)
    await release_worker(bench, "a")
    await release_worker(bench, "b")
    assert await bench.status(key) == "completed"
    documents = [msgspec.json.decode(each.document) for each in await bench.events(key)]
    decisions = [each["eventId"] for each in documents if each["type"] == "runOrchestrator.decided"]
    sent = [each for each in documents if each["type"] == "node.dispatched"]
    assert [each["payload"]["childWorkflowId"] for each in sent] == ["a", "b"]
    assert [each["causationId"] for each in sent] == decisions[:2]


@pytest.mark.rule("orch-12")
async def test_a_dispatch_follows_the_supervisor_before_it_else_the_newest_decision() -> None:
    lead = "core.orchestrator.supervisor"
    nodes = [
        node("one", lead, config={"plan": [next_worker("a")]}),
        node("two", lead, config={"plan": [next_worker("b")]}),
        node("then"),
        node("behind", "core.dispatch"),
        node("apart", "core.dispatch"),
    ]
    edges = [edge("one", "two"), edge("two", "then"), edge("one", "behind"), edge("then", "behind")]

    bench, key = await start_run(workflow(nodes, [*edges, edge("then", "apart")], id="two"), *WORKERS)
    sent = [
        (event["nodeId"], event["payload"]["childWorkflowId"])
        for event in (msgspec.json.decode(each.document) for each in await bench.events(key))
        if event["type"] == "node.dispatched"
    ]
    assert sorted(sent) == [("apart", "b"), ("behind", "a")]
    await release_worker(bench, "a")
    await release_worker(bench, "b")
    assert await bench.status(key) == "completed"


@pytest.mark.rule("orch-10")
async def test_what_a_person_answers_comes_back_to_the_supervisor() -> None:
    decision = (
        "has(ports.answer) ? {'kind': 'next-worker', 'nextWorkerIds': [ports.answer]} : "
        "{'kind': 'ask-user', 'prompt': 'Who?'}"
    )
    nodes = [
        node(
            "lead", "core.orchestrator.supervisor", config={"decision": f"iteration > 1.0 ? {TERMINATE} : ({decision})"}
        ),
        node("send", "core.dispatch", config={"askUserRouting": "clarification"}),
    ]
    back = edge("send", "lead", sourceOutput="answer", targetInput="answer")
    document = workflow(nodes, [edge("lead", "send"), back], id="asks")

    bench, key = await start_run(document, *WORKERS)
    assert await bench.status(key) == "waiting-input"
    await bench.answer(key, {"answers": {"answer": "c"}}, "send")
    await settle()
    assert list(bench.gate_node.waiting) == ["c"]
    await release_worker(bench, "c")
    assert await bench.status(key) == "completed"
    decided = await bench.payloads(key, "runOrchestrator.decided")
    assert [each["decision"]["kind"] for each in decided] == ["ask-user", "next-worker", "terminate"]


@pytest.mark.rule("orch-10")
@pytest.mark.rule("conv-01")
async def test_a_conversation_holds_the_question_of_the_supervisor_and_its_answer() -> None:
    document = supervised_workflow([{"kind": "ask-user", "prompt": "Which colour?"}, TERMINATE])
    document["nodes"][0]["agent"] = {"agentId": "host:lead"}

    bench, key = await start_run(document)
    await bench.answer(key, "blue", "send")
    await settle()
    assert await bench.status(key) == "completed"
    assert await handover_steps(bench, key) == []
    (opened,) = await bench.payloads(key, "conversation.opened")
    (exchanged,) = await bench.payloads(key, "conversation.exchanged")
    turn = opened["initialTurn"]
    assert (turn["content"], turn["role"], turn["from"]) == ("Which colour?", "agent", "host:lead")
    assert opened["agentId"] == turn["speakerId"] == "host:lead"
    assert (exchanged["turn"]["content"], exchanged["turn"]["role"]) == ("blue", "user")


@pytest.mark.rule("lim-14")
@pytest.mark.parametrize(
    ("limits", "configurable", "cap", "limit"),
    [
        (Limits(max_loop_iterations=3), {}, {}, 3),
        (Limits(), {"maxLoopIterations": 2}, {}, 2),
        (Limits(), {}, {"iterationCap": 2}, 2),
    ],
)
async def test_a_loop_that_goes_on_is_ended(limits: Limits, configurable: Any, cap: Any, limit: int) -> None:
    quick = workflow([node("q")], id="quick")

    bench = EngineHarness(limits=limits)
    await bench.store.open()
    assert await bench.catalog.register(quick) == []
    key = await bench.start(supervised_workflow([next_worker("quick")] * 9, cap), configurable=configurable)
    await settle()
    assert await bench.status(key) == "failed"
    (breach,) = await bench.payloads(key, "cap.breached")
    assert (breach["kind"], breach["limit"], breach["observed"]) == ("loop-iterations", limit, limit + 1)
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "loop_limit_exceeded"
    assert "maxLoopIterations of the run, or iterationCap of the dispatch" in failed["error"]["message"]
    assert len(await child_keys(bench, key)) == limit


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("routing", ["clarification", "conversation"])
def test_what_is_sensitive_in_a_decision_does_not_stand_in_the_log(
    routing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = "iteration > 0.0 ? {'kind': 'terminate'} : {'kind': 'ask-user', 'prompt': 'Is it ' + variables.pin}"
    nodes = [
        node("lead", "core.orchestrator.supervisor", config={"decision": decision}),
        node("send", "core.dispatch", config={"askUserRouting": routing}),
    ]
    said = "4711-secret, yes"
    pin = [variable("pin", sensitive=True)]
    document = workflow(nodes, [edge("lead", "send"), edge("send", "lead")], pin, id="hushed")

    async def work() -> None:
        bench = EngineHarness()
        key = await bench.start(document, inputs={"pin": "4711-secret"})
        await settle()
        await bench.answer(key, {"answers": {"answer": said}} if routing == "clarification" else said, "send")
        await settle()
        assert await bench.status(key) == "completed"
        assert await handover_steps(bench, key) == []
        assert b"4711" not in b"".join(event.document for event in await bench.events(key))
        # Who said it stays to be seen.
        turns = [each["initialTurn"] for each in await bench.payloads(key, "conversation.opened")]
        assert [each["speakerId"] for each in turns] == ["host:supervisor"] * (routing == "conversation")

    run(work)
    for table in (value_paths.MADE_MEMBERS, value_paths.VALUE_MEMBERS):
        monkeypatch.delitem(table, "runOrchestrator.decided")
    with pytest.raises(AssertionError):
        run(work)
