"""Doubts: runs whose creation failed in a way that leaves open whether they are stored.

A store that says it is away may have taken the run all the same, and a retry under the same key will be told that
it was created. So somebody has to look, and go on with it if it is there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from weftwork.ports.clock import Clock
from weftwork.ports.eventlog import StoreUnavailable
from weftwork.protocol.run import RunKey

log = logging.getLogger("weftwork.run")

MOST: Final = 10_000
"""Beyond this, what is doubtful is found at the next start."""
LOOK_MS: Final = 1000


class Doubts:
    """One task for all of them; it ends when there is nothing left to look for."""

    def __init__(self, clock: Clock, wake: Callable[[RunKey], Awaitable[object]]) -> None:
        self._clock = clock
        self._wake = wake
        self._runs: dict[RunKey, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def add(self, run: RunKey) -> None:
        if self._closed:
            return
        if len(self._runs) < MOST:
            self._runs[run] = None
        if self._task is None:
            self._task = asyncio.create_task(self._look())

    def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while self._runs:
            await self._clock.sleep_until(self._clock.now() + LOOK_MS)
            for run in list(self._runs):
                try:
                    await self._wake(run)
                except StoreUnavailable:
                    break
                except Exception:
                    log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
                del self._runs[run]
        self._task = None
