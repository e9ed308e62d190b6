"""Nodes that steer a run: branches, joins, failures and waits."""

import asyncio
from typing import Any

from tests.adapters.nodes.fake_context import (
    BROKEN_SOURCE,
    TYPES,
    FakeContext,
    FakeScope,
    final_failure,
    node_call,
    outcome_of,
    run_node,
)
from tests.harness.cases import each_case
from tests.harness.engine_harness import run_ready_tasks
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.ports.nodes import Arrival
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.timed_waits import MAX_INSTANT_MS, parse_instant
from weftwork.testing.deterministic import START

MARKS = ["core.start", "core.end", "core.parallel", "core.trigger.webhook"]


@each_case("type_id", *MARKS)
@each_case(
    "inputs, outputs",
    ({}, {}),
    ({"a": 1, "b": None}, {"a": 1, "b": None}),
    ({"input": {"x": 1}}, {"input": {"x": 1}, "output": {"x": 1}}),
    ({"input": 1, "output": 2}, {"input": 1, "output": 2}),
)
def test_a_marker_hands_its_inputs_on(type_id: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
    assert run_node(type_id, node_call({}, inputs)) == Completed(outputs)


@each_case("type_id", "core.conditional", "core.flow.if")
@each_case(
    "value, inputs, outputs",
    (True, {}, {"result": True, "output": True, "true": True}),
    (False, {}, {"result": False, "output": False, "false": False}),
    (True, {"input": None}, {"result": True, "output": None, "true": None}),
    (False, {"input": [1], "x": 2}, {"result": False, "output": [1], "false": [1]}),
)
def test_a_conditional_gives_one_of_its_ways(type_id: str, value: bool, inputs: Any, outputs: Any) -> None:
    given = node_call({"expression": "e"}, inputs, FakeScope({"e": value}))
    assert run_node(type_id, given) == Completed(outputs)


@each_case("value", 1, 0, "true", None, [])
@each_case("type_id, member", ("core.conditional", "expression"), ("core.loop", "while"))
def test_a_condition_is_true_or_false(type_id: str, member: str, value: Any) -> None:
    answer = run_node(type_id, node_call({member: "e"}, {}, FakeScope({"e": value})))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.retryable) == ("condition_not_boolean", False)
    assert answer.details == {"pointer": f"/config/{member}"}


CASES = {"one": 1, "text": "1", "yes": True, "nothing": None, "pair": {"a": 1, "b": [2]}, "empty": {}}


@each_case(
    "value, port",
    (1, "one"),
    (1.0, "one"),
    ("1", "text"),
    (True, "yes"),
    (None, "nothing"),
    ({"b": [2.0], "a": 1}, "pair"),
    ({}, "empty"),
    ([], "other"),
    (False, "other"),
    (0, "other"),
)
def test_a_switch_compares_as_json(value: Any, port: str) -> None:
    config = {"expression": "e", "cases": CASES, "default": "other"}
    assert run_node("core.switch", node_call(config, {}, FakeScope({"e": value}))) == Completed(
        {"value": value, "output": value, port: value}
    )
    handed_on = run_node("core.switch", node_call(config, {"input": "in"}, FakeScope({"e": value})))
    assert handed_on == Completed({"value": value, "output": "in", port: "in"})


def test_equal_cases_are_told_by_name_and_a_switch_without_a_way_fails() -> None:
    for cases in ({"b": 1, "a": 1.0}, {"a": 1.0, "b": 1}):
        answer = run_node("core.switch", node_call({"expression": "e", "cases": cases}, {}, FakeScope({"e": 1})))
        assert answer == Completed({"value": 1, "output": 1, "a": 1})
    answer = run_node("core.switch", node_call({"expression": "e", "cases": {"a": 1}}, {}, FakeScope({"e": "canary"})))
    assert final_failure(answer)[0] == "switch_no_match"
    assert "canary" not in str(answer)


