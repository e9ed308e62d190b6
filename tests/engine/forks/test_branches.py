"""Branches: the prefix is that of the source, and the run acts anew from there on."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import fails_without
from tests.harness.child_workflows import GATED, SUB_WORKFLOW, child_keys, start_run
from tests.harness.definitions import edge, example_count, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, settle, until
from tests.simulation.random_workflows import FLAKY, INPUTS, random_workflow
from weftwork.engine.api.lineage import forks
from weftwork.engine.api.lineage.forks import Forks
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.replay import fork_points
from weftwork.protocol.run.header import RunKey

CHAIN = workflow([node("a", "test.gate"), node("b", "test.gate")], [edge("a", "b")])


async def fork(bench: EngineHarness, key: RunKey, from_seq: int = 0, mode: str = "branch", **overlay: Any) -> RunKey:
    body: dict[str, Any] = {"mode": mode, "fromSeq": from_seq}
    if overlay:
        body["runOptionsOverlay"] = overlay
    outcome = await Forks(bench.runtime, bench.catalog, bench.executor).fork_run(CALLER, key.run_id, body)
    return CALLER.run(outcome.run_id)


async def shape(bench: EngineHarness, key: RunKey) -> list[tuple[Any, ...]]:
    """What two equal prefixes have in common."""
    return [
        (each.sequence, each.event_id, each.type, each.node_id, each.timestamp, each.causation_id, each.payload)
        for each in await bench.events(key)
    ]


@pytest.mark.rule("fork-01", "fork-04")
@settings(max_examples=example_count(6, 400), deadline=None)
@given(st.integers(0, 2**48))
async def test_a_branch_from_any_event_keeps_its_prefix_and_ends_as_its_source(seed: int) -> None:
    document = random_workflow(random.Random(seed), 6)
    bench = EngineHarness(FLAKY)
    source = await bench.execute(document, inputs=INPUTS)
    whole = await shape(bench, source)
    ended = (await bench.stored_run(source)).projection
    for from_seq in range(len(whole)):
        branch = await fork(bench, source, from_seq)
        await bench.run_to_end(branch)
        assert (await shape(bench, branch))[:from_seq] == whole[:from_seq]
        projection = (await bench.stored_run(branch)).projection
        assert (projection.status, projection.outputs) == (ended.status, ended.outputs), from_seq
    assert await shape(bench, source) == whole
    await bench.crash()


@pytest.mark.rule("fork-03")
async def test_inputs_are_checked_with_the_hidden_values_of_the_source() -> None:
    variables = [variable("pin", "number", sensitive=True, required=True), variable("n", "number")]
    bench, source = await EngineHarness().with_ended_run(
        workflow([node("a")], [], variables), inputs={"pin": 1, "n": 1}
    )
    assert (await ended_with(bench, await fork(bench, source, 1, inputs={"n": 2})))[0] == "completed"
    assert (await ended_with(bench, await fork(bench, source, 0, inputs={"n": 2})))[0] == "completed"


@pytest.mark.rule("size-03")
async def test_a_branch_counts_at_least_what_it_copies_for_the_quota() -> None:
    # Nearly all bytes are in the first event.
    document = workflow([node("a"), node("b")], [edge("a", "b")], [variable("v")])
    bench = EngineHarness(limits=Limits(max_log_bytes_per_tenant=200_000))
    bench, source = await bench.with_ended_run(document, inputs={"v": "x y " * 12_500})
    fault = await fault_of(fork(bench, source, 1))
    assert (fault.code, fault.status) == ("tenant_quota_exceeded", 409)


async def ended_with(bench: EngineHarness, key: RunKey) -> tuple[str, Any]:
    await bench.run_to_end(key)
    stored = await bench.stored_run(key)
    return stored.projection.status, msgspec.json.decode(stored.projection.outputs or b"null")


@pytest.mark.rule("fork-03", "fork-04")
async def test_inputs_of_the_overlay_reach_the_nodes_after_the_fork_point() -> None:
    document = workflow(
        [node("a"), node("b", "core.transform", config={"expression": "inputs.n + variables.n"})],
        [edge("a", "b")],
        [variable("n", "number"), variable("m", "number", defaultValue=1)],
    )
    bench, source = await EngineHarness().with_ended_run(document, inputs={"n": 1})
    types = await bench.event_types(source)
    branch = await fork(bench, source, types.index("node.completed"), inputs={"n": 21})
    status, outputs = await ended_with(bench, branch)
    assert status == "completed", await bench.payloads(branch, "node.failed")
    assert 42 in outputs["b"].values()
    forked = await bench.payload(branch, "weftwork.run.forked")
    assert (forked["sourceRunId"], forked["inputs"]) == (source.run_id, {"n": 21})
    over = await fork(bench, source, 0, inputs={"n": 5})
    assert 10 in (await ended_with(bench, over))[1]["b"].values()
    assert (await bench.payload(over, "run.started"))["inputs"] == {"n": 5}


@pytest.mark.rule("fork-04")
async def test_an_open_interrupt_is_open_in_the_branch_and_its_deadline_counts_from_the_fork() -> None:
    gate = node("ask", "core.approvalGate", config={"title": "Go on?", "timeoutMs": 60_000})
    bench, source = await EngineHarness().with_settled_run(workflow([gate]))
    await bench.advance(50_000)
    branch = await fork(bench, source, (await bench.stored_run(source)).projection.last_sequence)
    await settle()
    assert await bench.status(branch) == "waiting-approval"
    await bench.advance(20_000)
    assert await bench.status(source) == "failed"
    assert await bench.status(branch) == "waiting-approval"
    await bench.answer(branch, {"action": "accept"})
    await settle()
    assert await bench.status(branch) == "completed"
    assert await bench.status(source) == "failed"


@pytest.mark.rule("fork-04")
async def test_a_child_that_had_not_ended_is_started_again_and_an_ended_one_is_not() -> None:
    call = node("call", SUB_WORKFLOW, config={"workflowId": "held"})
    bench, source = await start_run(workflow([call, node("x", "test.gate")]), GATED)
    await until(lambda: "x" in bench.gate_node.waiting)
    await bench.release("x")
    (first,) = await child_keys(bench, source)
    branch = await fork(bench, source, (await bench.event_types(source)).index("node.completed"))
    await settle()
    (second,) = await child_keys(bench, branch)
    assert first != second
    await bench.release("h")
    await bench.release("x")
    assert await bench.status(branch) == "completed"
    after = await fork(bench, branch, (await bench.event_types(branch)).index("weftwork.child.ended") + 1)
    await settle()
    assert await child_keys(bench, after) == []
    await bench.crash()


@pytest.mark.rule("fork-07")
@pytest.mark.parametrize("guarded", [True, False])
async def test_a_node_whose_outcome_is_cut_writes_once(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr("weftwork.engine.api.lineage.forks.cut_outcome", lambda before, following: ([], True))
    write = node("w", "core.channelWrite", config={"channelName": "total", "reducer": "counter", "value": 1})
    bench, source = await EngineHarness().with_ended_run(workflow([write, node("z")], [edge("w", "z")]))
    cut = (await bench.event_types(source)).index("channel.written") + 1
    branch = await fork(bench, source, cut)
    await bench.run_to_end(branch)
    assert (await bench.state(branch)).channels["total"].value == (1 if guarded else 2)


@pytest.mark.rule("fork-10")
@fails_without(forks, "check_approvals", lambda state: None)
async def test_an_approval_does_not_count_for_other_inputs() -> None:
    ask = node("ask", "core.approvalGate", config={"title": "Pay {{variables.n}}?"})
    document = workflow([ask, node("pay")], [edge("ask", "pay")], [variable("n", "number")])
    bench, source = await EngineHarness().with_settled_run(document, inputs={"n": 5})
    await bench.answer(source, {"action": "accept"})
    await bench.run_to_end(source)
    end = len(await bench.events(source)) - 1
    fault = await fault_of(fork(bench, source, end, inputs={"n": 9}))
    assert (fault.code, fault.details) == ("conflict", {"nodeId": "ask"})
    assert (await fault_of(fork(bench, source, end, configurable={"limit": 9}))).code == "conflict"
    assert (await ended_with(bench, await fork(bench, source, end)))[0] == "completed"
    by_model = await fork(bench, source, end, configurable={"temperature": 1, "trustBoundary": "trusted"})
    assert (await ended_with(bench, by_model))[0] == "completed"
    branch = await fork(bench, source, 1, inputs={"n": 9})
    await settle()
    assert await bench.status(branch) == "waiting-approval"
    await bench.crash()


@pytest.mark.rule("fork-04", "fork-07")
@fails_without(fork_points, "OUTCOME_TYPES", fork_points.OUTCOME_TYPES - {"conversation.closed"})
@fails_without(fork_points, "CONSEQUENCE_TYPES", frozenset())
async def test_a_conversation_is_continued_from_every_event_under_its_id() -> None:
    talk = node("talk", "core.conversationGate", config={"turnCount": 2})
    bench, source = await EngineHarness().with_settled_run(workflow([talk]))

    async def converse(key: RunKey) -> str:
        while await bench.status(key) == "waiting-approval":
            await bench.answer(key, {"content": "yes"}, "talk")
            await settle()
        return await bench.status(key)

    assert await converse(source) == "completed"
    types = await bench.event_types(source)
    for from_seq in range(1, len(types)):
        branch = await fork(bench, source, from_seq)
        await settle()
        assert await converse(branch) == "completed", (from_seq, types[from_seq])
        opened = (await bench.payloads(branch, "conversation.opened"))[-1]
        exchanged = await bench.payloads(branch, "conversation.exchanged")
        assert {each["conversationId"] for each in exchanged} == {opened["conversationId"]}
        assert [each["turnIndex"] for each in exchanged] == [1, 2], (from_seq, types[from_seq])
    await bench.crash()


@pytest.mark.rule("fork-07", "appr-09")
@fails_without(fork_points, "VOTE_TYPES", frozenset())
async def test_a_quorum_of_two_can_be_reached_in_a_branch_from_every_event() -> None:
    """A branch has no vote that had decided: whoever gave it is asked again."""
    gate = node("ask", "core.approvalGate", config={"title": "Go on?", "requiredApprovals": 2})
    bench, source = await EngineHarness().with_settled_run(workflow([gate]))

    async def vote(key: RunKey) -> str:
        for person in ("ann", "bob"):
            if await bench.status(key) == "waiting-approval":
                await bench.answer(key, {"action": "accept"}, "ask", Answerer(person))
                await settle()
        return await bench.status(key)

    assert await vote(source) == "completed"
    types = await bench.event_types(source)
    for from_seq in range(1, len(types)):
        branch = await fork(bench, source, from_seq)
        await settle()
        assert await vote(branch) == "completed", (from_seq, types[from_seq])
        received = await bench.payloads(branch, "approval.received")
        assert [each["action"] for each in received] == ["accept"], (from_seq, types[from_seq])
    await bench.crash()
