"""The size of the stored event logs of each tenant, for the quota of a host that has one.

A log counts with the header of its run, which holds the inputs. One process per store executes runs, so their commits
can be counted in memory. The store is asked for the size of a partition once, when a run of it is created or loaded.
From then on the count is an upper bound: bytes are reserved before the commit, and deleted runs are not subtracted.
When the bound comes near the quota, and after a reservation that found no room, the store is asked again, at most once
every RECOUNT_MS. Without a quota nothing is counted.

Runs of test keys and of live keys have different partitions, so they are counted separately.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.header import RunHeader

RECOUNT_MS: Final = 10_000
RECOUNT_ABOVE: Final = 7 / 8
"""Part of the quota above which the logs are counted again, so that no run fails because of runs that were deleted."""
RECOUNT_AFTER: Final = 1 / 32
"""Part of the quota that is reserved before such a count, so that logs which are near their quota cost few counts."""
MIN_RUN_BYTES: Final = 16_384
"""Room that a new run needs besides its inputs, because it could not do much with less."""


class Usage(msgspec.Struct):
    """The counted bytes of one partition."""

    counted_at: int
    counted: int
    added: int = 0
    """Bytes reserved since the count."""
    found_no_room: bool = False
    """Whether bytes could not be reserved since the count."""


class TenantLogs(msgspec.Struct, eq=False):
    """size-03 (host): the counted logs of the partitions that were used since the start."""

    quota: int
    _log: EventLog
    _clock: Clock
    _usage: dict[str, Usage] = {}

    async def load(self, partition: str) -> None:
        """Count a partition that is not known, or that may have reached the quota and was not counted recently. Raises
        StoreUnavailable."""
        known, now = self._usage.get(partition), self._clock.now()
        if known is not None:
            if now - known.counted_at < RECOUNT_MS or not self._may_be_full(known):
                return
            # Reset before the count, so that bytes which are reserved during the count stay reserved.
            known.counted_at, before, known.added = now, known.added, 0
            known.found_no_room = False
            try:
                known.counted = await self._log.partition_bytes(partition)
            except BaseException:
                known.added += before
                raise
            return
        size = await self._log.partition_bytes(partition)
        self._usage.setdefault(partition, Usage(now, size))

    def _may_be_full(self, known: Usage) -> bool:
        near = known.counted + known.added > self.quota * RECOUNT_ABOVE and known.added > self.quota * RECOUNT_AFTER
        return known.found_no_room or near

    def used(self, partition: str) -> int:
        """The bytes of a partition; 0 if it is not loaded."""
        known = self._usage.get(partition)
        return known.counted + known.added if known is not None else 0

    def reserve(self, partition: str, size: int) -> bool:
        """Count bytes that are about to be committed; False, without effect, if they exceed the quota."""
        return self._reserve(partition, size, size)

    def reserve_run(self, header: RunHeader, hidden: Iterable[HiddenValue], copied_bytes: int = 0) -> bool:
        """Count a run that is about to be created; False, without effect, if the quota has no room for it.

        It needs its size twice, because its first event repeats the inputs. `copied_bytes`: what a fork copies."""
        size = _stored_size(header, hidden)
        return self._reserve(header.partition, size + copied_bytes, 2 * size + copied_bytes + MIN_RUN_BYTES)

    def _reserve(self, partition: str, size: int, needed: int) -> bool:
        known = self._usage.get(partition)
        if known is None:
            known = self._usage[partition] = Usage(0, 0)
        if known.counted + known.added + needed > self.quota:
            known.found_no_room = True
            return False
        known.added += size
        return True


def _stored_size(header: RunHeader, hidden: Iterable[HiddenValue]) -> int:
    """The bytes of a run besides its events."""
    return len(msgspec.json.encode(header)) + sum([len(each.value) for each in hidden])


def tenant_logs_of(limits: Limits, log: EventLog, clock: Clock) -> TenantLogs | None:
    """The counter of a host with a quota; None without one, so that nothing is counted."""
    quota = limits.max_log_bytes_per_tenant
    return TenantLogs(quota, log, clock) if quota else None
