"""Deletes assets that no run refers to and no caller holds, and blobs that belong to no asset.

Theory. Rows are deleted first, and tombstones of their keys are written in the same transaction; then the blobs are
deleted, then the tombstones. A crash in between leaves tombstones, which the next sweep processes. Writers that died
before they wrote a row have left blobs without one; the sweep looks for them among blobs that are too old to be part of
a write in progress.
"""

import logging
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.assets import AssetIndex, AssetUsage
from weftwork.ports.storage.blobs import Blobs

log = logging.getLogger("weftwork.assets")

MAX_PER_CALL: Final = 200
"""The number of assets that one call of `prune` deletes at most."""
STRAY_AGE_MS: Final = 86_400_000
"""The age at which a blob without a row is deleted. No write takes this long."""
STRAY_SCAN_INTERVAL_MS: Final = 86_400_000
"""Time between two scans for blobs without a row. Listing all blobs is costly."""


class SweepResult(msgspec.Struct, frozen=True):
    deleted: int
    """Number of deleted assets."""
    freed: int
    """Their bytes."""
    more: bool
    """Whether another call may delete more."""


class AssetSweep(msgspec.Struct, eq=False):
    """media-80 (RFC 0055 C, retention): deletes only assets that no run refers to and no caller holds."""

    _rows: AssetIndex
    _blobs: Blobs
    _clock: Clock
    _unconfirmed_keys: list[str] = []
    _stray_ms: int = STRAY_AGE_MS
    _scanned_at: int | None = None

    async def count(self) -> AssetUsage:
        """Number and size of the assets that `prune` would delete."""
        return await self._rows.unreferenced_usage(self._clock.now())

    async def prune(self, limit: int = MAX_PER_CALL) -> SweepResult:
        """Delete at most `limit` assets without reference and hold. Call again while the result says `more`."""
        await self._delete_tombstoned()
        while keys := self._unconfirmed_keys[:MAX_PER_CALL]:
            await self._delete_unknown(keys)
            del self._unconfirmed_keys[: len(keys)]
        pruned = await self._rows.tombstone_unreferenced(self._clock.now(), limit)
        if pruned.count:
            fault_point("asset.doomed")
            await self._delete_tombstoned()
        return SweepResult(pruned.count, pruned.size, pruned.count >= limit)

    async def delete_strays(self) -> int:
        """Delete blobs that belong to no asset; returns how many."""
        deleted, keys = 0, list[str]()
        async for key in self._blobs.keys(self._clock.now() - self._stray_ms):
            keys.append(key)
            if len(keys) == MAX_PER_CALL:
                deleted += await self._delete_unknown(keys)
                keys = []
        return deleted + await self._delete_unknown(keys)

    async def sweep_all(self) -> None:
        """Delete everything that can be deleted; runs after each cleanup of the host. Raises StoreUnavailable."""
        deleted, more = 0, True
        while more:
            swept = await self.prune()
            deleted, more = deleted + swept.deleted, swept.more
        now = self._clock.monotonic_ns() // 1_000_000
        if self._scanned_at is None or now - self._scanned_at >= STRAY_SCAN_INTERVAL_MS:
            self._scanned_at = now
            if stray := await self.delete_strays():
                log.info("blobs without an asset deleted", extra={"count": stray})
        if deleted:
            log.info("unreferenced assets deleted", extra={"count": deleted})

    async def _delete_tombstoned(self) -> None:
        while keys := await self._rows.tombstones(MAX_PER_CALL):
            for key in keys:
                await self._blobs.delete(key)
                fault_point("asset.deleted")
            await self._rows.clear_tombstones(keys)
            fault_point("asset.buried")

    async def _delete_unknown(self, keys: list[str]) -> int:
        """Delete those of these blobs that have no row; returns how many. The index must be read after the keys were
        listed, so that a row that was written in between is seen."""
        known = await self._rows.known_keys(keys) if keys else set[str]()
        strays = [key for key in keys if key not in known]
        for key in strays:
            await self._blobs.delete(key)
        return len(strays)
