"""Children of a run, as the engine sees them: made once, heard once, and nothing in memory."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.child_workflows import (
    GATE,
    GATED,
    QUICK,
    SUB_WORKFLOW,
    calling_workflow,
    child_keys,
    settle,
    start_run,
)
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness
from weftwork.engine.decide import transitions
from weftwork.engine.decide.inputs import ChildrenRecheck, ChildResultsReceived, PauseRequested, ResumeRequested
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.run.live_run import run_bounds
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.batch import Batch, ChildResult
from weftwork.protocol.run.header import RunKey


@pytest.mark.rule("kin-02")
@pytest.mark.rule("park-01")
async def test_nothing_of_a_parent_is_in_memory_while_its_child_works() -> None:
    bench, key = await start_run(calling_workflow("held"), GATED)
    (child,) = await child_keys(bench, key)
    assert list(bench.executor._live) == [child]
    assert (await bench.stored_run(key)).projection.parked
    assert await bench.status(key) == "running"
    bench.gate_node.release("h")
    await settle()
    assert await bench.status(key) == "completed"
    assert not bench.executor._live
    expected = ["run.started", "node.started", "weftwork.child.started", "weftwork.child.ended"]
    assert await bench.event_types(key) == [*expected, "node.completed", "run.completed"]


class RefusingLog:
    """A log that takes no child, once."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, run: RunKey, expected: int, batch: Batch) -> Any:
        if batch.child_creates and not self.refused:
            self.refused += 1
            raise StoreUnavailable("full")
        return await self._log.append(run, expected, batch)


@pytest.mark.rule("kin-02")
async def test_a_child_that_could_not_be_stored_is_made_again_and_there_is_one() -> None:
    bench, key = await start_run(calling_workflow("quick"), QUICK, bench=EngineHarness(wrap=RefusingLog))
    assert bench.log.refused == 1
    assert await child_keys(bench, key) == []
    await pass_time(bench, 2000)
    assert await bench.status(key) == "completed"
    assert len(await child_keys(bench, key)) == 1
    assert len(await bench.payloads(key, "weftwork.child.started")) == 1


class LostReplyLog:
    """A log that takes a child and says that it did not, once."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.lied = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, run: RunKey, expected: int, batch: Batch) -> Any:
        taken = await self._log.append(run, expected, batch)
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
    await settle()
    assert await bench.status(child) == "running"
    assert await bench.status(key) == "waiting-approval"
    await pass_time(bench, 300)
    assert await bench.status(key) == "running"
    bench.gate_node.release("h")
    await settle()
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
    bench.gate_node.release("h")
    await settle()
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
    bench.gate_node.release("h")
    await settle()
    monkeypatch.undo()
    assert await bench.status(key) == "running"
    await bench.crash()
    after = bench.successor()
    await after.executor.recover()
    await settle()
    assert await after.status(key) == "completed"
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
    bench.gate_node.release("h")
    await settle()
    assert await bench.status(key) == "paused"
    assert await bench.executor.request(key, ResumeRequested()) in ("running", "completed")
    await settle()
    assert await bench.status(key) == "completed"
