"""The host's clock, passed in so that tests control time."""

from typing import Protocol


class Clock(Protocol):
    """The only source of time for the engine: a wall clock, which may be set, and two clocks that only move forward."""

    def now(self) -> int:
        """Wall-clock milliseconds since the epoch. May be set back or forward at any time."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds on a clock that cannot be set. Only differences between two readings have a meaning."""
        ...

    def boottime_ns(self) -> int:
        """Like `monotonic_ns`, but the time counts during which the machine was suspended."""
        ...

    async def sleep(self, milliseconds: int) -> None:
        """Return after that much time on the monotonic clock.

        If the wall clock is set forward in the meantime, it may return as soon as that much time has passed on the
        wall clock. Setting the wall clock back has no effect. Cancellation leaves nothing behind.
        """
        ...
