"""run_node: a decorated function through the real engine; and the fixed list of names that the kit offers."""

import importlib
import re
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import weftwork
import weftwork.testing
from tests.live import until
from weftwork.testing import ManualClock, Refused, arun_node, respond, run_node
from weftwork.testing.exports import EXPORTS


class Config(msgspec.Struct):
    factor: int = 1


class Score(msgspec.Struct):
    points: int
    passed: bool


@weftwork.node("acme.score")
def score(ctx: weftwork.PlainContext, value: int = 0, *, config: Config) -> Score:
    ctx.log.info("scoring", value=value)
    ctx.emit("acme.scored", {"value": value})
    return Score(value * config.factor, value > 2)


@weftwork.node("acme.ask")
async def ask(ctx: weftwork.Context) -> str:
    return await ctx.interrupt("colour", data={"choices": ["red"]})


@weftwork.node("acme.steps")
async def steps(ctx: weftwork.Context, names: list[str]) -> list[int]:
    return [await ctx.step(name, len, name) for name in names]


def test_a_plain_function_gives_its_outputs_logs_and_events() -> None:
    result = run_node(score, inputs={"value": 3}, config={"factor": 5})
    assert (result.status, result.error, result.attempts) == ("completed", None, 1)
    assert result.outputs == {"points": 15, "passed": True}
    assert [(line.level, line.message, line.fields) for line in result.logs] == [("info", "scoring", {"value": 3})]
    assert [(each.type, each.payload) for each in result.emitted] == [("acme.scored", {"value": 3})]
    assert [event.type for event in result.events][-1] == "node.completed"


def test_steps_are_recorded_and_counted() -> None:
    result = run_node(steps, inputs={"names": ["one", "three"]})
    assert result.outputs == {"output": [3, 5]}
    assert {name: step.output for name, step in result.steps.items()} == {"one": 3, "three": 5}
    assert (result.times(), result.times("one"), result.times("two")) == (1, 1, 0)


def test_a_step_that_fails_is_recorded_with_its_error() -> None:
    def boom() -> None:
        raise ZeroDivisionError

    @weftwork.node("acme.fails")
    async def fails(ctx: weftwork.Context) -> None:
        await ctx.step("boom", boom)

    result = run_node(fails)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "step_failed"
    assert result.steps["boom"].error == result.error
    assert isinstance(result.raised, ZeroDivisionError)


def test_what_a_node_raises_is_hidden_from_the_wire_and_shown_to_the_test() -> None:
    @weftwork.node("acme.raises")
    def raises(ctx: weftwork.PlainContext) -> None:
        raise ValueError("secret")

    result = run_node(raises)
    assert result.error is not None
    assert (result.error.code, "secret" in result.error.message) == ("node_failed", False)
    assert str(result.raised) == "secret"


@pytest.mark.parametrize(
    ("returned", "code"), [(object(), "node_output_invalid"), (2**60, "node_output_invalid"), ({"a": 1}, None)]
)
def test_outputs_are_held_to_json(returned: Any, code: str | None) -> None:
    @weftwork.node("acme.gives")
    async def gives(ctx: weftwork.Context) -> Any:
        return returned

    error = run_node(gives).error
    assert (error.code if error is not None else None) == code


def test_inputs_and_config_are_checked_as_a_host_does() -> None:
    with pytest.raises(Refused, match="/nodes/0/config"):
        run_node(score, config={"factr": 2})
    result = run_node(score, inputs={"value": "three"})
    assert result.error is not None
    assert (result.status, result.error.details) == ("failed", {"pointer": "/inputs/value"})
    assert result.times() == 0
    with pytest.raises(Refused, match="inputs cannot be sent"):
        run_node(score, inputs={"value": float("nan")})
    assert run_node(steps, inputs={"names": ("ab",)}).outputs == {"output": [2]}


def test_a_function_that_is_no_node_is_refused() -> None:
    with pytest.raises(Refused, match="is no node"):
        run_node(len)


