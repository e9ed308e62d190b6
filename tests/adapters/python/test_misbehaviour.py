"""Python nodes that misbehave: base exceptions, and memory that is kept."""

import asyncio
import contextlib
import gc
import logging
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weftwork
from tests.adapters.nodes.fake_context import final_failure
from tests.adapters.python.fake_node_host import FakeNodeHost, single_node_workflow
from tests.harness.cases import each_case, present
from tests.live import start_host, write_workflows
from weftwork.adapters.python import node_tasks
from weftwork.adapters.python.calls.invocation import Invocation
from weftwork.adapters.python.errors import NodeExited
from weftwork.adapters.python.node_tasks import guard_tasks
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.testing import run_node


class Mine(BaseException):
    """Of no kind that anybody expects."""


RAISED = [Mine, SystemExit, KeyboardInterrupt, GeneratorExit]


@weftwork.node("acme.raises")
async def raises(ctx: weftwork.Context, which: int, step: bool = False) -> None:
    async def leave() -> None:
        raise RAISED[which]

    await (ctx.step("a", leave) if step else leave())


@weftwork.node("acme.raises-plain")
def raises_plain(ctx: weftwork.PlainContext, which: int, step: bool = False) -> None:
    def leave() -> None:
        raise RAISED[which]

    return ctx.step("a", leave) if step else leave()


