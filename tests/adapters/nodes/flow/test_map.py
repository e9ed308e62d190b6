"""The map: what it gives its body, what it makes of the answers, and what a restart costs."""

import asyncio
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import BROKEN_SOURCE, FakeContext, FakeScope, node_call, run_node
from tests.adapters.nodes.flow.map_calls import MAP, GatedBody, map_body, start_map
from tests.harness.engine_harness import until
from weftwork.adapters.nodes.flow import map as map_module
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeOutcome, SetVariable, Suspended
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.run.interrupts import Interrupt

EXPRESSION = {"type": "expression", "expression": "e"}


@pytest.mark.parametrize("type_id", [MAP, "core.flow.iterator"])
@pytest.mark.parametrize(
    ("config", "inputs", "results"),
    [
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
    ],
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


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Completed({}, (SetVariable("v", 1),)), "map_body_effect"),
        (AwaitsChildren(), "map_body_effect"),
        (Suspended(Interrupt("custom", "k", {})), "map_body_suspended"),
    ],
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

    with pytest.raises(RuntimeError, match="ended before its items"):
        run_node(MAP, node_call(map_body("odd"), {"items": [1, 2]}), FakeContext(odd=losing))


async def test_a_map_that_is_cancelled_stops_its_items() -> None:
    gates = GatedBody()
    task = start_map(map_body("gate"), [1, 2, 3], FakeContext(gate=gates))
    await until(lambda: len(gates.waiting) == 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(gates.cancelled) == [1, 2, 3]
