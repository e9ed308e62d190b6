"""The clock of one run in memory."""

from collections.abc import Callable
from typing import Final, Self

import msgspec

from weftwork.ports.clock import Clock
from weftwork.protocol.run.run_time import run_time

NS_PER_MS: Final = 1_000_000


class RunClock(msgspec.Struct, eq=False):
    """time-01: tells the time of a run, which continues when the wall clock is set back.

    `_time` is the time of the run when the monotonic clock was at `_read_at` nanoseconds.
    """

    _clock: Clock
    monotonic_ns: Callable[[], int]
    """That of the host's clock."""
    _time: int
    _read_at: int

    @classmethod
    def begin(cls, clock: Clock, last_event_at: int, origin: int | None = None) -> Self:
        """The clock of a run that is created or loaded. `origin` is that of its time before it was parked, if the wall
        clock was set back since then."""
        read_at = clock.monotonic_ns()
        time = last_event_at if origin is None else max(last_event_at, origin + read_at // NS_PER_MS)
        return cls(clock, clock.monotonic_ns, time, read_at)

    def now(self) -> int:
        """The time of the run in milliseconds since the epoch: the wall clock, unless that was set back."""
        elapsed = (self.monotonic_ns() - self._read_at) // NS_PER_MS
        return run_time(self._clock.now(), self._time, elapsed)

    def stamp(self) -> int:
        """The time for the next events. From here on, `now` is at least this time plus the time that has passed."""
        wall, read_at = self._clock.now(), self.monotonic_ns()
        now = run_time(wall, self._time, (read_at - self._read_at) // NS_PER_MS)
        if now == wall:
            # While the run is ahead of the wall clock, the pair stays, so that no fraction of a millisecond is lost.
            self._time, self._read_at = wall, read_at
        return now

    @property
    def origin(self) -> int:
        """The time of the run less the reading of the monotonic clock, in milliseconds."""
        return self.now() - self.monotonic_ns() // NS_PER_MS

    async def sleep_until(self, when: int) -> None:
        """Return at this time of the run. Cancellation leaves nothing behind."""
        while (remaining := when - self.now()) > 0:
            await self._clock.sleep(remaining)
