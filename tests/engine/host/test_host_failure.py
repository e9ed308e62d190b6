"""When the host itself fails: the run ends as failed instead of hanging, and whoever waits is told."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.host.test_store_failure import FlakyLog
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from weftwork.engine.run import live_run


def raising(when: Callable[[int], bool]) -> Any:
    """decide, until the count of calls says otherwise."""
    calls = 0
    real = live_run.decide

    def decide(state: Any, bounds: Any, given: Any) -> Any:
        nonlocal calls
        calls += 1
        if when(calls):
            raise RuntimeError("canary-5d5d")
        return real(state, bounds, given)

    return decide


@pytest.mark.parametrize("call", range(1, 9))
async def test_an_error_of_ours_fails_the_run_instead_of_hanging_it(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    monkeypatch.setattr(live_run, "decide", raising(lambda calls: calls == call))

    bench = EngineHarness()
    key = await bench.start(workflow([node("a"), node("b", "test.gate"), node("c", "test.gate")]), at_once=False)
    await run_ready_tasks()
    for node_id in list(bench.gate_node.waiting):
        bench.gate_node.release(node_id)
    events = await bench.run_to_end(key)
    assert [event.sequence for event in events] == list(range(len(events)))
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "host_invariant_broken"
    assert all(b"canary-5d5d" not in event.document for event in events)
    await run_ready_tasks()
    assert (bench.executor.live_count, bench.gate_node.waiting) == (0, {})


@pytest.mark.parametrize("call", range(1, 6))
async def test_an_error_of_ours_at_creation_is_found_again_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    calls: list[int] = []

    def broken(count: int) -> bool:
        calls.append(count)
        return len(calls) in (call, 2 * call)

    monkeypatch.setattr(live_run, "decide", raising(broken))

    bench = EngineHarness()
    key = await bench.start(workflow([node("a"), node("b", "test.gate")]))
    events = await bench.run_to_end(key)
    assert [event.sequence for event in events] == list(range(len(events)))
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "host_invariant_broken"
    await run_ready_tasks()
    assert (bench.executor.live_count, bench.gate_node.waiting) == (0, {})


async def test_a_broken_run_is_failed_once_the_store_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "decide", raising(lambda calls: calls == 1))

    bench = EngineHarness(wrap=FlakyLog)
    bench.log.reads_down = 2
    key = await bench.start(workflow([node("a")]), at_once=False)
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["code"] == "host_invariant_broken"
    assert bench.log.reads_down == 0


async def test_a_caller_who_waits_when_the_host_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]))
    await until(lambda: bench.gate_node.waiting)
    monkeypatch.setattr(live_run, "decide", raising(lambda calls: calls == 1))
    answers = await asyncio.gather(*(bench.cancel(key) for _ in range(3)), return_exceptions=True)
    assert len(answers) == 3
    await bench.run_to_end(key)
    assert bench.gate_node.cancelled == ["a"]
    assert await bench.cancel(key) == "failed"


async def test_a_run_that_cannot_even_be_failed_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live_run, "decide", raising(lambda calls: True))

    bench = EngineHarness()
    key = await bench.start(workflow([node("a")]))
    await until(lambda: bench.executor.live_count == 0)
    await run_ready_tasks()
    assert await bench.event_types(key) == []
    assert bench.executor.live_count == 0
    assert "left as it is" in caplog.text
