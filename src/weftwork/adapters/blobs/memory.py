"""Blobs in memory, for as long as the object lives."""

import hashlib
from collections.abc import AsyncGenerator

from weftwork.adapters.blobs.blob_key import new_key
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.blobs import Blob, BlobSink, BlobSource
from weftwork.ports.storage.event_log import StoreUnavailable

PIECE = 256 * 1024


class MemoryBlobs:
    """Implements ports.blobs.Blobs. It may be closed and opened again."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._kept: dict[str, tuple[bytes, int]] = {}
        self._open = False

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def sink(self, partition: str) -> BlobSink:
        self._check()
        return _Sink(self, partition)

    async def source(self, key: str) -> BlobSource | None:
        self._check()
        found = self._kept.get(key)
        return _Source(found[0]) if found is not None else None

    async def delete(self, key: str) -> None:
        self._check()
        self._kept.pop(key, None)

    async def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        self._check()
        for key, (_, written) in list(self._kept.items()):
            if written < written_before:
                yield key

    def keep(self, partition: str, data: bytes) -> Blob:
        self._check()
        sha256 = hashlib.sha256(data).hexdigest()
        key = new_key(partition, sha256, self._ids)
        self._kept[key] = data, self._clock.now()
        return Blob(key, sha256, len(data))

    def _check(self) -> None:
        if not self._open:
            raise StoreUnavailable("the store of assets is closed")


class _Sink:
    def __init__(self, blobs: MemoryBlobs, partition: str) -> None:
        self._blobs = blobs
        self._partition = partition
        self._data = bytearray()
        self._over = False

    @property
    def size(self) -> int:
        return len(self._data)

    async def write(self, data: bytes) -> None:
        if self._over:
            raise StoreUnavailable("the blob is closed")
        self._data += data

    async def keep(self) -> Blob:
        if self._over:
            raise StoreUnavailable("the blob is closed")
        self._over = True
        return self._blobs.keep(self._partition, bytes(self._data))

    async def drop(self) -> None:
        self._over = True


class _Source:
    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    async def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        end = min(start + length, len(self._data))
        for at in range(start, end, PIECE):
            yield self._data[at : min(at + PIECE, end)]

    async def close(self) -> None: ...
