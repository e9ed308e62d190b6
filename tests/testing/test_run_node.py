"""run_node: a decorated function through the real engine; the names that the kit offers; time that passes by itself."""

import asyncio
import importlib
import re
import socket
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
from tests.harness.cases import each_case, present
from tests.harness.definitions import edge, node, workflow
from tests.live import until
from tests.testing.definitions import delay_workflow, sequence
from weftwork.protocol.limits import Limits
from weftwork.testing import ManualClock, Refused, Unending, arun_node, respond, run_node, run_workflow
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


def test_outputs_logs_events_and_steps_are_recorded() -> None:
    result = run_node(score, inputs={"value": 3}, config={"factor": 5})
    assert (result.status, result.error, result.attempts) == ("completed", None, 1)
    assert result.outputs == {"points": 15, "passed": True}
    assert [(line.level, line.message, line.fields) for line in result.logs] == [("info", "scoring", {"value": 3})]
    assert [(each.type, each.payload) for each in result.emitted] == [("acme.scored", {"value": 3})]
    assert [event.type for event in result.events][-1] == "node.completed"
    result = run_node(steps, inputs={"names": ["one", "three"]})
    assert result.outputs == {"output": [3, 5]}
    assert {name: step.output for name, step in result.steps.items()} == {"one": 3, "three": 5}
    assert (result.times(), result.times("one"), result.times("two")) == (1, 1, 0)


def test_a_failed_step_is_recorded_and_what_a_node_raises_is_shown_to_the_test_alone() -> None:
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

    @weftwork.node("acme.raises")
    def raises(ctx: weftwork.PlainContext) -> None:
        raise ValueError("secret")

    result = run_node(raises)
    assert result.error is not None
    assert (result.error.code, "secret" in result.error.message) == ("node_failed", False)
    assert str(result.raised) == "secret"


@each_case("returned, code", (object(), "node_output_invalid"), (2**60, "node_output_invalid"), ({"a": 1}, None))
def test_outputs_are_held_to_json(returned: Any, code: str | None) -> None:
    @weftwork.node("acme.gives")
    async def gives(ctx: weftwork.Context) -> Any:
        return returned

    error = run_node(gives).error
    assert (error.code if error is not None else None) == code


def test_inputs_config_and_functions_are_checked_as_a_host_does() -> None:
    with pytest.raises(Refused, match="/nodes/0/config"):
        run_node(score, config={"factr": 2})
    result = run_node(score, inputs={"value": "three"})
    assert (result.status, present(result.error).details) == ("failed", {"pointer": "/inputs/value"})
    assert result.times() == 0
    with pytest.raises(Refused, match="inputs cannot be sent"):
        run_node(score, inputs={"value": float("nan")})
    assert run_node(steps, inputs={"names": ("ab",)}).outputs == {"output": [2]}
    with pytest.raises(Refused, match=r"is not a node; decorate it with @weftwork\.node\(\.\.\.\)$"):
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

    error = present(run_node(refuses).error)
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


HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
PUBLIC = """
    Asset Crash Diverged Failure FakeModel FakeOutbound Fault LostAnswer ManualClock NodeResult Outage Performed
    Question Refused ReplayedHistory RunResult Shown TIMEOUT Unending UnexpectedRequest Unmet Unreached
    areplay arun_node arun_workflow crash_everywhere find_out replay respond run_node run_workflow
""".split()
"""The snapshot. A change here is a change of the public API and belongs in CHANGELOG.md."""


def test_the_public_names_are_the_snapshot_and_stand_on_a_page() -> None:
    assert sorted(weftwork.testing.__all__) == PUBLIC
    assert sorted(EXPORTS) == PUBLIC
    for name in PUBLIC:
        assert getattr(weftwork.testing, name).__module__.startswith("weftwork.testing.")
    with pytest.raises(AttributeError, match=r"'weftwork\.testing' has no attribute 'nothing'"):
        getattr(importlib.import_module("weftwork.testing"), "nothing")  # noqa: B009
    pages = "".join(page.read_text("utf-8") for page in HOW_TO.glob("*.md"))
    written = [name for name in PUBLIC if name not in ("Failure", "Fault", "Performed")]
    assert [name for name in written if not re.search(rf"\b{name}\b", pages)] == []


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


HOUR = 3_600_000


