"""Nodes that wait: for an instant, for an answer."""

import asyncio
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import TYPES, FakeContext, node_call, outcome_of, run_node
from tests.harness.engine_harness import run_ready_tasks
from weftwork.adapters.nodes.flow.control import MAX_INSTANT_MS, parse_instant
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.timestamps import iso
from weftwork.testing.deterministic import START


@pytest.mark.parametrize(
    ("value", "instant"),
    [
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
    ],
)
def test_an_instant_is_read(value: Any, instant: int | None) -> None:
    assert parse_instant(value) == instant


def test_an_instant_that_is_none_fails_for_good() -> None:
    answer = run_node("core.wait", node_call({}, {"until": "canary"}))
    assert isinstance(answer, Failed)
    assert (answer.code, answer.retryable) == ("wait_until_invalid", False)
    assert "canary" not in answer.message


@pytest.mark.parametrize("until", ["2025-06-01T00:00:00Z", iso(START), START - 1])
def test_an_instant_in_the_past_completes_at_once(until: Any) -> None:
    answer = run_node("core.wait", node_call({}, {"until": until}))
    assert answer == Completed({"until": iso(parse_instant(until) or 0)})


@pytest.mark.parametrize(
    ("config", "inputs"),
    [
        ({"until": iso(START + 500)}, {}),
        ({"until": iso(START)}, {"until": START + 500}),
        ({}, {"input": iso(START + 500)}),
        ({"until": iso(START + 500)}, {"input": "something else"}),
    ],
)
@pytest.mark.parametrize("type_id", ["core.wait", "core.flow.wait"])
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


@pytest.mark.parametrize(
    ("config", "iteration", "key"),
    [({}, 0, "ask"), ({}, 2, "ask:2"), ({"key": "mine"}, 0, "mine"), ({"key": "mine"}, 2, "mine")],
)
@pytest.mark.parametrize("answer", ["yes", None, {"a": 1}])
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
