"""Children of a run, as the engine sees them: limits, made once, heard once, also in a pause, and nothing in memory."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.cases import fails_without
from tests.harness.child_workflows import (
    GATE,
    GATED,
    QUICK,
    SUB_WORKFLOW,
    calling_workflow,
    child_keys,
    harness_crashing_after,
    restart,
    start_run,
)
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, WrappedLog, settle
from weftwork.engine.decide import transitions
from weftwork.engine.decide.inputs import (
    ChildrenRecheck,
    ChildResultsReceived,
    NodeCompleted,
    PauseRequested,
    ResumeRequested,
)
from weftwork.engine.decide.transitions import decide
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.host.child_start import ChildStarter
from weftwork.engine.run.live_run import LiveRun, run_bounds
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.fold import fold
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.batch import Batch, ChildResult
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration


@pytest.mark.rule("kin-02")
@pytest.mark.rule("park-01")
async def test_nothing_of_a_parent_is_in_memory_while_its_child_works() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED)
    (child,) = await child_keys(bench, key)
    assert list(bench.executor._live) == [child]
    assert (await bench.stored_run(key)).projection.parked
    assert await bench.status(key) == "running"
    await bench.release("h")
    assert await bench.status(key) == "completed"
    assert not bench.executor._live
    expected = ["run.started", "node.started", "weftwork.child.started", "weftwork.child.ended"]
    assert await bench.event_types(key) == [*expected, "node.completed", "run.completed"]


class RefusingLog(WrappedLog):
    """A log that takes no child, once."""

    refused = 0

    async def append(self, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        if batch.child_creates and not self.refused:
            self.refused += 1
            raise StoreUnavailable("full")
        return await self._log.append(run, expected, batch, *fence)


@pytest.mark.rule("kin-02")
async def test_a_child_that_could_not_be_stored_is_made_again_and_there_is_one() -> None:
    bench, key = await start_run(calling_workflow("quick"), QUICK, bench=EngineHarness(wrap=RefusingLog))
    assert bench.log.refused == 1
    assert await child_keys(bench, key) == []
    await pass_time(bench, 2000)
    assert await bench.status(key) == "completed"
    assert len(await child_keys(bench, key)) == 1
    assert len(await bench.payloads(key, "weftwork.child.started")) == 1


class LostReplyLog(WrappedLog):
    """A log that takes a child and says that it did not, once."""

    lied = 0

    async def append(self, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        taken = await self._log.append(run, expected, batch, *fence)
        if batch.child_creates and not self.lied:
            self.lied += 1
            raise StoreUnavailable("no word came back")
        return taken


async def test_a_child_that_was_stored_without_a_word_is_found_and_executed() -> None:
    bench, key = await start_run(calling_workflow("quick"), QUICK, bench=EngineHarness(wrap=LostReplyLog))
    assert bench.log.lied == 1
    await pass_time(bench, 5000)
    assert await bench.status(key) == "completed"
    assert len(await child_keys(bench, key)) == 1


@pytest.mark.rule("kin-03")
async def test_parents_wait_as_their_children_do_and_go_on_with_them() -> None:
    top = workflow([node("up", SUB_WORKFLOW, config={"workflowId": "calls-gate"})], id="top")
    bench, key = await start_run(top, GATE, calling_workflow("gate"))
    (middle,) = await child_keys(bench, key)
    (low,) = await child_keys(bench, middle)
    stored = await bench.stored_run(key)
    assert (stored.projection.status, stored.projection.current_node) == ("waiting-approval", "up")
    assert await bench.status(middle) == "waiting-approval"
    assert not bench.executor._live
    await bench.answer(low, {"action": "accept"}, "g")
    await settle()
    assert [await bench.status(each) for each in (key, middle, low)] == ["completed"] * 3


@pytest.mark.rule("kin-03")
async def test_a_parent_runs_again_when_its_child_does_for_a_while() -> None:
    then = workflow([*GATE["nodes"], node("h", "test.gate")], [edge("g", "h")], id="gate")
    bench, key = await start_run(calling_workflow("gate"), then)
    (child,) = await child_keys(bench, key)
    await bench.answer(child, {"action": "accept"}, "g")
    assert await bench.settled_status(child) == "running"
    assert await bench.status(key) == "waiting-approval"
    await pass_time(bench, 300)
    assert await bench.status(key) == "running"
    await bench.release("h")
    assert await bench.status(key) == "completed"
    said = [each["status"] for each in await bench.payloads(key, "weftwork.child.status")]
    assert said == ["waiting-approval", "running"]


async def test_a_child_that_asks_again_at_once_says_nothing_new() -> None:
    twice = workflow([*GATE["nodes"], node("h", "test.gate"), {**GATE["nodes"][0], "id": "g2"}], id="gate")
    twice["edges"] = [edge("g", "h"), edge("h", "g2")]
    bench, key = await start_run(calling_workflow("gate"), twice)
    (child,) = await child_keys(bench, key)
    await bench.answer(child, {"action": "accept"}, "g")
    await settle()
    await bench.release("h")
    await pass_time(bench, 1000)
    assert await bench.status(child) == "waiting-approval"
    assert len(await bench.payloads(key, "weftwork.child.status")) == 1
    assert await bench.store.child_runs.child_results(None, 10) == []


@pytest.mark.rule("kin-04")
async def test_word_of_a_child_outlives_the_process_that_heard_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await start_run(calling_workflow("held"), GATED)

    def deaf(kin: ChildMessages, news: Any) -> None:
        bench.process_log.dead = True

    monkeypatch.setattr(ChildMessages, "queue_result", deaf)
    await bench.release("h")
    monkeypatch.undo()
    assert await bench.status(key) == "running"
    after = await bench.restart()
    assert await after.settled_status(key) == "completed"
    await pass_time(after, 1000)
    assert len(await after.store.child_runs.child_results(None, 10)) == 0


def told(child: str, status: Any, key: str = "child", **outcome: Any) -> ChildResult:
    return ChildResult(child, "call", key, 5, status, msgspec.json.encode(outcome))


async def _heard(*tells: Callable[[str], ChildResult]) -> tuple[list[str], int]:
    """Types of what the parent appends when it hears this of its child, and how often its node is called for it."""
    bench, key = await start_run(calling_workflow("gate"), GATE)
    (child,) = await child_keys(bench, key)
    state = await bench.state(key)
    given = ChildResultsReceived("call", tuple(each(child.run_id) for each in tells))
    decision = transitions.decide(state, run_bounds(bench.runtime, state), given)
    return [draft.type for draft in decision.events], decision.start == "call"


@pytest.mark.rule("kin-04")
async def test_only_new_results_of_the_child_itself_count() -> None:
    assert await _heard(lambda child: told(child, "completed")) == (["weftwork.child.ended"], True)
    assert await _heard(lambda child: told(child, "running")) == (["weftwork.child.status"], False)
    assert await _heard(lambda child: told(child, "waiting-approval")) == ([], False)
    assert await _heard(lambda child: told("another", "completed")) == ([], False)
    assert await _heard(lambda child: told(child, "completed", key="other")) == ([], False)


@pytest.mark.rule("kin-05")
async def test_a_look_that_finds_nothing_new_changes_nothing() -> None:
    bench, key = await start_run(calling_workflow("gate"), GATE)
    before = await bench.event_types(key)
    for _ in range(3):
        await bench.executor.request(key, ChildrenRecheck("call"))
        await settle()
    assert await bench.event_types(key) == before
    assert not bench.executor._live


async def test_a_child_that_ends_while_its_parent_is_paused_is_seen_to_afterwards() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED)
    assert await bench.executor.request(key, PauseRequested("immediate")) == "paused"
    await bench.release("h")
    assert await bench.status(key) == "paused"
    assert await bench.executor.request(key, ResumeRequested()) in ("running", "completed")
    assert await bench.settled_status(key) == "completed"


@pytest.mark.rule("lim-15")
@fails_without(ChildStarter, "_has_room", lambda *_: asyncio.sleep(0, True), match="126")
async def test_a_tree_does_not_grow_beyond_its_limit() -> None:
    two = workflow([node(name, SUB_WORKFLOW, config={"workflowId": "two"}) for name in "ab"], id="two")
    bench, key = await start_run(two, bench=EngineHarness(limits=Limits(max_run_depth=6, max_descendants=20)))
    for _ in range(20):
        await settle()
    assert await bench.status(key) == "failed"
    assert await bench.store.child_runs.count_descendants(key) == 20


@pytest.mark.rule("hide-05")
async def test_what_a_run_hides_its_child_must_hide_as_well() -> None:
    async def code(sensitive: bool) -> str | None:
        child = workflow([node("q")], id="quick", variables=[variable("mine", sensitive=sensitive)])
        parent = calling_workflow("quick", inputMapping={"mine": "secret"})
        parent["variables"] = [variable("secret", sensitive=True, defaultValue="hunter2-hunter2")]
        bench, key = await start_run(parent, child)
        for each in (key, *await child_keys(bench, key)):
            assert b"hunter2" not in b"".join(event.payload for event in await bench.events(each))
            assert b"hunter2" not in msgspec.json.encode((await bench.stored_run(each)).header)
        if failed := await bench.payloads(key, "node.failed"):
            return failed[0]["error"]["code"]
        (low,) = await child_keys(bench, key)
        assert (await bench.state(low)).variables["mine"] == "hunter2-hunter2"
        return None

    assert await code(sensitive=False) == "child_input_hidden"
    assert await code(sensitive=True) is None


async def test_a_node_that_waits_for_no_child_at_all_fails() -> None:
    async def nothing(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return AwaitsChildren()

    idle = WaitingNode(NodeDeclaration("test.idle", "Waits for nothing.", instant=False), nothing)
    bench, key = await start_run(workflow([node("call", "test.idle")]), bench=EngineHarness(idle))
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_misused"


@pytest.mark.rule("kin-01")
async def test_a_child_is_its_parents_in_all_but_the_options_of_one_run() -> None:
    bench, _ = await start_run(QUICK)
    assert await bench.catalog.register(calling_workflow("quick")) == []
    options = {"recursionLimit": 7, "runTimeoutMs": 60_000, "acme.colour": "red"}
    key = await bench.start(calling_workflow("quick"), configurable=options)
    await settle()
    (child,) = await bench.store.child_runs.children(key, None, 10)
    header, above = child.header, (await bench.stored_run(key)).header
    assert (header.owner, header.partition) == (above.owner, above.partition)
    assert header.configurable == {"acme.colour": "red"}
    assert header.parent is not None
    assert (header.parent.run_id, header.parent.root, header.parent.depth) == (key.run_id, key.run_id, 1)
    assert (header.parent.node_id, header.parent.cause) == ("call", SUB_WORKFLOW)
    assert header.traceparent is not None


async def test_a_part_of_a_map_starts_no_children() -> None:
    async def tries(call: NodeCall, context: NodeContext) -> NodeOutcome:
        new = await context.prepare_child("x", "quick", {})
        return new if isinstance(new, Failed) else Completed({})

    part = WaitingNode(NodeDeclaration("test.part", "Wants a child.", instant=False), tries)
    document = workflow([node("m", "core.flow.map", config={"items": [1], "body": {"typeId": "test.part"}})])
    bench, key = await start_run(document, QUICK, bench=EngineHarness(part))
    assert (await bench.payload(key, "node.failed"))["error"]["details"]["code"] == "node_misused"


@pytest.mark.rule("hide-05")
@fails_without("weftwork.engine.host.child_start._redaction_of", lambda state: lambda value: value)
async def test_a_copy_of_what_a_run_hides_is_not_given_to_its_child() -> None:
    child = workflow([node("q")], id="quick", variables=[variable("note")])
    parent = calling_workflow("quick", inputMapping={"note": "note"})
    parent["variables"] = [variable("secret", sensitive=True), variable("note")]
    bench, _ = await start_run(child)
    inputs = {"secret": "hunter2-hunter2", "note": "use hunter2-hunter2 here"}
    key = await bench.start(parent, inputs=inputs)
    await settle()
    logs = [event.payload for each in (key, *await child_keys(bench, key)) for event in await bench.events(each)]
    assert b"hunter2" not in b"".join(logs)


def resumed_without_debts(state: Any, fact: Any) -> None:
    state.paused_at = None


@pytest.mark.rule("park-01")
@fails_without(fold, "_CHANGES", {**fold._CHANGES, "run.resumed": resumed_without_debts}, match="running")
async def test_a_run_that_went_on_after_a_pause_is_not_parked_before_it_has_looked() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED, bench=harness_crashing_after("run.resumed"))
    assert await bench.executor.request(key, PauseRequested("immediate")) == "paused"
    await bench.release("h")
    await pass_time(bench, 1000)
    assert await bench.store.child_runs.child_results(None, 10) == []
    asking = asyncio.create_task(bench.executor.request(key, ResumeRequested()))
    await settle()
    assert bench.log.reached
    asking.cancel()
    assert await (await restart(bench)).status(key) == "completed"


async def test_a_look_after_a_pause_that_finds_nothing_lets_the_run_rest() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED)
    assert await bench.executor.request(key, PauseRequested("immediate")) == "paused"
    assert await bench.executor.request(key, ResumeRequested()) == "running"
    await settle()
    assert key not in bench.executor._live
    assert (await bench.stored_run(key)).projection.parked
    await bench.close()


async def test_time_that_is_up_while_the_run_is_paused_counts_when_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    document = calling_workflow("held")
    document["nodes"][0]["settings"] = {"timeoutMs": 5000}
    turns = 0
    drive = LiveRun._drive

    async def counted(live: LiveRun) -> None:
        nonlocal turns
        turns += 1
        await drive(live)

    bench, key = await start_run(document, GATED)
    assert await bench.executor.request(key, PauseRequested("immediate")) == "paused"
    monkeypatch.setattr(LiveRun, "_drive", counted)
    await pass_time(bench, 6000)
    assert (await bench.status(key), turns) == ("paused", 0)
    await bench.executor.request(key, ResumeRequested())
    await settle()
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_timeout"
    await bench.close()


@fails_without(transitions, "is_running", lambda state, node_id, entered: True)
async def test_what_a_look_finds_after_a_pause_counts_when_the_run_goes_on() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED)
    state = await bench.state(key)
    bounds = run_bounds(bench.runtime, state)
    paused = decide(state, bounds, PauseRequested("immediate"))
    fold.apply(state, Fact(9, "run.paused", dict(paused.events[0].payload), 1))
    found = decide(state, bounds, NodeCompleted("call", {}, (), state.nodes["call"].entry_sequence))
    await bench.close()
    assert found.events == ()
