"""Steps and what could cut them: only the end of the entry does, and what they came to is recorded."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.cases import each_case, fails_without
from tests.testing.definitions import sequence
from weftwork.adapters.python import node_runner
from weftwork.adapters.python.calls.steps import Steps
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.testing import run_workflow

BOUND = 120.0


async def slow(gate: asyncio.Event) -> str:
    await gate.wait()
    return "paid"


async def _timeout(ctx: weftwork.Context, gate: asyncio.Event) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ctx.step("pay", slow, gate)


async def _wait_for(ctx: weftwork.Context, gate: asyncio.Event) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ctx.step("pay", slow, gate), 0.01)


async def _group(ctx: weftwork.Context, gate: asyncio.Event) -> None:
    async def fail() -> None:
        await asyncio.sleep(0.01)
        raise KeyError

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.step("pay", slow, gate))
            group.create_task(fail())
    except* KeyError:
        pass


async def _cancelled(ctx: weftwork.Context, gate: asyncio.Event) -> None:
    task = asyncio.create_task(ctx.step("pay", slow, gate))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def no_wait(self: Steps) -> None: ...


@fails_without(Steps, "wait_all", no_wait, match="paid")
@each_case("way", _timeout, _wait_for, _group, _cancelled, ids=lambda each: each.__name__)
@each_case("then", "returns", "raises", "asks")
def test_an_author_stops_waiting_and_the_step_goes_on(way: Callable[..., Any], then: str) -> None:
    @weftwork.node("acme.hasty")
    async def hasty(ctx: weftwork.Context) -> str:
        gate = asyncio.Event()
        await way(ctx, gate)
        asyncio.get_running_loop().call_later(0.01, gate.set)
        if then == "raises":
            raise weftwork.NodeError("late", "Late.")
        return str(await ctx.interrupt("more") if then == "asks" else "gone on")

    stage = FakeNodeHost()
    found = stage.run(hasty)
    wanted = {"returns": Completed({"output": "gone on"}), "raises": Failed("late", "Late.", retryable=False)}
    assert isinstance(found, Suspended) if then == "asks" else found == wanted[then]
    assert stage.recorded == {"pay": "paid"}


async def in_place(self: Steps, name: str, *given: Any) -> Any:
    return await self._run(name, *given)


@fails_without(Steps, "run", in_place, match="waiting-input")
def test_a_retry_after_a_timeout_finds_the_payment() -> None:
    paid: list[int] = []

    @weftwork.node("acme.hasty")
    async def hasty(ctx: weftwork.Context) -> str:
        async def pay() -> str:
            await asyncio.sleep(5)
            paid.append(ctx.attempt)
            return "paid"

        async with asyncio.timeout(1):
            return await ctx.step("pay", pay)

    result = run_workflow(sequence("acme.hasty", maxRetries=1, retryDelayMs=1), nodes=[hasty])
    assert result.status == "completed"
    assert paid == [1]


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_a_step_that_is_cancelled_by_itself_has_failed(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    async def awaited() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    def plain() -> None:
        raise asyncio.CancelledError

    @weftwork.node("acme.cancels")
    async def cancels(ctx: weftwork.Context) -> None:
        await ctx.step("a", awaited if kind == "async" else plain)

    stage = FakeNodeHost()
    message = "The step a raised an error; the host's log has the details."
    for _ in range(2):
        assert stage.run(cancels) == Failed("step_failed", message, retryable=False)
    assert [record.message for record in caplog.records] == ["step raised"]


@pytest.mark.parametrize("how", ["cancelled", "heartbeat"])
@fails_without(Steps, "cancel_all", lambda self: [])
async def test_the_end_of_the_entry_cuts_its_steps(how: str) -> None:
    ends: list[str] = []

    async def pay(begun: asyncio.Event) -> None:
        begun.set()
        try:
            await asyncio.sleep(0.2)
            ends.append("paid")
        except asyncio.CancelledError:
            # What cleans up is waited for.
            await asyncio.sleep(0)
            ends.append("cut")
            raise

    begun = asyncio.Event()

    async def both(ctx: weftwork.Context) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await ctx.step("pay", pay, begun)
        await asyncio.sleep(60)

    limit = 0.05 if how == "heartbeat" else None
    stage = FakeNodeHost()
    task = asyncio.ensure_future(stage.enter(weftwork.node("acme.pays", heartbeat_timeout=limit)(both)))
    async with asyncio.timeout(BOUND):
        await begun.wait()
    if how == "cancelled":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ends == ["cut"]
    else:
        assert isinstance(await task, Failed)
    async with asyncio.timeout(BOUND):
        while not ends:
            await asyncio.sleep(0.01)
    assert (stage.recorded, ends) == ({}, ["cut"])


def test_a_step_says_its_lines_although_somebody_asks_beside_it() -> None:
    @weftwork.node("acme.beside")
    async def beside(ctx: weftwork.Context) -> None:
        async def pay() -> str:
            await asyncio.sleep(0.01)
            ctx.log.info("paying")
            ctx.heartbeat()
            return f"{ctx.now():%Y}"

        await asyncio.gather(ctx.step("pay", pay), ctx.interrupt("ok"))

    stage = FakeNodeHost()
    assert isinstance(stage.run(beside), Suspended)
    assert stage.recorded == {"pay": "1970"}
    assert len(stage.emitted) == 1


def test_keys_in_threads_that_an_author_starts() -> None:
    def elsewhere(read: Callable[[], str]) -> str:
        found: list[str] = []

        def run() -> None:
            try:
                found.append(read())
            except weftwork.NodeError as error:
                found.append(error.code)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(BOUND)
        return found[0]

    @weftwork.node("acme.keys")
    async def keys(ctx: weftwork.Context) -> list[str]:
        read = partial(getattr, ctx, "idempotency_key")
        both = threading.Barrier(2)

        def inside() -> str:
            both.wait(BOUND)
            found = elsewhere(read)
            both.wait(BOUND)
            return found

        alone = [elsewhere(read), await ctx.step("a", elsewhere, read), elsewhere(read), ctx.idempotency_key]
        return [*alone, *await asyncio.gather(ctx.step("b", inside), ctx.step("c", inside))]

    @weftwork.node("acme.keys-plain")
    def keys_plain(ctx: weftwork.PlainContext) -> list[str]:
        read = partial(getattr, ctx, "idempotency_key")
        return [elsewhere(read), ctx.step("a", elsewhere, read), elsewhere(read), ctx.idempotency_key]

    alone = ["key:", "key:a", "key:", "key:"]
    assert FakeNodeHost().run(keys) == Completed({"output": [*alone, "node_misused", "node_misused"]})
    assert FakeNodeHost().run(keys_plain) == Completed({"output": alone})


@fails_without(node_runner, "current_step", ContextVar("another", default=""))
async def test_a_node_that_is_launched_from_a_step_is_not_inside_it() -> None:
    stage = FakeNodeHost()
    launched: list[asyncio.Task[Any]] = []

    @weftwork.node("acme.second")
    async def second(ctx: weftwork.Context) -> str:
        return await ctx.step("b", lambda: ctx.idempotency_key)

    @weftwork.node("acme.first")
    async def first(ctx: weftwork.Context) -> None:
        async def launch() -> None:
            launched.append(asyncio.ensure_future(stage.enter(second)))

        await ctx.step("a", launch)

    await stage.enter(first)
    assert await launched[0] == Completed({"output": "key:b"})
