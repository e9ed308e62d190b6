"""How connections to the store file are made, and which of their errors mean that the store is out of order."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import apsw

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.migrate import migrate, shipped
from weftwork.protocol.errors import HostFault

OLDEST: Final = (3, 51, 3)
"""Earlier libraries can corrupt a file in WAL mode when a checkpoint meets a writer (the WAL-reset bug)."""

BUSY_TIMEOUT: Final = 5000

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
"""The file or the machine is at fault. Every other error is the fault of the statement or of its values."""


def open_writer(path: Path, vfs: str | None) -> Connection:
    """The writing connection, on a store that exists and is up to date. Checkpoints are left to the writer."""
    check_library(apsw.sqlite_lib_version())
    _make_private(path)
    sync_left_behind(path)
    connection: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", 0)
        _tune(connection, cache_kib=8192)
        migrate(connection, shipped())
    except BaseException:
        connection.close(True)
        raise
    return connection


def open_reader(path: Path, vfs: str | None) -> Connection:
    """A connection that cannot write and never checkpoints."""
    connection: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT)
        _tune(connection, cache_kib=2048)
    except BaseException:
        connection.close(True)
        raise
    return connection


def check_library(version: str) -> None:
    """Raises HostFault when the SQLite that apsw carries is older than OLDEST."""
    if tuple(int(part) for part in version.split(".")) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise HostFault(f"SQLite {version} can corrupt the store: install an apsw that carries {needed} or newer")


def _make_private(path: Path) -> None:
    """Create a missing file for its owner only. SQLite gives its side files the mode of the main file."""
    # A file that is there is left alone: closing it would drop every lock that this process holds on it, and the
    # next program that looks into the store would take itself for the last one and delete the write-ahead log.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        for folder in path.absolute().parents[1:]:
            # SQLite syncs the folder of the file; those above may be new too, if they are ours at all.
            with suppress(OSError):
                _sync(folder)


def sync_left_behind(path: Path) -> None:
    """Make durable what a killed process has written and not synced. It is in the store as soon as that is open."""
    with suppress(FileNotFoundError):
        _sync(path.with_name(f"{path.name}-wal"))
        _sync(path.parent)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _tune(connection: Connection, cache_kib: int) -> None:
    # Without this promise SQLite looks at the values that are bound and prepares half of our statements anew
    # for every new value, which costs several times as much as running them.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.pragma("cache_size", -cache_kib)
    connection.pragma("mmap_size", 0)
    connection.pragma("temp_store", "memory")
    connection.pragma("trusted_schema", 0)
