"""The size of the stored event logs of each tenant, for the quota of a host that has one.

One process per store executes runs, so their commits can be counted in memory. The store is asked for the size of a
partition once, when a run of it is created or loaded. From then on the count is an upper bound: bytes are reserved
before the commit, and deleted runs are not subtracted. When the bound reaches the quota, the store is asked again, at
most once every RECOUNT_MS. Without a quota nothing is counted.

Runs of test keys and of live keys have different partitions, so they are counted separately.
"""

from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.limits import Limits

RECOUNT_MS: Final = 10_000


MIN_RUN_BYTES: Final = 16_384
"""Bytes below the quota from which no run is created, because it could not do much."""


class Usage(msgspec.Struct):
    """The counted bytes of one partition."""

    counted_at: int
    counted: int
    added: int = 0
    """Bytes reserved since the count."""


class TenantLogs(msgspec.Struct, eq=False):
    """size-03 (host): the counted logs of the partitions that were used since the start."""

    quota: int
    _log: EventLog
    _clock: Clock
    _usage: dict[str, Usage] = {}

    async def load(self, partition: str) -> None:
        """Count a partition that is not known, or that has reached the quota and was not counted recently. Raises
        StoreUnavailable."""
        known, now = self._usage.get(partition), self._clock.now()
        if known is not None:
            if not self.is_full(partition) or now - known.counted_at < RECOUNT_MS:
                return
            # Reset before the count, so that bytes which are reserved during the count stay reserved.
            known.counted_at, before, known.added = now, known.added, 0
            try:
                known.counted = await self._log.partition_bytes(partition)
            except BaseException:
                known.added += before
                raise
            return
        size = await self._log.partition_bytes(partition)
        self._usage.setdefault(partition, Usage(now, size))

    def used(self, partition: str) -> int:
        """The bytes of a partition; 0 if it is not loaded."""
        known = self._usage.get(partition)
        return known.counted + known.added if known is not None else 0

    def is_full(self, partition: str) -> bool:
        """Whether the quota has no room for another run."""
        return self.used(partition) + MIN_RUN_BYTES > self.quota

    def reserve(self, partition: str, size: int) -> bool:
        """Count bytes that are about to be committed; False, without effect, if they exceed the quota."""
        known = self._usage.get(partition)
        if known is None:
            known = self._usage[partition] = Usage(0, 0)
        if known.counted + known.added + size > self.quota:
            return False
        known.added += size
        return True


def tenant_logs_of(limits: Limits, log: EventLog, clock: Clock) -> TenantLogs | None:
    """The counter of a host with a quota; None without one, so that nothing is counted."""
    quota = limits.max_log_bytes_per_tenant
    return TenantLogs(quota, log, clock) if quota else None
