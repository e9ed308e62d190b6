"""Creates of runs whose outcome is unknown, and forks that could not be loaded.

When the store fails during a create, the run may be stored nevertheless, and a retry with the same idempotency key
would report it as created. Such creates are looked up until the store answers, and the run is executed if it exists. So
is a fork that was created before the store failed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

MAX_UNCONFIRMED: Final = 10_000
"""Unconfirmed creates beyond this number are resolved at the next start."""
CONFIRM_INTERVAL_MS: Final = 1000


class UnconfirmedCreates(msgspec.Struct, eq=False):
    """One task looks them up in the store, and ends when none is left."""

    _clock: Clock
    _wake: Callable[[RunKey], Awaitable[object]]
    _runs: dict[RunKey, None] = {}
    _task: asyncio.Task[None] | None = None
    _closed: bool = False

    def add(self, run: RunKey) -> None:
        if self._closed:
            return
        if len(self._runs) < MAX_UNCONFIRMED:
            self._runs[run] = None
        if self._task is None:
            self._task = asyncio.create_task(self._confirm_all())

    def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def _confirm_all(self) -> None:
        while self._runs:
            await self._clock.sleep(CONFIRM_INTERVAL_MS)
            for run in list(self._runs):
                try:
                    await self._wake(run)
                except StoreUnavailable:
                    break
                except Exception:
                    log.exception("run skipped: its event log cannot be replayed", extra=run.log_fields)
                del self._runs[run]
        self._task = None
