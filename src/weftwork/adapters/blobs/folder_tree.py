"""A tree of folders that is entered from its root, one step at a time, and never by a link.

Theory. The root is opened once. Each folder below is opened relative to the one above it, and only if it is a folder
itself: whoever can put a link into the tree cannot make the host write, read or delete anywhere else.

An entry of a folder is durable once that folder is synced. A folder that was there already may have been made a moment
ago by another thread that has not synced it yet, so the first to use it in this process syncs the one above as well.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_DURABLE_FOLDERS: Final = 100_000
"""Folders that are known to be durable. More are not remembered: they are synced again."""


class FolderTree:
    """Blocks: for threads. Raises OSError."""

    def __init__(self, path: Path) -> None:
        """Make the root if it is not there. The root itself may be a link: that is for whoever runs the host to say."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._durable: set[tuple[str, ...]] = set()
        with _open_folder(path.resolve().parent) as above:
            os.fsync(above)

    def close(self) -> None:
        os.close(self.root)

    @contextmanager
    def enter(self, steps: Iterable[str]) -> Generator[int, None, None]:
        """The folder as a descriptor. Raises FileNotFoundError, or NotADirectoryError for a link."""
        folder = os.dup(self.root)
        try:
            for step in steps:
                above = folder
                folder = os.open(step, FOLDER_FLAGS, dir_fd=above)
                os.close(above)
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def make(self, steps: tuple[str, ...]) -> Generator[int, None, None]:
        """The same, making what is not there. Every folder on the way is durable then."""
        for depth in range(len(steps)):
            path = steps[: depth + 1]
            if path not in self._durable:
                self._make(path)
        with self.enter(steps) as folder:
            yield folder

    def _make(self, path: tuple[str, ...]) -> None:
        with self.enter(path[:-1]) as above:
            with suppress(FileExistsError):
                os.mkdir(path[-1], 0o700, dir_fd=above)
            os.fsync(above)
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
