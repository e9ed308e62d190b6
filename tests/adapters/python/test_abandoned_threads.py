"""Plain functions that their run has left behind: they hold a thread, and can do nothing else."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.live import until
from weftwork.adapters.python import loop_bridge
from weftwork.adapters.python.calls.call_state import CallState
from weftwork.adapters.python.calls.steps import Steps
from weftwork.adapters.python.context import PlainContext
from weftwork.adapters.python.errors import CallAbandoned
from weftwork.adapters.python.threads import ThreadPool
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.ports.outbound import OutboundRequest, OutboundResponse

BOUND = 120.0


class Out:
    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(200, (), b"1", request.url)

    async def close(self) -> None: ...


class Left:
    """A plain function that is stuck when its run goes on, and what its context does after that."""

    def __init__(self) -> None:
        self.stuck = threading.Event()
        self.go = threading.Event()
        self.raised: list[type[BaseException]] = []
        self.over = threading.Event()

    def node(self, *late: Callable[[PlainContext], Any]) -> Any:
        @weftwork.node("acme.stuck", heartbeat_timeout=60)
        def stuck(ctx: weftwork.PlainContext) -> int:
            self.stuck.set()
            assert self.go.wait(BOUND)
            for call in late:
                try:
                    call(ctx)
                except BaseException as error:
                    self.raised.append(type(error))
            self.over.set()
            return 1

        return stuck


CALLS: list[Callable[[PlainContext], Any]] = [
    lambda ctx: ctx.heartbeat(),
    lambda ctx: ctx.now(),
    lambda ctx: ctx.log.info("late"),
    lambda ctx: ctx.emit("acme.late", {}),
    lambda ctx: ctx.step("late", lambda: 1),
    lambda ctx: ctx.interrupt("late"),
    lambda ctx: ctx.fetch("https://example.com/"),
    lambda ctx: ctx.get_version("late", 1, 2),
]


async def leave(stage: FakeNodeHost, left: Left, function: Any) -> None:
    """Cancel the node while its thread is stuck; the run goes on at once."""
    task = asyncio.ensure_future(stage.enter(function))
    await asyncio.to_thread(left.stuck.wait, BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    assert not left.over.is_set()


async def test_a_function_left_behind_can_do_nothing_more() -> None:
    stage, left = FakeNodeHost(outbound=Out()), Left()

    await leave(stage, left, left.node(*CALLS))
    assert stage.tools.threads.abandoned == 1
    left.go.set()
    assert await asyncio.to_thread(left.over.wait, BOUND)
    assert left.raised == [CallAbandoned] * len(CALLS)
    assert (stage.emitted, stage.recorded, stage.versions) == ([], {}, {})
    until(lambda: stage.tools.threads.abandoned == 0, "the thread to end")


async def test_without_the_guard_it_could(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: a context that does not know that it was left."""
    monkeypatch.setattr(loop_bridge.LoopBridge, "abandon", lambda self: None)
    for guard in ("check", "check_not_stopping"):
        monkeypatch.setattr(CallState, guard, lambda self: None)
    stage, left = FakeNodeHost(), Left()

    await leave(stage, left, left.node(CALLS[2], CALLS[4]))
    left.go.set()
    assert await asyncio.to_thread(left.over.wait, BOUND)
    assert left.raised == []
    assert len(stage.emitted) == 1
    assert stage.recorded == {"late": 1}


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_call_that_blocks_is_woken(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(loop_bridge.LoopBridge, "abandon", lambda self: None)
        # It would end the step, and with it the call.
        monkeypatch.setattr(Steps, "cancel_all", lambda self: [])
    woken = threading.Event()
    waiting = threading.Event()

    @weftwork.node("acme.waiting")
    def wait(ctx: weftwork.PlainContext) -> None:
        async def forever() -> None:
            waiting.set()
            await asyncio.Event().wait()

        try:
            ctx.step("forever", forever)
        except CallAbandoned:
            woken.set()

    task = asyncio.ensure_future(FakeNodeHost().enter(wait))
    await asyncio.to_thread(waiting.wait, BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await asyncio.to_thread(woken.wait, BOUND if guarded else 0.2)) is guarded


async def test_a_function_that_catches_exceptions_ends_too() -> None:
    ended = threading.Event()
    stuck = threading.Event()

    @weftwork.node("acme.zombie")
    def zombie(ctx: weftwork.PlainContext) -> None:
        try:
            while True:
                stuck.set()
                try:
                    ctx.heartbeat()
                except Exception:
                    continue
        finally:
            ended.set()

    task = asyncio.ensure_future(FakeNodeHost().enter(zombie))
    await asyncio.to_thread(stuck.wait, BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, BOUND)


def test_a_plain_node_that_is_not_heard_of_is_left_behind() -> None:
    left = Left()
    raised: list[type[BaseException]] = []

    @weftwork.node("acme.silent", heartbeat_timeout=0.1)
    def silent(ctx: weftwork.PlainContext) -> None:
        left.go.wait(BOUND)
        try:
            ctx.heartbeat()
        except BaseException as error:
            raised.append(type(error))
        left.over.set()

    found = FakeNodeHost().run(silent)
    assert found == Failed("node_heartbeat_lost", "Nothing was heard of the node for 0.1 s.")
    left.go.set()
    assert left.over.wait(BOUND)
    assert raised == [CallAbandoned]


async def test_too_many_left_behind_stop_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    stage = FakeNodeHost(ThreadPool(4, 2))
    lefts = [Left(), Left()]

    @weftwork.node("acme.next")
    def following(ctx: weftwork.PlainContext) -> int:
        return 1

    @weftwork.node("acme.async")
    async def stepping(ctx: weftwork.Context) -> int:
        return await ctx.step("plain", lambda: 1)

    for left in lefts:
        assert await stage.enter(following) == Completed({"output": 1})
        await leave(stage, left, left.node())
    for function in (following, stepping):
        found = await stage.enter(function)
        assert isinstance(found, Failed)
        assert (found.code, found.retryable) == ("node_threads_exhausted", True)
    assert stage.recorded == {}
    for left in lefts:
        left.go.set()
    await asyncio.to_thread(until, lambda: stage.tools.threads.abandoned == 0, "the threads to end")
    assert await stage.enter(following) == Completed({"output": 1})
    assert await stage.enter(stepping) == Completed({"output": 1})
    told = [record for record in caplog.records if record.message == "too many abandoned threads"]
    assert [getattr(record, "heldBy", "") for record in told] == ["acme.stuck 2"] * 2
