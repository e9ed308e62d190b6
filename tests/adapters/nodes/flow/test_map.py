"""The map: what it gives its body, what it makes of the answers, its workers, and what a restart costs."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import (
    BROKEN_SOURCE,
    TYPES,
    FakeContext,
    FakeScope,
    node_call,
    outcome_of,
    run_node,
)
from tests.harness.cases import each_case
from tests.harness.engine_harness import run, run_ready_tasks, until
from weftwork.adapters.nodes.flow import map as map_module
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeOutcome, SetVariable, Suspended
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.run.effects import EffectRef, outcome_interrupt
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.map_items import ItemError

MAP = "core.flow.map"


def map_body(type_id: str, inputs: Mapping[str, Any] | None = None, **config: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"typeId": type_id, "config": config}
    return {"body": found if inputs is None else {**found, "inputs": inputs}}


class GatedBody:
    """A body that waits until the test lets its item go."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[NodeOutcome]] = {}
        self.cancelled: list[int] = []
        self.max_waiting = 0

    async def __call__(self, given: NodeCall) -> NodeOutcome:
        item = given.inputs["input"]
        gate = self.waiting[item] = asyncio.get_running_loop().create_future()
        self.max_waiting = max(self.max_waiting, len(self.waiting))
        try:
            return await gate
        except asyncio.CancelledError:
            self.cancelled.append(item)
            raise
        finally:
            del self.waiting[item]

    def open(self, item: int, outcome: NodeOutcome | None = None) -> None:
        self.waiting[item].set_result(outcome or Completed({"output": item * 10}))


def start_map(config: dict[str, Any], items: list[Any], context: FakeContext) -> "asyncio.Task[NodeOutcome]":
    return asyncio.create_task(outcome_of(TYPES[MAP], node_call(config, {"items": items}, context.scope), context))


EXPRESSION = {"type": "expression", "expression": "e"}


@each_case("type_id", MAP, "core.flow.iterator")
@each_case(
    "config, inputs, results",
    (map_body("local.sample.demo.uppercase"), {"items": ["a", "b"]}, ["A", "B"]),
    (map_body("core.identity"), {"items": [1, None]}, [{"input": 1}, {"input": None}]),
    (map_body("core.noop"), {"items": [1]}, [{}]),
    ({**map_body("core.identity"), "items": [1]}, {"items": []}, []),
    ({**map_body("core.identity"), "items": [1]}, {"input": [2]}, [{"input": 1}]),
    (map_body("core.identity"), {"input": [2]}, [{"input": 2}]),
    (
        map_body(
            "core.identity", {"a": {"type": "static", "value": [0]}, "b": {"type": "expression", "expression": "e"}}
        ),
        {"items": ["x", "y"], "more": "!"},
        [{"a": [0], "b": "x0!"}, {"a": [0], "b": "y1!"}],
    ),
    (map_body("core.identity", {}), {"items": ["x"]}, [{}]),
)
def test_each_item_is_given_to_the_body(type_id: str, config: Any, inputs: Any, results: Any) -> None:
    scope = FakeScope({"e": lambda names: f"{names['item']}{names['index']}{names['ports']['more']}"})
    context = FakeContext()
    answer = run_node(type_id, node_call(config, inputs, scope), context)
    assert answer == Completed({"results": results, "count": len(results)})
    assert context.recorded_items == dict(enumerate(results))
    assert all("items" not in names["ports"] for names in scope.evaluated_names)


async def test_results_keep_the_order_of_the_items() -> None:
    gates = GatedBody()
    context = FakeContext(gate=gates)
    task = start_map({**map_body("gate"), "concurrency": 3}, [1, 2, 3, 4], context)
    await until(lambda: len(gates.waiting) == 3)
    for item in (3, 1):
        gates.open(item)
    await until(lambda: 4 in gates.waiting)
    gates.open(4)
    await until(lambda: len(context.recorded_items) == 3)
    gates.open(2)
    assert await task == Completed({"results": [10, 20, 30, 40], "count": 4})
    assert list(context.recorded_items)[-1] == 1


def done_again() -> list[str]:
    context = FakeContext()
    context.recorded_items = {0: "first", 2: None, 3: "fourth"}
    answer = run_node(MAP, node_call(map_body("local.sample.demo.uppercase"), {"items": list("abcde")}), context)
    assert isinstance(answer, Completed)
    if context.body_calls == ["1", "4"]:
        assert answer.outputs == {"results": ["first", "B", None, "fourth", "E"], "count": 5}
    return context.body_calls


def test_items_that_are_recorded_are_not_run_again() -> None:
    assert done_again() == ["1", "4"]


def test_without_the_records_everything_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "dict", lambda items: {}, raising=False)
    assert done_again() == ["0", "1", "2", "3", "4"]


def test_a_map_that_is_recorded_whole_runs_nothing() -> None:
    context = FakeContext()
    context.recorded_items = {0: 1, 1: 2}
    answer = run_node(MAP, node_call(map_body("core.fail"), {"items": ["a", "b"]}), context)
    assert answer == Completed({"results": [1, 2], "count": 2})
    assert context.body_calls == []


async def test_of_several_failures_the_first_by_index_is_told() -> None:
    gates = GatedBody()
    task = start_map(map_body("gate"), [1, 2, 3], FakeContext(gate=gates))
    await until(lambda: len(gates.waiting) == 3)
    gates.open(3, Failed("third", "Third."))
    gates.open(2, Failed("second", "Second."))
    gates.open(1)
    assert await task == Failed("map_item_failed", "Second.", {"index": 1, "code": "second"}, retryable=True)


