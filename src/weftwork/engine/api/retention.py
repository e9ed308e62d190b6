"""Deletes ended runs: single runs for callers, and runs by age for the operator."""

import asyncio
import logging
from functools import partial
from typing import Final, Protocol

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.read_back import known_outcome
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import EventLog, StoreUnavailable
from weftwork.ports.storage.idempotency import IdempotencyRecords, SlotTaken
from weftwork.ports.storage.retention import RunRetention, StillLive
from weftwork.protocol.errors import invalid, run_not_deletable
from weftwork.protocol.ids import is_tenant, partitions_of_tenant
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import Projection

log = logging.getLogger("weftwork.retention")

DAY_MS: Final = 86_400_000
MAX_PER_CALL: Final = 200
"""The number of runs that one call of `prune` deletes at most, and of calls of `RunRetention.purge` that it makes."""
DELETE_ATTEMPTS: Final = 3
"""Attempts to delete an ended run that the host still processes or loads. It waits between them."""
RETRY_SECONDS: Final = 1
DELETE_BATCH: Final = 16
"""Runs that are deleted concurrently, so that the store can commit them together."""


class LiveRunMemory(Protocol):
    """The runs in the memory of a host. The executor implements it."""

    async def settle(self, run: RunKey) -> None:
        """Wait at most a second for a commit or a load of the run in progress."""
        ...

    def forget(self, run: RunKey) -> bool:
        """Drop an ended run from all caches; False, without effect, if the run is being executed."""
        ...


class PruneResult(msgspec.Struct, frozen=True):
    deleted: int
    """Number of deleted runs."""
    more: bool
    """Whether another call may delete more."""


class Retention(msgspec.Struct, eq=False):
    """Deletes ended runs. Without `_live_runs`, the caller must be the only user of the store.

    With `_keep_days` above 0, `delete_expired` deletes runs that ended more than that many days ago.
    """

    _runs: RunRetention
    _log: EventLog
    _records: IdempotencyRecords
    _clock: Clock
    _live_runs: LiveRunMemory | None = None
    _keep_days: int = 0
    _has_leftovers: bool = False
    _purge_task: asyncio.Task[None] | None = None

    async def delete_run(self, principal: Principal, run_id: str, key: str | None = None) -> bool:
        """run-08: delete an ended run; afterwards every request for it gets not_found.

        Returns True if an earlier request with the same idempotency key deleted it. Raises ClientFault or
        StoreUnavailable.
        """
        run = principal.run(run_id)
        claim = IdempotencyClaim(self._records, self._clock, principal, f"deleteRun/{run_id}", key, None)
        deleted = await self._delete_settled(run, claim.make_record({}))
        fault_point("delete.durable")
        if require_run(deleted) is True:
            self._has_leftovers = True
            if self._purge_task is None:
                self._purge_task = asyncio.create_task(self._purge_all())
        return isinstance(deleted, SlotTaken)

    async def prune(self, completed_before: int, tenant: str | None = None, limit: int = MAX_PER_CALL) -> PruneResult:
        """run-11 (OpenWOP production-profile): delete runs that ended before that instant, at most `limit`.

        The work of one call is bounded: call again while the result says `more`.
        """
        places = _partitions_of(tenant)
        if await self._purge(MAX_PER_CALL):
            return PruneResult(0, True)
        runs = [run for place in places for run in await self._runs.runs_ended_before(completed_before, limit, place)]
        deleted = 0
        for at in range(0, min(len(runs), limit), DELETE_BATCH):
            deleted += sum(await asyncio.gather(*map(self._delete_if_ended, runs[at : min(at + DELETE_BATCH, limit)])))
        has_leftovers = await self._purge(MAX_PER_CALL)
        # A run that was found and not deleted is in use here. If none was deleted, the next call would find the same
        # runs again, so there is nothing more to do.
        return PruneResult(deleted, has_leftovers or (len(runs) >= limit and deleted > 0))

    async def count(self, completed_before: int, tenant: str | None = None) -> int:
        """The number of runs that `prune` would delete."""
        return sum([await self._runs.count_ended(completed_before, place) for place in _partitions_of(tenant)])

    async def delete_expired(self) -> None:
        """Remove the remaining rows of deleted runs, and delete runs that are older than the retention.

        Raises StoreUnavailable.
        """
        while await self._purge(MAX_PER_CALL):
            pass
        if self._keep_days:
            deleted, more = 0, True
            while more:
                pruned = await self.prune(self._clock.now() - self._keep_days * DAY_MS)
                deleted, more = deleted + pruned.deleted, pruned.more
            if deleted:
                log.info("expired runs deleted", extra={"count": deleted})

    def close(self) -> None:
        """Stop removing rows of deleted runs. The next start continues."""
        if self._purge_task is not None:
            self._purge_task.cancel()

    async def _delete_settled(self, run: RunKey, record: IdempotencyRecord | None) -> bool | SlotTaken:
        """Delete a run, waiting for a commit or a load of it in progress, which another request may have caused.

        Raises `conflict` if the run has not ended, or if the host has not finished with it after DELETE_ATTEMPTS.
        """
        projection: Projection | None = None
        for _ in range(DELETE_ATTEMPTS):
            if self._live_runs is not None:
                await self._live_runs.settle(run)
            try:
                return await self._delete(run, record)
            except StillLive:
                projection = await self._log.projection(run)
            if projection is not None and projection.status not in TERMINAL_STATUSES:
                raise run_not_deletable(projection.status)
        if projection is None:
            return False
        raise run_not_deletable(projection.status, RETRY_SECONDS)

    async def _delete(self, run: RunKey, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        # Before the delete, `forget` refuses a run that is executed here, even if the store has it as ended. After the
        # delete, it ends streams that were opened in between.
        if self._live_runs is not None and not self._live_runs.forget(run):
            raise StillLive("the run is still in memory")
        deleted = await known_outcome(
            self._clock, self._runs.delete(run, self._clock.now(), record), partial(self._find_deleted, run)
        )
        if self._live_runs is not None:
            self._live_runs.forget(run)
        return deleted

    async def _find_deleted(self, run: RunKey) -> bool | None:
        return True if await self._log.projection(run) is None else None

    async def _delete_if_ended(self, run: RunKey) -> bool:
        try:
            return await self._delete(run) is True
        except StillLive:
            return False

    async def _purge_all(self) -> None:
        try:
            while self._has_leftovers:
                self._has_leftovers = False
                while await self._purge(MAX_PER_CALL):
                    pass
        except StoreUnavailable:
            log.warning("store unavailable, removal of deleted runs postponed")
        finally:
            self._purge_task = None

    async def _purge(self, pieces: int) -> bool:
        """Remove rows of deleted runs with at most `pieces` writes; returns whether there may be more."""
        for _ in range(pieces):
            if not await self._runs.purge():
                return False
            fault_point("purge.piece")
        return True


def _partitions_of(tenant: str | None) -> list[str | None]:
    """The partitions of a tenant; [None] stands for all partitions. Raises ClientFault for an invalid name."""
    if tenant is None:
        return [None]
    if not is_tenant(tenant):
        raise invalid("A tenant is 1 to 64 letters, digits, dots, dashes or underscores.", "/tenant")
    return [*partitions_of_tenant(tenant)]
