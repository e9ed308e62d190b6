"""Bytes on their way into a folder."""

import hashlib
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from weftwork.adapters.blobs.folders import Folders
from weftwork.adapters.blobs.key import parts
from weftwork.adapters.blobs.pool import Pool
from weftwork.ports.blobs import Blob
from weftwork.ports.clock import Clock
from weftwork.ports.eventlog import StoreUnavailable
from weftwork.ports.faults import point

PARTIAL: Final = "partial"
BATCH: Final = 256 * 1024
"""Bytes that are gathered before a thread writes them."""
FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalSink:
    """Implements ports.blobs.BlobSink. Whatever fails or is left off: nothing stays behind."""

    def __init__(self, folders: Folders, pool: Pool, clock: Clock, name: str, new_key: Callable[[str], str]) -> None:
        self.size = 0
        self._folders = folders
        self._pool = pool
        self._clock = clock
        self._new_key = new_key
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._hash = hashlib.sha256()
        self._descriptor: int | None = None
        # Where the file is now.
        self._place: tuple[str, ...] = (PARTIAL, name)
        self._over = False
        # Nothing is left to clear away: it is kept, or deleted.
        self._gone = False
        # Whoever is cancelled leaves a thread at work, and the next one waits until that has ended.
        self._lock = threading.Lock()

    async def write(self, data: bytes) -> None:
        self._check()
        self._waiting.append(data)
        self._waiting_size += len(data)
        self.size += len(data)
        if self._waiting_size >= BATCH:
            async with self._all_or_nothing():
                await self._flush()

    async def keep(self) -> Blob:
        self._check()
        async with self._all_or_nothing():
            if self._waiting or self._descriptor is None:
                await self._flush()
            now = self._clock.now()
            await self._run(lambda: self._sync(now))
            point("blob.synced")
            sha256 = self._hash.hexdigest()
            key = self._new_key(sha256)
            await self._run(lambda: self._rename(key))
            point("blob.renamed")
        self._over = self._gone = True
        return Blob(key, sha256, self.size)

    async def drop(self) -> None:
        self._over = True
        if not self._gone:
            # A disk that cannot even delete leaves the file for the next start.
            with suppress(StoreUnavailable):
                await self._pool.run(self._remove)
                self._gone = True

    @asynccontextmanager
    async def _all_or_nothing(self) -> AsyncGenerator[None, None]:
        try:
            yield
        except BaseException:
            await self.drop()
            raise

    def _check(self) -> None:
        if self._over:
            raise StoreUnavailable("the blob is closed")

    async def _flush(self) -> None:
        first = self._descriptor is None
        data, self._waiting, self._waiting_size = self._waiting, [], 0
        await self._run(lambda: self._write(data))
        if first:
            point("blob.partial")

    async def _run(self, work: Callable[[], None]) -> None:
        def run() -> None:
            with self._lock:
                if self._over:
                    return
                work()

        await self._pool.run(run)

    def _write(self, data: list[bytes]) -> None:
        if self._descriptor is None:
            with self._folders.enter((PARTIAL,)) as partial:
                self._descriptor = os.open(self._place[-1], FRESH, 0o600, dir_fd=partial)
        rest = memoryview(data[0] if len(data) == 1 else b"".join(data))
        self._hash.update(rest)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def _sync(self, now: int) -> None:
        descriptor, written = self._descriptor, now * 1_000_000
        assert descriptor is not None
        os.utime(descriptor, ns=(written, written))
        os.fsync(descriptor)
        self._close()

    def _rename(self, key: str) -> None:
        found = parts(key)
        assert found is not None
        with self._folders.enter((PARTIAL,)) as partial, self._folders.make(found[:3]) as folder:
            os.rename(self._place[-1], found[3], src_dir_fd=partial, dst_dir_fd=folder)
            self._place = found
            os.fsync(folder)

    def _remove(self) -> None:
        with self._lock:
            self._close()
            with suppress(FileNotFoundError), self._folders.enter(self._place[:-1]) as folder:
                os.unlink(self._place[-1], dir_fd=folder)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
