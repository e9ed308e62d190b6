"""Copies the store of a data folder to PostgreSQL, while no host uses either of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from weftwork.adapters.sqlite.operation.table_copy import SqliteCopySource
from weftwork.adapters.system.lock_file import LockFile
from weftwork.ports.store_copy import (
    TABLES,
    CopiedTable,
    CopySource,
    CopyTarget,
    Digester,
    Row,
    TableDigest,
    UncopiedTable,
)
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.data_folder import DATABASE_FILE, LOCK_FILE, acquire_lock
from weftwork.wiring.store import store_address

PROGRESS_ROWS: Final = 1_000
"""Rows between two reports of progress."""


class TableResult(msgspec.Struct, frozen=True, rename="camel"):
    """A table after the copy. `was_copied`: an earlier call had copied it, and its rows are still the same."""

    name: str
    rows: int
    digest: str
    was_copied: bool


Progress = Callable[[str, int, int], None]
"""Called with a table, the number of its rows that were read, and the number of all its rows."""


def find_database(path: Path) -> Path:
    """The database file of a data folder, or the file itself. Raises SettingsError."""
    file = path / DATABASE_FILE if path.is_dir() else path
    if not file.is_file():
        raise SettingsError(f"{path}: no store; pass a data folder, or its file {DATABASE_FILE}")
    return file


async def copy_store(database: Path, settings: Settings, on_progress: Progress) -> list[TableResult]:
    """Copy every table to the PostgreSQL store of the settings, verify it, and let hosts use it. An interrupted copy
    continues with the tables that it has not copied. Creates the schema, and migrates the source.

    Raises HostLocked if a host uses the source or the target, and SettingsError, StoreUnavailable, HostFault or
    UncopiedTable.
    """
    from weftwork.adapters.postgres.operation.table_copy import PostgresCopyTarget

    address = store_address(settings)
    lock = LockFile(database.parent / LOCK_FILE)
    acquire_lock(lock)
    try:
        source = SqliteCopySource(database)
        try:
            target = PostgresCopyTarget(address)
            try:
                await target.begin(source.identity)
                results = [await _copy_table(source, target, table, on_progress) for table in TABLES]
                await target.finish()
                return results
            finally:
                await target.close()
        finally:
            source.close()
    finally:
        lock.release()


async def _copy_table(source: CopySource, target: CopyTarget, table: CopiedTable, on_progress: Progress) -> TableResult:
    total = source.count(table)
    on_progress(table.name, 0, total)
    before = target.copied(table)
    # A host may have used the source since the table was copied.
    if before is not None and before == _digest(source, table):
        on_progress(table.name, total, total)
        return TableResult(table.name, before.rows, before.digest, was_copied=True)

    def rows() -> Iterator[Row]:
        for number, row in enumerate(source.rows(table), 1):
            yield row
            if number % PROGRESS_ROWS == 0 or number == total:
                on_progress(table.name, number, total)

    written = await target.write(table, rows())
    if written.rows != total:
        raise UncopiedTable(f"table {table.name}: {written.rows} of {total} rows were read; run the command again")
    return TableResult(table.name, written.rows, written.digest, was_copied=False)


def _digest(source: CopySource, table: CopiedTable) -> TableDigest:
    digester = Digester()
    for row in source.rows(table):
        digester.add(row)
    return digester.result
