"""The loop watch: names the node that keeps the loop from turning, once, and says when it turns again."""

import asyncio
import logging
import time
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.adapters.python import loopwatch
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.adapters.python.loopwatch import LoopWatch

BLOCKED = "a node blocks the event loop"
AGAIN = "the event loop turns again"
BOUND = 120.0


def told(caplog: pytest.LogCaptureFixture, message: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.message == message]


def block(caplog: pytest.LogCaptureFixture, count: int = 1) -> None:
    """Keep the thread busy until the watch has told of it, within a bound."""
    end = time.monotonic() + BOUND
    while len(told(caplog, BLOCKED)) < count and time.monotonic() < end:
        time.sleep(0.01)


def watched(function: Any, stage: FakeNodeHost, **given: Any) -> None:
    async def story() -> None:
        node = node_of(function)
        assert node is not None
        watch = LoopWatch([node])
        watch.start()
        try:
            await stage.enter(function, **given)
            # The end is told once the loop has turned.
            await asyncio.sleep(3 * loopwatch.MARK_SECONDS)
        finally:
            watch.stop()

    asyncio.run(story())


def test_a_node_that_blocks_is_named_with_its_line(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.blocking")
    async def blocking(ctx: weftwork.Context) -> None:
        for count in (1, 2):
            await asyncio.sleep(0)
            block(caplog, count)
            await asyncio.sleep(0.3)

    watched(blocking, FakeNodeHost())
    line = blocking.__code__.co_firstlineno + 4
    first, second = told(caplog, BLOCKED)
    assert vars(first)["typeId"] == vars(second)["typeId"] == "acme.blocking"
    assert vars(first)["place"].startswith(f"{__file__}:")
    # The innermost line of the file: here that of the function which the node calls.
    assert int(vars(first)["place"].rpartition(":")[2]) < line
    ends = told(caplog, AGAIN)
    assert len(ends) == 2
    assert all(vars(end)["typeId"] == "acme.blocking" and vars(end)["blockedMs"] >= 250 for end in ends)


def test_a_step_in_a_task_of_its_own_is_named_too(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.group")
    async def group(ctx: weftwork.Context) -> None:
        async def inner() -> None:
            block(caplog)

        await asyncio.gather(ctx.step("inner", inner))

    watched(group, FakeNodeHost())
    assert [vars(record)["typeId"] for record in told(caplog, BLOCKED)] == ["acme.group"]


async def test_code_that_is_no_node_is_not_blamed(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.idle")
    async def idle(ctx: weftwork.Context) -> None: ...

    node = node_of(idle)
    assert node is not None
    watch = LoopWatch([node])
    watch.start()
    time.sleep(loopwatch.MARK_SECONDS * 2 + loopwatch.BLOCKED_SECONDS + 0.3)
    await asyncio.sleep(0.2)
    watch.stop()
    assert told(caplog, BLOCKED) == told(caplog, AGAIN) == []


def test_a_plain_function_may_block(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext) -> None:
        time.sleep(0.6)

    watched(plain, FakeNodeHost())
    assert told(caplog, BLOCKED) == []


def test_without_the_watch_nobody_is_named(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: a watch that looks at nothing."""
    monkeypatch.setattr(loopwatch, "find_blocking_node", lambda frame, nodes: None)
    monkeypatch.setattr("tests.adapters.python.test_loopwatch.BOUND", 0.8)

    @weftwork.node("acme.blocking")
    async def blocking(ctx: weftwork.Context) -> None:
        block(caplog)

    watched(blocking, FakeNodeHost())
    assert told(caplog, BLOCKED) == []
