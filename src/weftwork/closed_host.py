"""Administration of a host that is not running, straight on its store."""

from pathlib import Path
from typing import Any

from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.system.clock import SystemClock
from weftwork.adapters.system.ids import RandomIds
from weftwork.adapters.system.lockfile import LockFileSeat
from weftwork.data_folder import DATABASE, LOCK, make_folder, take
from weftwork.engine.administration import Administration
from weftwork.engine.catalog import Catalog
from weftwork.engine.keyring import Keyring
from weftwork.engine.retention import Retention
from weftwork.engine.signer import Signer
from weftwork.node_library import declarations, node_types
from weftwork.protocol.wire_v1 import SCOPES


async def open_administration(data: Path) -> tuple[Administration, Any]:
    """Administration straight on the store of a host that is not running, and the function that closes it.

    Raises SeatTaken when a host holds the store, StoreUnavailable or SettingsError.
    """
    seat = LockFileSeat(data / LOCK)
    make_folder(data)
    take(seat)
    store = SqliteStore(data / DATABASE)
    try:
        await store.open()
        keyring = Keyring(store.keys, SystemClock(), RandomIds(), SCOPES)
        await keyring.load()
        signer = Signer(store.signing, SystemClock(), RandomIds())
        await signer.load()
    except BaseException:
        seat.release()
        raise

    async def close() -> None:
        await store.close()
        seat.release()

    catalog = Catalog(store.definitions, declarations(node_types()))
    return Administration(keyring, Retention(store.log, SystemClock()), catalog, signer), close
