"""A clock that moves only when a test moves it, and ids that are the same in every run of a test."""

import asyncio
from itertools import count
from typing import Final

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
