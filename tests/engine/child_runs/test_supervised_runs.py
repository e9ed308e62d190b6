"""Supervised runs in the engine: decisions, questions, limits, joins, crashes, and what is hidden."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import (
    TERMINATE,
    WORKERS,
    child_keys,
    found_variable,
    handover_steps,
    next_worker,
    parallel_workflow,
    start_run,
    supervised_workflow,
)
from tests.harness.definitions import FULL, edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run, settle
from weftwork.engine.decide.inputs import PauseRequested, ResumeRequested
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.protocol.fold import fold
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.privacy import value_paths
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run import events
from weftwork.protocol.run.header import TERMINAL_STATUSES


@pytest.mark.rule("orch-11")
async def test_the_newest_decision_counts() -> None:
    bench, key = await start_run(supervised_workflow([next_worker("a"), next_worker("b"), TERMINATE]), *WORKERS)
    await bench.release("a")
    await bench.release("b")
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
    await bench.release("a")
    await bench.release("b")
    assert await bench.status(key) == "completed"


@pytest.mark.rule("orch-10")
async def test_what_a_person_answers_comes_back_to_the_supervisor() -> None:
    decision = (
        "has(ports.answer) ? {'kind': 'next-worker', 'nextWorkerIds': [ports.answer]} : "
        "{'kind': 'ask-user', 'prompt': 'Who?'}"
    )
    decides = {"decision": f"iteration > 1.0 ? {TERMINATE} : ({decision})"}
    nodes = [
        node("lead", "core.orchestrator.supervisor", config=decides),
        node("send", "core.dispatch", config={"askUserRouting": "clarification"}),
    ]
    back = edge("send", "lead", sourceOutput="answer", targetInput="answer")
    bench, key = await start_run(workflow(nodes, [edge("lead", "send"), back], id="asks"), *WORKERS)
    assert await bench.status(key) == "waiting-input"
    await bench.answer(key, {"answers": {"answer": "c"}}, "send")
    await settle()
    assert list(bench.gate_node.waiting) == ["c"]
    await bench.release("c")
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
    assert await bench.settled_status(key) == "completed"
    assert await handover_steps(bench, key) == []
    (opened,) = await bench.payloads(key, "conversation.opened")
    (exchanged,) = await bench.payloads(key, "conversation.exchanged")
    turn = opened["initialTurn"]
    assert (turn["content"], turn["role"], turn["from"]) == ("Which colour?", "agent", "host:lead")
    assert opened["agentId"] == turn["speakerId"] == "host:lead"
    assert (exchanged["turn"]["content"], exchanged["turn"]["role"]) == ("blue", "user")


@pytest.mark.rule("lim-14")
@each_case(
    "limits, configurable, cap, limit",
    (Limits(max_loop_iterations=3), {}, {}, 3),
    (Limits(), {"maxLoopIterations": 2}, {}, 2),
    (Limits(), {}, {"iterationCap": 2}, 2),
)
async def test_a_loop_that_goes_on_is_ended(limits: Limits, configurable: Any, cap: Any, limit: int) -> None:
    quick = workflow([node("q")], id="quick")
    bench = await EngineHarness(limits=limits).open()
    assert await bench.catalog.register(quick) == []
    key = await bench.start(supervised_workflow([next_worker("quick")] * 9, cap), configurable=configurable)
    assert await bench.settled_status(key) == "failed"
    (breach,) = await bench.payloads(key, "cap.breached")
    assert (breach["kind"], breach["limit"], breach["observed"]) == ("loop-iterations", limit, limit + 1)
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "loop_limit_exceeded"
    assert "maxLoopIterations of the run or iterationCap of the dispatch" in failed["error"]["message"]
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
        bench, key = await EngineHarness().with_run(document, inputs={"pin": "4711-secret"})
        await settle()
        await bench.answer(key, {"answers": {"answer": said}} if routing == "clarification" else said, "send")
        assert await bench.settled_status(key) == "completed"
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


@pytest.mark.rule("orch-07")
async def test_the_first_answer_wins_and_the_others_are_really_cancelled() -> None:
    bench, key = await start_run(parallel_workflow("a", "b", "c", joinMode="first"), *WORKERS)
    assert sorted(bench.gate_node.waiting) == ["a", "b", "c"]
    await bench.release("b")
    assert sorted(bench.gate_node.cancelled) == ["a", "c"]
    assert await bench.status(key) == "completed"
    children = await child_keys(bench, key)
    assert [await bench.status(each) for each in children] == ["cancelled", "completed", "cancelled"]
    (told,) = await bench.payloads(children[0], "run.cancelled")
    assert (told["reason"], told["parentRunId"]) == ("join-decided", key.run_id)
    assert await found_variable(bench, key) == "b"
    ends = ["child.cancelled a", "child.completed b", "output.harvested b", "child.cancelled c"]
    assert (await handover_steps(bench, key))[6:] == ends
    assert not bench.executor._live


@pytest.mark.rule("orch-07")
async def test_a_quorum_and_its_bound() -> None:
    document = parallel_workflow("a", "b", "c", "d", joinMode="quorum", quorum=2, maxParallel=2)
    bench, key = await start_run(document, *WORKERS)
    assert sorted(bench.gate_node.waiting) == ["a", "b"]
    await bench.release("a", Failed("busy", "No."))
    assert sorted(bench.gate_node.waiting) == ["b", "c"]
    await bench.release("c")
    assert sorted(bench.gate_node.waiting) == ["b", "d"]
    await bench.release("d")
    assert await bench.status(key) == "completed"
    assert bench.gate_node.cancelled == ["b"]
    assert await found_variable(bench, key) == "d"


@pytest.mark.rule("orch-07")
@pytest.mark.rule("kin-08")
async def test_a_race_that_is_lost_fails_the_run_and_ends_the_others() -> None:
    bench, key = await start_run(parallel_workflow("a", "b", joinMode="race"), *WORKERS)
    await bench.release("b", Failed("busy", "No."))
    assert await bench.status(key) == "failed"
    assert bench.gate_node.cancelled == ["a"]
    assert (await handover_steps(bench, key))[-2:] == ["child.cancelled a", "child.failed b"]
    (told,) = await bench.payloads((await child_keys(bench, key))[0], "run.cancelled")
    assert (told["reason"], told["parentRunId"]) == ("parent-failed", key.run_id)
    assert await found_variable(bench, key) == ""


@pytest.mark.rule("orch-07")
@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
async def test_who_ended_first_counts_also_for_one_that_looks_later(first: str, second: str) -> None:
    bench, key = await start_run(parallel_workflow("a", "b", joinMode="race"), *WORKERS)
    assert await bench.executor.request(key, PauseRequested("immediate")) == "paused"
    await bench.release(first, Failed("busy", "No."))
    await bench.release(second)
    assert await bench.status(key) == "paused"
    await bench.executor.request(key, ResumeRequested())
    assert await bench.settled_status(key) == "failed"
    assert (await bench.payload(key, "node.failed"))["error"]["details"]["workerId"] == first
    assert len([line for line in await handover_steps(bench, key) if line.startswith("child.")]) == 2


@pytest.mark.rule("orch-04")
async def test_a_worker_that_cannot_be_started_ends_the_others_before_the_node_fails() -> None:
    bench, key = await start_run(parallel_workflow("a", "b", "nowhere", maxParallel=2), *WORKERS)
    await bench.release("a")
    assert await bench.status(key) == "failed"
    assert bench.gate_node.cancelled == ["b"]
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "unknown_child_workflow"
    ends = ["child.completed a", "child.cancelled b", "dispatch.began nowhere", "dispatch.failed nowhere"]
    assert (await handover_steps(bench, key))[4:] == ends


async def after_crash(bench: EngineHarness) -> EngineHarness:
    """The next host over the same store. Twice: what ends may begin something."""
    await bench.crash()
    await bench.crash()
    later = bench.successor()
    for each in WORKERS:
        assert await later.catalog.register(each) == []
    await later.executor.recover()
    return later


@pytest.mark.rule("orch-04")
@fails_without(
    "weftwork.protocol.fold.fold._CHANGES",
    {kind: change for kind, change in fold._CHANGES.items() if kind != events.WORKFLOW_CHAIN},
    match="child.completed has no earlier event as its cause",
)
@each_case("policy", "sequential", "parallel")
async def test_the_causes_of_a_handover_outlive_the_host(policy: str) -> None:
    config = {"fanOutPolicy": policy, "outputMapping": {"found": "has"}}
    plan = [next_worker("a", "b"), next_worker("a", "a"), TERMINATE]
    document = supervised_workflow(plan, config, variables=[variable("found", defaultValue="")])
    bench, key = await start_run(document, *WORKERS)
    for name in ("a", "b", "a", "a"):
        bench = await after_crash(bench)
        await bench.release(name)
    assert await bench.status(key) == "completed"
    told = await handover_steps(bench, key)
    assert [told.count(step) for step in ("output.harvested a", "output.harvested b")] == [3, 1]


@pytest.mark.rule("orch-04")
@pytest.mark.parametrize("seed", range(200 if FULL else 20))
async def test_a_host_that_dies_anywhere_repeats_nothing(seed: int) -> None:
    """Every mode, with deaths between any two things that happen; with workers that fail, or cannot be started."""
    chance = random.Random(seed)
    modes: list[dict[str, Any]] = [{}, {"joinMode": "first"}, {"joinMode": "quorum", "quorum": 2}, {"joinMode": "race"}]
    mode = modes[seed % 4]
    fails = 0.3 if seed % 3 == 1 else 0
    third = "nowhere" if seed % 5 == 2 else "c"
    bench, key = await start_run(parallel_workflow("a", "b", third, maxParallel=2, **mode), *WORKERS)
    for _ in range(40):
        if await bench.status(key) in TERMINAL_STATUSES:
            break
        if chance.random() < 0.4:
            bench = await after_crash(bench)
        elif held := sorted(name for name, gate in bench.gate_node.waiting.items() if not gate.done()):
            bad = Failed("busy", "No.") if chance.random() < fails else None
            bench.gate_node.release(chance.choice(held), bad)
        for _ in range(chance.randrange(60)):
            await asyncio.sleep(0)
        if chance.random() < 0.3:
            await pass_time(bench, 50)
    for _ in range(20):
        for gate in bench.gate_node.waiting.values():
            if not gate.done():
                gate.set_result(Completed({}))
        await settle()
        await pass_time(bench, 1000)
    status = await bench.status(key)
    assert status == "completed" or (status == "failed" and (fails or third == "nowhere")), await bench.event_types(key)
    told = await handover_steps(bench, key)
    assert len(told) == len(set(told)), told
    begun_well = [line.split()[1] for line in told if line.startswith("dispatch.succeeded ")]
    assert sorted(begun_well) == sorted(line.split()[1] for line in told if line.startswith("child."))
    started = await bench.payloads(key, "weftwork.child.started")
    assert len(started) == len(await child_keys(bench, key)) == len({each["key"] for each in started})
    assert {await bench.status(each) for each in await child_keys(bench, key)} <= TERMINAL_STATUSES


SECRET = "hunter2-hunter2"
WORKER = workflow([node("w")], id="worker-one")


def supervised(**config: Any) -> dict[str, Any]:
    return workflow(
        [node("lead", "core.orchestrator.supervisor", config=config), node("send", "core.dispatch")],
        [edge("lead", "send"), edge("send", "lead")],
        variables=[variable("shared", sensitive=True, defaultValue=SECRET)],
        id="supervised",
    )


async def logs(document: dict[str, Any]) -> tuple[EngineHarness, list[Any], str]:
    bench, key = await start_run(document, WORKER)
    for _ in range(5):
        await settle()
    events = [event for each in (key, *await child_keys(bench, key)) for event in await bench.events(each)]
    return bench, events, await bench.status(key)


READS = (
    "variables.shared == '' ? {'kind': 'terminate', 'reason': 'none'} : iteration > 1 ? {'kind': 'terminate',"
    " 'reason': 'enough'} : {'kind': 'next-worker', 'nextWorkerIds': ['worker-one']}"
)


@pytest.mark.rule("hide-03")
@fails_without(
    [Redactor, "_without_protocol_words", lambda redactor, node_id, value: value],
    ["weftwork.protocol.privacy.value_paths.FIXED_MEMBERS", frozenset()],
    match="runOrchestrator.decided",
)
async def test_a_decision_that_reads_a_secret_is_still_a_decision() -> None:
    _, events, status = await logs(supervised(decision=READS))
    assert status == "completed"
    payloads = [(each.type, msgspec.json.decode(each.payload)) for each in events]
    assert [kind for kind, _ in payloads].count("runOrchestrator.decided") == 3
    assert SECRET.encode() not in b"".join(event.payload for event in events)
    assert [kind for kind, payload in payloads if schema.check_payload(kind, payload)] == []


@pytest.mark.rule("hide-03")
@fails_without("weftwork.protocol.privacy.value_paths.value_members", lambda kind, payload: (), match="named")
async def test_a_worker_that_is_named_by_a_secret_is_not_named_in_the_log() -> None:
    named = "{'kind': 'next-worker', 'nextWorkerIds': [variables.shared]}"
    _, events, status = await logs(supervised(decision=named))
    assert status == "failed"
    shown = [event.type for event in events if SECRET.encode() in event.payload]
    assert "core.workflowChain.event" not in shown, "named"
    assert shown == []
