"""What a workflow author sees of nodes in Python: questions, retries, pauses, versions, events, and items of a map."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.python.single_node_workflows import single_node_workflow
from tests.live import Host, start_host, until, write_workflows

pytestmark = pytest.mark.slow

NODES = """
import asyncio, threading, time
from pathlib import Path
import weftwork

HERE = Path(__file__).parent


def count(name):
    with (HERE / name).open("a") as file:
        file.write("x")
    return len((HERE / name).read_text())


@weftwork.node("acme.ask")
async def ask(ctx: weftwork.Context, name: str) -> dict:
    count(f"{name}-outside")
    number = await ctx.step("count", count, f"{name}-inside")
    colour = await ctx.interrupt("colour", data={"number": number}, custom_kind="acme.colour")
    again = await ctx.interrupt("sure")
    return {"colour": colour, "sure": again, "attempt": ctx.attempt, "random": ctx.random.random()}


@weftwork.node("acme.ask-plain")
def ask_plain(ctx: weftwork.PlainContext, name: str) -> dict:
    count(f"{name}-outside")
    number = ctx.step("count", count, f"{name}-inside")
    colour = ctx.interrupt("colour", data={"number": number}, custom_kind="acme.colour")
    again = ctx.interrupt("sure")
    return {"colour": colour, "sure": again, "attempt": ctx.attempt, "random": ctx.random.random()}


@weftwork.node("acme.flaky")
def flaky(ctx: weftwork.PlainContext, name: str, undone: bool = False) -> list:
    seen = [ctx.random.random(), ctx.idempotency_key]
    number = ctx.step("count", count, f"{name}-inside")

    def attempt():
        if undone and ctx.attempt < 3:
            raise weftwork.NotDone
        return ctx.idempotency_key

    key = ctx.step("try", attempt)
    if ctx.attempt < 3:
        raise weftwork.NodeError("not_yet", "Wait a little.", retryable=True)
    return [number, ctx.attempt, *seen, key]


@weftwork.node("acme.final")
async def final(ctx: weftwork.Context) -> None:
    raise weftwork.NodeError("never", "It will not work.", {"why": ["so"]})


@weftwork.node("acme.version")
def version(ctx: weftwork.PlainContext, least: int = 1) -> int:
    ctx.get_version("change", 1, 2)
    ctx.emit("acme.asked", {"least": least})
    ctx.log.warning("asked", least=least)
    return ctx.get_version("change", least, 4)


@weftwork.node("acme.square")
def square(ctx: weftwork.PlainContext, input: int) -> int:
    return ctx.step("square", lambda: input * input)


@weftwork.node("acme.slow-step")
async def slow_step(ctx: weftwork.Context, name: str) -> int:
    def slow():
        count(f"{name}-begun")
        while not (HERE / f"{name}-go").exists():
            time.sleep(0.01)
        return count(f"{name}-done")

    return await ctx.step("slow", slow)


@weftwork.node("acme.one", concurrency=1)
def one(ctx: weftwork.PlainContext) -> bool:
    first = not (HERE / "busy").exists()
    (HERE / "busy").touch()
    time.sleep(0.05)
    (HERE / "busy").unlink()
    return first
