"""A disk under SQLite that writes down everything done to it, and fails as told."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import apsw

Kind = Literal["create", "delete", "write", "truncate", "sync", "unsynced", "folder"]

QUICK_FOLDER: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files are made; what they hold on a power loss is worked out, so they need no real disk."""

_OpenDirectory = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int))
_disks = count(1)


class DiskOperation(NamedTuple):
    """One operation. A file that is deleted and made again has another number.

    `unsynced` is a sync that failed: what it was to make durable may or may not be. `folder` is the sync of
    the folder, which makes the names of files durable.
    """

    kind: Kind
    file: int = 0
    name: str = ""
    at: int = 0
    data: bytes = b""


class RecordingDisk:
    """Under the VFS called `vfs`. What is in `broken` fails; `after` counts the writes and syncs that still work."""

    def __init__(self, before: list[DiskOperation]) -> None:
        self.vfs = f"weftwork-disk-{next(_disks)}"
        self.log = list(before)
        self.broken: set[str] = set()
        self.error: type[Exception] = apsw.IOError
        self.after: int | None = None
        self.fails_after_writing = False
        """Whether what fails is done first: a sync all of it, a write half of it."""
        self._folder = ""
        self._folder_synced = False
        self._numbers: dict[str, int] = {}
        self._fresh = count(max((op.file for op in before), default=0) + 1)
        for op in before:
            if op.kind == "create":
                self._numbers[op.name] = op.file
            elif op.kind == "delete":
                self._numbers.pop(op.name, None)

    def fails(self, operation: str) -> bool:
        if operation in self.broken:
            return True
        if self.after is not None and operation in ("write", "sync"):
            if self.after == 0:
                return True
            self.after -= 1
        return False

    def check_operation(self, operation: str) -> None:
        if self.fails(operation):
            raise self.error(f"{operation} fails")

    def repair(self) -> None:
        self.broken.clear()
        self.after = None

    def opened(self, path: str) -> int:
        self._folder, _, name = path.rpartition("/")
        if name not in self._numbers:
            self._numbers[name] = next(self._fresh)
            self.log.append(DiskOperation("create", self._numbers[name], name))
        return self._numbers[name]

    def deleted(self, path: str) -> None:
        name = path.rpartition("/")[2]
        self.log.append(DiskOperation("delete", self._numbers.pop(name, 0), name))
        self.note_folder()

    def synced(self, path: Path, folder: Path) -> None:
        """The host itself has synced a file, or the folder of the store."""
        if path == folder:
            self.log.append(DiskOperation("folder"))
        elif path.parent == folder:
            self.log.append(DiskOperation("sync", self._numbers[path.name]))

    def folder_opened(self, beside: str) -> None:
        """SQLite opens a folder for one reason only: to sync it, at the end of a sync or of a deletion."""
        self._folder_synced |= beside.rpartition("/")[0] == self._folder

    def note_folder(self) -> None:
        if self._folder_synced:
            self._folder_synced = False
            self.log.append(DiskOperation("folder"))


class _File(apsw.VFSFile):
    def __init__(self, disk: RecordingDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)
        self._number = disk.opened(path) if path else 0

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.check_operation("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        fails = self._disk.fails("write")
        if fails:
            data = data[: len(data) // 2] if self._disk.fails_after_writing else b""
        if data:
            super().xWrite(data, offset)
            self._disk.log.append(DiskOperation("write", self._number, at=offset, data=bytes(data)))
        if fails:
            raise self._disk.error("write fails")

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.check_operation("truncate")
        super().xTruncate(newsize)
        self._disk.log.append(DiskOperation("truncate", self._number, at=newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        fails = self._disk.fails("sync")
        if fails and not self._disk.fails_after_writing:
            self._disk.log.append(DiskOperation("unsynced", self._number))
            raise self._disk.error("sync fails")
        super().xSync(flags)
        self._disk.log.append(DiskOperation("sync", self._number))
        self._disk.note_folder()
        if fails:
            raise self._disk.error("sync fails")


class _VFS(apsw.VFS):
    def __init__(self, disk: RecordingDisk) -> None:
        self._disk = disk
        super().__init__(disk.vfs, "")

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802
        self._disk.check_operation("open")
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self._disk.check_operation("delete")
        super().xDelete(filename, syncdir)
        self._disk.deleted(filename)


def synced_log(files: dict[str, bytes]) -> list[DiskOperation]:
    """A log that leads to these files, all of it synced."""
    log: list[DiskOperation] = []
    for number, (name, content) in enumerate(files.items(), 1):
        log += [
            DiskOperation("create", number, name),
            DiskOperation("write", number, data=content),
            DiskOperation("sync", number),
        ]
    return [*log, DiskOperation("folder")]


@contextmanager
def open_disk(before: list[DiskOperation] | None = None) -> Iterator[RecordingDisk]:
    """A disk whose VFS is there until the end. Its log goes on where `before` ends; the files must be there."""
    disk = RecordingDisk(before or [])
    vfs = _VFS(disk)
    real = _OpenDirectory(vfs.xGetSystemCall("openDirectory") or 0)

    def opened(path: bytes, folder: Any) -> int:
        disk.folder_opened(path.decode())
        return real(path, folder)

    hook = _OpenDirectory(opened)
    vfs.xSetSystemCall("openDirectory", ctypes.cast(hook, ctypes.c_void_p).value or 0)
    try:
        yield disk
    finally:
        vfs.xSetSystemCall("openDirectory", ctypes.cast(real, ctypes.c_void_p).value or 0)
        vfs.unregister()
