"""Nodes that raise what no Exception is: they fail, and neither the host nor the run suffers."""

import asyncio
import contextlib
import sys
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.adapters.python import node_tasks
from weftwork.adapters.python.errors import NodeExited
from weftwork.adapters.python.node_tasks import guard_tasks
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.testing import run_node


class Mine(BaseException):
    """Of no kind that anybody expects."""


RAISED = [Mine, SystemExit, KeyboardInterrupt, GeneratorExit]


@weftwork.node("acme.raises")
async def raises(ctx: weftwork.Context, which: int) -> None:
    raise RAISED[which]


@weftwork.node("acme.raises-plain")
def raises_plain(ctx: weftwork.PlainContext, which: int) -> None:
    raise RAISED[which]


@weftwork.node("acme.steps")
async def steps(ctx: weftwork.Context, which: int) -> None:
    async def step() -> None:
        raise RAISED[which]

    await ctx.step("a", step)


@weftwork.node("acme.steps-plain")
def steps_plain(ctx: weftwork.PlainContext, which: int) -> None:
    def step() -> None:
        raise RAISED[which]

    ctx.step("a", step)


@pytest.mark.parametrize("which", range(len(RAISED)))
@pytest.mark.parametrize("function", [raises, raises_plain], ids=["async", "plain"])
def test_a_node_that_raises_it_fails(function: Any, which: int) -> None:
    with pytest.raises(NodeExited, match=f"raised {RAISED[which].__name__}"):
        FakeNodeHost().run(function, which=which)
    result = run_node(function, inputs={"which": which})
    assert result.error is not None
    assert result.error.code == "node_failed"
    assert isinstance(result.raised, RAISED[which])


@pytest.mark.parametrize("which", range(len(RAISED)))
@pytest.mark.parametrize("function", [steps, steps_plain], ids=["async", "plain"])
def test_a_step_that_raises_it_fails_and_is_recorded(
    function: Any, which: int, caplog: pytest.LogCaptureFixture
) -> None:
    stage = FakeNodeHost()
    found = [stage.run(function, which=which) for _ in range(2)]
    message = "The step a raised an error; the host's log has the details."
    assert found == [Failed("step_failed", message, retryable=False)] * 2
    assert [record.message for record in caplog.records] == ["step raised"]
    result = run_node(function, inputs={"which": which})
    assert result.error is not None
    assert result.error.code == "step_failed"


@pytest.mark.parametrize("way", ["itself", "a future"])
def test_a_node_that_cancels_itself_has_failed(way: str) -> None:
    @weftwork.node("acme.gives-up")
    async def gives_up(ctx: weftwork.Context) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.current_task()
        assert task is not None
        (task if way == "itself" else future).cancel()
        await future

    with pytest.raises(NodeExited, match="raised CancelledError"):
        FakeNodeHost().run(gives_up)
    result = run_node(gives_up)
    assert result.error is not None
    assert result.error.code == "node_failed"


def test_a_failure_of_a_test_in_a_fake_is_seen() -> None:
    @weftwork.node("acme.fake")
    async def fake(ctx: weftwork.Context) -> None:
        await ctx.step("a", lambda: pytest.fail("the card was not 17"))

    result = run_node(fake)
    assert result.error is not None
    assert result.error.code == "step_failed"
    assert "the card was not 17" in str(result.raised)


def test_a_context_of_another_call_is_a_mistake() -> None:
    kept: list[weftwork.Context] = []

    @weftwork.node("acme.keeps")
    async def keeps(ctx: weftwork.Context) -> None:
        kept.append(ctx)
        kept[0].now()

    stage = FakeNodeHost()
    assert stage.run(keeps) == Completed({})
    found = stage.run(keeps)
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("node_misused", False)


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


@pytest.mark.parametrize("way", ["node", "step", "cancelled"])
def test_a_task_of_a_node_does_not_end_the_process(way: str) -> None:
    assert run_node(spawns, inputs={"way": way}).outputs == {"output": "survived"}


def test_without_the_guard_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_tasks, "_GuardedCoroutine", lambda work: work)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        run_node(spawns, inputs={"way": "node"})


async def test_tasks_outside_of_nodes_are_as_they_were() -> None:
    async def work() -> str:
        return repr(asyncio.current_task())

    guard_tasks(asyncio.get_running_loop())
    task = asyncio.create_task(work(), name="mine")
    said, kind = (await task, type(task.get_coro()).__name__)
    assert "mine" in said
    assert "work" in said
    assert kind == "coroutine"
