"""A clock that moves only when a test moves it, an event loop on that clock, and ids that every run of a test repeats.

Theory. An event loop asks its selector to wait once nothing is ready to run. That is the moment at which everything
has happened that could happen at this instant: whoever waits for it by `idle` is told, and decides. Only work that
goes on outside of the loop, in threads and behind sockets, is waited for in real time.
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
    """Implements ports.clock.Clock. Sleepers wake in the order of their instants, and only by `advance`."""

    def __init__(self, now: int = START) -> None:
        self._now = now
        self._sleepers: dict[asyncio.Future[None], int] = {}

    def now(self) -> int:
        return self._now

    async def sleep_until(self, when: int) -> None:
        if when <= self._now:
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers[sleeper] = when
        try:
            await sleeper
        finally:
            self._sleepers.pop(sleeper, None)

    @property
    def next_wake(self) -> int | None:
        """The earliest instant that somebody sleeps for."""
        return min(self._sleepers.values(), default=None)

    def advance(self, milliseconds: int) -> None:
        """Let so much time pass. Whoever is due goes on when the event loop next runs."""
        self._now += milliseconds
        for sleeper in sorted(self._sleepers, key=self._sleepers.__getitem__):
            if self._sleepers[sleeper] <= self._now and not sleeper.done():
                sleeper.set_result(None)


class SequentialIds:
    """Implements ports.ids.Ids in shape; nothing here is hard to guess."""

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
"""How often the time is looked at while a thread works."""
SOCKET_IDLE_SECONDS: Final = 0.1
"""How long open sockets and pipes have to be silent before the clock moves."""
SHUTDOWN_SECONDS: Final = 5.0


class ManualTimeLoop(asyncio.SelectorEventLoop):
    """Runs one piece of work, with a bound in real seconds. `outside` says how many threads are at work."""

    def __init__(self, clock: ManualClock, seconds: float, outside: Callable[[], int]) -> None:
        self._manual_clock = clock
        self._began = clock.now()
        self._executing = 0
        self._busy_threads = outside
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._waiter: asyncio.Future[None] | None = None
        self._timer: int | None = None
        self._files = _HookedSelector(self._wait)
        super().__init__(self._files)
        self._own_files = len(self._files.get_map())

    def time(self) -> float:
        return (self._manual_clock.now() - self._began) / 1000

    def idle(self) -> "asyncio.Future[None]":
        """Done when nothing more can happen without time, an answer or a fault. For one caller at a time."""
        self._waiter = self.create_future()
        return self._waiter

    def advance_to_next(self) -> bool:
        """Move the clock to the next timer; False if there is none."""
        due = [when for when in (self._manual_clock.next_wake, self._timer) if when is not None]
        if not due:
            return False
        self._timer = None
        self._manual_clock.advance(max(min(due) - self._manual_clock.now(), 0))
        return True

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        future = super().run_in_executor(executor, func, *args)
        self._executing += 1
        future.add_done_callback(self._executed)
        return future

    def extend_deadline(self) -> None:
        """Some real seconds more, for what has to be done at the end."""
        self._deadline = time.monotonic() + SHUTDOWN_SECONDS

    def shut_down(self) -> None:
        """Stop what still runs, and close."""
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
            # What does not heed its end is left behind with the loop.
            pass
        finally:
            self.close()

    def _executed(self, future: "asyncio.Future[Any]") -> None:
        self._executing -= 1

    def _wait(self, timeout: float | None) -> list[Any]:
        """Stands for the wait of the selector. A timeout of 0: something is ready; None: no timer is set."""
        if time.monotonic() > self._deadline:
            raise Unending(f"it did not end within {self._seconds:g} real seconds")
        found = self._files.select_really(0)
        if found or timeout == 0:
            return found
        if self._executing or self._busy_threads() > 0:
            return self._files.select_really(WORK_POLL_SECONDS)
        if len(self._files.get_map()) > self._own_files and (found := self._files.select_really(SOCKET_IDLE_SECONDS)):
            return found
        self._timer = None if timeout is None else self._manual_clock.now() + int(timeout * 1000) + 1
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif not self.advance_to_next():
            raise Unending("nothing can happen any more")
        return []


class _HookedSelector(selectors.DefaultSelector):
    """The selector of the system, with another idea of waiting."""

    def __init__(self, wait: Callable[[float | None], list[Any]]) -> None:
        super().__init__()
        self._wait = wait

    def select(self, timeout: float | None = None) -> list[Any]:
        return self._wait(timeout)

    def select_really(self, timeout: float) -> list[Any]:
        return super().select(timeout)
