"""Deletes assets that no run refers to and no caller holds, and blobs that belong to no asset.

Theory. Rows go first, with a tombstone of their keys in the same transaction; then the blobs, then the tombstone. A
crash in between leaves tombstones, and the next sweep goes on with them. Blobs without a row are left by writers that
died before they wrote one; they are looked for among blobs that are older than any write can last.
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
"""Assets that one call of `prune` deletes at most."""
STRAY_AGE_MS: Final = 86_400_000
"""How old bytes without a row must be: no writer takes so long."""
STRAY_SCAN_INTERVAL_MS: Final = 86_400_000
"""How often they are looked for; listing all blobs is costly."""


class SweepResult(msgspec.Struct, frozen=True):
    """How far it came: assets deleted, their bytes, and whether there is more to do."""

    deleted: int
    freed: int
    more: bool


class AssetSweep(msgspec.Struct, eq=False):
    """media-80 (RFC 0055 C, retention): never takes what a run refers to."""

    _rows: AssetIndex
    _blobs: Blobs
    _clock: Clock
    _unconfirmed_keys: list[str] = []
    _stray_ms: int = STRAY_AGE_MS
    _scanned_at: int | None = None

    async def count(self) -> AssetUsage:
        """What `prune` would delete, strays apart."""
        return await self._rows.unreferenced_usage(self._clock.now())

    async def prune(self, limit: int = MAX_PER_CALL) -> SweepResult:
        """Delete assets that nobody refers to or holds, at most `limit`. Call it again as long as there is more."""
        await self._delete_tombstoned()
        while keys := self._unconfirmed_keys[:MAX_PER_CALL]:
            await self._delete_unknown(keys)
            del self._unconfirmed_keys[: len(keys)]
        gone = await self._rows.tombstone_unreferenced(self._clock.now(), limit)
        if gone.count:
            fault_point("asset.doomed")
            await self._delete_tombstoned()
        return SweepResult(gone.count, gone.size, gone.count >= limit)

    async def delete_strays(self) -> int:
        """Delete bytes that belong to no asset; how many there were."""
        found, keys = 0, list[str]()
        async for key in self._blobs.keys(self._clock.now() - self._stray_ms):
            keys.append(key)
            if len(keys) == MAX_PER_CALL:
                found += await self._delete_unknown(keys)
                keys = []
        return found + await self._delete_unknown(keys)

    async def sweep_all(self) -> None:
        """The chore: all that there is to do. Raises StoreUnavailable."""
        deleted, more = 0, True
        while more:
            swept = await self.prune()
            deleted, more = deleted + swept.deleted, swept.more
        now = self._clock.now()
        if self._scanned_at is None or now - self._scanned_at >= STRAY_SCAN_INTERVAL_MS:
            self._scanned_at = now
            if stray := await self.delete_strays():
                log.info("bytes without an asset deleted", extra={"count": stray})
        if deleted:
            log.info("assets that nothing refers to deleted", extra={"count": deleted})

    async def _delete_tombstoned(self) -> None:
        while keys := await self._rows.tombstones(MAX_PER_CALL):
            for key in keys:
                await self._blobs.delete(key)
                fault_point("asset.deleted")
            await self._rows.clear_tombstones(keys)
            fault_point("asset.buried")

    async def _delete_unknown(self, keys: list[str]) -> int:
        """Asked only after the keys were listed: what is being written now has no row yet, but is too young."""
        known = await self._rows.known_keys(keys) if keys else set[str]()
        strays = [key for key in keys if key not in known]
        for key in strays:
            await self._blobs.delete(key)
        return len(strays)
