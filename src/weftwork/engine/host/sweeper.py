"""Background cleanup: deletes expired idempotency records every ten minutes, and then runs other chores."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.idempotency import IdempotencyRecords
from weftwork.ports.storage.retention import RunRetention
from weftwork.protocol.wire.idempotency import expired_before

log = logging.getLogger("weftwork.sweeper")

SWEEP_INTERVAL_MS: Final = 600_000


class Sweeper:
    """Runs in the background from `start` to `stop`. `chores` run after each sweep. A skipped sweep does no harm: the
    next one deletes more."""

    def __init__(
        self, records: IdempotencyRecords, retention: RunRetention, clock: Clock, *chores: Callable[[], Awaitable[None]]
    ) -> None:
        self._records = records
        self._retention = retention
        self._clock = clock
        self._chores = chores
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def sweep(self) -> int:
        """Delete every record past its retention, and forget runs that were deleted that long ago, in bounded writes.

        Returns how many of both.
        """
        total = 0
        for sweep in (self._records.sweep, self._retention.forget_deleted):
            while count := await sweep(expired_before(self._clock.now())):
                total += count
        return total

    async def _run(self) -> None:
        while True:
            try:
                fault_point("sweep.begin")
                await self.sweep()
                for chore in self._chores:
                    await chore()
            except StoreUnavailable:
                log.warning("store unavailable, cleanup postponed")
            await self._clock.sleep(SWEEP_INTERVAL_MS)
