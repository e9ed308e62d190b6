"""The data folder of a host: the files in it, and how it is created and locked."""

from pathlib import Path

from weftwork.ports.storage.host_lock import HostLock
from weftwork.settings import SettingsError

DATABASE_FILE = "weftwork.db"
LOCK_FILE = "weftwork.lock"
ADMIN_SOCKET = "admin.sock"


def make_folder(folder: Path) -> None:
    """Make the data folder if it is not there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"data: {folder} cannot be made: {error.strerror}") from None


def acquire_lock(lock: HostLock) -> None:
    """Take the lock of the folder. Raises HostLocked, or SettingsError for a folder that cannot be used."""
    try:
        lock.acquire()
    except OSError as error:
        raise folder_error(error) from None


def folder_error(error: OSError) -> SettingsError:
    return SettingsError(f"data: {error.filename or 'the folder'} cannot be used: {error.strerror or error}")


class NoLock:
    """A memory store belongs to its process by nature."""

    def acquire(self) -> None: ...

    def release(self) -> None: ...
