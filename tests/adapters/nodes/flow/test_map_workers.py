"""The workers of a map: how many at once, how they stop, and that others get their turn."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import FakeContext
from tests.adapters.nodes.flow.map_calls import GatedBody, map_body, start_map
from tests.harness.engine_harness import run, run_ready_tasks, until
from weftwork.adapters.nodes.flow import map as map_module
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall


def most_at_once(concurrency: int | None, count: int) -> int:
    async def work() -> int:
        gates = GatedBody()
        config = map_body("gate") if concurrency is None else {**map_body("gate"), "concurrency": concurrency}
        task = start_map(config, list(range(count)), FakeContext(gate=gates))
        while not task.done():
            await run_ready_tasks()
            for item in list(gates.waiting):
                gates.open(item)
        assert (await task) == Completed({"results": [item * 10 for item in range(count)], "count": count})
        return gates.max_waiting

    return run(work)


@pytest.mark.parametrize(
    ("concurrency", "count", "most"), [(1, 5, 1), (3, 20, 3), (None, 20, 8), (64, 100, 64), (8, 2, 2)]
)
def test_no_more_items_wait_than_was_said(concurrency: int | None, count: int, most: int) -> None:
    assert most_at_once(concurrency, count) == most


def test_without_the_bound_everything_waits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "min", max, raising=False)
    assert most_at_once(3, 20) == 20


async def test_a_worker_goes_on_only_when_its_item_is_recorded() -> None:
    """So that a crash costs no more than the items in flight."""

    # What waits longer than a slice is recorded alone; here no real time passes, so there must be no slices.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(map_module, "SLICE_SECONDS", 0.0)
        gates = GatedBody()
        context = FakeContext(gate=gates)
        commit = asyncio.Event()

        async def record(index: int, output: Any) -> None:
            await commit.wait()
            context.recorded_items[index] = output

        context.record_item = record
        task = start_map({**map_body("gate"), "concurrency": 2}, [1, 2, 3], context)
        await until(lambda: len(gates.waiting) == 2)
        gates.open(1)
        gates.open(2)
        await run_ready_tasks()
        assert (context.body_calls, context.recorded_items, gates.waiting) == (["0", "1"], {}, {})
        commit.set()
        await until(lambda: 3 in gates.waiting)
        gates.open(3)
        await task


FAILING = Failed("out_of_stock", "There is none left.", retryable=False)


def begun_with_a_failure() -> tuple[list[str], dict[int, Any], list[int]]:
    """Which items were begun, which were recorded, and which were stopped, when the second of five fails."""

    async def work() -> tuple[list[str], dict[int, Any], list[int]]:
        gates = GatedBody()
        context = FakeContext(gate=gates)
        task = start_map({**map_body("gate"), "concurrency": 3}, [1, 2, 3, 4, 5], context)
        await until(lambda: len(gates.waiting) == 3)
        gates.open(2, FAILING)
        await run_ready_tasks()
        assert not task.done()
        while gates.waiting:
            for item in list(gates.waiting):
                gates.open(item)
            await run_ready_tasks()
        details = {"index": 1, "code": "out_of_stock"}
        assert await task == Failed("map_item_failed", FAILING.message, details, retryable=False)
        return context.body_calls, context.recorded_items, sorted(gates.cancelled)

    return run(work)


async def test_an_item_that_does_not_heed_its_end_is_the_last() -> None:
    """Neither what it gives counts, nor is another begun after it."""

    async def stubborn(given: NodeCall) -> NodeOutcome:
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
        return Completed({})

    context = FakeContext(stubborn=stubborn)
    task = start_map({**map_body("stubborn"), "concurrency": 2}, [0, 1, 2, 3], context)
    await until(lambda: len(context.body_calls) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (context.body_calls, context.recorded_items) == (["0", "1"], {})


def test_after_an_item_that_fails_no_more_are_begun_and_none_is_cut_off() -> None:
    begun, recorded, stopped = begun_with_a_failure()
    assert (begun, sorted(recorded), stopped) == (["0", "1", "2"], [0, 2], [])


def test_a_map_that_goes_on_after_a_failure_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module.MapItems, "_is_stopping", False)
    assert begun_with_a_failure()[0] == ["0", "1", "2", "3", "4"]


def longest_turn(count: int, concurrency: int) -> tuple[int, int]:
    """How many items are done before others run, if an item takes a twentieth of the time allowed; and the commits."""
    done = 0
    most = 0
    turns: set[int] = set()
    turn = 0

    async def others() -> None:
        nonlocal done, most, turn
        while True:
            most, done, turn = max(most, done), 0, turn + 1
            await asyncio.sleep(0)

    async def work() -> Any:
        nonlocal most
        loop = asyncio.get_running_loop()
        real, passed = loop.time, 0.0

        def instant(given: NodeCall) -> NodeOutcome:
            nonlocal done, passed
            done += 1
            passed += 0.0001
            return Completed({"output": given.inputs["input"]})

        loop.time = lambda: real() + passed
        context = FakeContext(instant=instant)
        context.before_record = lambda index: turns.add(turn)
        beside = asyncio.create_task(others())
        answer = await start_map({**map_body("instant"), "concurrency": concurrency}, list(range(count)), context)
        beside.cancel()
        most = max(most, done)
        return answer

    assert run(work) == Completed({"results": list(range(count)), "count": count})
    return most, len(turns)


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_a_long_map_lets_others_run(concurrency: int) -> None:
    most, _ = longest_turn(2_000, concurrency)
    assert most <= 20 + concurrency


def test_items_that_answer_at_once_share_a_record() -> None:
    _, commits = longest_turn(2_000, 8)
    assert commits <= 400


def test_items_that_cost_nothing_are_handed_over_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "SLICE_SECONDS", 1e9)
    assert longest_turn(2_000, 8)[0] == map_module.RECORD_BATCH


def test_without_turns_and_portions_a_long_map_holds_everything_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "SLICE_SECONDS", 1e9)
    monkeypatch.setattr(map_module, "RECORD_BATCH", 10**9)
    assert longest_turn(2_000, 8)[0] == 2_000
