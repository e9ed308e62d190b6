"""Deletes ended runs: single ones for callers, and by age for the operator."""

import asyncio
import logging
from typing import Final, Protocol

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import EventLog, StoreUnavailable
from weftwork.ports.storage.idempotency import IdempotencyRecords, SlotTaken
from weftwork.ports.storage.retention import RunRetention, StillLive
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import is_tenant, partition
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import Projection

log = logging.getLogger("weftwork.retention")

DAY_MS: Final = 86_400_000
MAX_PER_CALL: Final = 200
"""Most runs that one call of `prune` deletes, and most pieces of deleted runs that it clears away."""
DELETE_BATCH: Final = 16
"""Runs that are deleted together; the store makes one commit of them."""


class LiveRunMemory(Protocol):
    """What the host holds of runs beside the store."""

    async def projection(self, run: RunKey) -> Projection | None:
        """How a run stands, once a commit that is under way is done."""
        ...

    def forget(self, run: RunKey) -> bool:
        """Keep nothing of an ended run; False, and nothing is done, for one that is being executed."""
        ...


class PruneResult(msgspec.Struct, frozen=True):
    """How far it came: runs deleted, and whether there is more to do."""

    deleted: int
    more: bool


class Retention(msgspec.Struct, eq=False):
    """Deletes ended runs. Without `_live_runs`, the caller must be the only user of the store.

    With `_keep_days` above 0, `delete_expired` deletes runs that ended so many days ago.
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
        """run-08: delete an ended run; afterwards it is as unknown as one that never was.

        True when an earlier request with the same key did it. Raises ClientFault or StoreUnavailable.
        """
        run = principal.run(run_id)
        claim = IdempotencyClaim(self._records, self._clock, principal, f"deleteRun/{run_id}", key, None)
        if self._live_runs is not None:
            await self._live_runs.projection(run)
        try:
            deleted = await self._delete(run, claim.make_record({}))
        except StillLive:
            raise await self._refusal(run) from None
        fault_point("delete.durable")
        if require_run(deleted) is True:
            self._has_leftovers = True
            if self._purge_task is None:
                self._purge_task = asyncio.create_task(self._purge_all())
        return isinstance(deleted, SlotTaken)

    async def prune(self, completed_before: int, tenant: str | None = None, limit: int = MAX_PER_CALL) -> PruneResult:
        """run-11 (OpenWOP production-profile): delete runs that ended before that instant, at most `limit`.

        The work of a call is bounded: call it again as long as there is more.
        """
        places = _partitions_of(tenant)
        if await self._purge(MAX_PER_CALL):
            return PruneResult(0, True)
        found = [run for place in places for run in await self._runs.runs_ended_before(completed_before, limit, place)]
        deleted = 0
        for at in range(0, min(len(found), limit), DELETE_BATCH):
            deleted += sum(await asyncio.gather(*map(self._delete_if_ended, found[at : min(at + DELETE_BATCH, limit)])))
        left = await self._purge(MAX_PER_CALL)
        # What was found and is not gone is in use here; it would be found again for ever.
        return PruneResult(deleted, left or (len(found) >= limit and deleted > 0))

    async def count(self, completed_before: int, tenant: str | None = None) -> int:
        """How many runs `prune` would delete."""
        return sum([await self._runs.count_ended(completed_before, place) for place in _partitions_of(tenant)])

    async def delete_expired(self) -> None:
        """Clear away what deleted runs have left, and delete runs that are past their time.

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
                log.info("runs past their time deleted", extra={"count": deleted})

    def close(self) -> None:
        """Stop clearing away; the next start goes on with it."""
        if self._purge_task is not None:
            self._purge_task.cancel()

    async def _delete(self, run: RunKey, record: IdempotencyRecord | None = None) -> bool | SlotTaken:
        # Before: one that is executed here is not deleted, whatever the store says. After: no reader holds on to it.
        if self._live_runs is not None and not self._live_runs.forget(run):
            raise StillLive("the run is executed here")
        deleted = await self._runs.delete(run, self._clock.now(), record)
        if self._live_runs is not None:
            self._live_runs.forget(run)
        return deleted

    async def _delete_if_ended(self, run: RunKey) -> bool:
        try:
            return await self._delete(run) is True
        except StillLive:
            return False

    async def _refusal(self, run: RunKey) -> Exception:
        standing = await self._log.projection(run)
        if standing is None or standing.status in TERMINAL_STATUSES:
            # The store knows of the end and the host does not yet: it will have looked in a moment.
            return StoreUnavailable("the run is about to end")
        details = {"runStatus": standing.status}
        return ClientFault("conflict", "The run has not ended; cancel it first.", details)

    async def _purge_all(self) -> None:
        try:
            while self._has_leftovers:
                self._has_leftovers = False
                while await self._purge(MAX_PER_CALL):
                    pass
        except StoreUnavailable:
            log.warning("store unavailable, clearing away later")
        finally:
            self._purge_task = None

    async def _purge(self, pieces: int) -> bool:
        """Take away so many pieces of what deleted runs have left; whether there may be more."""
        for _ in range(pieces):
            if not await self._runs.purge():
                return False
            fault_point("purge.piece")
        return True


def _partitions_of(tenant: str | None) -> list[str | None]:
    """The partitions of a tenant, or None for all there are."""
    if tenant is None:
        return [None]
    if not is_tenant(tenant):
        raise invalid("No tenant can have this name.", "/tenant")
    return [partition(tenant, "live"), partition(tenant, "test")]
