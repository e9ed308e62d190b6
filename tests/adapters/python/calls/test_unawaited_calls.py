"""Calls of the context that nobody awaits: the node fails before anything is taken for done."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.cases import each_case, fails_without
from tests.harness.fetch_only import FetchOnly
from weftwork.adapters.python.calls.call_state import CallState
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.ports.outbound import OutboundRequest, OutboundResponse


class Out(FetchOnly):
    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(200, (), b"1", request.url)


paid: list[str] = []


async def pay() -> str:
    paid.append("paid")
    return "receipt"


async def truth(ctx: weftwork.Context) -> Any:
    if ctx.interrupt("ok"):
        await ctx.step("pay", pay)


async def statement(ctx: weftwork.Context) -> Any:
    ctx.interrupt("ok")  # pyright: ignore[reportUnusedCoroutine]
    await ctx.step("pay", pay)


async def kept(ctx: weftwork.Context) -> Any:
    answer = ctx.interrupt("ok")
    await ctx.step("pay", pay)
    return answer


async def compared(ctx: weftwork.Context) -> Any:
    if ctx.interrupt("ok") != "no":
        await ctx.step("pay", pay)


async def last(ctx: weftwork.Context) -> Any:
    ctx.interrupt("ok")  # pyright: ignore[reportUnusedCoroutine]


async def given(ctx: weftwork.Context) -> Any:
    return ctx.interrupt("ok")


async def swallowed(ctx: weftwork.Context) -> Any:
    ctx.interrupt("ok")  # pyright: ignore[reportUnusedCoroutine]
    try:
        await ctx.step("pay", pay)
    except weftwork.NodeError:
        return "paid"


@fails_without(CallState, "on_dropped", lambda self, name, task: self.unawaited.remove(name))
@each_case("function", truth, statement, kept, compared, last, given, swallowed, ids=lambda each: each.__name__)
def test_a_question_that_nobody_awaits_says_yes_to_nothing(function: Any) -> None:
    paid.clear()
    stage = FakeNodeHost()
    assert stage.run(weftwork.node("acme.forgets")(_fresh(function))) == Failed(
        "node_misused",
        "ctx.interrupt was called without await, so it had no effect; write: await ctx.interrupt(...).",
        retryable=False,
    )
    assert paid == []
    assert stage.recorded == {}


def _fresh(function: Any) -> Any:
    async def fresh(ctx: weftwork.Context) -> Any:
        return await function(ctx)

    return fresh


CALLS: dict[str, Callable[[weftwork.Context], Awaitable[Any]]] = {
    "step": lambda ctx: ctx.step("pay", pay),
    "fetch": lambda ctx: ctx.fetch("https://example.com/"),
    "get_version": lambda ctx: ctx.get_version("change", min=1, max=2),
}


@each_case("name", *CALLS)
@each_case("way", "dropped", "kept", "in a task of its own")
def test_the_other_calls_want_to_be_awaited_too(name: str, way: str) -> None:
    @weftwork.node("acme.forgets")
    async def forgets(ctx: weftwork.Context) -> str:
        async def child() -> None:
            CALLS[name](ctx)

        if way == "dropped":
            CALLS[name](ctx)
        elif way == "kept":
            _ = CALLS[name](ctx)
        else:
            await asyncio.create_task(child())
        return "done"

    stage = FakeNodeHost(outbound=Out())
    assert stage.run(forgets) == Failed(
        "node_misused",
        f"ctx.{name} was called without await, so it had no effect; write: await ctx.{name}(...).",
        retryable=False,
    )
    assert stage.recorded == {}


def _doubled(number: int) -> int:
    return number * 2


async def _gathered(ctx: weftwork.Context) -> list[int]:
    return await asyncio.gather(*(ctx.step(f"s{each}", _doubled, each) for each in range(3)))


async def _tasks(ctx: weftwork.Context) -> list[int]:
    tasks = [asyncio.create_task(ctx.step(f"s{each}", _doubled, each)) for each in range(2)]
    last = await ctx.step("s2", _doubled, 2)
    return [*[await task for task in tasks], last]


async def _group(ctx: weftwork.Context) -> list[int]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ctx.step(f"s{each}", _doubled, each)) for each in range(3)]
    return [task.result() for task in tasks]


async def _bounded(ctx: weftwork.Context) -> list[int]:
    turns = asyncio.Semaphore(1)

    async def bounded(work: Awaitable[int]) -> int:
        async with turns:
            return await work

    return await asyncio.gather(*(bounded(ctx.step(f"s{each}", _doubled, each)) for each in range(3)))


async def _waited(ctx: weftwork.Context) -> list[int]:
    return [await asyncio.wait_for(ctx.step(f"s{each}", _doubled, each), 10) for each in range(3)]


async def _one_after_the_other(ctx: weftwork.Context) -> list[int]:
    first, second, third = (ctx.step(f"s{each}", _doubled, each) for each in range(3))
    found = [await third, await second, await first]
    return found[::-1]


async def _spawned(ctx: weftwork.Context) -> list[int]:
    for each in range(3):
        asyncio.create_task(ctx.step(f"s{each}", _doubled, each))  # noqa: RUF006
    return [0, 2, 4]


AWAITED = (_gathered, _tasks, _group, _bounded, _waited, _one_after_the_other, _spawned)


@each_case("function", *AWAITED, ids=lambda each: each.__name__)
def test_steps_may_be_awaited_in_any_way(function: Any) -> None:
    stage = FakeNodeHost()
    assert stage.run(weftwork.node("acme.awaits")(_fresh(function))) == Completed({"output": [0, 2, 4]})
    assert stage.recorded == {"s0": 0, "s1": 2, "s2": 4}


def test_what_is_cancelled_or_closed_before_it_began_was_not_forgotten() -> None:
    @weftwork.node("acme.gives-up")
    async def gives_up(ctx: weftwork.Context) -> str:
        turns = asyncio.Semaphore(0)

        async def bounded(work: Awaitable[int]) -> int:
            async with turns:
                return await work

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.gather(*(bounded(ctx.step(f"s{each}", _doubled, each)) for each in range(3)))
        task = asyncio.create_task(ctx.step("never", _doubled, 1))
        task.cancel()
        ctx.step("closed", pay).close()
        ctx.log.info("goes on")
        return await ctx.step("pay", pay)

    stage = FakeNodeHost()
    assert stage.run(gives_up) == Completed({"output": "receipt"})
    assert stage.recorded == {"pay": "receipt"}


def test_a_question_in_a_task_is_asked_before_what_comes_after_it() -> None:
    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> Any:
        asking = asyncio.create_task(ctx.interrupt("ok"))
        await ctx.step("pay", pay)
        return await asking

    stage = FakeNodeHost()
    assert isinstance(stage.run(asks), Suspended)
    assert stage.recorded == {}
    stage.answers["n:0:ok"] = "yes"
    assert stage.run(asks) == Completed({"output": "yes"})


def test_a_call_is_awaited_once() -> None:
    @weftwork.node("acme.twice")
    async def twice(ctx: weftwork.Context) -> None:
        call = ctx.step("pay", pay)
        await call
        await call

    with pytest.raises(RuntimeError, match=r"ctx\.step has already been awaited"):
        FakeNodeHost().run(twice)


def test_a_function_is_given_not_what_it_returned() -> None:
    @weftwork.node("acme.calls")
    async def calls(ctx: weftwork.Context) -> None:
        await ctx.step("pay", pay())  # type: ignore[arg-type]

    @weftwork.node("acme.calls-plain")
    def calls_plain(ctx: weftwork.PlainContext) -> None:
        ctx.step("double", _doubled(2))  # type: ignore[call-overload]

    message = "ctx.step needs the function itself, not its result: ctx.step(name, function, *arguments)."
    for function in (calls, calls_plain):
        assert FakeNodeHost().run(function) == Failed("node_misused", message, retryable=False)
