"""Plain functions: the same context, blocking, in threads that the run can leave behind."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.cases import each_case
from tests.harness.fetch_only import FetchOnly
from weftwork.adapters.python.threads import ThreadPool
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, Failed, Suspended
from weftwork.ports.outbound import OutboundRequest, OutboundResponse

BOUND = 120.0


class Out(FetchOnly):
    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(200, (), b"1", request.url)


@weftwork.node("acme.all")
def everything(ctx: weftwork.PlainContext, name: str = "x") -> dict[str, Any]:
    """Every call of the context."""
    assert threading.current_thread() is not threading.main_thread()
    assert type(ctx) is weftwork.PlainContext
    ctx.log.info("hello", a=1)
    ctx.emit("acme.told", {"name": name})
    ctx.heartbeat(part=1)

    async def awaited() -> str:
        return f"{ctx.idempotency_key} {threading.current_thread() is threading.main_thread()}"

    here = threading.get_ident()
    return {
        "ids": [ctx.run_id, ctx.node_id, ctx.attempt, ctx.iteration],
        "key": ctx.idempotency_key,
        "now": ctx.now(),
        "random": ctx.random.random(),
        "here": ctx.step("plain", lambda: threading.get_ident() == here),
        "keyed": ctx.step("keyed", lambda: ctx.idempotency_key),
        "awaited": ctx.step("awaited", awaited, effect="idempotent"),
        "version": ctx.get_version("change", 1, 2),
        "status": ctx.fetch("https://example.com/").status,
        "answer": ctx.interrupt("ask"),
    }


def test_everything_that_the_context_has() -> None:
    stage = FakeNodeHost(outbound=Out())
    asked = stage.run(everything)
    assert isinstance(asked, Suspended)
    assert asked.interrupt.key == "n:0:ask"
    stage.answers["n:0:ask"] = "yes"
    ended = stage.run(everything)
    assert isinstance(ended, Completed)
    known = {name: ended.outputs[name] for name in ended.outputs if name not in ("random", "now")}
    keys = {"key": "key:", "keyed": "key:keyed", "awaited": "key:awaited True"}
    answers = {"here": True, "version": 2, "status": 200, "answer": "yes"}
    assert known == {"ids": ["run-1", "n", 2, 0], **keys, **answers}
    assert stage.emitted == [AppendLog("info", "hello", {"a": 1}), EmitEvent("acme.told", {"name": "x"})] * 2
    assert stage.effects == {"plain": "once", "keyed": "once", "awaited": "idempotent"}
    stage.rejects_output = True
    assert stage.run(everything) == Failed("node_output_too_large", "Too much.", retryable=False)


async def test_a_full_pool_still_runs_the_steps_of_its_functions() -> None:
    gate = threading.Barrier(2)

    @weftwork.node("acme.pair")
    def pair(ctx: weftwork.PlainContext, number: int) -> int:
        # Both threads of the pool are busy when the first step is asked for.
        gate.wait(BOUND)
        return ctx.step(f"step-{number}", lambda: number)

    stage = FakeNodeHost(ThreadPool(2, 1))
    found = await asyncio.gather(*(stage.enter(pair, number=number) for number in (1, 2)))
    assert found == [Completed({"output": 1}), Completed({"output": 2})]


def test_threads_of_the_function_may_use_its_context() -> None:
    @weftwork.node("acme.fan")
    def fan(ctx: weftwork.PlainContext) -> int:
        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda at: ctx.step(f"s{at}", lambda: at), range(8)))

    assert FakeNodeHost().run(fan) == Completed({"output": 28})


def test_a_step_that_fails_and_a_question_unwind_the_thread() -> None:
    @weftwork.node("acme.broken")
    def broken(ctx: weftwork.PlainContext) -> None:
        def raising() -> None:
            raise KeyError("inner")

        with pytest.raises(weftwork.StepError):
            ctx.step("a", raising)
        try:
            ctx.interrupt("ask")
        except BaseException:
            # Swallowed, and yet asked.
            return

    assert isinstance(FakeNodeHost().run(broken), Suspended)


def test_blocking_calls_on_the_loop_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.mixed")
    def mixed(ctx: weftwork.PlainContext) -> None:
        async def on_loop() -> None:
            ctx.get_version("change", 1, 2)

        ctx.step("a", on_loop)

    found = FakeNodeHost().run(mixed)
    assert isinstance(found, Failed)
    assert "would block the event loop" in caplog.text


@each_case("error", SystemExit(3), KeyboardInterrupt())
def test_no_thread_ends_the_process(error: BaseException) -> None:
    @weftwork.node("acme.exit")
    def leave(ctx: weftwork.PlainContext, step: bool = False) -> None:
        def out() -> None:
            raise error

        if step:
            ctx.step("out", out)
        out()

    with pytest.raises(Exception, match=f"raised {type(error).__name__}"):
        FakeNodeHost().run(leave)
    found = FakeNodeHost().run(leave, step=True)
    assert isinstance(found, Failed)
    assert found.code == "step_failed"

    @weftwork.node("acme.stop")
    def stop(ctx: weftwork.PlainContext) -> None:
        raise StopIteration

    with pytest.raises(RuntimeError):
        FakeNodeHost().run(stop)
