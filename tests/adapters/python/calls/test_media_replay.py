"""Media in Python nodes that are entered again: nothing is shown twice, and each call gets its own."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import weftwork
from tests.adapters.python.calls.media_nodes import PNG, WAV
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import each_case
from tests.live import Host, start_host, until, write_workflows
from weftwork.adapters.python.calls.model_calls import ModelCalls
from weftwork.testing import Asset, Crash, RunResult, crash_everywhere, run_workflow


def numbered(number: int) -> bytes:
    return PNG + str(number).encode()


@weftwork.node("acme.shows")
async def one_by_one(ctx: weftwork.Context) -> Any:
    first = await ctx.emit_image(numbered(0), alt="0")
    second = await ctx.emit_image(numbered(1), alt="1")
    await ctx.interrupt("go")
    return [first, second, await ctx.emit_image(numbered(2), alt="2")]


@weftwork.node("acme.shows")
def plainly(ctx: weftwork.PlainContext) -> Any:
    first = ctx.emit_image(numbered(0), alt="0")
    second = ctx.emit_image(numbered(1), alt="1")
    ctx.interrupt("go")
    return [first, second, ctx.emit_image(numbered(2), alt="2")]


entered: list[str] = []


@weftwork.node("acme.shows")
async def at_once(ctx: weftwork.Context) -> Any:
    entered.append("once more")
    backwards = len(entered) % 2

    async def show(number: int) -> weftwork.Media:
        # Who is first in one entry is last in the next one.
        await asyncio.sleep(0.01 * (3 - number if backwards else number))
        return await ctx.emit_image(numbered(number), alt=str(number))

    made = await asyncio.gather(*(show(number) for number in range(3)))
    await ctx.interrupt("go")
    return list(made)


@weftwork.node("acme.shows")
async def same_bytes(ctx: weftwork.Context) -> Any:
    made = await asyncio.gather(*(ctx.emit_image(numbered(0), alt=str(number)) for number in range(3)))
    await ctx.interrupt("go")
    return list(made)


ALL = [numbered(0), numbered(1), numbered(2)]


def crashes(function: Any) -> list[RunResult]:
    return [*crash_everywhere(single_node_workflow("shows", "acme.shows"), nodes=[function], answers={"go": True})]


def refs(result: RunResult) -> list[str]:
    return [each["mediaRef"] for each in result.outputs["n"]["output"]]


@pytest.mark.rule("media-65")
@pytest.mark.parametrize("function", [one_by_one, plainly, at_once], ids=["one by one", "plainly", "at once"])
def test_nothing_is_shown_twice_whatever_happens(function: Any) -> None:
    found = crashes(function)
    assert len(found) > 10
    for result in found:
        assert result.status == "completed", result.faults
        assert sorted(each.data for each in result.media) == ALL
        assert refs(result) == [Asset(data).media_ref for data in ALL]
        urls = {each.data: each.payload["url"] for each in result.media}
        assert [each["url"] for each in result.outputs["n"]["output"]] == [urls[data] for data in ALL]


@pytest.mark.rule("media-65")
def test_the_same_bytes_may_be_shown_several_times() -> None:
    for result in crashes(same_bytes):
        assert sorted(each.payload["alt"] for each in result.media) == ["0", "1", "2"]
        assert len({each["envelopeId"] for each in result.outputs["n"]["output"]}) == 3
        assert len({*refs(result)}) == 1


@weftwork.node("acme.shows")
async def beside_a_question(ctx: weftwork.Context) -> None:
    await asyncio.gather(ctx.emit_image(numbered(0)), ctx.interrupt("go"), ctx.emit_image(numbered(1)))


@weftwork.node("acme.shows")
async def not_awaited(ctx: weftwork.Context) -> None:
    tasks = [asyncio.ensure_future(ctx.emit_image(numbered(number))) for number in range(2)]
    await ctx.interrupt("go")
    assert tasks


@pytest.mark.rule("media-65")
@each_case("function", beside_a_question, not_awaited)
def test_an_emission_beside_a_question_is_not_made_twice(function: Any) -> None:
    for result in crashes(function):
        assert result.status == "completed"
        assert sorted(each.data for each in result.media) == ALL[:2]


def test_without_a_name_for_each_call_emissions_are_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelCalls, "next_turn_prefix", lambda self: "")
    mixed = [refs(result) != [Asset(data).media_ref for data in ALL] for result in crashes(at_once)]
    assert any(mixed)


def test_with_a_new_name_in_each_entry_something_is_shown_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(10**6))
    monkeypatch.setattr(ModelCalls, "next_turn_prefix", lambda self: str(next(count)))
    assert any(len(result.media) > 3 for result in crashes(one_by_one))


def test_a_node_that_is_left_behind_emits_no_more() -> None:
    @weftwork.node("acme.shows")
    async def leaves(ctx: weftwork.Context) -> None:
        async def late() -> None:
            await asyncio.sleep(5)
            try:
                await ctx.emit_image(PNG)
            except BaseException as error:
                raised.append(type(error).__name__)

        tasks.append(asyncio.ensure_future(late()))
        await ctx.emit_image(WAV)

    @weftwork.node("acme.waits")
    async def waits(ctx: weftwork.Context) -> None:
        await asyncio.sleep(60)

    tasks: list[Any] = []
    raised: list[str] = []
    document = single_node_workflow("shows", "acme.shows")
    document["nodes"].append({**document["nodes"][0], "id": "w", "typeId": "acme.waits"})
    document["edges"] = [{"id": "e", "sourceNodeId": "n", "targetNodeId": "w"}]
    result = run_workflow(document, nodes=[leaves, waits])
    assert ([each.data for each in result.media], raised) == ([WAV], ["CallAbandoned"])


def test_an_attempt_after_a_failure_is_another_entry() -> None:
    @weftwork.node("acme.shows")
    async def flaky(ctx: weftwork.Context) -> None:
        await ctx.emit_image(PNG, alt=f"attempt {ctx.attempt}")
        if ctx.attempt < 2:
            raise weftwork.NodeError("busy", "Not yet.", retryable=True)

    document = single_node_workflow("shows", "acme.shows", settings={"maxRetries": 2, "retryDelayMs": 0})
    for faults in ([], [Crash(event="node.retried", written=True)]):
        result = run_workflow(document, nodes=[flaky], faults=faults)
        assert result.status == "completed"
        assert [each.payload["alt"] for each in result.media] == ["attempt 1", "attempt 2"]


NODES = """
import asyncio
import weftwork


