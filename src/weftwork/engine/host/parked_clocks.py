"""Keeps the waits of parked runs from growing when the wall clock is set back.

The store lists parked runs by `wake_at`, a time on the wall clock. While the wall clock keeps pace with the monotonic
clock, that list is all that is needed, and nothing is kept here. After the wall clock was set back, every run that was
parked before would be woken too late by the same amount. These runs are read from the store once, and are kept here,
with the time at which each has to be woken on the monotonic clock, until they are loaded.

The time of a run is described by its origin: the time less the reading of the monotonic clock, in milliseconds. It is
constant while the monotonic clock passes. A run whose origin is not kept here has that of the wall clock.
"""

import heapq
import logging
from collections.abc import Callable
from itertools import count, islice
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.storage.run_queries import RunQueries, TimedRun
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.run_time import is_ahead, origin_at_start

log = logging.getLogger("weftwork.run")

PAGE_SIZE: Final = 500
NS_PER_MS: Final = 1_000_000
MAX_READING_NS: Final = 10 * NS_PER_MS
"""Two clocks that are read further apart than this, because the thread was interrupted, are read again."""
MAX_READINGS: Final = 5


class ParkedClock(msgspec.Struct, frozen=True):
    """The origin of a run that is ahead of the wall clock."""

    origin: int
    wake_at: int | None
    """When the run has to be woken, in the time of the run."""

    @property
    def wake_monotonic(self) -> int | None:
        """When the run has to be woken, in milliseconds on the monotonic clock. Rounded up."""
        return None if self.wake_at is None else self.wake_at - self.origin + 1


