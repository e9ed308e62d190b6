"""Retries: the failed node runs again, what it has recorded is kept, and nothing happens twice."""

from typing import Any

import pytest

from tests.engine.forks.test_branches import ended_with
from tests.harness.cases import fails_without
from tests.harness.child_workflows import SUB_WORKFLOW, start_run
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, settle
from tests.harness.external_system import effect_node_type
from weftwork.engine.api.lineage.forks import Forks
from weftwork.engine.api.lineage.retries import Retries
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType
from weftwork.protocol.replay import fork_points
from weftwork.protocol.replay.fork_points import ChildEffect, RetryPoint
from weftwork.protocol.run.header import RunKey


def retries_of(bench: EngineHarness) -> Retries:
    return Retries(bench.runtime, bench.executor, Forks(bench.runtime, bench.catalog, bench.executor))


async def retry(bench: EngineHarness, key: RunKey, **body: Any) -> RunKey:
    outcome = await retries_of(bench).retry_run(CALLER, key.run_id, body)
    return CALLER.run(outcome.run_id)


class Till:
    """A node that pays in a step and fails until it is repaired."""

    def __init__(self) -> None:
        self.payments = 0
        self.is_broken = True
        self.calls = 0

    def types(self) -> list[NodeType]:
        return [effect_node_type("test.till", self._run)]

    async def _run(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        self.calls += 1

        async def pay() -> int:
            self.payments += 1
            return self.payments

        paid = await context.step("pay", "once", pay)
        if self.is_broken:
            return Failed("out_of_paper", "No receipt.", retryable=False)
        return Completed({"paid": paid})


DOCUMENT = workflow(
    [node("first"), node("till", "test.till"), node("last")], [edge("first", "till"), edge("till", "last")]
)


@pytest.mark.rule("retry-01", "retry-02")
async def test_the_failed_node_runs_again_with_what_it_has_recorded() -> None:
    till = Till()
    bench, source = await EngineHarness(*till.types()).with_ended_run(DOCUMENT)
    assert await bench.status(source) == "failed"
    till.is_broken = False
    again = await retry(bench, source)
    status, _ = await ended_with(bench, again)
    assert (status, till.payments, till.calls) == ("completed", 1, 2)
    assert await bench.status(source) == "failed"
    header = (await bench.stored_run(again)).header
    assert header.fork is not None
    assert (header.fork.run_id, header.fork.mode, header.fork.retry) == (source.run_id, "branch", "till")
    assert [each["nodeId"] for each in await bench.payloads(again, "node.started")] == ["first", "till", "till", "last"]


@pytest.mark.rule("retry-01")
async def test_a_step_that_failed_is_tried_again() -> None:
    tries: list[int] = []

    async def run(call: NodeCall, context: NodeContext) -> NodeOutcome:
        async def flaky() -> str:
            tries.append(1)
            if len(tries) == 1:
                raise RuntimeError("no")
            return "yes"

        return Completed({"said": await context.step("ask", "once", flaky)})

    bench = EngineHarness(effect_node_type("test.asks", run))
    bench, source = await bench.with_ended_run(workflow([node("a", "test.asks")]))
    assert await bench.status(source) == "failed"
    assert (await ended_with(bench, await retry(bench, source)))[0] == "completed"
    assert len(tries) == 2


@pytest.mark.rule("retry-03")
async def test_a_retry_from_a_node_that_has_paid_asks_first() -> None:
    till = Till()
    bench, source = await EngineHarness(*till.types()).with_ended_run(DOCUMENT)
    till.is_broken = False
    fault = await fault_of(retry(bench, source, fromNodeId="till"))
    assert (fault.code, fault.details) == ("conflict", {"repeatedEffects": [{"nodeId": "till", "step": "pay"}]})
    assert till.payments == 1
    again = await retry(bench, source, fromNodeId="till", repeatEffects=True)
    assert (await ended_with(bench, again))[0] == "completed"
    assert till.payments == 2


@pytest.mark.rule("retry-02")
async def test_a_rejected_approval_is_asked_again() -> None:
    bench, source = await EngineHarness().with_settled_run(
        workflow([node("ask", "core.approvalGate", config={"title": "Go on?"})])
    )
    await bench.answer(source, {"action": "reject"})
    await settle()
    assert await bench.status(source) == "failed"
    again = await retry(bench, source)
    await settle()
    assert await bench.status(again) == "waiting-approval"
    await bench.answer(again, {"action": "accept"})
    await settle()
    assert await bench.status(again) == "completed"


@pytest.mark.rule("retry-02")
@fails_without(fork_points, "STOP_TYPES", fork_points.STOP_TYPES - {"node.cancelled"})
async def test_a_run_that_was_cancelled_while_it_waited_asks_again() -> None:
    nodes = [
        node("ask", "core.approvalGate", config={"title": "Go on?"}),
        node("other", "core.approvalGate"),
        node("z"),
    ]
    bench, source = await EngineHarness().with_settled_run(workflow(nodes, [edge("ask", "z"), edge("other", "z")]))
    await bench.cancel(source)
    assert (await bench.event_types(source))[-3:] == ["node.cancelled", "node.cancelled", "run.cancelled"]
    again = await retry(bench, source)
    await settle()
    assert await bench.status(again) == "waiting-approval"
    for node_id in ("ask", "other"):
        await bench.answer(again, {"action": "accept"}, node_id)
        await settle()
    assert await bench.status(again) == "completed"


@pytest.mark.rule("retry-02")
async def test_the_retry_of_a_child_is_that_of_its_parent() -> None:
    till = Till()
    child = workflow([node("till", "test.till")], id="child")
    parent = workflow([node("call", SUB_WORKFLOW, config={"workflowId": "child"})], id="parent")
    bench, source = await start_run(parent, child, bench=EngineHarness(*till.types()))
    await bench.run_to_end(source)
    assert await bench.status(source) == "failed"
    (failed,) = await bench.store.child_runs.children(source, None, 10)
    till.is_broken = False
    again = await retry(bench, failed.header.key, repeatEffects=True)
    header = (await bench.stored_run(again)).header
    assert header.fork is not None
    assert header.fork.run_id == source.run_id
    assert (await ended_with(bench, again))[0] == "completed"


TWICE = workflow([node("sub", SUB_WORKFLOW, config={"workflowId": "child"}), node("b", "test.bad")], [edge("sub", "b")])


@pytest.mark.rule("retry-03")
@fails_without(fork_points, "_is_restarted", lambda *given: False)
async def test_effects_of_child_runs_that_a_retry_starts_again_are_refused() -> None:
    till = Till()
    inner = workflow([node("till", "test.till")], id="inner")
    child = workflow([node("call", SUB_WORKFLOW, config={"workflowId": "inner"})], id="child")
    parent = workflow([node("sub", SUB_WORKFLOW, config={"workflowId": "child"})], id="parent")
    bench, source = await start_run(parent, child, inner, bench=EngineHarness(*till.types()))
    await bench.run_to_end(source)
    (failed,) = await bench.store.child_runs.children(source, None, 10)
    (paying,) = await bench.store.child_runs.children(failed.header.key, None, 10)
    fault = await fault_of(retry(bench, source))
    assert (fault.code, fault.status) == ("conflict", 409)
    named = {"nodeId": "sub", "childRunId": paying.header.run_id, "step": "pay"}
    assert (fault.details or {})["repeatedEffects"] == [named]
    assert till.payments == 1


@pytest.mark.rule("retry-03")
async def test_only_child_runs_that_start_again_and_have_effects_are_refused() -> None:
    till = Till()
    till.is_broken = False

    async def fail(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Failed("bad", "It failed.", retryable=False)

    bench = EngineHarness(*till.types(), effect_node_type("test.bad", fail))
    child = workflow([node("till", "test.till")], id="child")
    bench, source = await start_run(TWICE, child, bench=bench)
    await bench.run_to_end(source)
    # The child has completed before the fork point, so it is kept.
    await bench.run_to_end(await retry(bench, source))
    assert till.payments == 1
    assert (await fault_of(retry(bench, source, fromNodeId="sub"))).code == "conflict"
    again = await retry(bench, source, fromNodeId="sub", repeatEffects=True)
    await bench.run_to_end(again)
    assert till.payments == 2
    quiet = workflow([node("call", SUB_WORKFLOW, config={"workflowId": "still"}), node("b", "test.bad")], id="quiet")
    other, key = await start_run(
        quiet, workflow([node("q")], id="still"), bench=EngineHarness(effect_node_type("test.bad", fail))
    )
    await other.run_to_end(key)
    assert (await other.stored_run(await retry(other, key, fromNodeId="call"))).header.fork is not None


@pytest.mark.rule("retry-03")
async def test_a_child_run_that_was_deleted_counts_as_an_effect() -> None:
    till = Till()
    child = workflow([node("till", "test.till")], id="child")
    parent = workflow([node("call", SUB_WORKFLOW, config={"workflowId": "child"})], id="parent")
    bench, source = await start_run(parent, child, bench=EngineHarness(*till.types()))
    await bench.run_to_end(source)
    point = RetryPoint(5, "call", restarted=(("call", "run_gone"),))
    found = await retries_of(bench)._effects_of_children(source, point)
    assert found == [ChildEffect("call", "run_gone")]


@pytest.mark.rule("retry-02")
async def test_a_run_that_did_not_fail_is_not_retried() -> None:
    bench, source = await EngineHarness().with_ended_run(workflow([node("a")]))
    assert (await fault_of(retry(bench, source))).code == "conflict"
    assert (await fault_of(retry(bench, RunKey(source.partition, "run_none")))).code == "not_found"
