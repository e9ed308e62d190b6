"""What a definition cannot make a host do: grow without bound, spin, run on, hold others up, or show what it hides."""

from itertools import pairwise
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import TYPES, edge, node, variable, workflow
from tests.harness.engine_harness import (
    CALLER,
    EngineHarness,
    WrappedLog,
    run,
    run_ready_tasks,
    until,
    waiting_node_type,
)
from weftwork.engine.run import next_commit
from weftwork.ports.node_outcome import Completed, NodeOutcome, Suspended
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.json.values import MAX_VALUE_COUNT, MAX_VALUE_DEPTH, MAX_VALUE_TEXT, is_too_large
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.validation import MAX_EXPRESSIONS, parse_workflow


def doubling(count: int, mode: str = "array") -> dict[str, Any]:
    """Each node makes a list of two copies of what it is given."""
    nodes = [node("n00", "core.transform", config={"expression": "[1.0]"})]
    nodes += [node(f"n{i:02}", "core.merge", config={"mode": mode}) for i in range(1, count)]
    edges = [edge(f"n{i - 1:02}", f"n{i:02}", id=f"{i}-{side}") for i in range(1, count) for side in "ab"]
    return workflow(nodes, edges)


@pytest.mark.rule("lim-10")
def test_a_value_that_doubles_ends_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(count: int) -> tuple[str | None, int]:
        bench, key = await EngineHarness().with_ended_run(doubling(count))
        failed = await bench.payloads(key, "run.failed")
        code = failed[0]["error"]["code"] if failed else None
        return code, sum(event.size for event in await bench.events(key))

    code, size = run(lambda: work(40))
    assert code == "node_output_too_large"
    assert size < 16 * MAX_VALUE_TEXT
    monkeypatch.setattr("weftwork.engine.nodes.node_call.memory_size", lambda value: 0)
    monkeypatch.setattr("weftwork.engine.node_events.is_too_large", lambda value: False)
    assert run(lambda: work(20))[0] is None


@pytest.mark.rule("lim-10")
def test_how_large_a_value_may_be() -> None:
    deep: Any = 1
    for _ in range(MAX_VALUE_DEPTH):
        deep = [deep]
    assert not is_too_large(deep)
    assert is_too_large([deep])
    assert not is_too_large([0] * MAX_VALUE_COUNT)
    assert is_too_large([0] * (MAX_VALUE_COUNT + 1))
    assert not is_too_large("x" * MAX_VALUE_TEXT)
    assert is_too_large(["x" * MAX_VALUE_TEXT, "y"])
    assert is_too_large({"x" * (MAX_VALUE_TEXT + 1): 1})


async def test_a_loop_of_nodes_that_never_start_ends_too() -> None:
    document = workflow(
        [node("a", "conformance.requiresMissing")],
        [edge("a", "a", "any_failed")],
        settings={"maxLoopbackIterations": 10**9},
    )
    bench, key = await EngineHarness(limits=Limits(max_node_executions=10)).with_ended_run(document)
    assert (await bench.event_types(key))[-2:] == ["cap.breached", "run.failed"]


@pytest.mark.rule("hide-03")
@fails_without("weftwork.protocol.workflow.definition.Node.interrupt_key", None, match="424242")
async def test_an_answer_that_one_asker_hides_is_hidden_by_all_who_ask_under_its_key() -> None:
    asked = {"kind": "custom", "key": "k", "data": {"customKind": "pin"}}
    document = workflow(
        [
            node("a", "core.interrupt", config=asked, outputSensitivity={"output": True}),
            node("gate", "test.gate"),
            node("b", "core.interrupt", config=asked),
        ],
        [edge("gate", "b")],
    )

    bench, key = await EngineHarness().with_gated_run(document)
    await bench.answer(key, 424242, "a")
    await bench.run_to_end(key, release="gate")
    assert b"424242" not in b"".join(event.document for event in await bench.events(key))


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("restart", [False, True])
async def test_what_was_hidden_in_an_earlier_round_stays_hidden_after_a_restart(restart: bool) -> None:
    again = {"type": "expression", "expression": 'nodes.s.outputs.output == "secret-of-round-one"'}
    template = "secret-of-{{ variables.k }}"
    document = workflow(
        [
            node("s", "core.template", config={"template": template}, outputSensitivity={"output": True}),
            node("k", "core.setVariable", config={"name": "k", "value": "round-two"}, inputs={}),
            node("gate", "test.gate"),
        ],
        [edge("s", "k", targetInput="unused"), edge("k", "s", condition=again), edge("k", "gate")],
        [variable("k", defaultValue="round-one")],
    )

    bench, key = await EngineHarness().with_gated_run(document)
    if restart:
        bench = await bench.restart()
        await until(lambda: bench.gate_node.waiting)
    await bench.control.cancel_run(CALLER, key.run_id, {"reason": "saw secret-of-round-one"})
    await bench.run_to_end(key)
    assert b"secret-of" not in b"".join(event.document for event in await bench.events(key))


