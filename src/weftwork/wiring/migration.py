"""Migrates the store of the settings, without starting a host."""

from collections.abc import Callable

from weftwork.adapters.sqlite.database.connection import OUTAGES, load_migrations, open_reader, open_writer, outage
from weftwork.adapters.system.lock_file import LockFile
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.data_folder import DATABASE_FILE, LOCK_FILE, acquire_lock, make_folder
from weftwork.wiring.store import store_address


async def migrate_store(settings: Settings, on_migrated: Callable[[int], None]) -> tuple[int, int]:
    """Apply the missing migrations, and return the versions of the schema before and after; the first is 0 for a store
    that did not exist. `on_migrated` is called with the number of each migration that was applied.

    Raises HostLocked, SettingsError, StoreUnavailable or HostFault.
    """
    if settings.store_kind == "memory":
        raise SettingsError("a store in memory has no schema to migrate")
    if settings.store_kind == "sqlite":
        return _migrate_file(settings, on_migrated)
    address = store_address(settings)
    from weftwork.adapters.postgres.database import migrations

    found = migrations.load_migrations()
    before = await migrations.migrate(address, found, on_migrated)
    return before.version, max(before.version, found[-1].number)


def _migrate_file(settings: Settings, on_migrated: Callable[[int], None]) -> tuple[int, int]:
    folder = settings.data_folder
    lock, database = LockFile(folder / LOCK_FILE), folder / DATABASE_FILE
    make_folder(folder)
    acquire_lock(lock)
    try:
        before = 0
        if database.exists():
            reader = open_reader(database, None)
            before = int(reader.pragma("user_version"))
            reader.close(True)
        open_writer(database, None).close()
    except OUTAGES as error:
        raise outage(error) from None
    finally:
        lock.release()
    for migration in load_migrations():
        if migration.number > before:
            on_migrated(migration.number)
    return before, load_migrations()[-1].number
