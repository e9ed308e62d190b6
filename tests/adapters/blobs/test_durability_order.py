"""Before a blob is said to be kept, it is durable: its bytes, its name and every folder on the way to it.

Proved on a model of a disk that keeps nothing but what was synced: what `fsync` is called for is written down, and
asked when somebody has been told that a blob is kept.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory, write_blob
from weftwork.adapters.blobs.folder_tree import FolderTree
from weftwork.ports.storage.blobs import Blob, Blobs


class Disk:
    """What is on it after the power has gone. `forgets` says which syncs it only pretends to make, by their number."""

    def __init__(self, root: Path, forgets: frozenset[int] = frozenset()) -> None:
        self.calls: list[str] = []
        self.entries: set[str] = set()
        """Paths whose folder was synced while they were in it."""
        self.sizes: dict[int, int] = {}
        """Of files, by their number on the disk, when they were synced."""
        self._root = root
        self._forgets = forgets
        self._syncs = 0
        self._lock = threading.Lock()

    @contextmanager
    def heard(self) -> Iterator["Disk"]:
        with pytest.MonkeyPatch.context() as patch:
            for name, hear in (("fsync", self._fsync), ("rename", self._rename)):
                patch.setattr(os, name, partial(hear, getattr(os, name)))
            yield self

    def survives(self, blob: Blob) -> bool:
        file = self._root / blob.key
        way = [file, *list(file.parents)[: len(blob.key.split("/"))]]
        named = all(each.as_posix() in self.entries for each in way)
        return named and self.sizes.get(file.stat().st_ino) == blob.size

    def begin(self) -> None:
        """Forget what was called by now, but not what is durable."""
        self.calls.clear()
        self._syncs = 0

    def _fsync(self, real: Callable[[int], None], descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        # What comes while it is synced need not be on the disk.
        there = {each.as_posix() for each in path.iterdir()} if path.is_dir() else set[str]()
        real(descriptor)
        with self._lock:
            self.calls.append("fsync a folder" if path.is_dir() else "fsync a file")
            self._syncs += 1
            if self._syncs in self._forgets:
                return
            if path.is_dir():
                gone = {each for each in self.entries if Path(each).parent == path and not os.path.lexists(each)}
                self.entries = (self.entries | there) - gone
            else:
                self.sizes[path.stat().st_ino] = path.stat().st_size

    def _rename(self, real: Callable[..., None], *args: Any, **named: Any) -> None:
        real(*args, **named)
        with self._lock:
            self.calls.append("rename")


async def keep_some(blobs: Blobs, disk: Disk) -> bool:
    """Whether each of some blobs survives as soon as it is said to be kept; some are written at once."""

    async def one(number: int) -> bool:
        return disk.survives(await write_blob(blobs, bytes([number % 3]) * 300_000, f"tenant-{number % 2}"))

    verdicts = [await one(number) for number in range(4)]
    return all([*verdicts, *await asyncio.gather(*(one(number) for number in range(12)))])


def test_what_is_kept_survives(tmp_path: Path) -> None:
    with Disk(tmp_path / "assets").heard() as disk:
        assert BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, disk))


def test_folders_that_a_dead_process_made_are_synced_again(tmp_path: Path) -> None:
    BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, Disk(tmp_path / "assets")))
    with Disk(tmp_path / "assets").heard() as disk:
        assert BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, disk))


def test_taking_a_folder_for_durable_because_it_is_there_would_lose_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(self: FolderTree, path: tuple[str, ...]) -> None:
        with self.enter(path[:-1]) as above:
            try:
                os.mkdir(path[-1], 0o700, dir_fd=above)
                os.fsync(above)
            except FileExistsError:
                pass

    monkeypatch.setattr(FolderTree, "_make", make)
    BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, Disk(tmp_path / "assets")))
    with Disk(tmp_path / "assets").heard() as disk:
        assert not BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, disk))


def test_bytes_are_durable_before_they_have_a_name(tmp_path: Path) -> None:
    async def work(blobs: Blobs) -> None:
        await write_blob(blobs, b"first")
        disk.begin()
        await write_blob(blobs, b"first")

    with Disk(tmp_path / "assets").heard() as disk:
        BlobStoreFactory("local", tmp_path).run(work)
    assert disk.calls == ["fsync a file", "rename", "fsync a folder"], "the folders above are known by now"


@pytest.mark.parametrize("forgotten", [1, 2, 3, 4, 5])
def test_every_sync_is_needed(tmp_path: Path, forgotten: int) -> None:
    """Those of a first blob: its bytes, the root, the folder of the tenant, the one below it, the last one."""

    async def work(blobs: Blobs) -> bool:
        disk.begin()
        return disk.survives(await write_blob(blobs, b"x"))

    with Disk(tmp_path / "assets", frozenset({forgotten})).heard() as disk:
        assert not BlobStoreFactory("local", tmp_path).run(work)
    assert [each for each in disk.calls if each != "rename"] == ["fsync a file", *["fsync a folder"] * 4]


def test_a_deleted_blob_stays_away(tmp_path: Path) -> None:
    async def work(blobs: Blobs) -> str:
        blob = await write_blob(blobs, b"x")
        assert (tmp_path / "assets" / blob.key).as_posix() in disk.entries
        await blobs.delete(blob.key)
        return blob.key

    with Disk(tmp_path / "assets").heard() as disk:
        key = BlobStoreFactory("local", tmp_path).run(work)
    assert (tmp_path / "assets" / key).as_posix() not in disk.entries