@each_case("which", *range(len(RAISED)))
@each_case("function", raises, raises_plain)
def test_a_node_or_a_step_that_raises_it_fails(function: Any, which: int, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(NodeExited, match=f"raised {RAISED[which].__name__}"):
        FakeNodeHost().run(function, which=which)
    result = run_node(function, inputs={"which": which})
    assert present(result.error).code == "node_failed"
    assert isinstance(result.raised, RAISED[which])

    stage = FakeNodeHost()
    caplog.clear()
    found = [stage.run(function, which=which, step=True) for _ in range(2)]
    message = "The step a raised an error; the host's log has the details."
    assert found == [Failed("step_failed", message, retryable=False)] * 2
    assert [record.message for record in caplog.records] == ["step raised"], "it is recorded"
    assert present(run_node(function, inputs={"which": which, "step": True}).error).code == "step_failed"


@each_case("way", "itself", "a future")
def test_a_node_that_cancels_itself_has_failed(way: str) -> None:
    @weftwork.node("acme.gives-up")
    async def gives_up(ctx: weftwork.Context) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = present(asyncio.current_task())
        (task if way == "itself" else future).cancel()
        await future

    with pytest.raises(NodeExited, match="raised CancelledError"):
        FakeNodeHost().run(gives_up)
    result = run_node(gives_up)
    assert present(result.error).code == "node_failed"


def test_a_failure_of_a_test_in_a_fake_is_seen() -> None:
    @weftwork.node("acme.fake")
    async def fake(ctx: weftwork.Context) -> None:
        await ctx.step("a", lambda: pytest.fail("the card was not 17"))

    result = run_node(fake)
    assert present(result.error).code == "step_failed"
    assert "the card was not 17" in str(result.raised)


def test_a_context_of_another_call_is_a_mistake() -> None:
    kept: list[weftwork.Context] = []

    @weftwork.node("acme.keeps")
    async def keeps(ctx: weftwork.Context) -> None:
        kept.append(ctx)
        kept[0].now()

    stage = FakeNodeHost()
    assert stage.run(keeps) == Completed({})
    assert final_failure(stage.run(keeps))[0] == "node_misused"


@weftwork.node("acme.spawns")
async def spawns(ctx: weftwork.Context, way: str) -> str:
    async def leave() -> None:
        await asyncio.sleep(0)
        sys.exit(3)

    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def both() -> None:
        await asyncio.gather(leave(), interrupt(), return_exceptions=True)

    if way == "step":
        await ctx.step("a", both)
    elif way == "cancelled":
        task = asyncio.create_task(leave())
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    else:
        await both()
    return "survived"


@each_case("way", "node", "step", "cancelled")
def test_a_task_of_a_node_does_not_end_the_process(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_node(spawns, inputs={"way": way}).outputs == {"output": "survived"}
    monkeypatch.setattr(node_tasks, "GuardedCoroutine", lambda work, entry: work)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        run_node(spawns, inputs={"way": "node"})
    monkeypatch.undo()


async def test_tasks_outside_of_nodes_are_as_they_were() -> None:
    async def work() -> str:
        return repr(asyncio.current_task())

    guard_tasks(asyncio.get_running_loop())
    task = asyncio.create_task(work(), name="mine")
    said, kind = (await task, type(task.get_coro()).__name__)
    assert "mine" in said
    assert "work" in said
    assert kind == "coroutine"


NODES = """
import asyncio
import weftwork


@weftwork.node("acme.leaves")
async def leaves(ctx: weftwork.Context, way: str) -> None:
    async def leave():
        await asyncio.sleep(0)
        raise KeyboardInterrupt if "interrupt" in way else SystemExit(3)

    if "task" in way:
        await asyncio.gather(leave(), asyncio.sleep(0.05))
    elif "step" in way:
        await ctx.step("leave", leave)
    else:
        await leave()
"""

WAYS = ["interrupt", "exit", "interrupt-step", "exit-step", "interrupt-task", "exit-task"]


@pytest.mark.slow
def test_no_node_ends_the_host(tmp_path: Path) -> None:
    (tmp_path / "acme_nodes.py").write_text(NODES)
    write_workflows(tmp_path / "flows", *(single_node_workflow(way, "acme.leaves", {"way": way}) for way in WAYS))
    with start_host(tmp_path, "--nodes", "acme_nodes", "--workflows", tmp_path / "flows", cwd=tmp_path) as host:
        for way in WAYS:
            failed = next(event for event in host.log(host.create(way)) if event["type"] == "node.failed")
            assert failed["payload"]["error"]["code"] == ("step_failed" if "step" in way else "node_failed")
        assert host.process.poll() is None


seen: list["weakref.ref[Invocation]"] = []


def refuse() -> None:
    raise weftwork.NodeError("no", "No.")


def see(ctx: Any) -> None:
    seen.append(weakref.ref(ctx._invocation))


def undone() -> None:
    raise weftwork.NotDone


WORK: dict[str, Callable[[Any], Any]] = {
    "completes": lambda ctx: ctx.step("a", lambda: 1),
    "fails": lambda ctx: refuse(),
    "asks": lambda ctx: ctx.interrupt("why"),
    "fails in a step": lambda ctx: ctx.step("zero", lambda: 1 / 0),
    "does not do its step": lambda ctx: ctx.step("undone", undone),
}


def functions(work: Callable[[Any], Any]) -> list[Any]:
    async def awaits(ctx: weftwork.Context) -> Any:
        see(ctx)
        return await work(ctx)

    def plain(ctx: weftwork.PlainContext) -> Any:
        see(ctx)
        return work(ctx)

    async def heard(ctx: weftwork.Context) -> Any:
        return await awaits(ctx)

    types = [weftwork.node(f"acme.{each.__name__}")(each) for each in (awaits, plain)]
    return [*types, weftwork.node("acme.heard", heartbeat_timeout=60)(heard)]


async def test_nothing_of_a_call_stays() -> None:
    async def story(name: str, function: Any) -> None:
        await FakeNodeHost().enter(function)
        for _ in range(500):
            if seen[-1]() is None:
                return
            # The thread may still be on its way back.
            await asyncio.sleep(0.01)
        raise AssertionError(f"something holds on to the call of {function.__name__}, which {name}")

    # Lines of the log are kept by whoever runs the tests, with what was raised.
    logging.disable()
    gc.collect()
    gc.disable()
    try:
        for name, work in WORK.items():
            for function in functions(work):
                await story(name, function)
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
