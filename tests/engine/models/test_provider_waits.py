"""A model provider that is down: the node waits for it without using memory, and continues where it was."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.models.test_model_calls import ONE, REQUEST, chunks, talking
from tests.engine.run.test_pause import pause, resume
from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all, node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from tests.harness.scripted_model import AnswerPiece, ScriptedModel
from weftwork.engine.decide import transitions
from weftwork.engine.decide.decision import NOTHING, running_node
from weftwork.engine.decide.inputs import NodeAwaitsProvider, ProviderRetryDue
from weftwork.engine.models import model_calls
from weftwork.engine.models.model_calls import EntryModelCalls
from weftwork.ports.models import AnswerEnd, ProviderFault
from weftwork.ports.node_outcome import Completed, NodeOutcome, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.fold import fold
from weftwork.protocol.fold.facts import NODE_CHANGES
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.models.provider_waits import (
    MAX_PROVIDER_WAIT_MS,
    MAX_PROVIDER_WAITS_MS,
    MIN_PROVIDER_WAIT_MS,
    next_provider_wait,
)
from weftwork.protocol.run.effects import WHOLE_NODE, EffectRef
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.timestamps import iso, parse_iso
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing.deterministic import START

WAIT = 20_000
WAITING, RETRIED = "weftwork.provider.waiting", "weftwork.provider.retried"


def down(wait_ms: int = WAIT, code: str = "provider_unavailable") -> list[AnswerPiece]:
    return [ProviderFault(code, "It is down.", wait_ms=wait_ms)]


def caller(body: Any, effect: Any = "idempotent") -> WaitingNode:
    return WaitingNode(NodeDeclaration("test.talk", "For one test.", effect=effect, instant=False), body)


async def node_row(bench: EngineHarness, key: RunKey, node_id: str = "a") -> dict[str, Any]:
    rows = (await bench.stored_run(key)).rows
    return next(msgspec.json.decode(row.value) for row in rows if (row.kind, row.name) == ("node", node_id))


def forget_answers(state: Any, fact: Any, node_id: str) -> None:
    NODE_CHANGES[WAITING](state, fact, node_id)
    state.nodes[node_id].model_answers = {}


@pytest.mark.rule("park-05", "model-01")
@fails_without(EntryModelCalls, "_provider_wait", lambda self, fault: None)
@fails_without(fold, "NODE_CHANGES", {**NODE_CHANGES, WAITING: forget_answers}, errors=(ValueError,))
async def test_a_node_waits_for_its_provider_in_the_store_and_pays_for_no_answer_twice() -> None:
    model = ScriptedModel("first", down(), down(2 * WAIT), "second")
    bench, key = await EngineHarness(talking(2), models=model).with_settled_run(ONE)
    for when, calls in ((START + WAIT, 2), (START + 3 * WAIT, 3)):
        assert (bench.executor.live_count, bench.clock.next_wake) == (0, when)
        assert await bench.status(key) == "running"
        wait = {"provider": "test", "code": "provider_unavailable", "retryAt": iso(when)}
        assert await node_row(bench, key) == {"status": "running", "attempt": 1, "waitsFor": wait}
        assert (await bench.payloads(key, WAITING))[-1] == {"nodeId": "a", **wait}
        await pass_time(bench, when - 1 - bench.clock.now())
        assert len(model.requests) == calls, "the provider was called too early"
        await pass_time(bench, 1)
    await bench.run_to_end(key)
    assert await bench.payload(key, "node.completed") == {"nodeId": "a", "outputs": {"said": ["first", "second"]}}
    assert await chunks(bench, key) == [("first", True), ("second", True)]
    assert (await bench.payload(key, "node.started"))["attempt"] == 1
    assert (len(model.requests), (await bench.state(key)).executions) == (4, 1)
    assert "waitsFor" not in await node_row(bench, key)
    assert model.requests[1].key == model.requests[2].key == model.requests[3].key


@pytest.mark.rule("park-04")
@each_case(
    "wanted, waited, length",
    (WAIT, 0, WAIT),
    (0, 0, MIN_PROVIDER_WAIT_MS),
    (-5, 0, MIN_PROVIDER_WAIT_MS),
    (10**9, 0, MAX_PROVIDER_WAIT_MS),
    (WAIT, MAX_PROVIDER_WAITS_MS - 5_000, 5_000),
    (WAIT, MAX_PROVIDER_WAITS_MS - MIN_PROVIDER_WAIT_MS, MIN_PROVIDER_WAIT_MS),
    (WAIT, MAX_PROVIDER_WAITS_MS - MIN_PROVIDER_WAIT_MS + 1, None),
    (WAIT, MAX_PROVIDER_WAITS_MS, None),
)
def test_a_wait_is_neither_too_short_nor_too_long(wanted: int, waited: int, length: int | None) -> None:
    assert next_provider_wait(wanted, waited) == length


@pytest.mark.rule("park-04")
@fails_without(model_calls, "next_provider_wait", lambda wanted, waited: wanted)
@each_case("retries, calls", (0, 7), (1, 8))
async def test_a_provider_that_stays_down_fails_the_node_with_the_last_code(retries: int, calls: int) -> None:
    model = ScriptedModel(*[down(10**9, f"code_{number}") for number in range(20)])
    document = workflow([node("a", "test.talk", settings={"maxRetries": retries, "retryDelayMs": 1})])
    bench, key = await EngineHarness(talking(), models=model).with_ended_run(document)
    assert (await bench.payload(key, "node.failed"))["error"] == {
        "code": f"code_{calls - 1}",
        "message": "It is down.",
    }
    assert len(model.requests) == calls
    # The retries of the node do not wait for an hour each.
    assert MAX_PROVIDER_WAITS_MS <= bench.clock.now() - START < MAX_PROVIDER_WAITS_MS + 10_000


async def test_a_wait_is_not_one_of_the_retries_of_the_node() -> None:
    plain: list[AnswerPiece] = [ProviderFault("provider_unavailable", "Cut.")]
    model = ScriptedModel(down(), plain, down(), "yes")
    document = workflow([node("a", "test.talk", settings={"maxRetries": 1})])
    bench, key = await EngineHarness(talking(), models=model).with_ended_run(document)
    kinds = [each for each in await bench.event_types(key) if each in (WAITING, RETRIED) or each.startswith("node.")]
    assert kinds == [
        "node.started",
        *(WAITING, RETRIED),
        "node.retried",
        "node.started",
        *(WAITING, RETRIED),
        "node.completed",
    ]
    assert [each["attempt"] for each in await bench.payloads(key, "node.started")] == [1, 2]


@pytest.mark.rule("park-05")
@fails_without(EntryModelCalls, "_in_progress", property(lambda self: 0, lambda self, count: None), match="paid for")
async def test_other_calls_in_progress_end_before_the_node_waits() -> None:
    held = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        async def ask(name: str) -> str:
            request = msgspec.structs.replace(REQUEST, turn_prefix=name)
            return (await context.generate(request, lambda answer: ())).text

        return Completed({"said": await asyncio.gather(*map(ask, "abc"))})

    model = ScriptedModel(["slow", held], down(), down(), "b", "c")
    bench, key = await EngineHarness(caller(body), models=model).with_settled_run(ONE)
    assert await bench.payloads(key, WAITING) == [], "the answer in progress would be paid for twice"
    held.set()
    await run_ready_tasks()
    assert bench.executor.live_count == 0
    assert len(await bench.payloads(key, WAITING)) == 1
    await bench.run_to_end(key)
    assert (await bench.payload(key, "node.completed"))["outputs"] == {"said": ["slow", "b", "c"]}
    assert len(model.requests) == 5


async def test_effects_of_the_entry_are_kept() -> None:
    done: list[str] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        async def charge() -> str:
            done.append(call.node_id)
            return "paid"

        paid = await context.step("charge", "once", charge)
        answer = await context.generate(REQUEST, lambda answer: ())
        return Completed({"said": [paid, answer.text]})

    bench, key = await EngineHarness(caller(body), models=ScriptedModel(down(), "yes")).with_ended_run(ONE)
    assert (await bench.payload(key, "node.completed"))["outputs"] == {"said": ["paid", "yes"]}
    assert done == ["a"]


@fails_without("weftwork.engine.nodes.effect_ledger.ProviderPending", KeyError)
async def test_a_step_that_has_to_wait_did_not_happen() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        async def ask() -> str:
            return (await context.generate(REQUEST, lambda answer: ())).text

        return Completed({"said": await context.step("ask", "once", ask)})

    bench, key = await EngineHarness(caller(body), models=ScriptedModel(down(), "yes")).with_settled_run(ONE)
    await pass_time(bench, WAIT)
    assert await bench.status(key) == "completed"


def keep_claim(state: Any, fact: Any, node_id: str) -> None:
    NODE_CHANGES[WAITING](state, fact, node_id)
    state.nodes[node_id].effects[EffectRef(WHOLE_NODE)].status = "open"


@fails_without(fold, "NODE_CHANGES", {**NODE_CHANGES, WAITING: keep_claim})
async def test_a_node_that_must_not_happen_twice_is_called_again_without_a_question() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({"said": (await context.generate(REQUEST, lambda answer: ())).text})

    bench, key = await EngineHarness(caller(body, "once"), models=ScriptedModel(down(), "yes")).with_settled_run(ONE)
    await pass_time(bench, WAIT)
    assert await bench.status(key) == "completed"


def mapping(**config: Any) -> dict[str, Any]:
    body = {"typeId": "test.talk"}
    return workflow([node("a", "core.flow.map", config={"items": [1, 2, 3, 4], "body": body, **config})])


@pytest.mark.rule("park-05")
@fails_without("weftwork.engine.nodes.effect_ledger.AwaitsProvider", KeyError)
@each_case("effect", "idempotent", "once")
@each_case("mode", "fail", "collect")
async def test_a_map_waits_when_its_running_items_have_ended(effect: Any, mode: str) -> None:
    held = asyncio.Event()

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        request = msgspec.structs.replace(REQUEST, system=str(call.inputs["input"]))
        return Completed({"output": (await context.generate(request, lambda answer: ())).text})

    model = ScriptedModel(["slow", held], "b", down(), "c", "d")
    document = mapping(concurrency=2, onError=mode)
    bench, key = await EngineHarness(caller(body, effect), models=model).with_settled_run(document)
    assert (bench.executor.live_count, await bench.payloads(key, WAITING)) == (1, [])
    held.set()
    await run_ready_tasks()
    assert (bench.executor.live_count, await bench.status(key)) == (0, "running")
    assert sorted(each["index"] for each in await bench.payloads(key, "weftwork.map.item")) == [0, 1]
    await bench.run_to_end(key)
    outputs = (await bench.payload(key, "node.completed"))["outputs"]
    results = [each["output"] if mode == "collect" else each for each in outputs["results"]]
    assert results == ["slow", "b", "c", "d"]
    assert [request.system for request in model.requests] == ["1", "2", "3", "3", "4"]


@pytest.mark.rule("park-05", "run-12")
@fails_without(transitions, "_may_retry", lambda state, bounds: True, match="paused")
@each_case("policy", "immediate", "drain-current-node")
async def test_a_paused_run_calls_its_provider_after_it_was_resumed(policy: str) -> None:
    model = ScriptedModel(down(), "yes")
    document = workflow([node("a", "test.talk"), node("gate", "test.gate")])
    bench, key = await EngineHarness(talking(), models=model).with_settled_run(document)
    # The gate keeps the run in memory, and under the second policy also from pausing.
    await pause(bench, key, drainPolicy=policy)
    await pass_time(bench, 3 * WAIT)
    assert len(model.requests) == 1, "the run is paused, or will be"
    if policy != "immediate":
        bench.gate_node.release("gate")
        await run_ready_tasks()
    assert await bench.status(key) == "paused"
    await resume(bench, key)
    await run_ready_tasks()
    assert len(model.requests) == 2
    await bench.run_to_end(key, "gate" if policy == "immediate" else None)
    assert await bench.status(key) == "completed"


@pytest.mark.rule("node-13")
@fails_without(transitions, "await_timeout", lambda state, timeout: None, errors=(ValueError,))
@each_case("retries", 0, 1)
async def test_the_time_limit_of_a_node_includes_its_waits(retries: int) -> None:
    model = ScriptedModel(down(), "late")
    settings = {"timeoutMs": 5_000, "maxRetries": retries, "retryDelayMs": 1}
    bench, key = await EngineHarness(talking(), models=model).with_settled_run(
        workflow([node("a", "test.talk", settings=settings)])
    )
    assert bench.clock.next_wake == START + 5_000
    await pass_time(bench, 5_000)
    ended = "lastError" if retries else "error"
    failure = (await bench.payload(key, "node.retried" if retries else "node.failed"))[ended]
    assert failure["code"] == "node_timeout"
    await bench.run_to_end(key)
    assert await bench.status(key) == ("completed" if retries else "failed")
    assert "waitsFor" not in await node_row(bench, key)


@pytest.mark.rule("node-13")
@fails_without("weftwork.engine.run.activity._time_limit_end", lambda state, node_id, node: 0, errors=(ValueError,))
async def test_a_node_whose_time_was_up_before_its_wait_times_out_after_a_restart() -> None:
    document = workflow([node("a", "test.talk", settings={"timeoutMs": WAIT - 1})])
    bench, key = await EngineHarness(talking(), models=ScriptedModel(down(), "late")).with_settled_run(document)
    await bench.crash()
    bench.clock.advance(3 * WAIT)
    bench = await bench.take_over()
    await bench.run_to_end(key)
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_timeout"


async def test_a_run_whose_node_waits_for_a_provider_is_cancelled_at_once() -> None:
    bench, key = await EngineHarness(talking(), models=ScriptedModel(down())).with_settled_run(ONE)
    await bench.cancel(key)
    assert await bench.status(key) == "cancelled"
    assert (await node_row(bench, key))["status"] == "cancelled"


async def test_an_answer_that_broke_off_is_ended_before_the_wait() -> None:
    model = ScriptedModel(["half", " of", *down()], "whole")
    bench, key = await EngineHarness(talking(), models=model).with_ended_run(ONE)
    assert [text for text, _ in await chunks(bench, key)] == ["half", "", "whole"]
    kinds = await bench.event_types(key)
    assert kinds.index(WAITING) > kinds.index("output.chunk")


@pytest.mark.rule("park-05")
@fails_without(transitions, "running_node", lambda state, node_id, entered: state.nodes[node_id])
async def test_inputs_of_an_entry_that_has_ended_change_nothing() -> None:
    bench, key = await EngineHarness(talking(2), models=ScriptedModel(down(), "a", down(), "b")).with_settled_run(ONE)
    state = await bench.state(key)
    first = state.nodes["a"].entry_sequence
    assert running_node(state, "a", first) is None
    bounds = transitions.RunBounds(10, 10, frozenset())
    again = NodeAwaitsProvider("a", "test", "c", START, first)
    assert transitions.decide(state, bounds, again) is NOTHING
    assert transitions.decide(state, bounds, ProviderRetryDue("a", first)).start == "a"
    await pass_time(bench, WAIT)
    state = await bench.state(key)
    assert state.nodes["a"].provider_wait is not None
    assert transitions.decide(state, bounds, ProviderRetryDue("a", first)) is NOTHING
    assert transitions.decide(state, bounds, transitions.inputs.RetryDue("a", 1)) is NOTHING


CALL = st.sampled_from(["answer", "down", "down", "fault"])
ACTS = st.lists(st.sampled_from(["crash", "time", "turn", "back"]), max_size=12)


class CountedModel(ScriptedModel):
    """Each call answers, is down or fails, as the test says, and answers when the test says nothing more."""

    def __init__(self, calls: list[str]) -> None:
        super().__init__()
        for number, call in enumerate(calls):
            end = AnswerEnd("stop", TokenUsage(1, 1))
            fault = ProviderFault("provider_unavailable", "Cut.")
            said: list[AnswerPiece] = [str(number), end] if call == "answer" else [fault]
            self.answers.append(down(WAIT + number) if call == "down" else said)
        self.answers += [str(number) for number in range(len(calls), len(calls) + 200)]


@for_all(60, st.lists(CALL, max_size=6), ACTS, full=1000)
def test_no_order_of_faults_crashes_and_clocks_loses_or_repeats_an_answer(calls: list[str], acts: list[str]) -> None:
    run(lambda: check_schedule(calls, acts))


async def check_schedule(calls: list[str], acts: list[str]) -> None:
    model = CountedModel(calls)
    document = workflow([node("a", "test.talk", settings={"maxRetries": 99, "retryDelayMs": 1})])
    bench, key = await EngineHarness(talking(3), models=model).with_run(document)
    for act in acts:
        if await bench.status(key) in TERMINAL_STATUSES:
            break
        if act == "crash":
            bench = await bench.restart()
        elif act == "back":
            bench.clock.shift(-5_000)
        elif act == "time" and bench.clock.next_wake is not None:
            await bench.advance(max(0, bench.clock.next_wake - bench.clock.now()))
        else:
            await run_ready_tasks()
    log = await bench.run_to_end(key)
    assert log[-1].type == "run.completed"
    check_log([(event.type, msgspec.json.decode(event.payload), event.timestamp) for event in log])


def check_log(log: list[tuple[str, Any, int]]) -> None:
    """A wait ends at its time, with a call of the same attempt; and an attempt records each of its answers once."""
    retry_at, attempt = 0, 0
    answered: set[str] = set()
    for kind, payload, at in log:
        if kind == "node.started":
            assert payload["attempt"] == attempt + 1
            attempt += 1
        assert not retry_at or kind == RETRIED, f"{kind} during a wait"
        if kind == WAITING:
            retry_at = parse_iso(payload["retryAt"]) or 0
            assert at < retry_at <= at + MAX_PROVIDER_WAIT_MS
        elif kind == RETRIED:
            assert at >= retry_at, "the provider was called too early"
            retry_at = 0
        elif kind == "node.retried":
            answered.clear()
        elif kind == "weftwork.model.answered":
            assert payload["call"] not in answered
            answered.add(payload["call"])
    assert len(answered) == 3


def test_the_check_sees_a_call_during_a_wait() -> None:
    waiting = (WAITING, {"retryAt": iso(START + WAIT)}, START)
    with pytest.raises(AssertionError, match="too early"):
        check_log([waiting, (RETRIED, {}, START + WAIT - 1)])
    with pytest.raises(AssertionError, match="during a wait"):
        check_log([waiting, ("node.started", {"attempt": 1}, START + WAIT)])


async def test_a_node_that_asks_a_model_in_vain_can_react() -> None:
    """The calls of a conversation fail like others once the node has waited long enough, and the node goes on."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        try:
            await context.generate(msgspec.structs.replace(REQUEST, turn_prefix="talk"), lambda answer: ())
        except StepFailed as error:
            return Completed({"code": error.failure.code})
        raise AssertionError("there is no answer")

    model = ScriptedModel(*[down(10**9)] * 7)
    bench, key = await EngineHarness(caller(body), models=model).with_ended_run(ONE)
    assert (await bench.payload(key, "node.completed"))["outputs"] == {"code": "provider_unavailable"}
