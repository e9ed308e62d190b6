"""Media in Python nodes that are entered again: nothing is shown twice, and each call gets its own."""

import asyncio
from typing import Any

import pytest

import weftwork
from tests.adapters.python.calls.media_nodes import PNG, WAV
from tests.adapters.python.single_node_workflows import single_node_workflow
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
@pytest.mark.parametrize("function", [beside_a_question, not_awaited])
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