def test_a_question_suspends_and_an_answer_goes_on() -> None:
    asked = run_node(ask)
    assert (asked.status, asked.outputs) == ("suspended", {})
    assert asked.question is not None
    assert (asked.question.name, asked.question.kind) == ("colour", "colour")
    assert asked.question.data == {"choices": ["red"]}
    for answers in (
        {"colour": "red"},
        {"node": "red"},
        {"node:0:colour": lambda question: question.data["choices"][0]},
    ):
        assert run_node(ask, answers=answers).outputs == {"output": "red"}
    assert run_node(ask, answers={"shape": "round"}).status == "suspended"


def test_attempt_and_clock_are_what_the_test_says() -> None:
    @weftwork.node("acme.when")
    async def when(ctx: weftwork.Context) -> dict[str, Any]:
        return {"attempt": ctx.attempt, "now": ctx.now().isoformat()}

    start = datetime(2030, 5, 1, tzinfo=UTC)
    result = run_node(when, attempt=4, clock=ManualClock(int(start.timestamp() * 1000)))
    assert result.outputs == {"attempt": 4, "now": start.isoformat()}
    assert (result.attempts, result.times()) == (4, 1)


def test_a_failure_says_whether_it_is_one_of_the_author() -> None:
    @weftwork.node("acme.refuses", effect="once")
    async def refuses(ctx: weftwork.Context) -> None:
        raise weftwork.NodeError("card_declined", "The card was declined.", {"reason": "funds"})

    error = run_node(refuses).error
    assert error is not None
    assert (error.code, error.message, error.details) == (
        "card_declined",
        "The card was declined.",
        {"reason": "funds"},
    )


def test_requests_are_answered_and_recorded() -> None:
    @weftwork.node("acme.gets")
    async def gets(ctx: weftwork.Context, url: str) -> Any:
        return (await ctx.fetch(url, method="POST", json={"a": 1})).json()

    url = "https://api.example.com/x"
    for fetch in ({url: {"b": 2}}, lambda request: respond(json={"b": 2})):
        result = run_node(gets, inputs={"url": url}, fetch=fetch)
        assert result.outputs == {"b": 2}
        assert [(each.method, each.url, each.content) for each in result.requests] == [("POST", url, b'{"a":1}')]


async def test_the_kit_keeps_out_of_a_loop_that_runs() -> None:
    with pytest.raises(RuntimeError, match="await arun_node"):
        run_node(score)
    assert (await arun_node(score, inputs={"value": 2})).outputs == {"points": 2, "passed": False}


PAGE = Path(__file__).parents[2] / "docs" / "extend" / "testing.md"
PUBLIC = [
    *(
        "Asset",
        "Crash",
        "Failure",
        "FakeModel",
        "FakeOutbound",
        "Fault",
        "LostAnswer",
        "ManualClock",
        "NodeResult",
        "Outage",
        "Performed",
    ),
    *("Question", "Refused", "RunResult", "Shown", "TIMEOUT", "Unending", "UnexpectedRequest", "Unmet", "Unreached"),
    *("arun_node", "arun_workflow", "crash_everywhere", "find_out", "respond", "run_node", "run_workflow"),
]
"""The snapshot. A change here is a change of the public API and belongs in CHANGELOG.md."""


def test_the_public_names_are_the_snapshot() -> None:
    assert sorted(weftwork.testing.__all__) == PUBLIC
    assert sorted(EXPORTS) == PUBLIC
    for name in PUBLIC:
        assert getattr(weftwork.testing, name).__module__.startswith("weftwork.testing.")
    with pytest.raises(AttributeError, match=r"'weftwork\.testing' has no attribute 'nothing'"):
        getattr(importlib.import_module("weftwork.testing"), "nothing")  # noqa: B009


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ("Failure", "Fault", "Performed")])
def test_what_an_author_writes_is_on_the_page(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE.read_text("utf-8"))


def test_importing_the_kit_loads_no_engine() -> None:
    script = "import sys, weftwork.testing; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert not {"weftwork.engine", "weftwork.app", "asyncio"} & set(ended.stdout.split())


def test_a_run_leaves_no_thread_behind() -> None:
    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext) -> int:
        return ctx.step("step", threading.get_ident)

    before = {*threading.enumerate()}
    for _ in range(3):
        assert weftwork.testing.run_node(plain, faults=[weftwork.testing.Crash(at=1)]).status == "completed"
    until(lambda: {*threading.enumerate()} <= before, "the threads to end")
