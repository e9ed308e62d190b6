"""The loop watchdog: what counts as a stall, what is logged about it, and how often."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.live.listening_host import until
from weftwork.adapters.system import loop_watchdog
from weftwork.adapters.system.loop_watchdog import (
    BEAT_SECONDS,
    LINE_SECONDS,
    MAX_CAUSES,
    REPORT_SECONDS,
    Activity,
    LineLimit,
    LoopWatchdog,
    main_activity,
)

MESSAGE = "the event loop was blocked"
CAUSE = {"stage": "node", "runId": "r", "nodeId": "n", "tenant": "acme", "place": "nodes.py:1"}
ATTEMPTS = 8
WATCHED = "weftwork.adapters.system.loop_watchdog"


def lines(caplog: pytest.LogCaptureFixture, message: str = MESSAGE) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.message == message]


@asynccontextmanager
async def watchdog(identify: Callable[[FrameType], Activity] = lambda frame: CAUSE) -> AsyncIterator[LoopWatchdog]:
    made = LoopWatchdog(identify, lambda: 1_000_000)
    made.start()
    try:
        yield made
    finally:
        made.stop()


async def block(watched: LoopWatchdog, work: Callable[[], object]) -> None:
    """Block the loop until that is noticed. Time without a CPU does not count, so it may take several attempts."""
    for _ in range(ATTEMPTS):
        work()
        await until(is_beating(watched), "the next beat")
        if watched.report()["stages"]:
            return
    raise AssertionError("no stall was noticed")


def is_beating(watched: LoopWatchdog) -> Callable[[], bool]:
    last = watched._beat_at
    return lambda: watched._beat_at > last


def wait() -> None:
    time.sleep(6 * BEAT_SECONDS)


@fails_without(f"{WATCHED}.BLOCKED_SECONDS", 1e9, errors=(AssertionError,))
async def test_a_stall_is_logged_and_counted_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    async with watchdog() as watched:
        await block(watched, wait)
        report = watched.report()
    (line,) = lines(caplog)
    assert {**line, **CAUSE} == line
    (stall,) = report["recent"]
    assert stall == {"at": stall["at"], "blockedMs": line["blockedMs"], "cpuMs": line["cpuMs"], "activity": CAUSE}
    assert stall["blockedMs"] > 100
    length = stall["blockedMs"]
    assert report["stages"] == {"node": {"count": 1, "totalMs": length, "longestMs": length}}
    assert (report["since"], report["thresholdMs"]) == ("1970-01-01T00:16:40.000Z", 100)


async def test_a_native_call_that_holds_the_interpreter_is_found() -> None:
    def holds_the_gil() -> None:
        sum(range(20_000_000))

    def name(frame: FrameType) -> Activity:
        return {"stage": "node", "place": frame.f_code.co_name}

    async with watchdog(name) as watched:
        await block(watched, holds_the_gil)
        (stall,) = watched.report()["recent"]
    assert stall["activity"]["place"] == "holds_the_gil"
    assert stall["cpuMs"] > 50


async def test_a_stall_that_lasts_is_logged_before_its_end(caplog: pytest.LogCaptureFixture) -> None:
    def wait_for_line() -> None:
        end = time.monotonic() + 60
        while not lines(caplog, "the event loop is blocked") and time.monotonic() < end:
            time.sleep(BEAT_SECONDS)

    async with watchdog() as watched:
        await block(watched, wait_for_line)
    (first,) = lines(caplog, "the event loop is blocked")
    (last,) = lines(caplog)
    assert {**first, **CAUSE} == first
    assert first["blockedMs"] >= REPORT_SECONDS * 1000
    assert {**last, **CAUSE} == last


@fails_without(f"{WATCHED}.IDLE_STAGE", "none")
async def test_a_pause_of_the_whole_process_is_no_stall(caplog: pytest.LogCaptureFixture) -> None:
    async with watchdog(lambda frame: {"stage": "loop", "place": "selectors.py:1"}) as watched:
        for _ in range(5):
            wait()
            await until(is_beating(watched), "the next beat")
        assert watched.report()["stages"] == {}


async def test_time_without_a_cpu_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_watchdog.RunQueueTime, "seconds_since", lambda self, before: 60.0)
    async with watchdog() as watched:
        wait()
        await until(is_beating(watched), "the next beat")
        assert watched.report()["stages"] == {}


@each_case(
    "before, after, seconds",
    (b"5 1000000000 3", b"9 3500000000 7", 2.5),
    (b"", b"9 3500000000 7", 0.0),
    (b"5 1 3", b"", 0.0),
)
def test_the_time_in_the_run_queue(
    monkeypatch: pytest.MonkeyPatch, before: bytes, after: bytes, seconds: float
) -> None:
    queue = loop_watchdog.RunQueueTime()
    monkeypatch.setattr(queue, "read", lambda: after)
    assert queue.seconds_since(before) == seconds


async def test_a_loop_that_is_busy_in_short_pieces_is_not_blocked() -> None:
    def identify(frame: FrameType) -> Activity:
        raise AssertionError("the loop was blocked")

    async with watchdog(identify) as watched:
        turns = 0
        while turns < 1000:
            await asyncio.sleep(0)
            turns += 1
        assert all(each["activity"]["stage"] == "unknown" for each in watched.report()["recent"])


async def test_a_stack_that_cannot_be_read_does_not_end_the_watchdog() -> None:
    def identify(frame: FrameType) -> Activity:
        raise RuntimeError("the frame is gone")

    async with watchdog(identify) as watched:
        await block(watched, wait)
        await block(watched, wait)
        assert [*watched.report()["stages"]] == ["unknown"]


async def test_stop_ends_the_thread() -> None:
    async with watchdog():
        assert any(each.name == "weftwork-loop-watchdog" for each in threading.enumerate())
    await until(lambda: all(each.name != "weftwork-loop-watchdog" for each in threading.enumerate()), "its end")


def test_lines_are_limited_by_stage_and_tenant() -> None:
    limit = LineLimit()
    other = {**CAUSE, "tenant": "other"}
    assert [limit.take(CAUSE, at) for at in (0.0, 1.0, 2.0, LINE_SECONDS, LINE_SECONDS + 1)] == [1, 0, 0, 3, 0]
    assert limit.take({**CAUSE, "nodeId": "another"}, LINE_SECONDS + 2) == 0
    assert limit.take(other, LINE_SECONDS + 2) == 1
    assert limit.take({**CAUSE, "stage": "fold"}, LINE_SECONDS + 2) == 1
    assert limit.take(CAUSE, LINE_SECONDS + 3, always=True) == 3


def test_the_memory_of_the_line_limit_is_bounded() -> None:
    limit = LineLimit()
    for number in range(2 * MAX_CAUSES):
        assert limit.take({"stage": "node", "tenant": f"t{number}"}, 0.0) == 1
    assert len(limit._causes) == MAX_CAUSES


def test_the_most_frequent_activity_is_the_cause() -> None:
    first, later = {**CAUSE, "place": "nodes.py:1"}, {**CAUSE, "place": "nodes.py:2"}
    fold = {"stage": "fold", "place": "fold.py:1"}
    assert main_activity([fold, first, later]) is first
    assert main_activity([fold]) is fold
    assert main_activity([]) == {"stage": "unknown"}
