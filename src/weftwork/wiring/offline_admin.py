"""Administration directly on a store: of a host that is not running, or on PostgreSQL at any time."""

from typing import Any

import msgspec

from weftwork.adapters.system.clock_and_ids import RandomIds, SystemClock
from weftwork.adapters.system.lock_file import LockFile
from weftwork.engine.api.administration import Administration
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.retention import Retention
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.media.asset_sweep import MAX_PER_CALL, AssetSweep, SweepResult
from weftwork.engine.signer import Signer
from weftwork.ports.storage.assets import AssetUsage
from weftwork.ports.storage.blobs import Blobs
from weftwork.ports.storage.host_lock import HostLock
from weftwork.ports.storage.store import Store
from weftwork.protocol.errors import HostFault
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.blob_store import build_blobs
from weftwork.wiring.data_folder import LOCK_FILE, NoLock, acquire_lock, make_folder
from weftwork.wiring.node_types import builtin_node_types, declarations_by_type
from weftwork.wiring.store import build_hints, build_store


class OfflineAssetSweep(msgspec.Struct, eq=False):
    """Deletes unreferenced assets. The blob store is opened on first use, so that commands such as `keys` work without
    it."""

    _store: Store
    _settings: Settings
    _blobs: Blobs | None = None

    async def count(self) -> AssetUsage:
        return await (await self._open_sweep()).count()

    async def prune(self, limit: int = MAX_PER_CALL) -> SweepResult:
        return await (await self._open_sweep()).prune(limit)

    async def delete_strays(self) -> int:
        return await (await self._open_sweep()).delete_strays()

    async def close(self) -> None:
        if self._blobs is not None:
            await self._blobs.close()

    async def _open_sweep(self) -> AssetSweep:
        if self._blobs is None:
            try:
                blobs = build_blobs(self._settings, SystemClock(), RandomIds())
            except SettingsError as error:
                raise HostFault(str(error)) from None
            await blobs.open()
            self._blobs = blobs
        return AssetSweep(self._store.assets, self._blobs, SystemClock())


async def open_administration(settings: Settings) -> tuple[Administration, Any]:
    """Open the store of the settings; returns its administration and the function that closes it. No host may be using
    the data folder, unless the store is on PostgreSQL.

    Raises HostLocked when a host holds the data folder, StoreUnavailable or SettingsError.
    """
    lock: HostLock = NoLock()
    if settings.store_kind != "postgres":
        lock = LockFile(settings.data_folder / LOCK_FILE)
        # Administration of a host whose store is in memory concerns the store of its folder.
        settings = msgspec.structs.replace(settings, store="sqlite")
        make_folder(settings.data_folder)
    acquire_lock(lock)
    store = build_store(settings)
    try:
        await store.open()
        keyring = Keyring(store.keys, SystemClock(), RandomIds(), SCOPES)
        await keyring.load()
        signer = Signer(store.signing, SystemClock(), RandomIds())
        await signer.load()
    except BaseException:
        await store.close()
        lock.release()
        raise

    sweep = OfflineAssetSweep(store, settings)

    hints = build_hints(settings)
    if hints is not None:
        await hints.open()

    async def close() -> None:
        if hints is not None:
            await hints.flush()
            await hints.close()
        await sweep.close()
        await store.close()
        lock.release()

    catalog = WorkflowCatalog(store.definitions, declarations_by_type(builtin_node_types()))
    retention = Retention(store.retention, store.log, store.records, SystemClock())
    return Administration(keyring, retention, catalog, signer, sweep, hints=hints), close
