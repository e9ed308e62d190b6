"""Time in the kit: it passes by itself, takes none, and waits for what works outside of the loop."""

import asyncio
import socket
import threading
from typing import Any

import pytest

import weftwork
from tests.harness.definitions import edge, node, workflow
from tests.testing.definitions import delay_workflow, sequence
from weftwork.protocol.limits import Limits
from weftwork.testing import ManualClock, Unending, run_node, run_workflow

HOUR = 3_600_000


def test_a_delay_of_days_passes_on_the_clock() -> None:
    clock = ManualClock()
    start = clock.now()
    result = run_workflow(delay_workflow(72 * HOUR), clock=clock)
    assert (result.status, result.elapsed_ms) == ("completed", 72 * HOUR)
    assert clock.now() - start == 72 * HOUR


def test_retries_wait_on_the_clock() -> None:
    attempts: list[int] = []

    @weftwork.node("acme.flaky")
    def flaky(ctx: weftwork.PlainContext) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt < 4:
            raise OSError

    result = run_workflow(sequence("acme.flaky", maxRetries=5, retryDelayMs=HOUR // 60, retryBackoff=1), nodes=[flaky])
    assert (result.status, attempts) == ("completed", [1, 2, 3, 4])
    assert result.elapsed_ms == 3 * HOUR // 60


def test_sleeping_and_time_limits_of_nodes_take_no_time() -> None:
    @weftwork.node("acme.sleeps")
    async def sleeps(ctx: weftwork.Context) -> None:
        await asyncio.sleep(HOUR / 1000)

    assert run_node(sleeps).status == "completed"
    result = run_workflow(sequence("acme.sleeps", timeoutMs=5000), nodes=[sleeps])
    assert result.error is not None
    assert (result.error.code, result.elapsed_ms) == ("node_timeout", 5000)


def test_a_node_that_is_not_heard_of_is_given_up_on_the_clock() -> None:
    @weftwork.node("acme.quiet", heartbeat_timeout=60)
    async def quiet(ctx: weftwork.Context) -> None:
        await asyncio.sleep(HOUR)

    error = run_node(quiet).error
    assert error is not None
    assert error.code == "node_heartbeat_lost"


def test_threads_are_waited_for_before_the_clock_moves() -> None:
    """The time limit is far shorter than the thread takes; a clock that moved beside it would end the node."""
    gate = threading.Event()

    def held() -> int:
        threading.Timer(0.1, gate.set).start()
        return 7 if gate.wait(10) else 0

    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext) -> int:
        return held() + ctx.step("step", held)

    @weftwork.node("acme.async")
    async def in_async(ctx: weftwork.Context) -> int:
        return await asyncio.to_thread(held) + await ctx.step("step", held)

    for each, type_id in ((plain, "acme.plain"), (in_async, "acme.async")):
        gate.clear()
        result = run_workflow(sequence(type_id, timeoutMs=50), nodes=[each])
        assert (result.status, result.nodes["a"].outputs) == ("completed", {"output": 14})
        assert result.elapsed_ms < 50


def test_a_clock_that_does_not_wait_for_threads_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    @weftwork.node("acme.busy", effect="once")
    def busy(ctx: weftwork.PlainContext) -> bool:
        return threading.Event().wait(0.3)

    document = sequence("acme.busy", timeoutMs=50)
    assert run_workflow(document, nodes=[busy]).status == "completed"
    monkeypatch.setattr("weftwork.testing.simulated_host.CountedThreads.busy", 0)
    error = run_workflow(document, nodes=[busy]).error
    assert error is not None
    assert error.code == "node_timeout"


def test_a_thread_that_waits_for_the_loop_does_not_hold_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> int:
        await asyncio.sleep(HOUR)
        return 3

    @weftwork.node("acme.waits")
    def waits(ctx: weftwork.PlainContext) -> int:
        return ctx.step("slow", slow)

    assert run_node(waits).outputs == {"output": 3}
    monkeypatch.setattr("weftwork.testing.simulated_host.CountedThreads.busy", property(lambda self: self.awaited))
    with pytest.raises(Unending):
        run_node(waits, seconds=0.3)


def test_sockets_are_given_a_moment() -> None:
    async def talk() -> str:
        left, right = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=left)
        threading.Timer(0.02, lambda: (right.sendall(b"hello\n"), right.close())).start()
        said = await reader.readline()
        writer.close()
        return said.decode().strip()

    @weftwork.node("acme.talks")
    async def talks(ctx: weftwork.Context) -> str:
        return await talk()

    assert run_node(talks).outputs == {"output": "hello"}


def test_branches_meet_on_the_clock_in_order() -> None:
    told: list[str] = []

    @weftwork.node("acme.tells")
    async def tells(ctx: weftwork.Context, seconds: int) -> None:
        await asyncio.sleep(seconds)
        told.append(ctx.node_id)

    def wait(node_id: str, seconds: int) -> dict[str, Any]:
        return node(node_id, "acme.tells", inputs={"seconds": {"type": "static", "value": seconds}})

    document = workflow(
        [wait("slow", 9), wait("fast", 1), wait("last", 0)], [edge("slow", "last"), edge("fast", "last")]
    )
    assert run_workflow(document, nodes=[tells]).status == "completed"
    assert told == ["fast", "slow", "last"]


def test_a_run_that_never_ends_is_an_error_with_its_events() -> None:
    @weftwork.node("acme.stuck")
    async def stuck(ctx: weftwork.Context) -> None:
        await asyncio.get_running_loop().create_future()

    @weftwork.node("acme.spins")
    async def spins(ctx: weftwork.Context) -> None:
        while True:
            await asyncio.sleep(0)

    @weftwork.node("acme.holds")
    def holds(ctx: weftwork.PlainContext) -> None:
        threading.Event().wait(1)

    with pytest.raises(
        Unending, match=r"nothing can happen any more; its events are \['run.started', 'node.started'\]"
    ):
        run_node(stuck)
    for each in (spins, holds):
        with pytest.raises(Unending, match=r"did not end within 0\.2 real seconds"):
            run_node(each, seconds=0.2)


def test_a_clock_that_is_moved_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @weftwork.node("acme.ticks")
    async def ticks(ctx: weftwork.Context) -> None:
        while True:
            await asyncio.sleep(1)

    monkeypatch.setattr("weftwork.testing.simulated_host.MAX_CLOCK_MOVES", 100)
    with pytest.raises(Unending, match="the clock was moved 100 times"):
        run_node(ticks)


def test_limits_of_a_host_can_be_given() -> None:
    error = run_workflow(sequence("core.noop", "core.noop"), limits=Limits(max_node_executions=1)).error
    assert error is not None
