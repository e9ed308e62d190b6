"""Blobs in a local folder.

Bytes are written to a file with a random name in the folder `partial`. When the file is complete, it is synced, then
renamed to its key, then the new folder is synced, and only then is the blob reported as stored. A crash before the
rename leaves a file in `partial`, which the next start deletes. A crash after the rename leaves a complete blob that no
asset refers to, which the sweep of assets finds.

If the folder is deleted or replaced while the host runs, the folder that is at its path then is used from then on, and
a blob that is being written fails.

Files are written, read and deleted in threads of BlobThreadPool. A thread continues when its caller is cancelled, so
sinks and sources keep their descriptor open until the thread has ended.
"""

import asyncio
import errno
import hashlib
import os
import stat
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from weftwork.adapters.blobs.blob_key import new_key, split_key
from weftwork.adapters.blobs.folder_tree import MISSING, FolderTree
from weftwork.adapters.blobs.thread_pool import BlobThreadPool, store_unavailable
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.ids import Ids
from weftwork.ports.storage.blobs import Blob, BlobSink, BlobSource
from weftwork.ports.storage.event_log import StoreUnavailable

T = TypeVar("T")

PARTIAL: Final = "partial"
WRITE_BATCH_BYTES: Final = 256 * 1024
"""Bytes that are buffered before a thread writes them."""

READ_CHUNK_BYTES: Final = 256 * 1024
CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK, so that opening a FIFO in place of a blob does not block the thread.
READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class LocalBlobs:
    """Implements ports.storage.blobs.Blobs. Only the process with the host lock may use the folder."""

    def __init__(self, folder: Path, clock: Clock, ids: Ids) -> None:
        self._path = folder
        self._clock = clock
        self._ids = ids
        self._pool = BlobThreadPool()
        self._folders: FolderTree | None = None

    async def open(self) -> None:
        if self._folders is None:
            self._pool.open()
            self._folders = await self._pool.run(self._prepare, FolderTree.close)

    async def close(self) -> None:
        await self._pool.close()
        folders, self._folders = self._folders, None
        if folders is not None:
            folders.close()

    async def sink(self, partition: str) -> BlobSink:
        def key(sha256: str) -> str:
            return new_key(partition, sha256, self._ids)

        name = self._ids.secret(16).hex()
        return LocalSink(self._require_open(), self._pool, self._clock, name, key)

    async def source(self, key: str) -> BlobSource | None:
        opened = await self._in_folder(key, open_regular_file, _close_abandoned)
        return LocalSource(self._pool, *opened) if opened is not None else None

    async def delete(self, key: str) -> None:
        if await self._in_folder(key, _delete):
            fault_point("blob.deleted")

    async def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        folders = self._require_open()
        for tenant in await self._pool.run(lambda: _subfolders(folders, ())):
            for first in await self._pool.run(lambda tenant=tenant: _subfolders(folders, (tenant,))):
                # One job in a thread lists a 256th of the blobs of a tenant.
                path = tenant, first
                for key in await self._pool.run(lambda path=path: _keys(folders, path, written_before)):
                    yield key

    def _require_open(self) -> FolderTree:
        if self._folders is None:
            raise StoreUnavailable("the blob store is closed")
        return self._folders

    def _prepare(self) -> FolderTree:
        """Open the tree, and delete the partial files of an earlier process."""
        folders = FolderTree(self._path)
        try:
            with folders.make((PARTIAL,)) as partial:
                for name in os.listdir(partial):
                    with suppress(IsADirectoryError):
                        os.unlink(name, dir_fd=partial)
        except BaseException:
            folders.close()
            raise
        return folders

    async def _in_folder(
        self, key: str, work: Callable[[int, str], T | None], on_cancelled: Callable[[T | None], None] | None = None
    ) -> T | None:
        """Run `work` with the folder and file name of a key. None if the key is invalid or the file does not exist."""
        folders = self._require_open()
        path = split_key(key)
        if path is None:
            return None

        def within() -> T | None:
            with folders.enter(path[:3]) as folder:
                return work(folder, path[3])

        def run() -> T | None:
            try:
                return folders.retry_if_replaced(within)
            except MISSING:
                return None

        return await self._pool.run(run, on_cancelled)


def _close_abandoned(opened: tuple[int, int] | None) -> None:
    if opened is not None:
        os.close(opened[0])


def _delete(folder: int, name: str) -> bool:
    os.unlink(name, dir_fd=folder)
    os.fsync(folder)
    return True


def _subfolders(folders: FolderTree, path: tuple[str, ...]) -> list[str]:
    try:
        with folders.enter(path) as folder, os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except MISSING:
        return []


def _keys(folders: FolderTree, path: tuple[str, ...], written_before: int) -> list[str]:
    """The keys below this folder. Files whose path is not a key, such as those in `partial`, are skipped."""
    keys: list[str] = []
    for last in _subfolders(folders, path):
        with folders.enter((*path, last)) as folder, os.scandir(folder) as entries:
            for entry in entries:
                key = "/".join((*path, last, entry.name))
                if split_key(key) and (written := _modified_at(entry)) is not None and written < written_before:
                    keys.append(key)
    return keys


def _modified_at(entry: "os.DirEntry[str]") -> int | None:
    """The modification time in milliseconds; None if the entry is not a file or was deleted."""
    try:
        if entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
    except FileNotFoundError:
        pass
    return None


