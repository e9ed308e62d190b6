"""Children of a paused run: what they say meanwhile counts when it goes on."""

import asyncio
from typing import Any

import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.child_workflows import GATED, calling_workflow, harness_crashing_after, restart, settle, start_run
from tests.harness.engine_harness import run
from weftwork.engine.decide.inputs import NodeCompleted, PauseRequested, ResumeRequested
from weftwork.engine.decide.transitions import decide
from weftwork.engine.run.live_run import LiveRun, run_bounds
from weftwork.protocol.fold import fold
from weftwork.protocol.run.events import Fact


async def _after_a_pause() -> str:
    bench, key = await start_run(calling_workflow("held"), GATED, bench=harness_crashing_after("run.resumed"))
    assert await bench.executor.request(key, PauseRequested("immediate")) == "paused"
    bench.gate_node.release("h")
    await settle()
    await pass_time(bench, 1000)
    assert await bench.store.child_runs.child_results(None, 10) == []
    asking = asyncio.create_task(bench.executor.request(key, ResumeRequested()))
    await settle()
    assert bench.log.reached
    asking.cancel()
    return await (await restart(bench)).status(key)


@pytest.mark.rule("park-01")
def test_a_run_that_went_on_after_a_pause_is_not_parked_before_it_has_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(_after_a_pause) == "completed"
    monkeypatch.setattr("weftwork.protocol.fold.fold._CHANGES", _without_debts())
    assert run(_after_a_pause) == "running"


def _without_debts() -> dict[str, Any]:
    def resume(state: Any, fact: Any) -> None:
        state.paused_at = None

    return {**fold._CHANGES, "run.resumed": resume}


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
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "node_timeout"
    await bench.close()


def test_what_a_look_finds_after_a_pause_counts_when_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def kinds() -> list[str]:
        bench, key = await start_run(calling_workflow("held"), GATED)
        state = await bench.state(key)
        bounds = run_bounds(bench.runtime, state)
        paused = decide(state, bounds, PauseRequested("immediate"))
        fold.apply(state, Fact(9, "run.paused", dict(paused.events[0].payload), 1))
        found = decide(state, bounds, NodeCompleted("call", {}, (), state.nodes["call"].entry_sequence))
        await bench.close()
        return [draft.type for draft in found.events]

    assert run(kinds) == []
    monkeypatch.setattr("weftwork.engine.decide.transitions.is_running", lambda state, node_id, entered: True)
    assert run(kinds) == ["node.completed"]
