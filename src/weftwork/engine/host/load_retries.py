"""Runs that this executor has to load again, because an earlier load did not work or its need is not known.

A create may have an unknown outcome: when the store fails during it, the run may be stored nevertheless, and a retry
with the same idempotency key would report it as created. A load may fail with the store, after the run was taken. Both
are tried again every second until the store answers, because the recovery finds neither: it looks for runs that no
executor has taken.

A run that this host cannot load, for instance because a node type is missing, stays taken as well. The store keeps the
time of the next attempt.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from weftwork.engine.fence import ExecutorFence
from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.ownership import RunOwnership
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

MAX_DOUBTFUL: Final = 10_000
"""Runs beyond this number are loaded at the next start."""
UNLOADABLE_RETRY_MS: Final = 600_000
"""Delay before the host tries again to load a run that it could not load."""
RETRY_PAGE: Final = 64
_END_OF_TIME: Final = 2**62


class LoadRetries(msgspec.Struct, eq=False):
    """Two tasks, each of which ends when it has no runs left. `_wake` loads a run that exists and has not ended.
    `_recover` does the same, logs errors, and calls `postpone` if the run cannot be loaded; it raises only
    StoreUnavailable."""

    _ownership: RunOwnership
    _fence: ExecutorFence
    _clock: Clock
    _wake: Callable[[RunKey], Awaitable[object]]
    _recover: Callable[[RunKey], Awaitable[object]]
    runs: dict[RunKey, None] = {}
    """The runs that are tried again every second."""
    _task: asyncio.Task[None] | None = None
    _postponed: asyncio.Task[None] | None = None
    _closed: bool = False

    def add(self, run: RunKey) -> None:
        """Load a run as soon as the store answers, if it exists."""
        if self._closed:
            return
        if len(self.runs) < MAX_DOUBTFUL:
            self.runs[run] = None
        if self._task is None:
            self._task = asyncio.create_task(self._load_all())

    async def postpone(self, run: RunKey) -> None:
        """Try a run again that this host could not load, after UNLOADABLE_RETRY_MS. Raises StoreUnavailable."""
        at = self._clock.now() + UNLOADABLE_RETRY_MS
        is_ours = await self._ownership.retry_later(run, self._fence.epoch, at)
        if is_ours and self._postponed is None and not self._closed:
            self._postponed = asyncio.create_task(self._load_postponed())

    def close(self) -> None:
        self._closed = True
        for task in (self._task, self._postponed):
            if task is not None:
                task.cancel()

    async def _load_all(self) -> None:
        while self.runs:
            await self._clock.sleep(STORE_RETRY_MS)
            for run in list(self.runs):
                try:
                    await self._wake(run)
                except StoreUnavailable:
                    break
                except Exception:
                    log.exception("run skipped: its event log cannot be replayed", extra=run.log_fields)
                del self.runs[run]
        self._task = None

    async def _load_postponed(self) -> None:
        delay = UNLOADABLE_RETRY_MS
        while True:
            await self._clock.sleep(delay)
            delay = UNLOADABLE_RETRY_MS
            try:
                await self._load_due(self._clock.now())
                if not await self._ownership.due_retries(self._fence.epoch, _END_OF_TIME, 1):
                    break
            except StoreUnavailable:
                delay = STORE_RETRY_MS
        self._postponed = None

    async def _load_due(self, now: int) -> None:
        epoch = self._fence.epoch
        while page := await self._ownership.due_retries(epoch, now, RETRY_PAGE):
            for run in page:
                # This forgets the retry time. False once another process has been elected.
                if not await self._ownership.take(run, epoch):
                    return
                await self._recover(run)
