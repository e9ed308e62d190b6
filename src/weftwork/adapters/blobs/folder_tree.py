"""A tree of folders that is opened from its root, one level at a time, without following symbolic links.

The root is opened once. Each folder below is opened relative to its parent, and only if it is a real folder. A program
that can create symbolic links in the tree therefore cannot make the host write, read or delete anywhere else.

An entry of a folder is durable after that folder is synced. An existing folder may have been created a moment ago by
another thread that has not synced the parent yet, so the first use of a folder in this process syncs its parent too.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_DURABLE_FOLDERS: Final = 100_000
"""Size of the cache of durable folders. When it is full it is cleared, and folders are synced again."""


class FolderTree:
    """All methods block, so call them in a thread. They raise OSError."""

    def __init__(self, path: Path) -> None:
        """Open the root, and create it if it is missing. The operator may make the root itself a symbolic link."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._durable: set[tuple[str, ...]] = set()
        with _open_folder(path.resolve().parent) as parent:
            os.fsync(parent)

    def close(self) -> None:
        os.close(self.root)

    @contextmanager
    def enter(self, names: Iterable[str]) -> Generator[int, None, None]:
        """Open the folder with this path below the root, as a descriptor.

        Raises FileNotFoundError, or NotADirectoryError for a symbolic link.
        """
        folder = os.dup(self.root)
        try:
            for name in names:
                parent = folder
                folder = os.open(name, FOLDER_FLAGS, dir_fd=parent)
                os.close(parent)
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def make(self, names: tuple[str, ...]) -> Generator[int, None, None]:
        """Like `enter`, but creates missing folders. All folders of the path are durable when it returns."""
        for depth in range(len(names)):
            path = names[: depth + 1]
            if path not in self._durable:
                self._make(path)
        with self.enter(names) as folder:
            yield folder

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
