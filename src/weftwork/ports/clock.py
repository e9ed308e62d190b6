"""The host's clock, passed in so that tests control time."""

from typing import Protocol


class Clock(Protocol):
    """The only source of time for the engine."""

    def now(self) -> int:
        """Wall-clock milliseconds since the epoch. May jump; used for timestamps and deadlines only."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds on a clock that cannot be set. Only differences between two readings have a meaning."""
        ...

    async def sleep(self, milliseconds: int) -> None:
        """Return after that much time on the monotonic clock. Cancellation leaves nothing behind."""
        ...

    async def sleep_until(self, when: int) -> None:
        """Return once `now() >= when`. Cancellation leaves nothing behind."""
        ...