class LocalSink:
    """Implements ports.storage.blobs.BlobSink. The file is deleted if writing fails or is cancelled."""

    def __init__(
        self, folders: FolderTree, pool: BlobThreadPool, clock: Clock, name: str, new_key: Callable[[str], str]
    ) -> None:
        self.size = 0
        self._folders = folders
        self._pool = pool
        self._clock = clock
        self._new_key = new_key
        self._buffer: list[bytes] = []
        self._buffer_size = 0
        self._hash = hashlib.sha256()
        self._descriptor: int | None = None
        # The current path of the file: first in `partial`, after the rename its key.
        self._path: tuple[str, ...] = (PARTIAL, name)
        self._closed = False
        # The file is committed or deleted, so there is nothing to clean up.
        self._cleaned_up = False
        # The thread of a cancelled call may still be running; the next call waits for it here.
        self._lock = threading.Lock()

    async def write(self, data: bytes) -> None:
        self._check_open()
        self._buffer.append(data)
        self._buffer_size += len(data)
        self.size += len(data)
        if self._buffer_size >= WRITE_BATCH_BYTES:
            async with self._discard_on_error():
                await self._flush()

    async def commit(self) -> Blob:
        self._check_open()
        async with self._discard_on_error():
            if self._buffer or self._descriptor is None:
                await self._flush()
            now = self._clock.now()
            await self._run(lambda: self._sync(now))
            fault_point("blob.synced")
            sha256 = self._hash.hexdigest()
            key = self._new_key(sha256)
            await self._run(lambda: self._rename(key))
            fault_point("blob.renamed")
        self._closed = self._cleaned_up = True
        return Blob(key, sha256, self.size)

    async def discard(self) -> None:
        self._closed = True
        if not self._cleaned_up:
            # If the disk fails, the next start deletes the file.
            with suppress(StoreUnavailable):
                await self._pool.run(self._remove)
                self._cleaned_up = True

    @asynccontextmanager
    async def _discard_on_error(self) -> AsyncGenerator[None, None]:
        try:
            yield
        except BaseException:
            await self.discard()
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the blob is closed")

    async def _flush(self) -> None:
        is_first = self._descriptor is None
        data, self._buffer, self._buffer_size = self._buffer, [], 0
        await self._run(lambda: self._write(data))
        if is_first:
            fault_point("blob.partial")

    async def _run(self, work: Callable[[], None]) -> None:
        def run() -> None:
            with self._lock:
                if self._closed:
                    return
                work()

        await self._pool.run(run)

    def _write(self, data: list[bytes]) -> None:
        if self._descriptor is None:
            self._descriptor = self._folders.retry_if_replaced(self._create)
        rest = memoryview(data[0] if len(data) == 1 else b"".join(data))
        self._hash.update(rest)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def _create(self) -> int:
        self._folders.refresh()
        with self._folders.make((PARTIAL,)) as partial:
            return os.open(self._path[-1], CREATE_FLAGS, 0o600, dir_fd=partial)

    def _sync(self, now: int) -> None:
        descriptor, now_ns = self._descriptor, now * 1_000_000
        assert descriptor is not None
        # `keys(written_before)` compares the modification time with the host's clock, not with that of the file system.
        os.utime(descriptor, ns=(now_ns, now_ns))
        os.fsync(descriptor)
        self._close()

    def _rename(self, key: str) -> None:
        path = split_key(key)
        assert path is not None
        with self._folders.enter((PARTIAL,)) as partial, self._folders.make(path[:3]) as folder:
            os.rename(self._path[-1], path[3], src_dir_fd=partial, dst_dir_fd=folder)
            self._path = path
            os.fsync(folder)
        if not self._folders.is_current():
            raise FileNotFoundError(errno.ENOENT, "the assets folder was deleted or replaced")

    def _remove(self) -> None:
        with self._lock:
            self._close()
            with suppress(FileNotFoundError), self._folders.enter(self._path[:-1]) as folder:
                os.unlink(self._path[-1], dir_fd=folder)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def open_regular_file(folder: int, name: str) -> tuple[int, int] | None:
    """The descriptor and size of a file; None if it is not a regular file. Raises OSError."""
    try:
        descriptor = os.open(name, READ_FLAGS, dir_fd=folder)
    except OSError:
        if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return None
    return descriptor, status.st_size


class LocalSource:
    """Implements ports.storage.blobs.BlobSource. A file that is deleted while it is open can be read to its end."""

    def __init__(self, pool: BlobThreadPool, descriptor: int, size: int) -> None:
        self.size = size
        self._pool = pool
        self._descriptor: int | None = descriptor
        self._reading: asyncio.Future[bytes] | None = None

    async def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        at, end = start, min(start + length, self.size)
        while at < end:
            chunk = await self._read_chunk(at, min(READ_CHUNK_BYTES, end - at))
            if not chunk:
                raise StoreUnavailable("a blob was truncated while it was read")
            at += len(chunk)
            yield chunk

    async def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if self._reading is not None and not self._reading.done():
            # The caller of `read` was cancelled, and its thread is still reading from the descriptor.
            self._reading.add_done_callback(lambda _: os.close(descriptor))
        else:
            os.close(descriptor)

    async def _read_chunk(self, at: int, count: int) -> bytes:
        descriptor = self._descriptor
        if descriptor is None:
            raise StoreUnavailable("the blob is closed")
        self._reading = self._pool.submit(lambda: os.pread(descriptor, count, at))
        try:
            return await asyncio.shield(self._reading)
        except OSError as error:
            raise store_unavailable(error) from None
