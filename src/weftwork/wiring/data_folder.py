"""The data folder of a host: its files, its creation and its lock."""

from pathlib import Path

from weftwork.ports.storage.host_lock import HostLock
from weftwork.settings import SettingsError

DATABASE_FILE = "weftwork.db"
LOCK_FILE = "weftwork.lock"
ADMIN_SOCKET = "admin.sock"
MODELS_FOLDER = "models"
"""Weights of models that run on this machine, and the log file of their server."""


def make_folder(folder: Path) -> None:
    """Create the data folder if it does not exist. Raises SettingsError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"data: cannot create {folder}: {error.strerror}; name another with --data DIR") from None


def acquire_lock(lock: HostLock) -> None:
    """Take the lock of the folder. Raises HostLocked, or SettingsError for a folder that cannot be used."""
    try:
        lock.acquire()
    except OSError as error:
        raise folder_error(error) from None


def folder_error(error: OSError) -> SettingsError:
    return SettingsError(f"data: cannot use {error.filename or 'the folder'}: {error.strerror or error}")


class NoLock:
    """The lock of a memory store, which no other process can open."""

    def acquire(self) -> None: ...

    def release(self) -> None: ...