@each_case(
    "config, iteration, value, port",
    ({"times": 0}, 0, None, "done"),
    ({"times": 2}, 0, None, "body"),
    ({"times": 2}, 1, None, "body"),
    ({"times": 2}, 2, None, "done"),
    ({"while": "e"}, 0, True, "body"),
    ({"while": "e"}, 99, True, "body"),
    ({"while": "e"}, 0, False, "done"),
    ({"times": 2, "while": "e"}, 1, True, "body"),
    ({"times": 2, "while": "e"}, 1, False, "done"),
    ({"times": 2, "while": "e"}, 2, True, "done"),
)
def test_a_loop_goes_round_or_is_done(config: Any, iteration: int, value: Any, port: str) -> None:
    scope = FakeScope({"e": value})
    answer = run_node("core.loop", node_call(config, {}, scope, iteration=iteration))
    assert answer == Completed({"iteration": iteration, port: iteration})
    answer = run_node("core.loop", node_call(config, {"input": "in"}, scope, iteration=iteration))
    assert answer == Completed({"iteration": iteration, port: "in"})


def test_the_condition_of_a_loop_knows_the_round() -> None:
    scope = FakeScope({"e": lambda names: names["iteration"] < names["ports"]["most"]})
    rounds = [run_node("core.loop", node_call({"while": "e"}, {"most": 2}, scope, iteration=i)) for i in range(3)]
    assert [sorted(each.outputs)[0] for each in rounds if isinstance(each, Completed)] == ["body", "body", "done"]


SAME = (
    *(Arrival("b", "input", 1), Arrival("b", "input", 2), Arrival("b", "input", 3)),
    Arrival("b.input.2", "input", 4),
)
ARRIVED = (Arrival("b", "output", 1), Arrival("a", "output", None), Arrival("b", "other", 3))


@each_case("type_id", "core.merge", "core.flow.merge")
@each_case(
    "config, arrivals, outputs",
    ({}, ARRIVED, {"output": {"b": 1, "a": None, "b.other": 3}}),
    ({"mode": "object"}, (), {"output": {}}),
    ({}, SAME, {"output": {"b": 1, "b.input": 2, "b.input.2": 3, "b.input.2.input": 4}}),
    ({"mode": "array"}, ARRIVED, {"output": [1, None, 3]}),
    ({"mode": "array"}, (), {"output": []}),
    ({"mode": "first"}, ARRIVED, {"output": 1}),
    ({"mode": "first"}, ARRIVED[1:], {"output": None}),
    ({"mode": "first"}, (), {}),
)
def test_a_merge_puts_together_what_arrived(type_id: str, config: Any, arrivals: Any, outputs: Any) -> None:
    assert run_node(type_id, node_call(config, {"input": "not looked at"}, arrivals=arrivals)) == Completed(outputs)


@each_case(
    "type_id, config",
    ("core.conditional", {"expression": BROKEN_SOURCE}),
    ("core.switch", {"expression": BROKEN_SOURCE, "cases": {"a": 1}}),
    ("core.loop", {"while": BROKEN_SOURCE}),
    ("core.transform", {"expression": BROKEN_SOURCE}),
    ("core.transform", {"fields": {"a": BROKEN_SOURCE}}),
    ("core.template", {"template": BROKEN_SOURCE}),
    ("core.log", {"message": BROKEN_SOURCE}),
    ("core.log", {"message": "m", "fields": {"a": BROKEN_SOURCE}}),
    ("core.artifact.emit", {"artifactType": "t", "data": 1, "summary": BROKEN_SOURCE}),
    ("core.filter", {"items": [1], "expression": BROKEN_SOURCE}),
    ("core.aggregate", {"items": [1], "operation": "sum", "value": BROKEN_SOURCE}),
)
def test_an_expression_at_fault_fails_the_node_for_good(type_id: str, config: Any) -> None:
    answer = run_node(type_id, node_call(config))
    assert answer == Failed("expression_failed", "It cannot be evaluated.", retryable=False)