async def test_an_item_is_recorded_once_although_its_commit_seemed_to_fail() -> None:
    lied: list[int] = []

    class LostReplyLog(WrappedLog):
        async def append(self, run: Any, expected: int, batch: Any, *fence: Any) -> Any:
            taken = await self._log.append(run, expected, batch, *fence)
            if not lied and any(event.type == "weftwork.map.item" for event in batch.events):
                lied.append(1)
                raise StoreUnavailable("the answer was lost")
            return taken

    body = {"typeId": "core.identity"}
    document = workflow([node("m", "core.flow.map", config={"items": [1, 2, 3], "body": body, "concurrency": 1})])
    bench, key = await EngineHarness(wrap=LostReplyLog).with_ended_run(document)
    assert lied
    assert [each["index"] for each in await bench.payloads(key, "weftwork.map.item")] == [0, 1, 2]


@pytest.mark.rule("node-13")
async def test_time_in_which_a_node_waits_for_an_answer_does_not_count() -> None:
    async def asks(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if "q" not in call.answers:
            return Suspended(Interrupt("custom", "q", {"customKind": "x"}))
        await context.sleep_until(context.started_at)
        return Completed({})

    bench = EngineHarness(waiting_node_type("test.asks", asks))
    key = await bench.start(workflow([node("a", "test.asks", settings={"timeoutMs": 1000})]))
    await run_ready_tasks()
    bench.clock.advance(3_600_000)
    await bench.answer(key, 1, "a")
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"


async def test_a_node_with_a_time_limit_may_clean_up_when_its_run_is_cancelled() -> None:
    async def careful(call: NodeCall, context: NodeContext) -> NodeOutcome:
        try:
            await context.sleep_until(context.started_at + 10_000)
        finally:
            cleaned.append(call.node_id)
        return Completed({})

    cleaned: list[str] = []
    bench = EngineHarness(waiting_node_type("test.careful", careful))
    key = await bench.start(workflow([node("a", "test.careful", settings={"timeoutMs": 5_000})]))
    await run_ready_tasks()
    await bench.cancel(key)
    await bench.run_to_end(key)
    assert cleaned == ["a"]
    assert (await bench.event_types(key))[-2:] == ["node.cancelled", "run.cancelled"]


async def test_a_long_turn_gives_way_to_others() -> None:
    """Each node takes as long as a whole turn may, by a clock that they move themselves."""

    bench = EngineHarness()
    honest = bench.clock.monotonic_ns
    moved = iter(range(0, 10**18, (next_commit.MAX_BATCH_MS + 1) * 1_000_000))
    bench.clock.monotonic_ns = lambda: honest() + next(moved)  # type: ignore[method-assign]
    names = [f"n{i}" for i in range(9)]
    key = await bench.start(workflow([node(name) for name in names], [edge(*pair) for pair in pairwise(names)]))
    assert (await bench.stored_run(key)).projection.last_sequence < 10
    for _ in range(60):
        await run_ready_tasks()
    assert await bench.status(key) == "completed"


@pytest.mark.rule("lim-11")
def test_a_definition_has_so_many_expressions_and_no_more() -> None:
    fields = {f"f{i}": f"{i}.0" for i in range(100)}
    most = [node(f"n{i}", "core.transform", config={"fields": fields}) for i in range(MAX_EXPRESSIONS // 100)]
    assert parse_workflow(workflow(most), TYPES)[1] == []
    found = parse_workflow(workflow([*most, node("x", "core.transform", config={"expression": "1.0"})]), TYPES)[1]
    assert [(each.pointer, each.rule) for each in found] == [("/nodes", "expressions")]


async def test_the_conditions_behind_a_node_share_one_budget() -> None:
    names = [f"n{i:02}" for i in range(40)]
    simple = "inputs.l.map(x, x + 1.0).size() > 0"
    document = workflow(
        [node("a"), *(node(name) for name in names)],
        [edge("a", name, condition={"type": "expression", "expression": simple}) for name in names],
    )
    bench, key = await EngineHarness().with_ended_run(document, inputs={"l": list(range(100))})
    codes = {each["error"]["code"] for each in await bench.payloads(key, "node.failed")}
    assert codes == {"expression_limit"}
    assert (await bench.event_types(key)).count("node.started") > 1


def test_a_run_goes_on_whose_definition_would_no_longer_be_registered() -> None:
    document = workflow(
        [node("a", "test.gate", settings={"timeoutMs": -1})], triggers=[{"id": "t", "type": "manual", "nodeId": "gone"}]
    )
    types = {**TYPES, "test.gate": EngineHarness().gate_node.type.declaration}
    pointers = [each.pointer for each in parse_workflow(document, types)[1]]
    assert pointers == ["/nodes/0/settings/timeoutMs", "/triggers/0/nodeId"]
    found, violations = parse_workflow(document, types, pinned=True)
    assert (violations, found is not None) == ([], True)


NAMES = [f"n{index}" for index in range(6)]
CHAIN = workflow([node(n) for n in NAMES], [edge(a, b) for a, b in pairwise(NAMES)])


@pytest.mark.rule("lim-03", "lim-04")
@pytest.mark.parametrize(("host", "asked", "limit"), [(100, 3, 3), (4, 100, 4), (5, None, 5), (100, 6, 6), (6, 7, 6)])
async def test_a_run_breaks_at_the_lower_limit_of_executions(host: int, asked: int | None, limit: int) -> None:
    bench = EngineHarness(limits=Limits(max_node_executions=host))
    key = await bench.execute(CHAIN, configurable={} if asked is None else {"recursionLimit": asked})
    kinds = await bench.event_types(key)
    assert kinds.count("node.started") == min(limit, len(NAMES))
    if limit >= len(NAMES):
        assert kinds[-1] == "run.completed"
        return
    assert kinds[-2:] == ["cap.breached", "run.failed"]
    breach = {"kind": "node-executions", "limit": limit, "observed": limit + 1}
    assert await bench.payloads(key, "cap.breached") == [{**breach, "nodeId": f"n{limit}"}]
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "recursion_limit_exceeded"
    assert failed["error"]["details"] == breach


@pytest.mark.rule("lim-02", "lim-05")
@each_case(
    "host, timeout, asked, limit",
    (0, 0, 1000, 1000),
    (0, 700, 1000, 700),
    (500, 700, 1000, 500),
    (0, 0, None, None),
    (800, 0, None, 800),
)
async def test_a_run_breaks_just_after_its_time_limit(
    host: int, timeout: int, asked: int | None, limit: int | None
) -> None:
    bench = EngineHarness(limits=Limits(max_run_duration_ms=host))
    document = workflow([node("a", "test.gate")], settings={"timeout": timeout})
    key = await bench.start(document, configurable={} if asked is None else {"runTimeoutMs": asked})
    await until(lambda: bench.gate_node.waiting)
    await bench.advance(limit or 10**9)
    assert await bench.event_types(key) == ["run.started", "node.started"]
    if limit is None:
        return
    await bench.advance(1)
    assert (await bench.event_types(key))[2:] == ["cap.breached", "node.cancelled", "run.failed"]
    assert bench.gate_node.cancelled == ["a"]
    breach = {"kind": "run-duration", "limit": limit, "observed": limit + 1}
    assert await bench.payloads(key, "cap.breached") == [breach]
    (failed,) = await bench.payloads(key, "run.failed")
    assert (failed["error"]["code"], failed["error"]["details"]) == ("run_timeout", breach)


@pytest.mark.rule("lim-02")
async def test_time_spent_by_earlier_nodes_counts() -> None:
    bench = EngineHarness()
    nodes = [node("a", "core.delay", config={"ms": 600}), node("b", "core.delay", config={"ms": 600})]
    key = await bench.start(workflow(nodes, [edge("a", "b")]), configurable={"runTimeoutMs": 1000})
    started = bench.clock.now()
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-3:] == ["cap.breached", "node.cancelled", "run.failed"]
    assert bench.clock.now() - started == 1001


async def test_a_run_that_ends_in_time_leaves_no_timer_behind() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]), configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    assert bench.clock.next_wake is not None
    await bench.release("a")
    assert await bench.status(key) == "completed"
    assert bench.clock.next_wake is None


@pytest.mark.rule("lim-02")
async def test_the_time_limit_goes_on_while_the_host_is_away() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]), configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    await bench.close()
    bench.clock.advance(5000)
    after = bench.successor()
    assert await after.executor.recover() == 1
    await run_ready_tasks()
    assert (await after.event_types(key))[2:] == ["cap.breached", "node.cancelled", "run.failed"]
    assert (await after.payload(key, "cap.breached"))["observed"] == 5000


async def test_a_breach_of_one_branch_stops_the_others() -> None:
    bench = EngineHarness()
    nodes: list[dict[str, Any]] = [node("a", "test.gate"), node("b", "test.gate"), node("c")]
    key = await bench.start(workflow(nodes, [edge("b", "c")]), configurable={"recursionLimit": 2})
    await until(lambda: len(bench.gate_node.waiting) == 2)
    await bench.run_to_end(key, release="b")
    assert bench.gate_node.cancelled == ["a"]
    assert (await bench.event_types(key))[3:] == ["node.completed", "cap.breached", "node.cancelled", "run.failed"]