"""

RETRIES = {"maxRetries": 5, "retryDelayMs": 1}


def map_flow() -> dict[str, Any]:
    document = single_node_workflow("map", "core.flow.map", {"items": [1, 2, 3]})
    document["nodes"][0]["config"] = {"body": {"typeId": "acme.square"}}
    return document


def flows() -> list[dict[str, Any]]:
    return [
        single_node_workflow("ask", "acme.ask", {"name": "ask"}),
        single_node_workflow("ask-plain", "acme.ask-plain", {"name": "ask-plain"}),
        single_node_workflow("flaky", "acme.flaky", {"name": "flaky"}, settings=RETRIES),
        single_node_workflow("undone", "acme.flaky", {"name": "undone", "undone": True}, settings=RETRIES),
        single_node_workflow("final", "acme.final", settings=RETRIES),
        single_node_workflow("version", "acme.version"),
        single_node_workflow("newer", "acme.version", {"least": 3}),
        single_node_workflow("slow", "acme.slow-step", {"name": "slow"}),
        single_node_workflow("one", "acme.one"),
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    (folder / "story_nodes.py").write_text(NODES)
    write_workflows(folder / "flows", *flows())
    return folder


@pytest.fixture(scope="module")
def host(place: Path) -> Iterator[Host]:
    args = ("--nodes", "story_nodes", "--workflows", place / "flows")
    with start_host(place, *args, cwd=place) as host:
        yield host


def times(place: Path, name: str) -> int:
    return len((place / name).read_text()) if (place / name).exists() else 0


def waiting(host: Host, run_id: str, key: str) -> dict[str, Any]:
    """What the run asks, once it waits for that key."""

    def look() -> dict[str, Any] | None:
        events = host.call("GET", f"/v1/runs/{run_id}/events/poll?timeout=1").document["events"]
        asked = [event["payload"] for event in events if event["type"] == "interrupt.requested"]
        return next((each for each in asked if each["key"] == key), None)

    return until(look, f"the question {key}")


def answer(host: Host, run_id: str, value: Any) -> None:
    told = host.call("POST", f"/v1/runs/{run_id}/interrupts/n", {"resumeValue": value})
    assert told.status == 200, told.body


def failure(events: list[dict[str, Any]]) -> dict[str, Any]:
    return [event for event in events if event["type"] == "node.failed"][-1]["payload"]["error"]


@pytest.mark.parametrize("name", ["ask", "ask-plain"])
def test_a_node_that_asks_is_entered_again_and_its_step_is_not(place: Path, host: Host, name: str) -> None:
    run_id = host.create(name)
    asked = waiting(host, run_id, "n:0:colour")
    assert asked["data"] == {"customKind": "acme.colour", "payload": {"number": 1}}
    answer(host, run_id, "red")
    assert waiting(host, run_id, "n:0:sure")["data"] == {"customKind": "sure"}
    answer(host, run_id, True)
    outputs = host.log(run_id)[-1]["payload"]["outputs"]["n"]
    assert (outputs["colour"], outputs["sure"]) == ("red", True)
    assert (times(place, f"{name}-outside"), times(place, f"{name}-inside")) == (3, 1)


@pytest.mark.parametrize("name", ["flaky", "undone"])
def test_a_retry_repeats_the_code_and_not_the_steps(place: Path, host: Host, name: str) -> None:
    events = host.log(host.create(name))
    assert events[-1]["type"] == "run.completed", failure(events)
    number, attempt, _, key, step_key = events[-1]["payload"]["outputs"]["n"]["output"]
    assert (number, attempt) == (1, 3)
    assert key != step_key
    assert times(place, f"{name}-inside") == 1
    failed = [event["payload"]["error"]["code"] for event in events if event["type"] == "node.failed"]
    assert failed == ["step_not_done" if name == "undone" else "not_yet"] * len(failed)


def test_a_failure_that_cannot_get_better_is_not_retried(host: Host) -> None:
    events = host.log(host.create("final"))
    assert [event["type"] for event in events].count("node.started") == 1
    assert failure(events) == {"code": "never", "message": "It will not work.", "details": {"why": ["so"]}}


def test_a_version_is_pinned_once_and_kept(host: Host) -> None:
    events = host.log(host.create("version"))
    assert events[-1]["payload"]["outputs"] == {"n": {"output": 2}}
    pinned = [event["payload"] for event in events if event["type"] == "version.pinned"]
    assert [(each["changeId"], each["version"]) for each in pinned] == [("change", 2)]
    own = [event["payload"] for event in events if event["type"] == "acme.asked"]
    assert own == [{"least": 1}]
    lines = [event["payload"] for event in events if event["type"] == "log.appended"]
    assert [(line["level"], line["message"], line["fields"]) for line in lines] == [("warn", "asked", {"least": 1})]
    assert failure(host.log(host.create("newer")))["code"] == "version_out_of_range"


def test_a_pause_at_once_waits_for_an_open_step(place: Path, host: Host) -> None:
    run_id = host.create("slow")
    until(lambda: times(place, "slow-begun") == 1, "the step")
    paused = host.call("POST", f"/v1/runs/{run_id}:pause", {"drainPolicy": "immediate"})
    assert paused.status < 300, paused.body
    (place / "slow-go").touch()
    until(lambda: host.snapshot(run_id)["status"] == "paused", "the pause")
    assert (times(place, "slow-begun"), times(place, "slow-done")) == (1, 1)
    resumed = host.call("POST", f"/v1/runs/{run_id}:resume", {})
    assert resumed.status < 300, resumed.body
    assert host.log(run_id)[-1]["payload"]["outputs"] == {"n": {"output": 1}}
    assert (times(place, "slow-begun"), times(place, "slow-done")) == (1, 1)


def test_no_more_of_a_type_run_at_once_than_it_says(host: Host) -> None:
    runs = [host.create("one") for _ in range(6)]
    assert [host.log(run)[-1]["payload"]["outputs"]["n"]["output"] for run in runs] == [True] * 6


def test_items_of_a_map_can_be_python(host: Host) -> None:
    document = map_flow()
    registered = host.call("POST", "/v1/workflows", document)
    assert registered.status == 201, json.dumps(registered.document)
    events = host.log(host.create("map"))
    assert events[-1]["type"] == "run.completed", failure(events)
    assert "[1,4,9]" in json.dumps(events[-1]["payload"]).replace(" ", "")
