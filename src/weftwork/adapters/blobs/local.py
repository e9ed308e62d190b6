"""Blobs in a folder of this machine.

Theory. Bytes go into a file of the folder `partial` under a name by chance. When all are there, the file is synced,
then it gets its key by a rename, then the folder that it is in now is synced, and only then is it said to be kept. A
process that dies before the rename leaves a file in `partial`, which the next one deletes; one that dies after it
leaves a whole blob that nobody has heard of.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from weftwork.adapters.blobs.folders import Folders
from weftwork.adapters.blobs.key import new_key, parts
from weftwork.adapters.blobs.local_sink import PARTIAL, LocalSink
from weftwork.adapters.blobs.local_source import LocalSource, opened
from weftwork.adapters.blobs.pool import Pool
from weftwork.ports.blobs import BlobSink, BlobSource
from weftwork.ports.clock import Clock
from weftwork.ports.eventlog import StoreUnavailable
from weftwork.ports.faults import point
from weftwork.ports.ids import Ids

T = TypeVar("T")

NOT_THERE: Final = (FileNotFoundError, NotADirectoryError)


class LocalBlobs:
    """Implements ports.blobs.Blobs. One process at a time: whoever holds the seat of the data folder."""

    def __init__(self, folder: Path, clock: Clock, ids: Ids) -> None:
        self._path = folder
        self._clock = clock
        self._ids = ids
        self._pool = Pool()
        self._folders: Folders | None = None

    async def open(self) -> None:
        if self._folders is None:
            self._pool.open()
            self._folders = await self._pool.run(self._prepared, Folders.close)

    async def close(self) -> None:
        await self._pool.close()
        folders, self._folders = self._folders, None
        if folders is not None:
            folders.close()

    async def sink(self, partition: str) -> BlobSink:
        def key(sha256: str) -> str:
            return new_key(partition, sha256, self._ids)

        name = self._ids.secret(16).hex()
        return LocalSink(self._opened(), self._pool, self._clock, name, key)

    async def source(self, key: str) -> BlobSource | None:
        found = await self._with(key, opened, _leave)
        return LocalSource(self._pool, *found) if found is not None else None

    async def delete(self, key: str) -> None:
        if await self._with(key, _delete):
            point("blob.deleted")

    async def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        folders = self._opened()
        for tenant in await self._pool.run(lambda: _subfolders(folders, ())):
            for first in await self._pool.run(lambda tenant=tenant: _subfolders(folders, (tenant,))):
                # One bite: a 256th of what a tenant has.
                steps = tenant, first
                for key in await self._pool.run(lambda steps=steps: _keys(folders, steps, written_before)):
                    yield key

    def _opened(self) -> Folders:
        if self._folders is None:
            raise StoreUnavailable("the store of assets is closed")
        return self._folders

    def _prepared(self) -> Folders:
        folders = Folders(self._path)
        try:
            with folders.make((PARTIAL,)) as partial:
                for name in os.listdir(partial):
                    with suppress(IsADirectoryError):
                        os.unlink(name, dir_fd=partial)
        except BaseException:
            folders.close()
            raise
        return folders

    async def _with(
        self, key: str, work: Callable[[int, str], T | None], left: Callable[[T | None], None] | None = None
    ) -> T | None:
        """Work in the folder of a key. None if there is no such folder or file, or the key is none."""
        folders = self._opened()
        found = parts(key)
        if found is None:
            return None

        def run() -> T | None:
            try:
                with folders.enter(found[:3]) as folder:
                    return work(folder, found[3])
            except NOT_THERE:
                return None

        return await self._pool.run(run, left)


def _leave(found: tuple[int, int] | None) -> None:
    if found is not None:
        os.close(found[0])


def _delete(folder: int, name: str) -> bool:
    os.unlink(name, dir_fd=folder)
    os.fsync(folder)
    return True


def _subfolders(folders: Folders, steps: tuple[str, ...]) -> list[str]:
    try:
        with folders.enter(steps) as folder, os.scandir(folder) as found:
            return sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
    except NOT_THERE:
        return []


def _keys(folders: Folders, steps: tuple[str, ...], written_before: int) -> list[str]:
    """The keys below two folders. What has no form of a key is none, the folder `partial` among it."""
    keys: list[str] = []
    for last in _subfolders(folders, steps):
        with folders.enter((*steps, last)) as folder, os.scandir(folder) as found:
            for entry in found:
                key = "/".join((*steps, last, entry.name))
                if parts(key) and (written := _written(entry)) is not None and written < written_before:
                    keys.append(key)
    return keys


def _written(entry: "os.DirEntry[str]") -> int | None:
    """When; None if it is no file, or gone by now."""
    try:
        if entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
    except FileNotFoundError:
        pass
    return None
