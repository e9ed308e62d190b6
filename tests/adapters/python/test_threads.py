"""The pool: its bound, its order, reuse, and threads that nobody waits for."""

import asyncio
import contextvars
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.cases import fails_without
from tests.harness.fetch_only import FetchOnly
from tests.live import until
from weftwork.adapters.python import loop_bridge
from weftwork.adapters.python import threads as module
from weftwork.adapters.python.calls.call_state import CallState
from weftwork.adapters.python.calls.steps import Steps
from weftwork.adapters.python.context import PlainContext
from weftwork.adapters.python.errors import CallAbandoned
from weftwork.adapters.python.threads import ThreadPool, ThreadsExhausted
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.ports.outbound import OutboundRequest, OutboundResponse

BOUND = 120.0
mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="none")


class Gate:
    """Counts who is inside, and keeps them there."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.lock = threading.Lock()
        self.inside = 0
        self.most = 0

    def enter(self) -> int:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.open.wait(BOUND)
        with self.lock:
            self.inside -= 1
        return threading.get_ident()


async def settled(look: Any, what: str) -> None:
    await asyncio.to_thread(until, look, what)


async def cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)


async def test_no_more_run_at_once_than_may() -> None:
    threads, gate = ThreadPool(3, 1), Gate()
    tasks = [asyncio.ensure_future(threads.run(gate.enter, "a")) for _ in range(10)]
    await settled(lambda: gate.inside == 3, "three to be inside")
    await asyncio.sleep(0.05)
    assert gate.inside == 3
    gate.open.set()
    assert len(set(await asyncio.gather(*tasks))) <= 3
    assert gate.most == 3


async def test_threads_are_used_again() -> None:
    threads = ThreadPool(8, 1)
    idents = {await threads.run(threading.get_ident, "a") for _ in range(20)}
    # The thread may not be back in line yet when the next job comes.
    assert len(idents) <= 8
    threads.close()


async def test_jobs_are_begun_in_order() -> None:
    threads, order, gate = ThreadPool(1, 1), list[int](), threading.Event()
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(threads.run(lambda: gate.wait(BOUND), "a"))]
    tasks += [asyncio.ensure_future(threads.run(lambda at=at: order.append(at), "a")) for at in range(20)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    assert order == list(range(20))


async def test_context_variables_are_those_of_the_caller() -> None:
    threads = ThreadPool(1, 1)
    mark.set("caller")

    def change() -> str:
        seen = mark.get()
        mark.set("thread")
        return seen

    assert await threads.run(change, "a") == "caller"
    assert mark.get() == "caller"
    assert await threads.run(mark.get, "a") == "caller"


async def test_a_job_that_was_not_begun_is_simply_gone() -> None:
    threads, gate, done = ThreadPool(1, 1), Gate(), list[int]()
    first = asyncio.ensure_future(threads.run(gate.enter, "a"))
    second = asyncio.ensure_future(threads.run(lambda: done.append(1), "a"))
    await settled(lambda: gate.inside == 1, "the first to be inside")
    await cancel(second)
    assert threads.abandoned == 0
    gate.open.set()
    await first
    assert await threads.run(lambda: done, "a") == []


async def test_an_abandoned_thread_frees_its_place_and_its_result_is_dropped() -> None:
    threads, gate = ThreadPool(1, 2), Gate()
    first = asyncio.ensure_future(threads.run(gate.enter, "a"))
    await settled(lambda: gate.inside == 1, "the first to be inside")
    waiting = asyncio.ensure_future(threads.run(lambda: "next", "b"))
    await asyncio.sleep(0)
    first.cancel()
    assert await waiting == "next"
    assert threads.abandoned == 1
    gate.open.set()
    await settled(lambda: threads.abandoned == 0, "the thread to end")
    assert first.cancelled()
    # The bound holds again: one of the two threads went.
    second = Gate()
    tasks = [asyncio.ensure_future(threads.run(second.enter, "a")) for _ in range(3)]
    await settled(lambda: second.inside == 1, "one to be inside")
    await asyncio.sleep(0.05)
    second.open.set()
    await asyncio.gather(*tasks)
    assert second.most == 1


@fails_without(ThreadPool, "check_capacity", lambda self: None, match="refused")
async def test_abandoned_threads_have_a_bound() -> None:
    threads, gate, refused = ThreadPool(2, 3), Gate(), 0
    for _ in range(6):
        inside = gate.inside
        task = asyncio.ensure_future(threads.run(gate.enter, "a"))
        await asyncio.sleep(0)
        if task.done():
            with pytest.raises(ThreadsExhausted):
                task.result()
            refused += 1
            continue
        await settled(lambda inside=inside: gate.inside == inside + 1, "it to be inside")
        await cancel(task)
    gate.open.set()
    await settled(lambda: threads.abandoned == 0, "the threads to end")
    assert await threads.run(lambda: 1, "a") == 1
    assert refused == 3, "refused"


async def test_a_job_that_ends_as_it_is_left_counts_nowhere() -> None:
    threads = ThreadPool(1, 1)
    for _ in range(50):
        task = asyncio.ensure_future(threads.run(lambda: 1, "a"))
        await asyncio.sleep(0)
        # It has ended, and the loop has not heard of it.
        until(lambda: not threads._jobs, "the job to be taken")
        task.cancel()
        await asyncio.wait((task,))
    await settled(lambda: threads.abandoned == 0, "every thread to be back")
    assert await threads.run(lambda: 2, "a") == 2


async def test_idle_threads_end_with_the_pool_and_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    async def one(threads: ThreadPool) -> threading.Thread:
        return await threads.run(threading.current_thread, "a")

    closed = ThreadPool(2, 1)
    thread = await one(closed)
    closed.close()
    await asyncio.to_thread(thread.join, BOUND)
    assert not thread.is_alive()
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    quick = ThreadPool(2, 1)
    thread = await one(quick)
    assert thread.daemon
    await asyncio.to_thread(thread.join, BOUND)
    assert not thread.is_alive()
    assert await one(quick) is not thread


def test_a_loop_that_has_ended_is_not_called() -> None:
    gate, ended = Gate(), threading.Event()

    def work() -> None:
        gate.enter()
        ended.set()

    async def story() -> None:
        task = asyncio.ensure_future(ThreadPool(1, 1).run(work, "a"))
        await settled(lambda: gate.inside == 1, "it to be inside")
        await cancel(task)

    asyncio.run(story())
    gate.open.set()
    assert ended.wait(BOUND)


async def test_a_system_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = ThreadPool(2, 1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(ThreadsExhausted):
            await threads.run(lambda: 1, "a")
    assert await threads.run(lambda: 2, "a") == 2


async def test_a_crowd_that_comes_and_goes_leaves_the_pool_as_it_was() -> None:
    jobs = 4_000 if os.environ.get("WEFTWORK_PROOF") == "full" else 400
    chance = random.Random(7)
    lock, inside = threading.Lock(), 0

    async def one(threads: ThreadPool, work: float, patience: float) -> str:
        def call() -> str:
            nonlocal inside
            with lock:
                inside += 1
            time.sleep(work)
            with lock:
                inside -= 1
            return "done"

        try:
            async with asyncio.timeout(patience):
                return await threads.run(call, "a")
        except TimeoutError:
            return "left"

    threads = ThreadPool(4, 10_000)
    crowd = [one(threads, chance.random() * 0.004, chance.random() * 0.2) for _ in range(jobs)]
    ends = await asyncio.gather(*crowd)
    assert set(ends) == {"done", "left"}
    await settled(lambda: threads.abandoned == 0 and inside == 0, "every thread to come back")
    assert await asyncio.gather(*(threads.run(lambda at=at: at, "a") for at in range(50))) == list(range(50))
    assert threads._working <= 4


class Out(FetchOnly):
    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(200, (), b"1", request.url)


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
    await cancel(task)
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
    await cancel(task)
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
    await cancel(task)
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
    assert found == Failed("node_heartbeat_lost", "The node sent no heartbeat for 0.1 s.")
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
