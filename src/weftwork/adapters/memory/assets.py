"""The assets port in memory, and the references from runs to assets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from msgspec.structs import replace

from weftwork.adapters.memory.port import MemoryPort, OpenState
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.protocol.ids import partitions_of_tenant, tenant_of
from weftwork.protocol.run.header import RunKey


@dataclass(slots=True)
class _MemoryAsset:
    """An asset and the ids of the runs that refer to it."""

    asset: StoredAsset
    number: int
    runs: set[str] = field(default_factory=set[str])


class MemoryAssets(MemoryPort):
    """Implements ports.storage.assets.AssetIndex. No method awaits anything, so each is atomic on the event loop."""

    def __init__(self, state: OpenState) -> None:
        super().__init__(state)
        self._partitions: dict[str, dict[str, _MemoryAsset]] = {}
        """Assets by partition and digest, in the order of creation."""
        self._references: dict[RunKey, set[str]] = {}
        self._tombstones: dict[str, None] = {}
        self._created = 0

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        existing = await self.hold(asset.partition, asset.sha256, asset.held_until)
        if existing is not None:
            return existing
        used = sum([(await self.usage(each)).size for each in partitions_of_tenant(tenant_of(asset.partition))])
        if quota and used + asset.size > quota:
            raise QuotaReached(used, quota)
        entries = self._partitions.setdefault(asset.partition, {})
        entries[asset.sha256] = _MemoryAsset(asset, self._created)
        self._created += 1
        return asset

    async def hold(self, partition: str, sha256: str, until: int) -> StoredAsset | None:
        entry = self._partitions.get(partition, {}).get(sha256)
        if entry is None:
            return None
        entry.asset = replace(entry.asset, held_until=max(entry.asset.held_until, until))
        return entry.asset

    async def rekey(self, partition: str, sha256: str, key: str) -> StoredAsset | None:
        entry = self._partitions.get(partition, {}).get(sha256)
        if entry is None:
            return None
        entry.asset = replace(entry.asset, key=key)
        return entry.asset

    async def find(self, partition: str, sha256: str) -> AssetEntry | None:
        entry = self._partitions.get(partition, {}).get(sha256)
        return AssetEntry(entry.asset, min(len(entry.runs), 1)) if entry is not None else None

    async def page(self, partition: str, query: AssetQuery) -> list[AssetEntry]:
        entries = self._partitions.get(partition, {})
        end = _page_start(entries, query.after) if query.after is not None else self._created
        newest = (entry for entry in reversed(entries.values()) if entry.number < end)
        matching = (entry for entry in newest if query.run_id is None or query.run_id in entry.runs)
        return [AssetEntry(entry.asset, len(entry.runs)) for entry in islice(matching, max(query.limit, 0))]

    async def usage(self, partition: str) -> AssetUsage:
        return _usage(entry.asset for entry in self._partitions.get(partition, {}).values())

    async def unreferenced_usage(self, now: int) -> AssetUsage:
        return _usage(self._unreferenced(now))

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        deleted = self._unreferenced(now)[: max(limit, 0)]
        for asset in deleted:
            del self._partitions[asset.partition][asset.sha256]
            self._tombstones[asset.key] = None
        return _usage(deleted)

    async def tombstones(self, limit: int) -> list[str]:
        return list(islice(self._tombstones, max(limit, 0)))

    async def clear_tombstones(self, keys: list[str]) -> None:
        for key in keys:
            self._tombstones.pop(key, None)

    async def known_keys(self, keys: list[str]) -> set[str]:
        asset_keys = {entry.asset.key for entry in self._all_entries()}
        return {key for key in keys if key in asset_keys or key in self._tombstones}

    def _all_entries(self) -> Iterator[_MemoryAsset]:
        return (entry for entries in self._partitions.values() for entry in entries.values())

    def _unreferenced(self, now: int) -> list[StoredAsset]:
        unreferenced = [entry for entry in self._all_entries() if not entry.runs and entry.asset.held_until <= now]
        unreferenced.sort(key=lambda entry: (entry.asset.held_until, entry.asset.size, entry.number))
        return [entry.asset for entry in unreferenced]

    def add_references(self, run: RunKey, digests: Iterable[str]) -> None:
        """Add a reference from the run to each of these assets that its partition has. Repeating it has no effect."""
        entries = self._partitions.get(run.partition, {})
        for sha256 in digests:
            entry = entries.get(sha256)
            if entry is not None:
                entry.runs.add(run.run_id)
                self._references.setdefault(run, set()).add(sha256)

    def copy_references(self, source: RunKey, run: RunKey) -> None:
        """Let a run refer to all assets that its source refers to, so that they live as long as both."""
        self.add_references(run, self._references.get(source, ()))

    def release_references(self, run: RunKey) -> None:
        """Remove all references of a deleted run."""
        for sha256 in self._references.pop(run, ()):
            self._partitions[run.partition][sha256].runs.remove(run.run_id)


def _page_start(entries: dict[str, _MemoryAsset], after: AssetCursor) -> int:
    """The number below which all assets after the cursor are, even if the asset of the cursor was deleted."""
    last = entries.get(after.sha256)
    # The same bytes may have been deleted and stored again; then the new asset is at another position.
    if last is not None and last.asset.cursor == after:
        return last.number
    created = ((entry.asset.created_at, entry.number) for entry in entries.values())
    older = [each for each in created if each[0] <= after.created_at]
    return max(older)[1] + 1 if older else 0


def _usage(assets: Iterable[StoredAsset]) -> AssetUsage:
    sizes = [asset.size for asset in assets]
    return AssetUsage(len(sizes), sum(sizes))
