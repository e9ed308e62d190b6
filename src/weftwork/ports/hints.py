"""Hints: short messages between processes on the same store, that something in it has changed.

A hint is sent after the change is durable. It is only a wake-up: it may be lost, repeated or late, and everything that
reacts to hints also looks at the store at intervals.
"""

from collections.abc import Callable
from typing import Final, Protocol

KEYS: Final = "keys"
SIGNING: Final = "signing"
GONE: Final = "gone"
"""Ended runs were deleted."""
WORK: Final = "work"
"""There is work for the executor: runs that it has not taken, messages between runs, or timers."""
MISSED: Final = ""
"""Hints may have been lost."""


class Hints(Protocol):
    """Sends and receives hints. A process may receive its own."""

    @property
    def is_listening(self) -> bool:
        """Whether hints of other processes arrive now."""
        ...

    def listen(self, receiver: Callable[[str], None]) -> None:
        """Call `receiver` with each hint, and with MISSED whenever hints may have been lost. It must not block."""
        ...

    def send(self, *hints: str) -> None:
        """Send hints soon. Never fails."""
        ...

    async def open(self) -> None:
        """Begin to send and to listen, and return at once; lost connections are made again in the background."""
        ...

    async def flush(self) -> None:
        """Wait, for a short time, until the hints so far were sent."""
        ...

    async def close(self) -> None:
        """Stop. Safe to call twice."""
        ...
