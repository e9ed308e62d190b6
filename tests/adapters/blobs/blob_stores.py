"""Stores to test, and the few things that tests do with them."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.adapters.blobs.s3_server import BUCKET
from weftwork.adapters.blobs.local import LocalBlobs
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.blobs.object_storage import ObjectBlobs
from weftwork.adapters.system.clock_and_ids import RandomIds, SystemClock
from weftwork.ports.clock import Clock
from weftwork.ports.storage.blobs import Blob, Blobs, BlobSource

T = TypeVar("T")

FAR_FUTURE = 2**52
PREFIXES = (f"prefix-{number}" for number in itertools.count())


class BlobStoreFactory:
    """One place for bytes; every store that it makes has the same."""

    def __init__(self, kind: str, folder: Path, clock: Clock | None = None) -> None:
        self.kind = kind
        self.folder = folder / "assets"
        self.clock = clock or SystemClock()
        self._prefix = f"{folder.name}/{next(PREFIXES)}"
        self._memory = MemoryBlobs(self.clock, RandomIds())

    def make(self) -> Blobs:
        if self.kind == "memory":
            return self._memory
        if self.kind == "local":
            return LocalBlobs(self.folder, self.clock, RandomIds())
        return ObjectBlobs(BUCKET, self._prefix, RandomIds(), None, allow_http=True)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Blobs]:
        """A store that is open within and closed afterwards."""
        blobs = self.make()
        await blobs.open()
        try:
            yield blobs
        finally:
            await blobs.close()

    async def use(self, work: Callable[[Blobs], Awaitable[T]]) -> T:
        async with self.open() as blobs:
            return await work(blobs)

    def run(self, work: Callable[[Blobs], Awaitable[T]]) -> T:
        return asyncio.run(self.use(work))


async def write_blob(blobs: Blobs, data: bytes, partition: str = "acme", piece: int = 100_000) -> Blob:
    sink = await blobs.sink(partition)
    try:
        for at in range(0, len(data), piece):
            await sink.write(data[at : at + piece])
        return await sink.commit()
    finally:
        await sink.discard()


async def read_blob(blobs: Blobs, key: str, start: int = 0, length: int | None = None) -> bytes | None:
    source = await blobs.source(key)
    if source is None:
        return None
    try:
        return await read_range(source, start, source.size - start if length is None else length)
    finally:
        await source.close()


async def read_range(source: BlobSource, start: int, length: int) -> bytes:
    return b"".join([piece async for piece in source.read(start, length)])


async def blob_keys(blobs: Blobs, written_before: int = FAR_FUTURE) -> list[str]:
    return sorted([key async for key in blobs.keys(written_before)])


def files_below(folder: Path) -> dict[str, Any]:
    """Every file below a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if not path.is_dir()}
