"""Workers side by side in the engine: joins, losers, and a host that dies in between."""

import asyncio
import os
import random
from typing import Any

import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.child_workflows import (
    WORKERS,
    child_keys,
    found_variable,
    handover_steps,
    parallel_workflow,
    release_worker,
    settle,
    start_run,
)
from tests.harness.engine_harness import EngineHarness
from weftwork.engine.decide.inputs import PauseRequested, ResumeRequested
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.protocol.run.header import TERMINAL_STATUSES

FULL = os.environ.get("WEFTWORK_PROOF") == "full"


@pytest.mark.rule("orch-07")
async def test_the_first_answer_wins_and_the_others_are_really_cancelled() -> None:
    bench, key = await start_run(parallel_workflow("a", "b", "c", joinMode="first"), *WORKERS)
    assert sorted(bench.gate_node.waiting) == ["a", "b", "c"]
    await release_worker(bench, "b")
    assert sorted(bench.gate_node.cancelled) == ["a", "c"]
    assert await bench.status(key) == "completed"
    children = await child_keys(bench, key)
    assert [await bench.status(each) for each in children] == ["cancelled", "completed", "cancelled"]
    (told,) = await bench.payloads(children[0], "run.cancelled")
    assert (told["reason"], told["parentRunId"]) == ("join-decided", key.run_id)
    assert await found_variable(bench, key) == "b"
    assert (await handover_steps(bench, key))[6:] == [
        *("child.cancelled a", "child.completed b", "output.harvested b", "child.cancelled c")
    ]
    assert not bench.executor._live


@pytest.mark.rule("orch-07")
async def test_a_quorum_and_its_bound() -> None:
    document = parallel_workflow("a", "b", "c", "d", joinMode="quorum", quorum=2, maxParallel=2)
    bench, key = await start_run(document, *WORKERS)
    assert sorted(bench.gate_node.waiting) == ["a", "b"]
    await release_worker(bench, "a", Failed("busy", "No."))
    assert sorted(bench.gate_node.waiting) == ["b", "c"]
    await release_worker(bench, "c")
    assert sorted(bench.gate_node.waiting) == ["b", "d"]
    await release_worker(bench, "d")
    assert await bench.status(key) == "completed"
    assert bench.gate_node.cancelled == ["b"]
    assert await found_variable(bench, key) == "d"


@pytest.mark.rule("orch-07")
@pytest.mark.rule("kin-08")
async def test_a_race_that_is_lost_fails_the_run_and_ends_the_others() -> None:
    bench, key = await start_run(parallel_workflow("a", "b", joinMode="race"), *WORKERS)
    await release_worker(bench, "b", Failed("busy", "No."))
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
    await release_worker(bench, first, Failed("busy", "No."))
    await release_worker(bench, second)
    assert await bench.status(key) == "paused"
    await bench.executor.request(key, ResumeRequested())
    await settle()
    assert await bench.status(key) == "failed"
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["details"]["workerId"] == first
    assert len([line for line in await handover_steps(bench, key) if line.startswith("child.")]) == 2


@pytest.mark.rule("orch-04")
async def test_a_worker_that_cannot_be_started_ends_the_others_before_the_node_fails() -> None:
    bench, key = await start_run(parallel_workflow("a", "b", "nowhere", maxParallel=2), *WORKERS)
    await release_worker(bench, "a")
    assert await bench.status(key) == "failed"
    assert bench.gate_node.cancelled == ["b"]
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "unknown_child_workflow"
    assert (await handover_steps(bench, key))[4:] == [
        *("child.completed a", "child.cancelled b", "dispatch.began nowhere", "dispatch.failed nowhere")
    ]


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
