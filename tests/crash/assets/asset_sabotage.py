"""A host that is careless with assets, so that a proof can show that it would notice."""

import asyncio
from typing import Any

from weftwork.adapters.blobs.folder_tree import FolderTree
from weftwork.adapters.blobs.local import PARTIAL, LocalBlobs, LocalSink
from weftwork.adapters.sqlite import assets, retention, transactions
from weftwork.engine.media.asset_sweep import AssetSweep
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.blobs import Blob

_BELONGINGS: dict[str, Any] = retention.RUN_TABLES  # type: ignore[assignment]


def drop_references() -> None:
    transactions.add_references = lambda *_: None


def sweep_referenced() -> None:
    assets.UNREFERENCED = "SELECT asset_no, key, size FROM assets WHERE held_until <= ? ORDER BY held_until LIMIT ?"


def commit_blob_late() -> None:
    rename = LocalSink._rename
    tasks: set[Any] = set()

    async def keep(self: Any) -> Any:
        if self._buffer or self._descriptor is None:
            await self._flush()
        await self._run(lambda: self._sync(self._clock.now()))
        digest = self._hash.hexdigest()
        key = self._new_key(digest)

        async def later() -> None:
            await asyncio.sleep(3600)
            await self._pool.run(lambda: rename(self, key))

        tasks.add(asyncio.create_task(later()))
        self._closed = self._cleaned_up = True
        return Blob(key, digest, self.size)

    LocalSink.commit = keep  # type: ignore[method-assign]


def delete_blob_before_row() -> None:
    prune = AssetSweep.prune

    async def bytes_first(self: Any, limit: int = 200) -> Any:
        for _, key, _ in await self._rows._read(assets._unreferenced, self._clock.now(), limit):
            await self._blobs.delete(key)
            fault_point("asset.deleted")
        return await prune(self, limit)

    AssetSweep.prune = bytes_first  # type: ignore[method-assign]


def keep_partial_files() -> None:
    def prepared(self: Any) -> FolderTree:
        folders = FolderTree(self._path)
        with folders.make((PARTIAL,)):
            return folders

    LocalBlobs._prepare = prepared  # type: ignore[method-assign]


def skip_orphan_scan() -> None:
    async def strays(self: Any) -> int:
        return 0

    AssetSweep.delete_strays = strays  # type: ignore[method-assign]


def keep_references_of_deleted_runs() -> None:
    del _BELONGINGS["asset_refs"]


def drop_references_of_other_runs() -> None:
    taken = "DELETE FROM asset_refs WHERE ?1 IS NOT NULL AND asset_no = ?2"
    _BELONGINGS["asset_refs"] = _BELONGINGS["asset_refs"]._replace(delete=taken)