class ParkedClocks(msgspec.Struct, eq=False):
    """The parked runs that are ahead of the wall clock. `_is_live` returns whether a run is in memory."""

    _clock: Clock
    _queries: RunQueries
    _is_live: Callable[[RunKey], bool]
    _wall_origin: int | None = None
    """The greatest origin of the wall clock since it was last set back."""
    _scan_origin: int | None = None
    """The origin of the runs of an unfinished scan of the store, except those in `_parked_in_scan`."""
    _changes: int = 0
    """How often the wall clock was set back."""
    _is_first_scan: bool = True
    _parked_in_scan: dict[RunKey, int] = {}
    """The origins of the runs that were parked since the unfinished scan began."""
    _ahead: dict[RunKey, ParkedClock] = {}
    _wakes: list[tuple[int, int, RunKey]] = []
    """A heap of `wake_monotonic`, a number that makes entries comparable, and the run. Entries that differ from
    `_ahead` are obsolete."""
    _numbers: "count[int]" = msgspec.field(default_factory=count)
    _due: dict[RunKey, None] = {}
    """Runs that were taken from the heap and are not loaded yet, in the order of their wake-up."""

    async def refresh(self) -> None:
        """Notice whether the wall clock was set, and after it was set back, read the parked runs. The first call covers
        runs that an earlier process parked. Raises StoreUnavailable, and the next call starts over."""
        self._compare()
        while self._scan_origin is not None:
            changes = self._changes
            await self._scan(self._scan_origin)
            if self._changes == changes:
                self._scan_origin = None
                self._is_first_scan = False
                self._parked_in_scan = {}

    def on_parked(self, run: RunKey, origin: int, wake_at: int | None) -> int | None:
        """Include a run that was just parked. Returns when it must be woken, in milliseconds on the monotonic clock, or
        None if it has no timer."""
        wall_origin = self._compare()
        self._due.pop(run, None)
        if self._scan_origin is not None:
            self._parked_in_scan[run] = origin
        kept = self._keep(run, ParkedClock(origin, wake_at))
        if kept is not None:
            return kept.wake_monotonic
        # Not rounded up: the alarm compares it with times of the store, and a run may be due a millisecond earlier.
        return None if wake_at is None else wake_at - wall_origin

    def on_loaded(self, run: RunKey) -> int | None:
        """The origin of a run that is being loaded; None if it is not ahead of the wall clock."""
        self._compare()
        self._due.pop(run, None)
        parked = self._ahead.pop(run, None)
        if parked is not None:
            return parked.origin
        return None if self._is_first_scan else self._parked_in_scan.get(run, self._scan_origin)

    def due(self, limit: int) -> list[RunKey]:
        """Runs that have to be woken, earliest first. A run stays due until it is loaded or dropped."""
        now = self._clock.monotonic_ns() // NS_PER_MS
        while self._wakes and self._wakes[0][0] <= now:
            when, _, run = heapq.heappop(self._wakes)
            if (parked := self._ahead.get(run)) is not None and parked.wake_monotonic == when:
                self._due[run] = None
        return list(islice(self._due, limit))

    def next_wake(self) -> int | None:
        """When the next run becomes due, in milliseconds on the monotonic clock."""
        return self._wakes[0][0] if self._wakes else None

    def drop(self, run: RunKey) -> None:
        """Forget a run that cannot be loaded. It may have ended."""
        self._due.pop(run, None)
        self._ahead.pop(run, None)

    def _compare(self) -> int:
        """Compare the wall clock with the monotonic clock, and return its origin. Every caller of this class does this
        first, so that no run is parked between a change of the wall clock and its notice."""
        current = self._read_wall_origin()
        before = current if self._wall_origin is None else self._wall_origin
        if self._is_first_scan and self._scan_origin is None:
            self._scan_origin = before
        if is_ahead(before, current):
            log.warning("system clock set back; waits in progress keep their length", extra={"ms": before - current})
            self._wall_origin = current
            self._changes += 1
            # Runs that were parked during an unfinished scan are in `_parked_in_scan`.
            self._scan_origin = before if self._scan_origin is None else max(self._scan_origin, before)
        elif current > before or self._wall_origin is None:
            self._wall_origin = current
            self._drop_caught_up(current)
        return current

    def _read_wall_origin(self) -> int:
        wall = after = 0
        for _ in range(MAX_READINGS):
            before = self._clock.monotonic_ns()
            wall = self._clock.now()
            after = self._clock.monotonic_ns()
            if after - before < MAX_READING_NS:
                break
        return wall - after // NS_PER_MS

    async def _scan(self, origin: int) -> None:
        """Keep the parked runs of the store that are ahead of the wall clock."""
        started, changes = self._clock.monotonic_ns() // NS_PER_MS, self._changes
        after: TimedRun | None = None
        while page := await self._queries.timed_runs(after, PAGE_SIZE):
            for each in page:
                self._add_stored(each, origin, started)
            if self._changes != changes:
                # The runs of earlier pages are further ahead than they were, so the scan starts over.
                return
            after = page[-1]

    def _add_stored(self, stored: TimedRun, scan_origin: int, started: int) -> None:
        run = stored.run
        if run in self._ahead or self._is_live(run):
            return
        origin = self._parked_in_scan.get(run)
        if origin is None:
            origin = scan_origin
            if self._is_first_scan:
                origin = origin_at_start(origin, stored.last_event_at, started)
        self._keep(run, ParkedClock(origin, stored.wake_at))

    def _keep(self, run: RunKey, parked: ParkedClock) -> ParkedClock | None:
        """Keep the run if it is ahead of the wall clock; None if it is not."""
        if self._wall_origin is not None and is_ahead(parked.origin, self._wall_origin):
            self._ahead[run] = parked
            if (when := parked.wake_monotonic) is not None:
                heapq.heappush(self._wakes, (when, next(self._numbers), run))
            return parked
        self._ahead.pop(run, None)
        return None

    def _drop_caught_up(self, wall_origin: int) -> None:
        """After the wall clock was set forward, forget the runs that it has caught up with."""
        if self._ahead:
            self._ahead = {run: each for run, each in self._ahead.items() if is_ahead(each.origin, wall_origin)}
            self._due = {run: None for run in self._due if run in self._ahead}
