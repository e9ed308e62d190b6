"""Bytes on their way out of a folder."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator
from typing import Final

from weftwork.adapters.blobs.pool import Pool, unavailable
from weftwork.ports.eventlog import StoreUnavailable

PIECE: Final = 256 * 1024
# A pipe that somebody put there must not hold a thread up.
EXISTING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def opened(folder: int, name: str) -> tuple[int, int] | None:
    """A descriptor and the size; None for what is no plain file."""
    try:
        descriptor = os.open(name, EXISTING, dir_fd=folder)
    except OSError:
        if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        return None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return None
    return descriptor, found.st_size


class LocalSource:
    """Implements ports.blobs.BlobSource. A file that is deleted meanwhile can be read to its end."""

    def __init__(self, pool: Pool, descriptor: int, size: int) -> None:
        self.size = size
        self._pool = pool
        self._descriptor: int | None = descriptor
        self._reading: asyncio.Future[bytes] | None = None

    async def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        at, end = start, min(start + length, self.size)
        while at < end:
            piece = await self._piece(at, min(PIECE, end - at))
            if not piece:
                raise StoreUnavailable("a blob is shorter than it was")
            at += len(piece)
            yield piece

    async def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if self._reading is not None and not self._reading.done():
            # Somebody stopped waiting for a thread that still reads here.
            self._reading.add_done_callback(lambda _: os.close(descriptor))
        else:
            os.close(descriptor)

    async def _piece(self, at: int, count: int) -> bytes:
        descriptor = self._descriptor
        if descriptor is None:
            raise StoreUnavailable("the blob is closed")
        self._reading = self._pool.begin(lambda: os.pread(descriptor, count, at))
        try:
            return await asyncio.shield(self._reading)
        except OSError as error:
            raise unavailable(error) from None