@weftwork.node("acme.shows")
async def shows(ctx: weftwork.Context) -> list[weftwork.Media]:
    made = [await ctx.emit_file(f"{number}".encode() * 1000, alt=f"{number}", name="n.txt") for number in range(3)]
    if ctx.attempt == 1:
        await asyncio.sleep(60)
    return made
"""


def opened(host: Host, url: str) -> bytes:
    answer = host.call("GET", urlsplit(url).path, key=None)
    assert answer.status == 200
    return answer.body


def shown(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["payload"] for event in events if event["type"] == "media.file"]


@pytest.mark.slow
@pytest.mark.rule("media-65")
def test_media_outlive_a_kill_and_are_shown_once(tmp_path: Path) -> None:
    (tmp_path / "acme_media.py").write_text(NODES)
    write_workflows(tmp_path / "flows", single_node_workflow("shows", "acme.shows"))
    options = ("--nodes", "acme_media", "--workflows", tmp_path / "flows")
    with start_host(tmp_path, *options, cwd=tmp_path) as host:
        run_id = host.create("shows")
        path = f"/v1/runs/{run_id}/events/poll?timeout=1"

        def three() -> list[dict[str, Any]] | None:
            found = shown(host.call("GET", path).document["events"])
            return found if len(found) == 3 else None

        before = until(three, "three emissions")
        host.kill()
    with start_host(tmp_path, *options, cwd=tmp_path) as host:
        events = host.log(run_id)
        assert [each["alt"] for each in shown(events)] == ["0", "1", "2"]
        assert shown(events) == before
        outputs = events[-1]["payload"]["outputs"]["n"]["output"]
        for number, made in enumerate(outputs):
            data = f"{number}".encode() * 1000
            assert opened(host, made["url"]) == data
            assert made["mediaRef"].endswith(hashlib.sha256(data).hexdigest())


@pytest.mark.slow
@pytest.mark.rule("media-68")
def test_a_host_that_is_checked_serves_what_its_workflow_shows(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        events = host.log(host.create("conformance-media-emit"))
        payloads = [event["payload"] for event in events if event["type"].startswith("media.")]
        assert [("url" in each, "base64" in each) for each in payloads] == [(True, False)] * 3 + [(False, True)] * 2
        for each in payloads[:3]:
            assert len(opened(host, each["url"])) == each["bytes"]
