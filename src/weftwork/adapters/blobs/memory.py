"""Blobs in memory."""

import hashlib
from collections.abc import AsyncGenerator

from weftwork.adapters.blobs.blob_key import new_key
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.blobs import Blob, BlobSink, BlobSource
from weftwork.ports.storage.event_log import StoreUnavailable

READ_CHUNK_BYTES = 256 * 1024


class MemoryBlobs:
    """Implements ports.storage.blobs.Blobs. It can be closed and opened again, and keeps its blobs."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._blobs: dict[str, tuple[bytes, int]] = {}
        self._open = False

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def sink(self, partition: str) -> BlobSink:
        self._check_open()
        return _Sink(self, partition)

    async def source(self, key: str) -> BlobSource | None:
        self._check_open()
        blob = self._blobs.get(key)
        return _Source(blob[0]) if blob is not None else None

    async def delete(self, key: str) -> None:
        self._check_open()
        self._blobs.pop(key, None)

    async def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        self._check_open()
        for key, (_, written) in list(self._blobs.items()):
            if written < written_before:
                yield key

    def add(self, partition: str, data: bytes) -> Blob:
        self._check_open()
        sha256 = hashlib.sha256(data).hexdigest()
        key = new_key(partition, sha256, self._ids)
        self._blobs[key] = data, self._clock.now()
        return Blob(key, sha256, len(data))

    def _check_open(self) -> None:
        if not self._open:
            raise StoreUnavailable("the blob store is closed")


class _Sink:
    def __init__(self, blobs: MemoryBlobs, partition: str) -> None:
        self._blobs = blobs
        self._partition = partition
        self._data = bytearray()
        self._closed = False

    @property
    def size(self) -> int:
        return len(self._data)

    async def write(self, data: bytes) -> None:
        if self._closed:
            raise StoreUnavailable("the blob is closed")
        self._data += data

    async def commit(self) -> Blob:
        if self._closed:
            raise StoreUnavailable("the blob is closed")
        self._closed = True
        return self._blobs.add(self._partition, bytes(self._data))

    async def discard(self) -> None:
        self._closed = True


class _Source:
    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    async def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        end = min(start + length, len(self._data))
        for at in range(start, end, READ_CHUNK_BYTES):
            yield self._data[at : min(at + READ_CHUNK_BYTES, end)]

    async def close(self) -> None: ...
