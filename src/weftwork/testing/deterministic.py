"""A manual clock, an event loop that runs on it, and deterministic ids.

Theory of operation. An event loop asks its selector to wait when no callback is ready. At this moment, everything has
happened that can happen at the current time. The loop then completes the future that `idle` returned, and its caller
decides how to continue, for example by advancing the clock. Only work outside the loop, in threads and behind sockets,
is waited for in real time.
"""

import asyncio
import selectors
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeVar

from weftwork.testing.errors import Unending

START: Final = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


class ManualClock:
    """Implements ports.clock.Clock. Time passes only by `advance`. `shift` sets the wall clock, as an operator or a
    time server does: then `now` changes, and no time passes. Sleepers wake in the order of their due times."""

    def __init__(self, now: int = START) -> None:
        self._now = now
        self._passed = 0
        self._sleepers: dict[asyncio.Future[None], tuple[int, int]] = {}
        """When each task wakes, in passed milliseconds and on the wall clock, whichever is reached first."""

    def now(self) -> int:
        return self._now

    def monotonic_ns(self) -> int:
        return self._passed * 1_000_000

    def boottime_ns(self) -> int:
        return self._passed * 1_000_000

    async def sleep(self, milliseconds: int) -> None:
        if milliseconds <= 0:
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers[sleeper] = self._passed + milliseconds, self._now + milliseconds
        try:
            await sleeper
        finally:
            self._sleepers.pop(sleeper, None)

    async def sleep_until(self, when: int) -> None:
        """Sleep for the time that is left until `when` on the wall clock as it is set now."""
        await self.sleep(when - self._now)

    @property
    def next_wake(self) -> int | None:
        """The earliest time that a task sleeps until, in milliseconds on the wall clock as it is set now; None if no
        task sleeps."""
        remaining = min(map(self._remaining, self._sleepers.values()), default=None)
        return None if remaining is None else self._now + remaining

    def advance(self, milliseconds: int) -> None:
        """Let time pass. Tasks whose time has come continue at the next iteration of the event loop."""
        self._now += milliseconds
        self._passed += milliseconds
        for sleeper in sorted(self._sleepers, key=lambda sleeper: self._remaining(self._sleepers[sleeper])):
            if self._remaining(self._sleepers[sleeper]) <= 0 and not sleeper.done():
                sleeper.set_result(None)

    def shift(self, milliseconds: int) -> None:
        """Set the wall clock forward, or back with a negative number, without letting time pass.

        After a shift forward, tasks that sleep until a time before the new `now` wake with the next `advance`; a real
        host notices such a shift within an hour. A shift back has no effect on tasks that sleep.
        """
        self._now += milliseconds

    def _remaining(self, due: tuple[int, int]) -> int:
        passed_due, wall_due = due
        return min(passed_due - self._passed, wall_due - self._now)


class SequentialIds:
    """Implements ports.ids.Ids with counters, so that ids are the same in every run of a test. They are guessable."""

    def __init__(self) -> None:
        self._runs = count(1)
        self._events = count(1)
        self._tokens = count(1)
        self._traces = count(1)
        self._secrets = count(1)

    def run_id(self, now: int) -> str:
        return f"run-{next(self._runs):016}"

    def event_ids(self, count: int) -> list[str]:
        return [f"event-{next(self._events):08}" for _ in range(count)]

    def token(self) -> str:
        return f"token-{next(self._tokens):040}"

    def secret(self, count: int) -> bytes:
        return next(self._secrets).to_bytes(count, "big")

    def trace_id(self) -> str:
        return f"{next(self._traces):032x}"

    def random_fraction(self) -> float:
        return 1.0


T = TypeVar("T")

WORK_POLL_SECONDS: Final = 0.05
"""Interval at which the deadline is checked while a thread is busy."""
SOCKET_IDLE_SECONDS: Final = 0.1
"""How long open sockets and pipes must be idle before the clock is moved."""
SHUTDOWN_SECONDS: Final = 5.0


class ManualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of the manual clock. It raises Unending after `seconds` of real time.

    `busy_threads` returns the number of threads that are working.
    """

    def __init__(self, clock: ManualClock, seconds: float, busy_threads: Callable[[], int]) -> None:
        self._manual_clock = clock
        self._began = clock.monotonic_ns()
        self._executing = 0
        self._busy_threads = busy_threads
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._waiter: asyncio.Future[None] | None = None
        self._timer: int | None = None
        self._files = _HookedSelector(self._wait)
        super().__init__(self._files)
        self._own_files = len(self._files.get_map())

    def time(self) -> float:
        return (self._manual_clock.monotonic_ns() - self._began) / 1_000_000_000

    def idle(self) -> "asyncio.Future[None]":
        """A future that completes when nothing more can happen at the current time. Only one caller may wait for it."""
        self._waiter = self.create_future()
        return self._waiter

    def advance_to_next(self) -> bool:
        """Move the clock to the next timer; False if no timer is set."""
        clock, timer = self._manual_clock, self._timer
        remaining = [clock.next_wake - clock.now()] if clock.next_wake is not None else []
        remaining += [timer - clock.monotonic_ns() // 1_000_000] if timer is not None else []
        if not remaining:
            return False
        self._timer = None
        clock.advance(max(min(remaining), 0))
        return True

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        future = super().run_in_executor(executor, func, *args)
        self._executing += 1
        future.add_done_callback(self._executed)
        return future

    def extend_deadline(self) -> None:
        """Allow SHUTDOWN_SECONDS of real time from now, for cleanup."""
        self._deadline = time.monotonic() + SHUTDOWN_SECONDS

    def shut_down(self) -> None:
        """Cancel all tasks and close the loop."""
        self.extend_deadline()
        try:
            for _ in range(3):
                tasks = asyncio.all_tasks(self)
                for task in tasks:
                    task.cancel()
                if tasks:
                    self.run_until_complete(asyncio.wait(tasks, timeout=SHUTDOWN_SECONDS))
            self.run_until_complete(self.shutdown_asyncgens())
        except Unending:
            # Tasks that ignore their cancellation are abandoned with the loop.
            pass
        finally:
            self.close()

    def _executed(self, future: "asyncio.Future[Any]") -> None:
        self._executing -= 1

    def _wait(self, timeout: float | None) -> list[Any]:
        """Replaces the wait of the selector. `timeout` is 0 if a callback is ready, and None if no timer is set."""
        if time.monotonic() > self._deadline:
            raise Unending(f"it did not end within {self._seconds:g} real seconds")
        ready = self._files.select_really(0)
        if ready or timeout == 0:
            return ready
        if self._executing or self._busy_threads() > 0:
            return self._files.select_really(WORK_POLL_SECONDS)
        if len(self._files.get_map()) > self._own_files and (ready := self._files.select_really(SOCKET_IDLE_SECONDS)):
            return ready
        passed = self._manual_clock.monotonic_ns() // 1_000_000
        self._timer = None if timeout is None else passed + int(timeout * 1000) + 1
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif not self.advance_to_next():
            raise Unending("nothing is left to run, and no timer is set")
        return []


class _HookedSelector(selectors.DefaultSelector):
    """The system's selector with a replaced wait. `select_really` is the original one."""

    def __init__(self, wait: Callable[[float | None], list[Any]]) -> None:
        super().__init__()
        self._wait = wait

    def select(self, timeout: float | None = None) -> list[Any]:
        return self._wait(timeout)

    def select_really(self, timeout: float) -> list[Any]:
        return super().select(timeout)
