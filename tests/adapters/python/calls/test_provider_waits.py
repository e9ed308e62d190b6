"""Python nodes whose model provider is down: they are called again, and nothing happens or is paid for twice."""

import asyncio
from collections import Counter
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import fails_without
from weftwork.adapters.python.calls.call_state import CallState
from weftwork.ports.models import ModelRequest
from weftwork.ports.node_outcome import NodePending
from weftwork.testing import FakeModel, crash_everywhere

FLOW = single_node_workflow("asks", "acme.asks")
DOWN = {"fault": {"code": "provider_unavailable", "waitMs": 20_000}}
done: list[str] = []


@weftwork.node("acme.asks")
async def one_by_one(ctx: weftwork.Context) -> list[str]:
    first = (await ctx.call_ai("1")).text
    await ctx.step("note", done.append, "noted", effect="idempotent")
    return [first, (await ctx.call_ai("2")).text]


@weftwork.node("acme.asks")
def plain(ctx: weftwork.PlainContext) -> list[str]:
    first = ctx.call_ai("1").text
    ctx.step("note", done.append, "noted", effect="idempotent")
    return [first, ctx.call_ai("2").text]


@weftwork.node("acme.asks")
async def at_once(ctx: weftwork.Context) -> list[str]:
    answers = await asyncio.gather(ctx.call_ai("1"), ctx.call_ai("2"))
    return [answer.text for answer in answers]


@weftwork.node("acme.asks")
async def grouped(ctx: weftwork.Context) -> list[str]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ctx.call_ai(name)) for name in "12"]
    return [task.result().text for task in tasks]


@weftwork.node("acme.asks")
async def careless(ctx: weftwork.Context) -> list[str]:
    try:
        first = (await ctx.call_ai("1")).text
        return [first, (await ctx.call_ai("2")).text]
    except BaseException:
        return ["it gave up"]


def model_that_is_down(times: int) -> FakeModel:
    """Down for the first calls of each prompt."""
    calls: Counter[str] = Counter()

    def answer(request: ModelRequest) -> Any:
        prompt = request.messages[-1].text
        calls[prompt] += 1
        return DOWN if calls[prompt] <= times else f"re {prompt}"

    return FakeModel(answer)


@pytest.mark.rule("park-05")
@pytest.mark.parametrize("function", [one_by_one, plain, at_once, grouped, careless], ids=lambda each: each.__name__)
def test_a_crash_anywhere_leaves_the_node_to_wait_and_to_ask_once_more(function: Any) -> None:
    models: list[FakeModel] = []

    def fresh() -> FakeModel:
        done.clear()
        models.append(model_that_is_down(2))
        return models[-1]

    runs = 0
    for result in crash_everywhere(FLOW, nodes=[function], model=fresh):
        runs += 1
        assert result.error is None, result.error
        assert result.outputs["n"]["output"] == ["re 1", "re 2"]
        assert result.kinds.count("weftwork.model.answered") == 2
        assert "node.retried" not in result.kinds
        waits = result.kinds.count("weftwork.provider.waiting")
        assert waits == result.kinds.count("weftwork.provider.retried") or result.faults
        if not result.faults:
            assert result.kinds.count("node.started") == 1
            assert len(models[-1].requests) == 6
            assert len(done) == (1 if function in (one_by_one, plain) else 0)
    assert runs > 10


def forget_pending(self: CallState, value: NodePending | None) -> None: ...


@fails_without(CallState, "pending", property(lambda self: None, forget_pending), match="gave up")
def test_a_function_that_catches_everything_waits_nevertheless() -> None:
    result = next(crash_everywhere(FLOW, nodes=[careless], model=lambda: model_that_is_down(1)))
    assert result.outputs["n"]["output"] == ["re 1", "re 2"], result.outputs
