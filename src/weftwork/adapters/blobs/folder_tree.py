"""A tree of folders that is opened from its root, one level at a time, without following symbolic links.

The root is opened once. Each folder below is opened relative to its parent, and only if it is a real folder. A program
that can create symbolic links in the tree therefore cannot make the host write, read or delete anywhere else.

An entry of a folder is durable after that folder is synced. An existing folder may have been created a moment ago by
another thread that has not synced the parent yet, so the first use of a folder in this process syncs its parent too.

If the root or a folder in it is deleted or replaced, `retry_if_replaced` and `make` continue in the folder that is at
the path now.
"""

import logging
import os
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

log = logging.getLogger("weftwork.assets")

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MISSING: Final = (FileNotFoundError, NotADirectoryError)
MAX_DURABLE_FOLDERS: Final = 100_000
"""Size of the cache of durable folders. When it is full it is cleared, and folders are synced again."""


class FolderTree:
    """All methods block, so call them in a thread. They raise OSError."""

    def __init__(self, path: Path) -> None:
        """Open the root, and create it if it is missing. The operator may make the root itself a symbolic link."""
        self._path = path
        self._lock = threading.Lock()
        self._replaced = 0
        """How often the root was replaced."""
        self._durable: set[tuple[str, ...]] = set()
        self.root = self._open_root()

    def _open_root(self) -> int:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        root = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with _open_folder(self._path.resolve().parent) as parent:
            os.fsync(parent)
        return root

    def retry_if_replaced(self, work: Callable[[], T]) -> T:
        """The result of the work. If something is missing and the folder at the path of the root is another one than
        the open root, or none, that folder is opened or created, and the work is done again."""
        replaced = self._replaced
        try:
            return work()
        except MISSING:
            if not self._reopen(replaced):
                raise
            return work()

    def is_current(self) -> bool:
        """Whether the open root is the folder at its path. If it was moved away, no later process finds it."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self.root))
        except FileNotFoundError:
            return False

    def refresh(self) -> None:
        """Open the folder at the path of the root, if that is another one now."""
        self._reopen(self._replaced)

    def _reopen(self, replaced: int) -> bool:
        """Whether the root is another one than when it had been replaced so many times."""
        with self._lock:
            if self._replaced == replaced:
                if self.is_current():
                    return False
                fresh = self._open_root()
                try:
                    # Atomic, so that other threads never see a closed descriptor.
                    os.dup2(fresh, self.root, inheritable=False)
                finally:
                    os.close(fresh)
                self._replaced += 1
                self._durable.clear()
                log.error("the assets folder was deleted or replaced", extra={"path": str(self._path)})
            return True

    def close(self) -> None:
        os.close(self.root)

    @contextmanager
    def enter(self, names: Iterable[str]) -> Generator[int, None, None]:
        """Open the folder with this path below the root, as a descriptor.

        Raises FileNotFoundError, or NotADirectoryError for a symbolic link.
        """
        folder = self._descend(names)
        try:
            yield folder
        finally:
            os.close(folder)

    def _descend(self, names: Iterable[str]) -> int:
        folder = os.dup(self.root)
        for name in names:
            try:
                inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
        return folder

    @contextmanager
    def make(self, names: tuple[str, ...]) -> Generator[int, None, None]:
        """Like `enter`, but creates missing folders. All folders of the path are durable when it returns."""
        paths = [names[: depth + 1] for depth in range(len(names))]
        for path in paths:
            if path not in self._durable:
                self._make(path)
        try:
            folder = self._descend(names)
        except FileNotFoundError:
            # A folder of the path was deleted after it had become durable.
            for path in paths:
                self._make(path)
            folder = self._descend(names)
        try:
            yield folder
        finally:
            os.close(folder)

    def _make(self, path: tuple[str, ...]) -> None:
        with self.enter(path[:-1]) as parent:
            with suppress(FileExistsError):
                os.mkdir(path[-1], 0o700, dir_fd=parent)
            os.fsync(parent)
        if len(self._durable) >= MAX_DURABLE_FOLDERS:
            self._durable.clear()
        self._durable.add(path)


@contextmanager
def _open_folder(path: Path) -> Generator[int, None, None]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