@each_case(
    "answer, code",
    (Completed({}, (SetVariable("v", 1),)), "map_body_effect"),
    (AwaitsChildren(), "map_body_effect"),
    (Suspended(Interrupt("custom", "k", {})), "map_body_suspended"),
)
def test_a_body_may_neither_change_the_run_nor_start_others_nor_ask(answer: NodeOutcome, code: str) -> None:
    found = run_node(MAP, node_call(map_body("odd"), {"items": [1]}), FakeContext(odd=lambda given: answer))
    assert isinstance(found, Failed)
    assert (found.code, found.details, found.retryable) == ("map_item_failed", {"index": 0, "code": code}, False)


def test_an_expression_at_fault_fails_its_item() -> None:
    config = map_body("core.noop", {"a": {"type": "expression", "expression": BROKEN_SOURCE}})
    found = run_node(MAP, node_call(config, {"items": [1]}))
    details = {"index": 0, "code": "expression_failed"}
    assert found == Failed("map_item_failed", "It cannot be evaluated.", details, retryable=False)


def test_what_the_host_raises_goes_through() -> None:
    def raises(given: NodeCall) -> NodeOutcome:
        raise LookupError("no such type")

    with pytest.raises(LookupError, match="no such type"):
        run_node(MAP, node_call(map_body("odd"), {"items": [1, 2]}), FakeContext(odd=raises))


def test_a_map_that_loses_an_item_does_not_complete() -> None:
    async def losing(given: NodeCall) -> NodeOutcome:
        lost: asyncio.Future[NodeOutcome] = asyncio.get_running_loop().create_future()
        lost.cancel()
        return await lost

    with pytest.raises(RuntimeError, match="ended before all of its items"):
        run_node(MAP, node_call(map_body("odd"), {"items": [1, 2]}), FakeContext(odd=losing))


async def test_a_map_that_is_cancelled_stops_its_items() -> None:
    gates = GatedBody()
    task = start_map(map_body("gate"), [1, 2, 3], FakeContext(gate=gates))
    await until(lambda: len(gates.waiting) == 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(gates.cancelled) == [1, 2, 3]


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


@each_case("concurrency, count, most", (1, 5, 1), (3, 20, 3), (None, 20, 8), (64, 100, 64), (8, 2, 2))
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
        patch.setattr(map_module, "TURN_SECONDS", 0.0)
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


@each_case("concurrency", 1, 8, 64)
def test_a_long_map_lets_others_run(concurrency: int) -> None:
    most, _ = longest_turn(2_000, concurrency)
    assert most <= 20 + concurrency


def test_items_that_answer_at_once_share_a_record() -> None:
    _, commits = longest_turn(2_000, 8)
    assert commits <= 400


def test_items_that_cost_nothing_are_handed_over_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "SLICE_SECONDS", 1e9)
    monkeypatch.setattr(map_module, "TURN_SECONDS", 1e9)
    assert longest_turn(2_000, 8)[0] == map_module.RECORD_BATCH


def test_without_turns_and_portions_a_long_map_holds_everything_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "SLICE_SECONDS", 1e9)
    monkeypatch.setattr(map_module, "TURN_SECONDS", 1e9)
    monkeypatch.setattr(map_module, "RECORD_BATCH", 10**9)
    assert longest_turn(2_000, 8)[0] == 2_000


COLLECT = {**map_body("gate"), "onError": "collect"}


@pytest.mark.rule("node-16")
async def test_a_person_is_asked_about_one_item_while_the_errors_of_others_are_kept() -> None:
    asks = Suspended(outcome_interrupt("map", 0, EffectRef("", "1"), 1))
    gates = GatedBody()
    context = FakeContext(gate=gates)
    task = start_map({**COLLECT, "concurrency": 2}, [0, 1, 2], context)
    await until(lambda: len(gates.waiting) == 2)
    gates.open(1, asks)
    await run_ready_tasks()
    gates.open(0, Failed("bad", "Bad.", {"much": "detail"}))
    assert await task == asks
    assert context.recorded_items == {0: ItemError({"code": "bad", "message": "Bad."})}
    assert context.body_calls == ["0", "1"]
    again = start_map({**COLLECT, "concurrency": 2}, [0, 1, 2], context)
    await until(lambda: len(gates.waiting) == 2)
    gates.open(1)
    gates.open(2)
    entries = [{"status": "completed", "output": each} for each in (10, 20)]
    failed = {"status": "failed", "error": {"code": "bad", "message": "Bad."}}
    assert await again == Completed({"results": [failed, *entries], "count": 3, "failed": 1})


@pytest.mark.rule("node-16")
async def test_a_retry_is_left_to_the_host_until_all_other_items_have_ended() -> None:
    gates = GatedBody()
    context = FakeContext(gate=gates)
    context.has_retries_left = True
    task = start_map({**COLLECT, "concurrency": 1}, [0, 1], context)
    for item, outcome in ((0, Failed("down", "Down.")), (1, Failed("bad", "Bad.", retryable=False))):
        await until(lambda item=item: item in gates.waiting)
        gates.open(item, outcome)
    assert await task == Failed("map_item_failed", "Down.", {"index": 0, "code": "down"})
    assert list(context.recorded_items) == [1]


@pytest.mark.rule("node-16")
def test_items_that_fail_at_once_let_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_module, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(map_module, "TURN_SECONDS", 0.0)
    context = FakeContext(fails=lambda call: Failed("down", "Down."))
    context.has_retries_left = True
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def both() -> NodeOutcome:
        other = asyncio.create_task(count())
        config = {**map_body("fails"), "onError": "collect", "concurrency": 1}
        ended = await start_map(config, list(range(100)), context)
        other.cancel()
        return ended

    ended = run(both)
    assert isinstance(ended, Failed)
    assert (ended.code, len(context.body_calls), turns >= 100) == ("map_item_failed", 100, True)
