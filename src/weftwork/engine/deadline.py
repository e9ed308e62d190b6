"""A run's time limit, by wall clock from its start, waiting included."""

import asyncio
from collections.abc import Callable

from weftwork.engine.inputs import TimeUp
from weftwork.ports.clock import Clock


class Deadline:
    """Reports TimeUp once, unless it is cancelled before. `limit` None is no limit."""

    __slots__ = ("_clock", "_limit", "_report", "_task")

    def __init__(self, clock: Clock, limit: int | None, report: Callable[[TimeUp], None]) -> None:
        self._clock = clock
        self._limit = limit
        self._report = report
        self._task: asyncio.Task[None] | None = None

    def watch(self, start: int) -> None:
        """Watch the time from `start` on, if there is a limit. Later calls change nothing."""
        if self._limit is not None and self._task is None:
            self._task = asyncio.create_task(self._wait(start, self._limit))

    def cancel(self) -> list[asyncio.Task[None]]:
        """Returns what is still ending."""
        task, self._task = self._task, None
        if task is None:
            return []
        task.cancel()
        return [task]

    async def _wait(self, start: int, limit: int) -> None:
        await self._clock.sleep_until(start + limit + 1)
        self._report(TimeUp(limit, self._clock.now() - start))
