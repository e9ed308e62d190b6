"""Opens connections to the database file, and migrates its schema.

The two protocols describe the part of an apsw connection that is used here. apsw's own annotations need a newer Python
than this package supports.

Migrations are numbered and only go forward: `migrations/NNNN_name.sql`, one transaction each. The pragma `user_version`
is the number of the last migration that was applied.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import apsw
import msgspec

from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import StoreDamaged, StoreUnavailable
from weftwork.protocol.errors import HostFault

MIN_SQLITE_VERSION: Final = (3, 51, 3)
"""Earlier versions can corrupt a file in WAL mode when a checkpoint and a write coincide (the WAL-reset bug)."""

BUSY_TIMEOUT_MS: Final = 5000

OUTAGES: Final[tuple[type[Exception], ...]] = (
    OSError,
    apsw.IOError,
    apsw.FullError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.CantOpenError,
    apsw.ReadOnlyError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.AbortError,
    apsw.InterruptError,
    apsw.ConnectionClosedError,
)
"""Errors caused by the file or the machine. All other errors are caused by a statement or its values."""


DAMAGE: Final[tuple[type[Exception], ...]] = (
    apsw.CorruptError,
    apsw.NotADBError,
    UnicodeDecodeError,
    msgspec.DecodeError,
)
"""Errors caused by damaged data: SQLite has found it, or the content of a row cannot be decoded."""


def outage(error: Exception, what: str = "") -> StoreUnavailable:
    """One of OUTAGES or DAMAGE as the error of the storage ports."""
    text = what or type(error).__name__
    if isinstance(error, DAMAGE):
        return StoreDamaged(f"the store is damaged, see `weftwork doctor`: {text}: {error}")
    return StoreUnavailable(f"{text}: {error}")


class ResultRows(Protocol):
    """The result of a statement. Until it is read to its end or closed, it keeps a read transaction open."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchall(self) -> list[Any]: ...

    def close(self, force: bool = False) -> None: ...


class SqliteConnection(Protocol):
    """One connection, used by one thread."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statements: str, bindings: Sequence[Any] | None = None) -> ResultRows: ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]]) -> ResultRows: ...

    def changes(self) -> int: ...

    def total_changes(self) -> int: ...

    def last_insert_rowid(self) -> int: ...

    def pragma(self, name: str, value: Any = None) -> Any: ...

    def config(self, op: int, *args: int) -> int: ...

    def set_busy_timeout(self, milliseconds: int) -> None: ...

    def set_wal_hook(self, callable: Callable[["SqliteConnection", str, int], int] | None) -> None: ...  # noqa: A002

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]: ...

    def close(self, force: bool = False) -> None: ...


def open_writer(path: Path, vfs: str | None) -> SqliteConnection:
    """The writing connection. Creates the file if it is missing, migrates it, and turns off automatic checkpoints.

    Raises HostFault if the SQLite library is too old or a newer release wrote the file, or one of OUTAGES.
    """
    check_library(apsw.sqlite_lib_version())
    _create_private(path)
    sync_existing_wal(path)
    connection: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", 0)
        _configure(connection, cache_kib=8192)
        migrate(connection, load_migrations())
    except BaseException:
        connection.close(True)
        raise
    return connection


def open_reader(path: Path, vfs: str | None) -> SqliteConnection:
    """A connection that cannot write and never checkpoints."""
    connection: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _configure(connection, cache_kib=2048)
    except BaseException:
        connection.close(True)
        raise
    return connection


def check_library(version: str) -> None:
    """Raise HostFault if the SQLite in apsw is older than MIN_SQLITE_VERSION."""
    if tuple(int(part) for part in version.split(".")) < MIN_SQLITE_VERSION:
        minimum = ".".join(map(str, MIN_SQLITE_VERSION))
        raise HostFault(f"SQLite {version} can corrupt the store: install an apsw that contains {minimum} or newer")


def _create_private(path: Path) -> None:
    """Create a missing file, readable by its owner only. SQLite gives its WAL and index files the same mode."""
    # An existing file must not be opened here: closing it would drop all POSIX locks that this process holds on it.
    # The next program that opens the store would then believe that it is the only one, and delete the WAL on close.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        for folder in path.absolute().parents[1:]:
            # SQLite syncs only the folder of the file. Its parents may be new as well; some may not be accessible.
            with suppress(OSError):
                _sync(folder)


def sync_existing_wal(path: Path) -> None:
    """Sync a WAL that a killed process left. Its commits become visible as soon as the store is open, so they must
    be durable before that."""
    with suppress(FileNotFoundError):
        _sync(path.with_name(f"{path.name}-wal"))
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _configure(connection: SqliteConnection, cache_kib: int) -> None:
    # Query planner stability guarantee: without it, SQLite plans half of the statements again for every new bound
    # value, which costs several times as much as running them.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("cache_size", -cache_kib)
    connection.pragma("mmap_size", 0)
    connection.pragma("temp_store", "memory")
    connection.pragma("trusted_schema", 0)


class Migration(NamedTuple):
    """One migration. It sets the user_version to `number`."""

    number: int
    script: str


def load_migrations() -> list[Migration]:
    """The migrations of this release, in order."""
    folder = resources.files("weftwork.adapters.sqlite") / "migrations"
    scripts = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [Migration(int(entry.name.partition("_")[0]), entry.read_text("utf-8")) for entry in scripts]


def migrate(connection: SqliteConnection, migrations: Sequence[Migration]) -> None:
    """Apply the missing migrations in order, each in its own transaction.

    Raises HostFault if a newer release has migrated the store.
    """
    newest = migrations[-1].number
    current = _schema_version(connection)
    if current > newest:
        raise HostFault(
            f"the store has schema version {current}, and this release supports versions up to {newest}: "
            "start the release that wrote it, or a newer one"
        )
    for migration in migrations:
        if migration.number > current:
            _apply(connection, migration)


def _apply(connection: SqliteConnection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Check again under the lock, because another process may have applied the migration in the meantime.
        if _schema_version(connection) < migration.number:
            connection.execute(migration.script)
            fault_point("migration.applied")
            connection.pragma("user_version", migration.number)
            fault_point("migration.stamped")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _schema_version(connection: SqliteConnection) -> int:
    return int(connection.pragma("user_version"))
