"""Nodes that change data: values, objects and lists."""

import asyncio
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import (
    TYPES,
    FakeContext,
    FakeScope,
    final_failure,
    node_call,
    outcome_of,
    run_node,
)
from tests.harness.cases import each_case
from tests.harness.engine_harness import run
from weftwork.adapters.nodes.data import lists
from weftwork.adapters.nodes.data.run_data import MAX_MESSAGE, MAX_SUMMARY, derive_artifact_id
from weftwork.adapters.nodes.flow.control import duplicate_messages
from weftwork.ports.node_outcome import AppendLog, Completed, EmitArtifact, Failed, SetVariable, WriteChannel
from weftwork.protocol.ids import is_path_id


@pytest.mark.rule("node-04")
@each_case(
    "config, inputs, value",
    ({"value": 1}, {"value": 2, "input": 3}, 2),
    ({"value": 1}, {"input": 3}, 1),
    ({}, {"input": 3}, 3),
    ({"value": 1}, {"value": None}, None),
    ({"value": None}, {"input": 3}, None),
)
def test_a_variable_and_a_channel_are_written_from_the_first_source(config: Any, inputs: Any, value: Any) -> None:
    for type_id, named, effect in (
        ("core.setVariable", {"name": "v"}, SetVariable("v", value)),
        ("core.channelWrite", {"channelName": "c"}, WriteChannel("c", value, "append")),
        ("core.channelWrite", {"channelName": "c", "reducer": "counter"}, WriteChannel("c", value, "counter")),
    ):
        assert run_node(type_id, node_call({**named, **config}, inputs)) == Completed({"output": value}, (effect,))


@each_case(
    "type_id, config",
    ("core.setVariable", {"name": "v"}),
    ("core.channelWrite", {"channelName": "c"}),
    ("core.artifact.emit", {"artifactType": "t"}),
    ("core.wait", {}),
    ("core.filter", {"expression": "e"}),
    ("core.aggregate", {"operation": "count"}),
    ("core.flow.map", {"body": {"typeId": "core.noop"}}),
)
def test_a_node_without_its_value_fails_for_good(type_id: str, config: Any) -> None:
    assert final_failure(run_node(type_id, node_call(config, {"other": 1})))[0] == "node_input_missing"


def test_a_variable_is_read() -> None:
    for config, variables, value in (
        ({}, {"v": 1}, 1),
        ({"default": 2}, {"v": 1}, 1),
        ({"default": 2}, {"v": None}, None),
        ({"default": 2}, {"w": 1}, 2),
        ({"default": None}, {}, None),
    ):
        answer = run_node("core.getVariable", node_call({"name": "v", **config}, {}, FakeScope({}, variables)))
        assert answer == Completed({"output": value}), config
    answer = run_node("core.getVariable", node_call({"name": "v"}))
    assert answer == Failed(
        "variable_not_set", "The variable v is not set, and config default is absent.", retryable=False
    )


def test_a_transform_gives_one_output_or_many_and_a_template_a_text() -> None:
    scope = FakeScope({"e": lambda names: names["ports"]["a"] + 1, "t": lambda names: f"for {names['ports']['a']}"})
    for type_id, config, outputs in (
        ("core.transform", {"expression": "e"}, {"output": 2}),
        ("core.transform", {"fields": {"x": "e", "y": "t"}}, {"x": 2, "y": "for 1"}),
        ("core.template", {"template": "t"}, {"output": "for 1"}),
    ):
        assert run_node(type_id, node_call(config, {"a": 1}, scope)) == Completed(outputs)


@each_case(
    "config, inputs, outputs, line",
    ({"message": "m"}, {}, {}, AppendLog("info", "m")),
    ({"message": "m", "level": "error"}, {"input": None}, {"output": None}, AppendLog("error", "m")),
    ({"message": "m", "fields": {"a": "e"}}, {"input": 1}, {"output": 1}, AppendLog("info", "m", {"a": [7]})),
)
def test_a_log_line_is_written_and_the_input_handed_on(config: Any, inputs: Any, outputs: Any, line: Any) -> None:
    assert run_node("core.log", node_call(config, inputs, FakeScope({"e": [7]}))) == Completed(outputs, (line,))


def test_a_long_message_is_cut_between_letters() -> None:
    for letter in "xé語😀":
        scope = FakeScope({"m": letter * 9_000, "f": letter * 9_000})
        answer = run_node("core.log", node_call({"message": "m", "fields": {"f": "f"}}, {}, scope))
        assert isinstance(answer, Completed)
        (line,) = answer.effects
        assert isinstance(line, AppendLog)
        assert MAX_MESSAGE - 4 < len(line.message.encode()) <= MAX_MESSAGE
        assert line.message.endswith(f"{letter}...")
        assert line.fields == {"f": f"(omitted: {len(letter.encode()) * 9_000 + 2} bytes)"}
    answer = run_node("core.log", node_call({"message": "m"}, {}, FakeScope({"m": "x" * MAX_MESSAGE})))
    assert answer == Completed({}, (AppendLog("info", "x" * MAX_MESSAGE),))


@each_case("type_id", "core.artifact.emit", "conformance.artifact.emit")
@each_case(
    "config, inputs, data",
    ({"data": 1}, {"data": 2, "input": 3}, 2),
    ({"data": 1}, {"input": 3}, 1),
    ({}, {"input": 3}, 3),
    ({"data": None}, {}, None),
)
def test_an_artifact_is_made_from_the_first_source(type_id: str, config: Any, inputs: Any, data: Any) -> None:
    answer = run_node(type_id, node_call({"artifactType": "t", **config}, inputs, node_id="report"))
    outputs = {"artifactId": "report", "artifactType": "t", "output": data}
    assert answer == Completed(outputs, (EmitArtifact("report", "t", data),))


