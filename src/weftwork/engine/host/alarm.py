"""Wakes parked runs when a timer of theirs is due. One alarm for all runs of a host."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQueries
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

WAKE_BATCH: Final = 100
"""Runs that are woken together."""
RETRY_FAILED_MS: Final = 600_000
"""After that, what could not be woken is tried again."""


class Alarm(msgspec.Struct, eq=False):
    """`_wake` loads a run, whose own timers do the rest, lets it go on for a while, and says whether it could;
    `_is_live` knows those that are loaded."""

    _queries: RunQueries
    _clock: Clock
    _wake: Callable[[RunKey], Awaitable[bool]]
    _is_live: Callable[[RunKey], bool]
    _failed: dict[RunKey, int] = {}
    """What could not be woken, and when that is tried again."""
    _next_wake: int | None = None
    _changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _closed: bool = False

    def start(self) -> None:
        """Look after runs that were parked before."""
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._watch())

    def schedule(self, when: int | None) -> None:
        """A run was parked that wakes then."""
        if when is not None:
            self.start()
            if self._next_wake is None or when < self._next_wake:
                self._changed.set()

    def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while True:
            self._changed.clear()
            self._next_wake = None
            try:
                self._next_wake = await self._wake_due()
            except StoreUnavailable:
                self._next_wake = self._clock.now() + STORE_RETRY_MS
            except Exception:
                log.exception("the alarm of waiting runs failed; it is set again")
                self._next_wake = self._clock.now() + RETRY_FAILED_MS
            if not self._changed.is_set():
                await self._sleep(self._next_wake)

    async def _wake_due(self) -> int | None:
        """Wake what is due; returns when to look again, None if nothing can be due before another run is parked.

        What is due and in memory sees to itself. What cannot be woken keeps nobody else from it.
        """
        now = self._clock.now()
        self._failed = {run: again for run, again in self._failed.items() if again > now}
        most = WAKE_BATCH
        # Once each: one that is due and finds nothing to do must not keep the alarm busy.
        rung: set[RunKey] = set()
        while True:
            due = await self._queries.due_runs(now, most)
            idle = [run for run in due if run not in self._failed and not self._is_live(run)]
            fresh = [run for run in idle if run not in rung][:WAKE_BATCH]
            rung.update(fresh)
            if fresh:
                fault_point("alarm.ring")
            woken = await asyncio.gather(*map(self._wake, fresh))
            self._failed |= {run: now + RETRY_FAILED_MS for run, done in zip(fresh, woken, strict=True) if not done}
            if not fresh and len(due) < most:
                break
            # What is passed over must not hide what stands behind it.
            most = WAKE_BATCH + len(self._failed) + len(rung) if fresh else most * 2
        # Due, woken, and at rest again: the clock was set back meanwhile.
        self._failed |= dict.fromkeys(idle, now + STORE_RETRY_MS)
        coming = await self._queries.next_wake(now)
        return min((when for when in (coming, *self._failed.values()) if when is not None), default=None)

    async def _sleep(self, until: int | None) -> None:
        """Until then, or until a run is parked that is due earlier."""
        if until is None:
            await self._changed.wait()
            return
        waits = asyncio.create_task(self._clock.sleep_until(until)), asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
