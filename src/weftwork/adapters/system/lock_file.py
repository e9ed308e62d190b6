"""The host lock on a file: the kernel grants it to one process and releases it when that process ends."""

import fcntl
import os
import secrets
from pathlib import Path

from weftwork.ports.storage.host_lock import HostLocked


class LockFile:
    """Implements ports.storage.host_lock.HostLock. The file contains the process id and the token of the holder.

    The file is never deleted. Otherwise a process that has the deleted file open and one that creates a new file would
    both get a lock.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._descriptor: int | None = None
        self.token = secrets.token_hex(16)
        """Identifies this start of the host in the file, because process ids are reused."""

    def acquire(self) -> None:
        if self._descriptor is not None:
            return
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {self.token}\n".encode(), 0)
        except BlockingIOError:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise HostLocked(
                f"another host{holder} is using {self._path.parent}; stop it, or pass --data OTHER_DIR"
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # Cleared before the lock is released, so that no reader sees this process as the holder afterwards.
            try:
                os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)


def _holder(descriptor: int) -> str:
    written = os.pread(descriptor, 64, 0).split(b" ")[0].decode("ascii", "replace")
    return f" (process {written})" if written.isdecimal() else ""
