"""The assets port in memory, and the references that runs have to assets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from msgspec.structs import replace

from weftwork.adapters.memory.port import MemoryPort, OpenState
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.protocol.run.header import RunKey


@dataclass(slots=True)
class _MemoryAsset:
    """An asset and the runs that refer to it."""

    asset: StoredAsset
    number: int
    runs: set[str] = field(default_factory=set[str])


class MemoryAssets(MemoryPort):
    """Implements ports.storage.assets.AssetIndex. No method awaits anything, so each is atomic on the event loop."""

    def __init__(self, state: OpenState) -> None:
        super().__init__(state)
        self._partitions: dict[str, dict[str, _MemoryAsset]] = {}
        """By digest, in the order of creation."""
        self._references: dict[RunKey, set[str]] = {}
        self._tombstones: dict[str, None] = {}
        self._created = 0

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        known = await self.hold(asset.partition, asset.sha256, asset.held_until)
        if known is not None:
            return known
        own = self._partitions.setdefault(asset.partition, {})
        used = _usage(kept.asset for kept in own.values()).size
        if quota and used + asset.size > quota:
            raise QuotaReached(used, quota)
        own[asset.sha256] = _MemoryAsset(asset, self._created)
        self._created += 1
        return asset

    async def hold(self, partition: str, sha256: str, until: int) -> StoredAsset | None:
        known = self._partitions.get(partition, {}).get(sha256)
        if known is None:
            return None
        known.asset = replace(known.asset, held_until=max(known.asset.held_until, until))
        return known.asset

    async def rekey(self, partition: str, sha256: str, key: str) -> StoredAsset | None:
        known = self._partitions.get(partition, {}).get(sha256)
        if known is None:
            return None
        known.asset = replace(known.asset, key=key)
        return known.asset

    async def find(self, partition: str, sha256: str) -> AssetEntry | None:
        kept = self._partitions.get(partition, {}).get(sha256)
        return AssetEntry(kept.asset, min(len(kept.runs), 1)) if kept is not None else None

    async def page(self, partition: str, query: AssetQuery) -> list[AssetEntry]:
        own = self._partitions.get(partition, {})
        end = _page_start(own, query.after) if query.after is not None else self._created
        newest = (kept for kept in reversed(own.values()) if kept.number < end)
        found = (kept for kept in newest if query.run_id is None or query.run_id in kept.runs)
        return [AssetEntry(kept.asset, len(kept.runs)) for kept in islice(found, max(query.limit, 0))]

    async def usage(self, partition: str) -> AssetUsage:
        return _usage(kept.asset for kept in self._partitions.get(partition, {}).values())

    async def unreferenced_usage(self, now: int) -> AssetUsage:
        return _usage(self._unreferenced(now))

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        dropped = self._unreferenced(now)[: max(limit, 0)]
        for asset in dropped:
            del self._partitions[asset.partition][asset.sha256]
            self._tombstones[asset.key] = None
        return _usage(dropped)

    async def tombstones(self, limit: int) -> list[str]:
        return list(islice(self._tombstones, max(limit, 0)))

    async def clear_tombstones(self, keys: list[str]) -> None:
        for key in keys:
            self._tombstones.pop(key, None)

    async def known_keys(self, keys: list[str]) -> set[str]:
        rows = {kept.asset.key for kept in self._all_entries()}
        return {key for key in keys if key in rows or key in self._tombstones}

    def _all_entries(self) -> Iterator[_MemoryAsset]:
        return (kept for own in self._partitions.values() for kept in own.values())

    def _unreferenced(self, now: int) -> list[StoredAsset]:
        loose = [kept for kept in self._all_entries() if not kept.runs and kept.asset.held_until <= now]
        loose.sort(key=lambda kept: (kept.asset.held_until, kept.asset.size, kept.number))
        return [kept.asset for kept in loose]

    def add_references(self, run: RunKey, digests: Iterable[str]) -> None:
        """The run refers to those of these assets that its partition has, once to each."""
        own = self._partitions.get(run.partition, {})
        for sha256 in digests:
            kept = own.get(sha256)
            if kept is not None:
                kept.runs.add(run.run_id)
                self._references.setdefault(run, set()).add(sha256)

    def release_references(self, run: RunKey) -> None:
        """The run is gone."""
        for sha256 in self._references.pop(run, ()):
            self._partitions[run.partition][sha256].runs.remove(run.run_id)


def _page_start(own: dict[str, _MemoryAsset], after: AssetCursor) -> int:
    """All that comes after that place has a smaller number than this."""
    last = own.get(after.sha256)
    # The same bytes may have gone and come again, which is another place.
    if last is not None and last.asset.cursor == after:
        return last.number
    left = [(kept.asset.created_at, kept.number) for kept in own.values() if kept.asset.created_at <= after.created_at]
    return max(left)[1] + 1 if left else 0


def _usage(assets: Iterable[StoredAsset]) -> AssetUsage:
    sizes = [asset.size for asset in assets]
    return AssetUsage(len(sizes), sum(sizes))
