"""Python nodes in runs: settings, trust, versions, and effects that happen once."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weftwork
from tests.adapters.nodes.fake_context import final_failure
from tests.adapters.python.fake_node_host import FakeNodeHost, single_node_workflow
from tests.harness.cases import each_case, fails_without, present
from tests.harness.child_workflows import start_run
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run
from tests.live import Host, start_host, until, write_workflows
from tests.testing.definitions import sequence
from weftwork.adapters.python.calls.fetch import FetchResponse
from weftwork.adapters.python.calls.invocation import Invocation, NodeServices
from weftwork.adapters.python.calls.steps import Steps
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.adapters.python.node_runner import to_node_type
from weftwork.adapters.python.threads import ThreadPool
from weftwork.protocol.run.events import EXTERNAL_CONTENT
from weftwork.protocol.run.header import version_error
from weftwork.testing import run_workflow
from weftwork.testing.fake_outbound import FakeOutbound

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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    (folder / "story_nodes.py").write_text(NODES)
    asks = [single_node_workflow(name, f"acme.{name}", {"name": name}) for name in ("ask", "ask-plain")]
    write_workflows(
        folder / "flows",
        *asks,
        single_node_workflow("flaky", "acme.flaky", {"name": "flaky"}, settings=RETRIES),
        single_node_workflow("undone", "acme.flaky", {"name": "undone", "undone": True}, settings=RETRIES),
        single_node_workflow("final", "acme.final", settings=RETRIES),
        single_node_workflow("version", "acme.version"),
        single_node_workflow("newer", "acme.version", {"least": 3}),
        single_node_workflow("slow", "acme.slow-step", {"name": "slow"}),
        single_node_workflow("one", "acme.one"),
    )
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_failure_that_cannot_get_better_is_not_retried(host: Host) -> None:
    events = host.log(host.create("final"))
    assert [event["type"] for event in events].count("node.started") == 1
    assert failure(events) == {"code": "never", "message": "It will not work.", "details": {"why": ["so"]}}


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_no_more_of_a_type_run_at_once_than_it_says(host: Host) -> None:
    runs = [host.create("one") for _ in range(6)]
    assert [host.log(run)[-1]["payload"]["outputs"]["n"]["output"] for run in runs] == [True] * 6


@pytest.mark.slow
def test_items_of_a_map_can_be_python(host: Host) -> None:
    body = {"body": {"typeId": "acme.square"}}
    document = single_node_workflow("map", "core.flow.map", {"items": [1, 2, 3]}, config=body)
    registered = host.call("POST", "/v1/workflows", document)
    assert registered.status == 201, json.dumps(registered.document)
    events = host.log(host.create("map"))
    assert events[-1]["type"] == "run.completed", failure(events)
    assert "[1,4,9]" in json.dumps(events[-1]["payload"]).replace(" ", "")


URL = "https://api.example.com/x"
NOWHERE = "https://api.example.com/nowhere"


@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context) -> dict[str, Any]:
    ctx.log.info("before")
    return {"output": (await ctx.fetch(URL)).json()}


@weftwork.node("acme.asks-plain")
def asks_plain(ctx: weftwork.PlainContext) -> dict[str, Any]:
    ctx.log.info("before")
    return {"output": ctx.fetch(URL).json()}


@weftwork.node("acme.asks-in-step")
async def asks_in_step(ctx: weftwork.Context) -> dict[str, Any]:
    ctx.log.info("before")

    async def send() -> Any:
        return (await ctx.fetch(URL)).json()

    return {"output": await ctx.step("send", send)}


@weftwork.node("acme.asks-nobody")
async def asks_nobody(ctx: weftwork.Context) -> dict[str, Any]:
    ctx.log.info("before")
    try:
        await ctx.fetch(NOWHERE)
    except weftwork.FetchError:
        return {"output": 0}
    raise AssertionError("there is nobody there")


async def believed(self: Invocation, request: Any) -> Any:
    return FetchResponse(await present(self.services.outbound).fetch(request))


async def trust_of_events(function: Any) -> list[tuple[str, str | None]]:
    """The events of a run whose first node is this function, each with the trust in its content."""
    answers = FakeOutbound({URL: {"said": 1}, NOWHERE: weftwork.FetchError("gone", False)})
    made = to_node_type(present(node_of(function)), NodeServices(ThreadPool(4, 4), answers))
    flow = workflow([node("f", made.declaration.type_id), node("after", "core.identity")], [edge("f", "after")])
    bench, key = await start_run(flow, bench=EngineHarness(made))
    return [(each.type, each.content_trust) for each in await bench.run_to_end(key)]


@pytest.mark.rule("trust-04")
@pytest.mark.parametrize("function", [asks, asks_plain, asks_in_step], ids=["async", "plain", "step"])
@fails_without(Invocation, "fetch", believed)
def test_what_a_node_fetches_is_untrusted(function: Any) -> None:
    told = run(lambda: trust_of_events(function))
    assert told[-1] == ("run.completed", "untrusted")
    assert [trust for kind, trust in told if kind == "node.completed"] == ["untrusted", "untrusted"]
    assert ("log.appended", None) in told
    assert (EXTERNAL_CONTENT, "untrusted") in told
    assert {trust for _, trust in run(lambda: trust_of_events(asks_nobody))} == {None}, "nobody brings nothing"


@pytest.mark.rule("ver-02")
@each_case(
    "change_id, least, most, pinned, code",
    *(("c", *each, None) for each in ((1, 2, None), (-1, -1, -1), (1, 2, 1))),
    *(("c", 1, 2, pinned, "version_out_of_range") for pinned in (0, 3)),
    *(("c", *each, None, "validation_error") for each in ((-2, 1), (2, 1), (True, 2), (1, 2.0), ("1", 2), (1, 2**53))),
    *((name, 1, 2, None, "validation_error") for name in ("", "c" * 257)),
)
def test_a_range_and_what_is_pinned(change_id: str, least: Any, most: Any, pinned: Any, code: str | None) -> None:
    found = version_error(change_id, least, most, pinned)
    assert (found and found[0]) == code


@each_case("change_id", "a\0", "a\ud800", b"xy", ["x"], None)
def test_the_id_of_a_change_is_text_that_can_be_stored(change_id: Any) -> None:
    @weftwork.node("acme.changed")
    async def changed(ctx: weftwork.Context) -> int:
        return await ctx.get_version(change_id, min=1, max=2)

    @weftwork.node("acme.changed-plain")
    def changed_plain(ctx: weftwork.PlainContext) -> int:
        return ctx.get_version(change_id, min=1, max=2)

    for function in (changed, changed_plain):
        stage = FakeNodeHost()
        assert final_failure(stage.run(function))[0] == "node_misused"
        assert stage.versions == {}


@each_case("effect", "once", "pure")
def test_a_once_node_is_not_tried_again_because_a_step_of_it_was_not_done(effect: Any) -> None:
    paid: list[int] = []

    @weftwork.node("acme.pay", effect=effect)
    async def pay(ctx: weftwork.Context) -> None:
        paid.append(ctx.attempt)

        def mail() -> None:
            if ctx.attempt == 1:
                raise weftwork.NotDone

        await ctx.step("mail", mail)

    result = run_workflow(sequence("acme.pay", maxRetries=3, retryDelayMs=1), nodes=[pay])
    assert (paid, result.status) == (([1], "failed") if effect == "once" else ([1, 2], "completed"))


@fails_without(Steps, "cancel_all", lambda self: [])
def test_a_step_does_not_outlive_its_entry() -> None:
    sent: list[int] = []

    @weftwork.node("acme.spawns")
    async def spawns(ctx: weftwork.Context) -> None:
        attempt = ctx.attempt

        async def send() -> None:
            await asyncio.sleep(60)
            sent.append(attempt)

        task = asyncio.create_task(ctx.step("send", send))
        await asyncio.sleep(3600)
        await task

    answers = {"a": {"outcome": "failed"}}
    document = sequence("acme.spawns", "core.delay", maxRetries=1, retryDelayMs=1, timeoutMs=1000)
    document["nodes"][1] |= {"config": {"ms": 100_000}, "settings": {}}
    document["edges"][0]["triggerRule"] = "all_complete"
    run_workflow(document, nodes=[spawns], answers=answers)
    assert sent == []