@each_case(
    "value, instant",
    ("2026-01-01T00:00:00Z", START),
    ("2026-01-01T00:00Z", START),
    ("2026-01-01T01:00:00+01:00", START),
    ("2025-12-31T18:30:00.000-05:30", START),
    ("2026-01-01T00:00:00.123999999Z", START + 123),
    ("2026-01-01T00:00:00.5Z", START + 500),
    ("2028-02-29T00:00:00Z", START + 789 * 86_400_000),
    ("1970-01-01T00:00:00Z", 0),
    ("9999-12-31T23:59:59.999Z", MAX_INSTANT_MS),
    (START, START),
    (float(START), START),
    (0, 0),
    ("2027-02-29T00:00:00Z", None),
    ("2026-01-01T00:00:60Z", None),
    ("2026-01-01T24:00:00Z", None),
    ("2026-01-01T00:00:00", None),
    ("2026-01-01T00:00:00Z\n", None),
    ("20260101T000000Z", None),
    ("2026-W01-1T00:00:00Z", None),
    ("1969-12-31T23:59:59Z", None),
    ("9999-12-31T23:59:59-01:00", None),
    ("0000-01-01T00:00:00Z", None),
    ("tomorrow", None),
    (MAX_INSTANT_MS + 1, None),
    (-1, None),
    (True, None),
    (None, None),
    ([START], None),
)
def test_an_instant_is_read(value: Any, instant: int | None) -> None:
    assert parse_instant(value) == instant


def test_an_instant_that_is_none_fails_for_good_and_one_in_the_past_completes_at_once() -> None:
    answer = run_node("core.wait", node_call({}, {"until": "canary"}))
    assert final_failure(answer)[0] == "wait_until_invalid"
    assert "canary" not in str(answer)
    for until in ("2025-06-01T00:00:00Z", iso(START), START - 1):
        answer = run_node("core.wait", node_call({}, {"until": until}))
        assert answer == Completed({"until": iso(parse_instant(until) or 0)})


@each_case(
    "config, inputs",
    ({"until": iso(START + 500)}, {}),
    ({"until": iso(START)}, {"until": START + 500}),
    ({}, {"input": iso(START + 500)}),
    ({"until": iso(START + 500)}, {"input": "something else"}),
)
@each_case("type_id", "core.wait", "core.flow.wait")
async def test_a_wait_ends_at_its_instant(type_id: str, config: Any, inputs: Any) -> None:
    context = FakeContext()
    task = asyncio.create_task(outcome_of(TYPES[type_id], node_call(config, inputs), context))
    await run_ready_tasks()
    context.clock.advance(499)
    await run_ready_tasks()
    assert not task.done()
    context.clock.advance(1)
    assert await task == Completed({"until": iso(START + 500)})


DATA = {"customKind": "choose"}


@each_case(
    "config, iteration, key",
    ({}, 0, "ask"),
    ({}, 2, "ask:2"),
    ({"key": "mine"}, 0, "mine"),
    ({"key": "mine"}, 2, "mine"),
)
@each_case("answer", "yes", None, {"a": 1})
def test_a_question_is_asked_until_there_is_an_answer(config: Any, iteration: int, key: str, answer: Any) -> None:
    config = {"kind": "custom", "data": DATA, **config}
    asked = run_node(
        "core.interrupt", node_call(config, node_id="ask", iteration=iteration, answers={"other": Resolution(1)})
    )
    assert asked == Suspended(Interrupt("custom", key, DATA))
    again = node_call(
        config, node_id="ask", iteration=iteration, answers={"other": Resolution(1), key: Resolution(answer)}
    )
    assert run_node("core.interrupt", again) == Completed({"output": answer})


def test_what_is_shown_with_a_question_may_come_by_a_port() -> None:
    config = {"kind": "custom", "data": {**DATA, "payload": 1}}
    asked = run_node("core.interrupt", node_call(config, {"payload": [2]}, node_id="ask"))
    assert asked == Suspended(Interrupt("custom", "ask", {**DATA, "payload": [2]}))
    assert config["data"] == {**DATA, "payload": 1}
