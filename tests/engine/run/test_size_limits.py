"""The limits on what a run holds and on its log: each way in which a run grows, at the limit."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import child_keys, start_run
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, fault_of, run_ready_tasks, waiting_node_type
from weftwork.engine import tenant_logs
from weftwork.engine.decide import inputs
from weftwork.engine.decide.size_limits import Breach
from weftwork.engine.run import append, budget, pending_commit
from weftwork.engine.run.budget import RunBudget
from weftwork.engine.run.pending_commit import Inbox
from weftwork.engine.tenant_logs import RECOUNT_MS, TenantLogs
from weftwork.ports.node_outcome import (
    AppendLog,
    Completed,
    EmitArtifact,
    EmitEvent,
    Failed,
    NodeOutcome,
    SetVariable,
    Suspended,
    WriteChannel,
)
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.interrupts import Interrupt

BIG = "x" * 30_000
STATE = Limits(max_run_state_bytes=100_000)
LOG = Limits(max_run_log_bytes=100_000)


def copies(count: int, more: int = 0) -> dict[str, Any]:
    """Parallel nodes that copy a variable of 30 KB."""
    given = {"input": {"type": "variable", "variableName": "v"}}
    names = [f"n{index}" for index in range(count)]
    nodes = [node("start"), *(node(name, "core.identity", inputs=given) for name in names)]
    return workflow(nodes, [edge("start", name) for name in names], [variable("v", defaultValue=BIG)])


def size_of(events: list[Any]) -> int:
    return sum([event.size for event in events])


def code_of(payload: dict[str, Any]) -> str:
    return payload["error"]["code"]


@pytest.mark.rule("size-01")
@fails_without(RunBudget, "find_breach", lambda *_: None)
async def test_a_node_whose_output_the_run_cannot_hold_fails() -> None:
    bench, key = await EngineHarness(limits=STATE).with_ended_run(copies(8))
    types = Counter(await bench.event_types(key))
    assert (types["node.completed"], types["node.failed"]) == (4, 5)
    assert {code_of(each) for each in await bench.payloads(key, "node.failed")} == {"run_state_too_large"}
    failed = await bench.payload(key, "run.failed")
    assert code_of(failed) == "run_state_too_large"
    assert failed["error"]["details"]["limit"] == 100_000 < failed["error"]["details"]["observed"]
    assert size_of(await bench.events(key)) < 120_000
    assert (await bench.state(key)).live_bytes < 100_000


@pytest.mark.rule("size-02")
@fails_without(RunBudget, "find_breach", lambda *_: None)
async def test_a_run_whose_log_is_full_fails_within_its_limit() -> None:
    bench, key = await EngineHarness(limits=LOG).with_ended_run(copies(8))
    types = await bench.event_types(key)
    assert types[-2:] == ["node.cancelled", "run.failed"]
    assert types.count("weftwork.run.limit-breached") == 1
    assert code_of(await bench.payload(key, "run.failed")) == "run_log_too_large"
    assert size_of(await bench.events(key)) <= 100_000


@pytest.mark.rule("size-02")
async def test_outputs_of_the_run_that_no_longer_fit_fail_it() -> None:
    bench, key = await EngineHarness(limits=LOG).with_ended_run(copies(2))
    assert (await bench.event_types(key))[-2:] == ["weftwork.run.limit-breached", "run.failed"]
    assert code_of(await bench.payload(key, "run.failed")) == "run_log_too_large"


def growing(kind: str) -> WaitingNode:
    """A node that adds 30 KB at a time to its run, in one way, until it is stopped."""

    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        for number in range(10):
            match kind:
                case "items":
                    await context.record_item(number, BIG)
                case "steps":

                    async def give() -> str:
                        return BIG

                    await context.step(f"s{number}", "once", give)
                case "events":
                    context.emit_event(EmitEvent("acme.thing", {"text": BIG}))
                    await asyncio.sleep(0)
                case _:
                    context.emit_event(AppendLog("info", BIG))
                    await asyncio.sleep(0)
        # A node that goes on although it has failed would end its run as completed.
        await asyncio.sleep(0)
        return Completed({})

    return waiting_node_type("test.growing", work)


@pytest.mark.rule("size-01")
@each_case("kind", "items", "steps")
async def test_a_node_that_records_too_much_while_it_runs_fails_and_is_abandoned(kind: str) -> None:
    bench, key = await EngineHarness(growing(kind), limits=STATE).with_ended_run(
        workflow([node("a", "test.growing"), node("b")], [edge("a", "b")])
    )
    assert code_of(await bench.payload(key, "node.failed")) == "run_state_too_large"
    recorded = {"items": "weftwork.map.item", "steps": "weftwork.effect.recorded"}[kind]
    assert (await bench.event_types(key)).count(recorded) == 3
    assert (await bench.event_types(key))[-1] == "run.failed"


@pytest.mark.rule("size-01")
@fails_without("weftwork.engine.nodes.node_runner.NodeRunner.drop_stale", lambda *_: None)
async def test_the_call_of_a_node_that_failed_is_cancelled() -> None:
    ended: list[str] = []

    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        try:
            for number in range(4):
                await context.record_item(number, BIG)
            await asyncio.Event().wait()
        finally:
            ended.append(call.node_id)
        return Completed({})

    gate = node("gate", "test.gate")
    bench, key = await EngineHarness(waiting_node_type("test.growing", work), limits=STATE).with_run(
        workflow([node("a", "test.growing"), gate])
    )
    await run_ready_tasks()
    assert code_of(await bench.payload(key, "node.failed")) == "run_state_too_large"
    assert ended == ["a"]
    await bench.run_to_end(key, release="gate")


@pytest.mark.rule("size-02")
@each_case("kind", "items", "steps", "events", "log lines")
async def test_a_node_that_fills_the_log_ends_its_run(kind: str) -> None:
    bench, key = await EngineHarness(growing(kind), limits=LOG).with_ended_run(workflow([node("a", "test.growing")]))
    assert code_of(await bench.payload(key, "run.failed")) == "run_log_too_large"
    assert size_of(await bench.events(key)) <= 100_000
    assert "node.completed" not in await bench.event_types(key)


EFFECTS = {
    "variables": lambda n: SetVariable(f"w{n}", BIG),
    "channel": lambda n: WriteChannel("c", BIG, "append"),
    "artifacts": lambda n: EmitArtifact(f"a{n}", "text", BIG),
}


@pytest.mark.rule("size-01", "size-02")
@each_case(
    "kind, limits, code",
    ("variables", STATE, "run_state_too_large"),
    ("channel", STATE, "run_state_too_large"),
    ("artifacts", STATE, None),
    ("variables", LOG, "run_log_too_large"),
    ("channel", LOG, "run_log_too_large"),
    ("artifacts", LOG, "run_log_too_large"),
)
async def test_an_outcome_is_recorded_whole_or_not_at_all(kind: str, limits: Limits, code: str | None) -> None:
    """Artifacts are in the log only, so they do not count for the state."""

    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({}, tuple(EFFECTS[kind](number) for number in range(4)))

    bench, key = await EngineHarness(waiting_node_type("test.writer", work), limits=limits).with_ended_run(
        workflow([node("a", "test.writer")])
    )
    written = [each for each in await bench.events(key) if each.size > 30_000]
    failed = await bench.payloads(key, "run.failed")
    assert [code_of(each) for each in failed] == ([] if code is None else [code])
    assert len(written) == (4 if code is None else 0)


@pytest.mark.rule("size-01")
async def test_a_failure_keeps_its_code_although_the_state_is_full() -> None:
    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Failed("mine", "It does not work.", retryable=False)

    given = {"input": {"type": "variable", "variableName": "v"}}
    fills = [node(f"n{index}", "core.identity", inputs=given) for index in range(4)]
    document = workflow([*fills, node("last", "test.fails")], [], [variable("v", defaultValue=BIG)])
    bench, key = await EngineHarness(waiting_node_type("test.fails", work), limits=STATE).with_ended_run(document)
    assert [code_of(each) for each in await bench.payloads(key, "node.failed")] == ["run_state_too_large", "mine"]


@pytest.mark.rule("size-01")
async def test_a_variable_that_is_overwritten_in_a_loop_does_not_fill_the_state() -> None:
    again = {"type": "expression", "expression": "size(variables.v) > 0 && nodes.n.outputs.output == 1"}
    document = workflow(
        [
            node("s", "core.setVariable", config={"name": "v", "value": "y" * 60_000}),
            node("n", "core.transform", config={"expression": "1"}),
        ],
        [edge("s", "n"), edge("n", "s", condition=again)],
        [variable("v", defaultValue="")],
        settings={"maxLoopbackIterations": 20},
    )
    bench, key = await EngineHarness(limits=Limits(max_run_state_bytes=1_500_000)).with_ended_run(document)
    assert (await bench.event_types(key)).count("variable.changed") == 21
    codes = {code_of(each) for each in await bench.payloads(key, "run.failed")}
    assert codes <= {"loop_limit_exceeded"}


@pytest.mark.rule("size-01")
@fails_without(pending_commit.Inbox, "_admit_large", lambda self, outcome: outcome)
async def test_outcomes_that_wait_are_together_no_larger_than_a_state() -> None:
    inbox = Inbox(300_000)
    for number in range(10):
        inbox.put(inputs.NodeCompleted(f"n{number}", {"output": "x" * 100_000}, size=100_000))
    waiting = list(inbox._items)
    assert [type(each) for each in waiting] == [inputs.NodeCompleted] * 3 + [inputs.NodeFailed] * 7
    work: Any = pending_commit.PendingCommit(None, 0, 0)  # type: ignore[arg-type]
    taken = [inbox.take(work) for _ in range(3)]
    inbox.put_back(taken)
    assert inbox._large == 300_000
    for _ in range(10):
        inbox.take(work)
    assert inbox._large == 0


@pytest.mark.rule("size-01")
@fails_without(append, "MAX_BATCH_BYTES", 2**40)
async def test_a_batch_ends_when_it_is_large() -> None:
    sizes: list[int] = []

    class RecordingLog(WrappedLog):
        async def append(self, run: Any, expected: int, batch: Any, *fence: Any) -> Any:
            sizes.append(size_of(batch.events))
            return await self._log.append(run, expected, batch, *fence)

        async def create(self, *given: Any) -> Any:
            sizes.append(size_of(given[4].events))
            return await self._log.create(*given)

    bench = EngineHarness(wrap=RecordingLog)
    given = {"input": {"type": "variable", "variableName": "v"}}
    names = [f"n{index}" for index in range(20)]
    document = workflow(
        [node(name, "core.identity", inputs=given) for name in names],
        [edge(a, b) for a, b in pairwise(names)],
        [variable("v")],
    )
    await bench.with_ended_run(document, inputs={"v": "x" * 900_000})
    assert max(sizes) < append.MAX_BATCH_BYTES + 2_100_000 < 10_000_000
    assert len(sizes) >= 4


def asks(size: int) -> dict[str, Any]:
    """A node that waits for an answer after the log was filled up to the reserve."""
    given = {"input": {"type": "variable", "variableName": "v"}}
    fills = [node(f"n{index}", "core.identity", inputs=given) for index in range(size)]
    asked = node("ask", "core.interrupt", config={"kind": "custom", "key": "k", "data": {"customKind": "pin"}})
    edges = [edge(f"n{index}", f"n{index + 1}") for index in range(size - 1)] + [edge(f"n{size - 1}", "ask")]
    return workflow([*fills, asked, node("after")], [*edges, edge("ask", "after")], [variable("v", defaultValue=BIG)])


@pytest.mark.rule("size-02")
async def test_a_waiting_run_at_its_limit_can_be_answered_and_cancelled() -> None:
    limits = Limits(max_run_log_bytes=74_000)
    bench, key = await EngineHarness(limits=limits).with_run(asks(2))
    await run_ready_tasks()
    assert (await bench.status(key)).startswith("waiting")
    left = 74_000 - size_of(await bench.events(key))
    refused = await fault_of(bench.answer(key, "y" * 20_000, "ask"))
    assert (refused.code, (refused.details or {})["reason"]) == ("conflict", "run_log_too_large")
    assert left < 12_000
    await bench.answer(key, "y" * 4_000, "ask")
    await bench.run_to_end(key)
    assert code_of(await bench.payload(key, "run.failed")) == "run_log_too_large"
    assert size_of(await bench.events(key)) <= 74_000

    bench, key = await EngineHarness(limits=limits).with_run(asks(2))
    await run_ready_tasks()
    await bench.cancel(key)
    assert await bench.status(key) == "cancelled"


@pytest.mark.rule("size-01")
async def test_a_question_that_the_run_cannot_hold_fails_its_node() -> None:
    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Suspended(Interrupt("custom", "k", {"customKind": "pin", "payload": "x" * 120_000}))

    bench, key = await EngineHarness(waiting_node_type("test.asks", work), limits=STATE).with_ended_run(
        workflow([node("a", "test.asks")])
    )
    assert code_of(await bench.payload(key, "node.failed")) == "run_state_too_large"


@pytest.mark.rule("size-01")
async def test_a_child_whose_result_the_parent_cannot_hold_fails_its_node() -> None:
    child = workflow([node("big", "core.template", config={"template": BIG * 2})], id="child")
    parent = workflow(
        [
            node("hold", "core.template", config={"template": BIG}),
            node("sub", "core.subWorkflow", config={"workflowId": "child"}),
        ],
        [edge("hold", "sub")],
        id="parent",
    )
    bench = EngineHarness(limits=Limits(max_run_state_bytes=85_000))
    bench, key = await start_run(parent, child, bench=bench)
    await bench.run_to_end(key)
    assert code_of(await bench.payload(key, "node.failed")) == "run_state_too_large"
    assert "weftwork.child.ended" not in await bench.event_types(key)


@pytest.mark.rule("size-01", "size-02")
def test_a_breach_of_a_run_that_ends_drops_the_values_of_its_nodes() -> None:
    assert Breach("run_log_too_large", 1, 2).error.document["details"] == {"limit": 1, "observed": 2}
    assert budget.reserve_of(2**40) == budget.RESERVE_BYTES
    assert budget.reserve_of(800) == 100


@pytest.mark.rule("size-06")
async def test_the_count_is_the_same_in_memory_and_after_a_load() -> None:
    secret = node("s", "core.template", config={"template": "secret " * 50}, outputSensitivity={"output": True})
    document = workflow([secret, node("gate", "test.gate"), *copies(1)["nodes"]], [], [variable("v", defaultValue=BIG)])
    bench, key = await EngineHarness().with_gated_run(document)
    await run_ready_tasks()
    assert bench.executor._live[key].state.live_bytes == (await bench.state(key)).live_bytes > 30_000


QUOTA = Limits(max_log_bytes_per_tenant=200_000)


async def _repeat(execute: Callable[[dict[str, Any]], Awaitable[object]], document: dict[str, Any]) -> None:
    for _ in range(20):
        await execute(document)


@pytest.mark.rule("size-03")
@fails_without(TenantLogs, "reserve_run", lambda *_: True)
@fails_without(TenantLogs, "reserve", lambda *_: True, errors=(ValueError,))
async def test_a_tenant_at_its_quota_starts_no_run_until_runs_are_deleted() -> None:
    bench = await EngineHarness(limits=QUOTA).open()
    keys = [await bench.execute(copies(2)) for _ in range(2)]
    failed = await bench.payload(keys[1], "run.failed")
    assert code_of(failed) == "tenant_quota_exceeded"
    used = sum([size_of(await bench.events(key)) for key in keys])
    assert used < 202_000
    fills = workflow([node("a", "core.template", config={"template": "x" * 4_000})], id="filler")
    refused = await fault_of(_repeat(bench.execute, fills))
    assert (refused.code, refused.status) == ("tenant_quota_exceeded", 409)
    for key in keys:
        await bench.store.retention.delete(key, bench.clock.now())
    await bench.advance(RECOUNT_MS)
    key = await bench.execute(workflow([node("a")], id="small"))
    assert (await bench.event_types(key))[-1] == "run.completed"


ECHO = workflow([node("a")], [], [variable("v", required=True)], id="echo")


@pytest.mark.rule("size-03")
@fails_without(tenant_logs, "_stored_size", lambda *_: 0)
async def test_the_inputs_of_a_run_count_although_it_has_no_events_yet() -> None:
    """A run that only fails for lack of room would otherwise leave its inputs in the store, as often as it is sent."""
    bench = await EngineHarness(limits=QUOTA).open()
    for _ in range(3):
        refused = await fault_of(bench.execute(ECHO, inputs={"v": BIG * 4}))
        assert refused.code == "tenant_quota_exceeded"
    await bench.execute(ECHO, inputs={"v": BIG})
    found = await bench.store.log.partition_bytes(CALLER.partition)
    # The header and the first event.
    assert 60_000 < found < 64_000
    assert bench.runtime.tenant_logs is not None
    assert 0 <= bench.runtime.tenant_logs.used(CALLER.partition) - found < 100


@pytest.mark.rule("size-03")
@fails_without(TenantLogs, "reserve_run", lambda *_: True)
async def test_child_runs_that_the_quota_has_no_room_for_are_not_created() -> None:
    config = {"items": list(range(20)), "onError": "collect", "concurrency": 20}
    body = {"workflowId": "echo", "inputs": {"v": {"type": "expression", "expression": "variables.v"}}}
    parent = workflow([node("m", "core.flow.map", config={**config, "body": body})], [], [variable("v")], id="parent")
    bench = await EngineHarness(limits=QUOTA).open()
    assert await bench.catalog.register(ECHO) == []
    key = await bench.execute(parent, inputs={"v": BIG})
    assert any(b"tenant_quota_exceeded" in each.payload for each in await bench.events(key))
    assert 1 <= len(await child_keys(bench, key)) < 6
    assert await bench.store.log.partition_bytes(CALLER.partition) < QUOTA.max_log_bytes_per_tenant


@pytest.mark.rule("size-03")
async def test_room_is_found_again_for_a_large_run_after_smaller_ones_were_deleted() -> None:
    """The count is no more than a bound, and a run can be too large although a smaller one is not."""
    bench = await EngineHarness(limits=QUOTA).open()
    key = await bench.execute(ECHO, inputs={"v": BIG * 2})
    assert (await fault_of(bench.execute(ECHO, inputs={"v": BIG * 2}))).code == "tenant_quota_exceeded"
    await bench.execute(ECHO, inputs={"v": "small"})
    await bench.store.retention.delete(key, bench.clock.now())
    await bench.advance(RECOUNT_MS)
    key = await bench.execute(ECHO, inputs={"v": BIG * 2})
    assert (await bench.event_types(key))[-1] == "run.completed"


@pytest.mark.rule("size-03")
@fails_without(tenant_logs, "RECOUNT_ABOVE", 1)
async def test_no_run_fails_because_of_runs_that_were_deleted() -> None:
    bench = await EngineHarness(limits=QUOTA).open()
    for length in (60_000, 14_000, 12_000):
        key = await bench.execute(ECHO, inputs={"v": "x" * length})
        await bench.store.retention.delete(key, bench.clock.now())
    await bench.advance(RECOUNT_MS)
    key = await bench.execute(copies(1))
    assert (await bench.event_types(key))[-1] == "run.completed"


@pytest.mark.rule("size-03")
async def test_without_a_quota_nothing_is_counted() -> None:
    bench = await EngineHarness().open()
    await bench.execute(copies(1))
    assert bench.runtime.tenant_logs is None


def test_a_message_tells_what_to_do() -> None:
    for code, setting in (
        ("run_state_too_large", "max_run_state_bytes"),
        ("run_log_too_large", "max_run_log_bytes"),
        ("tenant_quota_exceeded", "max_log_bytes_per_tenant"),
    ):
        assert setting in msgspec.json.encode(Breach(code, 1, 2).error).decode()
