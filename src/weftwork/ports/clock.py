"""The host's clock, passed in so that tests control time."""

from typing import Protocol


class Clock(Protocol):
    """The only source of time for the engine."""

    def now(self) -> int:
        """Wall-clock milliseconds since the epoch. May jump; used for timestamps and deadlines only."""
        ...

    async def sleep_until(self, when: int) -> None:
        """Return once `now() >= when`. Cancellation leaves nothing behind."""
        ...
