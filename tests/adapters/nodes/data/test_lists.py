"""Lists, item by item: what is kept, what is computed, and that others get their turn."""

import asyncio
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import TYPES, FakeContext, FakeScope, node_call, outcome_of, run_node
from tests.harness.engine_harness import run
from weftwork.adapters.nodes.data import lists
from weftwork.ports.node_outcome import Completed, Failed

SMALL = FakeScope({"e": lambda names: names["item"] < 3, "at": lambda names: names["index"] > 0, "x": lambda names: 1})
PRICE = FakeScope({"e": lambda names: names["item"]["price"]})


@pytest.mark.parametrize("type_id", ["core.filter", "core.flow.filter"])
@pytest.mark.parametrize(
    ("config", "inputs", "kept"),
    [
        ({"expression": "e"}, {"items": [1, 5, 2]}, [1, 2]),
        ({"expression": "e", "items": [9]}, {"items": [1]}, [1]),
        ({"expression": "e", "items": [9, 2]}, {"input": [1]}, [2]),
        ({"expression": "e"}, {"input": [2, 9]}, [2]),
        ({"expression": "at"}, {"items": [7, 8, 9]}, [8, 9]),
        ({"expression": "e"}, {"items": []}, []),
    ],
)
def test_a_filter_keeps_what_is_true(type_id: str, config: Any, inputs: Any, kept: Any) -> None:
    assert run_node(type_id, node_call(config, inputs, SMALL)) == Completed({"output": kept, "count": len(kept)})


def test_a_filter_needs_a_condition() -> None:
    scope = FakeScope({"e": lambda names: True if names["item"] else None})
    answer = run_node("core.filter", node_call({"expression": "e"}, {"items": [1, 0, 0]}, scope))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.details, answer.retryable) == ("condition_not_boolean", {"index": 1}, False)


@pytest.mark.parametrize("type_id", ["core.aggregate", "core.flow.aggregate-array"])
@pytest.mark.parametrize(
    ("operation", "prices", "output"),
    [
        ("list", [3, "a", None], [3, "a", None]),
        ("count", [3, "a", None], 3),
        ("sum", [1, 2.5], 3.5),
        ("sum", [0.5, 0.5], 1),
        ("average", [1, 2], 1.5),
        ("average", [1, 3], 2),
        ("min", [2, 1.5, 3], 1.5),
        ("max", [2, 3], 3),
        ("list", [], []),
        ("count", [], 0),
        ("sum", [], 0),
        ("average", [], None),
        ("min", [], None),
        ("max", [], None),
        ("sum", [2**53 - 1, 2], float(2**53 + 1)),
        ("sum", [1e300, 1e300], 2e300),
    ],
)
def test_a_value_is_computed(type_id: str, operation: str, prices: Any, output: Any) -> None:
    items = [{"price": price} for price in prices]
    answer = run_node(type_id, node_call({"operation": operation, "value": "e"}, {"items": items}, PRICE))
    assert answer == Completed({"output": output, "count": len(items)})
    assert isinstance(answer, Completed)
    assert type(answer.outputs["output"]) is type(output)
    plain = run_node(type_id, node_call({"operation": operation, "items": prices}))
    assert plain == answer


@pytest.mark.parametrize("value", ["1", True, None, [1]])
@pytest.mark.parametrize("operation", ["sum", "average", "min", "max"])
def test_only_numbers_are_computed_with(operation: str, value: Any) -> None:
    answer = run_node("core.aggregate", node_call({"operation": operation}, {"items": [1, value]}))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.details, answer.retryable) == ("aggregate_not_a_number", {"index": 1}, False)


@pytest.mark.parametrize("operation", ["sum", "average"])
def test_a_result_is_a_number(operation: str) -> None:
    answer = run_node("core.aggregate", node_call({"operation": operation}, {"items": [1.7e308, 1.7e308]}))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.retryable) == ("aggregate_overflow", False)


@pytest.mark.parametrize(
    ("type_id", "config"),
    [
        ("core.filter", {"expression": "e"}),
        ("core.aggregate", {"operation": "count"}),
        ("core.flow.map", {"body": {"typeId": "core.noop"}}),
    ],
)
@pytest.mark.parametrize("items", [{"a": 1}, "text", None, [0] * 100_001])
def test_what_is_no_list_is_refused(type_id: str, config: Any, items: Any) -> None:
    answer = run_node(type_id, node_call(config, {"input": items}, SMALL))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.retryable) == ("node_config_invalid", False)


def test_an_expression_over_an_item_is_not_given_the_list() -> None:
    scope = FakeScope({"e": True})
    run_node("core.filter", node_call({"expression": "e"}, {"items": ["a", "b"], "limit": 3}, scope))
    assert scope.evaluated_names == [
        {"ports": {"limit": 3}, "item": "a", "index": 0},
        {"ports": {"limit": 3}, "item": "b", "index": 1},
    ]


def longest_turn(count: int) -> int:
    """How many items of a long list are looked at before others run, if an item takes a tenth of the time allowed."""
    looked = 0
    most = 0

    async def others() -> None:
        nonlocal looked, most
        while True:
            most, looked = max(most, looked), 0
            await asyncio.sleep(0)

    async def work() -> Any:
        nonlocal most
        loop = asyncio.get_running_loop()
        real, passed = loop.time, 0.0

        def look(names: Any) -> bool:
            nonlocal looked, passed
            looked += 1
            passed += 0.0002
            return True

        loop.time = lambda: real() + passed
        beside = asyncio.create_task(others())
        given = node_call({"expression": "e"}, {"items": [0] * count}, FakeScope({"e": look}))
        answer = await outcome_of(TYPES["core.filter"], given, FakeContext())
        beside.cancel()
        most = max(most, looked)
        return answer

    answer = run(work)
    assert answer.outputs["count"] == count
    return most


def test_a_long_list_lets_others_run() -> None:
    assert longest_turn(500) <= 11


def test_without_turns_a_long_list_holds_everything_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "SLICE_SECONDS", 1e9)
    assert longest_turn(500) == 500