def test_delays_retries_and_time_limits_pass_on_the_clock() -> None:
    clock = ManualClock()
    start = clock.now()
    result = run_workflow(delay_workflow(72 * HOUR), clock=clock)
    assert (result.status, result.elapsed_ms) == ("completed", 72 * HOUR)
    assert clock.now() - start == 72 * HOUR
    attempts: list[int] = []

    @weftwork.node("acme.flaky")
    def flaky(ctx: weftwork.PlainContext) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt < 4:
            raise OSError

    result = run_workflow(sequence("acme.flaky", maxRetries=5, retryDelayMs=HOUR // 60, retryBackoff=1), nodes=[flaky])
    assert (result.status, attempts) == ("completed", [1, 2, 3, 4])
    assert result.elapsed_ms == 3 * HOUR // 60

    @weftwork.node("acme.sleeps")
    async def sleeps(ctx: weftwork.Context) -> None:
        await asyncio.sleep(HOUR / 1000)

    assert run_node(sleeps).status == "completed"
    result = run_workflow(sequence("acme.sleeps", timeoutMs=5000), nodes=[sleeps])
    assert (present(result.error).code, result.elapsed_ms) == ("node_timeout", 5000)


def test_a_node_that_is_not_heard_of_is_given_up_on_the_clock() -> None:
    @weftwork.node("acme.quiet", heartbeat_timeout=60)
    async def quiet(ctx: weftwork.Context) -> None:
        await asyncio.sleep(HOUR)

    assert present(run_node(quiet).error).code == "node_heartbeat_lost"


def test_threads_are_waited_for_before_the_clock_moves() -> None:
    """The time limit is far shorter than the thread takes; a clock that moved beside it would end the node."""
    gate = threading.Event()

    def held() -> int:
        threading.Timer(0.1, gate.set).start()
        return 7 if gate.wait(10) else 0

    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext) -> int:
        return held() + ctx.step("step", held)

    @weftwork.node("acme.async")
    async def in_async(ctx: weftwork.Context) -> int:
        return await asyncio.to_thread(held) + await ctx.step("step", held)

    for each, type_id in ((plain, "acme.plain"), (in_async, "acme.async")):
        gate.clear()
        result = run_workflow(sequence(type_id, timeoutMs=50), nodes=[each])
        assert (result.status, result.nodes["a"].outputs) == ("completed", {"output": 14})
        assert result.elapsed_ms < 50


def test_a_clock_that_does_not_wait_for_threads_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    @weftwork.node("acme.busy", effect="once")
    def busy(ctx: weftwork.PlainContext) -> bool:
        return threading.Event().wait(0.3)

    document = sequence("acme.busy", timeoutMs=50)
    assert run_workflow(document, nodes=[busy]).status == "completed"
    monkeypatch.setattr("weftwork.testing.simulated_host.CountedThreads.busy", 0)
    assert present(run_workflow(document, nodes=[busy]).error).code == "node_timeout"


def test_a_thread_that_waits_for_the_loop_does_not_hold_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> int:
        await asyncio.sleep(HOUR)
        return 3

    @weftwork.node("acme.waits")
    def waits(ctx: weftwork.PlainContext) -> int:
        return ctx.step("slow", slow)

    assert run_node(waits).outputs == {"output": 3}
    monkeypatch.setattr("weftwork.testing.simulated_host.CountedThreads.busy", property(lambda self: self.awaited))
    with pytest.raises(Unending):
        run_node(waits, seconds=0.3)


def test_sockets_are_given_a_moment() -> None:
    async def talk() -> str:
        left, right = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=left)
        threading.Timer(0.02, lambda: (right.sendall(b"hello\n"), right.close())).start()
        said = await reader.readline()
        writer.close()
        return said.decode().strip()

    @weftwork.node("acme.talks")
    async def talks(ctx: weftwork.Context) -> str:
        return await talk()

    assert run_node(talks).outputs == {"output": "hello"}


def test_branches_meet_on_the_clock_in_order() -> None:
    told: list[str] = []

    @weftwork.node("acme.tells")
    async def tells(ctx: weftwork.Context, seconds: int) -> None:
        await asyncio.sleep(seconds)
        told.append(ctx.node_id)

    def wait(node_id: str, seconds: int) -> dict[str, Any]:
        return node(node_id, "acme.tells", inputs={"seconds": {"type": "static", "value": seconds}})

    document = workflow(
        [wait("slow", 9), wait("fast", 1), wait("last", 0)], [edge("slow", "last"), edge("fast", "last")]
    )
    assert run_workflow(document, nodes=[tells]).status == "completed"
    assert told == ["fast", "slow", "last"]


def test_a_run_that_never_ends_is_an_error_with_its_events() -> None:
    @weftwork.node("acme.stuck")
    async def stuck(ctx: weftwork.Context) -> None:
        await asyncio.get_running_loop().create_future()

    @weftwork.node("acme.spins")
    async def spins(ctx: weftwork.Context) -> None:
        while True:
            await asyncio.sleep(0)

    @weftwork.node("acme.holds")
    def holds(ctx: weftwork.PlainContext) -> None:
        threading.Event().wait(1)

    with pytest.raises(
        Unending, match=r"nothing is left to run, and no timer is set; its events are \['run.started', 'node.started'\]"
    ):
        run_node(stuck)
    for each in (spins, holds):
        with pytest.raises(Unending, match=r"did not end within 0\.2 real seconds"):
            run_node(each, seconds=0.2)


def test_a_clock_that_is_moved_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @weftwork.node("acme.ticks")
    async def ticks(ctx: weftwork.Context) -> None:
        while True:
            await asyncio.sleep(1)

    monkeypatch.setattr("weftwork.testing.simulated_host.MAX_CLOCK_MOVES", 100)
    with pytest.raises(Unending, match="the clock was advanced 100 times"):
        run_node(ticks)


def test_limits_of_a_host_can_be_given() -> None:
    assert run_workflow(sequence("core.noop", "core.noop"), limits=Limits(max_node_executions=1)).error is not None