def test_an_artifact_may_have_an_id_and_a_summary() -> None:
    config = {"artifactType": "t", "artifactId": "mine", "data": 1, "summary": "s"}
    answer = run_node("core.artifact.emit", node_call(config, {}, FakeScope({"s": "x" * 2_000}), iteration=3))
    assert isinstance(answer, Completed)
    assert answer.effects == (EmitArtifact("mine-3", "t", 1, "x" * (MAX_SUMMARY - 3) + "..."),)


BASES = ["", "a b", *"a a-1 a-0 a-1-0 a-b a/b .. é a-01 -1".split(), *("x" * size for size in (125, 126, 127, 128))]


def test_no_two_artifacts_get_the_same_id() -> None:
    made = [derive_artifact_id(base, iteration) for base in BASES for iteration in range(12)]
    assert len(made) == len(set(made)) == len(BASES) * 12
    assert all(is_path_id(each) for each in made)
    assert [derive_artifact_id("a", round_) for round_ in range(3)] == ["a", "a-1", "a-2"]
    assert derive_artifact_id("a-1", 0) == "a-1-0"
    plain = {f"{base}-{i}" if i else base for base in BASES for i in range(12)}
    assert len(plain) < len(made), "plain numbering would repeat an id"


def test_a_message_is_written_twice_on_purpose() -> None:
    writes = duplicate_messages()
    assert [write.value["messageId"] for write in writes] == ["msg-1", "msg-2", "msg-2"]
    assert {(write.channel, write.reducer) for write in writes} == {("messages", "message")}
    assert writes[1] == writes[2]
    assert all(write.value.keys() == {"messageId", "role", "content", "timestamp"} for write in writes)
    assert duplicate_messages() == writes


@each_case(
    "inputs, outputs",
    ({"input": "ab"}, {"input": "AB", "output": "AB"}),
    ({"text": "ß", "input": 1}, {"text": "SS", "output": "SS"}),
    ({"b": "y", "a": "x"}, {"a": "X", "b": "Y", "output": "X"}),
    ({"n": 1}, {"output": ""}),
    ({}, {"output": ""}),
)
def test_texts_come_back_in_capitals(inputs: Any, outputs: Any) -> None:
    assert run_node("local.sample.demo.uppercase", node_call({}, inputs)) == Completed(outputs)


SMALL = FakeScope({"e": lambda names: names["item"] < 3, "at": lambda names: names["index"] > 0, "x": lambda names: 1})
PRICE = FakeScope({"e": lambda names: names["item"]["price"]})


@each_case("type_id", "core.filter", "core.flow.filter")
@each_case(
    "config, inputs, kept",
    ({"expression": "e"}, {"items": [1, 5, 2]}, [1, 2]),
    ({"expression": "e", "items": [9]}, {"items": [1]}, [1]),
    ({"expression": "e", "items": [9, 2]}, {"input": [1]}, [2]),
    ({"expression": "e"}, {"input": [2, 9]}, [2]),
    ({"expression": "at"}, {"items": [7, 8, 9]}, [8, 9]),
    ({"expression": "e"}, {"items": []}, []),
)
def test_a_filter_keeps_what_is_true(type_id: str, config: Any, inputs: Any, kept: Any) -> None:
    assert run_node(type_id, node_call(config, inputs, SMALL)) == Completed({"output": kept, "count": len(kept)})


def test_a_filter_needs_a_condition() -> None:
    scope = FakeScope({"e": lambda names: True if names["item"] else None})
    answer = run_node("core.filter", node_call({"expression": "e"}, {"items": [1, 0, 0]}, scope))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.details, answer.retryable) == ("condition_not_boolean", {"index": 1}, False)


@each_case("type_id", "core.aggregate", "core.flow.aggregate-array")
@each_case(
    "operation, prices, output",
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
)
def test_a_value_is_computed(type_id: str, operation: str, prices: Any, output: Any) -> None:
    items = [{"price": price} for price in prices]
    answer = run_node(type_id, node_call({"operation": operation, "value": "e"}, {"items": items}, PRICE))
    assert answer == Completed({"output": output, "count": len(items)})
    assert isinstance(answer, Completed)
    assert type(answer.outputs["output"]) is type(output)
    plain = run_node(type_id, node_call({"operation": operation, "items": prices}))
    assert plain == answer


def test_only_numbers_are_computed_with_and_a_result_is_one() -> None:
    for operation in ("sum", "average", "min", "max"):
        for value in ("1", True, None, [1]):
            answer = run_node("core.aggregate", node_call({"operation": operation}, {"items": [1, value]}))
            assert final_failure(answer) == ("aggregate_not_a_number", {"index": 1}), (operation, value)
    for operation in ("sum", "average"):
        answer = run_node("core.aggregate", node_call({"operation": operation}, {"items": [1.7e308, 1.7e308]}))
        assert final_failure(answer)[0] == "aggregate_overflow"


@each_case(
    "type_id, config",
    ("core.filter", {"expression": "e"}),
    ("core.aggregate", {"operation": "count"}),
    ("core.flow.map", {"body": {"typeId": "core.noop"}}),
)
@each_case("items", {"a": 1}, "text", None, [0] * 100_001)
def test_what_is_no_list_is_refused(type_id: str, config: Any, items: Any) -> None:
    assert final_failure(run_node(type_id, node_call(config, {"input": items}, SMALL)))[0] == "node_config_invalid"


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
