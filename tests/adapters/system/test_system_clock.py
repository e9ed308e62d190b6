"""Sleeps of the system clock while the wall clock is set."""

import asyncio
import time
from collections.abc import Callable

import pytest

from tests.harness.cases import fails_without
from tests.harness.engine_harness import run_ready_tasks
from weftwork.adapters.system import clock_and_ids
from weftwork.adapters.system.clock_and_ids import SystemClock

HOUR = 3_600_000
PATIENCE_SECONDS = 1.5


class ShiftedClock(SystemClock):
    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead


async def test_the_two_clocks_are_those_of_the_system() -> None:
    clock = SystemClock()
    before = time.time_ns() // 1_000_000, time.monotonic_ns()
    read = clock.now(), clock.monotonic_ns()
    after = time.time_ns() // 1_000_000, time.monotonic_ns()
    assert all(low <= found <= high for low, found, high in zip(before, read, after, strict=True))


async def asleep(clock: SystemClock, milliseconds: int, then: Callable[[], object]) -> int:
    """Do something while a task sleeps; the real time that it sleeps, in nanoseconds."""
    began = time.monotonic_ns()
    task = asyncio.create_task(clock.sleep(milliseconds))
    await run_ready_tasks()
    then()
    await asyncio.wait_for(task, PATIENCE_SECONDS)
    return time.monotonic_ns() - began


async def test_a_clock_that_is_set_back_does_not_lengthen_a_sleep() -> None:
    clock = ShiftedClock()
    slept = await asleep(clock, 20, lambda: setattr(clock, "ahead", -1000 * HOUR))
    assert slept >= 20 * 1_000_000


async def sleep_on_one_clock(self: SystemClock, milliseconds: int) -> None:
    await asyncio.sleep(milliseconds / 1000)


@fails_without(SystemClock, "sleep", sleep_on_one_clock, errors=(TimeoutError,))
async def test_a_clock_that_is_set_forward_ends_a_sleep_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_and_ids, "_MAX_SLEEP_S", 0.01)
    clock = ShiftedClock()
    await asleep(clock, 100 * HOUR, lambda: setattr(clock, "ahead", 101 * HOUR))


@pytest.mark.parametrize("length", [0, -5])
async def test_a_sleep_of_no_length_returns_at_once(length: int) -> None:
    await asyncio.wait_for(SystemClock().sleep(length), PATIENCE_SECONDS)


def test_the_clock_that_counts_suspensions_moves_forward() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert before <= SystemClock().boottime_ns() <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)
