"""Loads parked runs when one of their timers is due. One alarm serves all runs of a host.

The store lists the runs that are due on the wall clock. `ParkedClocks` has those that are due although the wall clock,
which was set back, has not reached their time. All instants here are milliseconds on the monotonic clock.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from weftwork.engine.host.parked_clocks import NS_PER_MS, ParkedClocks
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQueries
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

WAKE_BATCH: Final = 100
"""Runs that are loaded concurrently."""
CHOICE: Final = 2_000
"""Due runs among which a batch is chosen while slots of live runs are scarce."""
RETRY_FAILED_MS: Final = 600_000
"""Delay before the host tries again to load a run that it could not load."""


class Alarm(msgspec.Struct, eq=False):
    """Sleeps until the next parked run is due, and loads it; its own timers do the rest.

    `_wake` loads a run, gives it a moment to do what is due, and returns whether it could be loaded. `_is_live` returns
    whether a run is in memory, and `_slots` are those of all live runs.
    """

    _queries: RunQueries
    _clock: Clock
    _parked_clocks: ParkedClocks
    _wake: Callable[[RunKey], Awaitable[bool]]
    _is_live: Callable[[RunKey], bool]
    _slots: FairLimit
    _failed: dict[RunKey, int] = {}
    """Runs that could not be loaded, and the instant of the next attempt."""
    _next_wake: int | None = None
    _changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _closed: bool = False

    def start(self) -> None:
        """Start the task, which also covers runs that were parked by an earlier process."""
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._watch())

    def look(self) -> None:
        """Look at the store now: another process may have parked runs."""
        self.start()
        self._changed.set()

    def schedule(self, run: RunKey, origin: int, wake_at: int | None) -> None:
        """Include a run that was parked and is due at `wake_at` in its own time; None if it has no timer."""
        when = self._parked_clocks.on_parked(run, origin, wake_at)
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
                self._next_wake = self._now() + STORE_RETRY_MS
            except Exception:
                log.exception("waking parked runs failed; retrying in ten minutes")
                self._next_wake = self._now() + RETRY_FAILED_MS
            if not self._changed.is_set():
                await self._sleep(self._next_wake)

    async def _wake_due(self) -> int | None:
        """Load the runs that are due; returns when to look again, None if no parked run has a timer.

        Runs in memory are skipped, because they have their own timers. A run that cannot be loaded does not delay the
        others. At the limit of live runs, one batch is loaded per call: thousands of runs may wait for the same time.
        It is chosen fairly among the tenants of the next CHOICE runs.
        """
        await self._parked_clocks.refresh()
        now, wall = self._now(), self._clock.now()
        self._failed = {run: retry_at for run, retry_at in self._failed.items() if retry_at > now}
        limit = CHOICE if self._slots.total >= self._slots.unreserved else WAKE_BATCH
        # Each run is woken once per call: a run that stays due without doing anything must not keep the alarm busy.
        attempted: set[RunKey] = set()
        while True:
            listed = await self._queries.due_runs(wall, limit)
            due = dict.fromkeys([*self._parked_clocks.due(WAKE_BATCH), *listed])
            idle = [run for run in due if run not in self._failed and not self._is_live(run)]
            fresh = [run for run in idle if run not in attempted]
            if len(fresh) > WAKE_BATCH:
                fresh = self._slots.in_fair_order([(run.partition, run) for run in fresh], WAKE_BATCH)
            attempted.update(fresh)
            if fresh:
                fault_point("alarm.ring")
            woken = await asyncio.gather(*map(self._wake, fresh))
            self._set_failed([run for run, done in zip(fresh, woken, strict=True) if not done], now)
            if not fresh and len(listed) < limit:
                break
            if fresh and self._slots.is_full:
                return now + STORE_RETRY_MS
            # Skipped runs fill the page, so the limit grows until the page reaches the runs after them.
            limit = WAKE_BATCH + len(self._failed) + len(attempted) if fresh else limit * 2
        # These runs were due, were woken, and are parked again: the wall clock was set back in the meantime.
        self._failed |= dict.fromkeys(idle, now + STORE_RETRY_MS)
        listed_next = await self._queries.next_wake(wall)
        next_due = now + listed_next - wall if listed_next is not None else None
        times = (next_due, self._parked_clocks.next_wake(), *self._failed.values())
        return min((when for when in times if when is not None), default=None)

    def _set_failed(self, runs: list[RunKey], now: int) -> None:
        for run in runs:
            self._parked_clocks.drop(run)
            self._failed[run] = now + RETRY_FAILED_MS

    def _now(self) -> int:
        return self._clock.monotonic_ns() // NS_PER_MS

    async def _sleep(self, until: int | None) -> None:
        """Sleep until that instant, or until a run is parked that is due earlier."""
        if until is None:
            await self._changed.wait()
            return
        waits = asyncio.create_task(self._clock.sleep(until - self._now())), asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
