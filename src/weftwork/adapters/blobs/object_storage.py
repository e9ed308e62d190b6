"""Blobs in S3-compatible object storage. The only module that uses obstore.

Bytes are first spooled on this machine, because the key contains their digest. An object becomes visible only when it
is complete, so no start has anything to clean up. Bytes are read in ranges, each with its own request and timeout, so a
slow reader holds no connection. Clients are never redirected to the storage; the host forwards the bytes.

Error messages of the library can contain addresses and other details, so only the type of an error is reported.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Final

from obstore.store import S3Store

from weftwork.adapters.blobs.blob_key import new_key, split_key
from weftwork.adapters.blobs.spool import Spool
from weftwork.adapters.blobs.thread_pool import BlobThreadPool
from weftwork.ports.ids import Ids
from weftwork.ports.storage.blobs import Blob, BlobSink, BlobSource
from weftwork.ports.storage.event_log import StoreUnavailable

log = logging.getLogger("weftwork.assets")

CONNECT_TIMEOUT: Final = timedelta(seconds=5)
REQUEST_TIMEOUT: Final = timedelta(seconds=60)
"""Limit for one request, including its body."""
RETRY_TIMEOUT: Final = timedelta(seconds=10)
MAX_RETRIES: Final = 3
OPERATION_TIMEOUT_S: Final = 90.0
"""Limit for one request with all its retries."""

READ_RANGE_BYTES: Final = 1024 * 1024
MIN_PART_BYTES: Final = 5 * 1024 * 1024
"""Larger objects are uploaded in parts of this size, which is the minimum of S3. If an object would need more than
MAX_PARTS, its parts are larger."""
MAX_PARTS: Final = 10_000
MAX_CONCURRENT_PARTS: Final = 2
LIST_PAGE_SIZE: Final = 1000


class ObjectBlobs:
    """Implements ports.storage.blobs.Blobs.

    Region, credentials and endpoint come from environment variables such as AWS_REGION. `folder` is where uploads are
    spooled; None means the temporary folder of the system.
    """

    def __init__(self, bucket: str, prefix: str, ids: Ids, folder: Path | None, allow_http: bool = False) -> None:
        self._ids = ids
        self._folder = folder
        self._pool = BlobThreadPool()
        self._open = False
        self._cleanups: set[asyncio.Task[None]] = set()
        with _as_unavailable():
            self._store = S3Store(
                bucket,
                prefix=prefix or None,
                client_options={
                    "connect_timeout": CONNECT_TIMEOUT,
                    "timeout": REQUEST_TIMEOUT,
                    "allow_http": allow_http,
                },
                retry_config={"max_retries": MAX_RETRIES, "retry_timeout": RETRY_TIMEOUT},
            )

    async def open(self) -> None:
        """Does not raise if the storage does not respond, because most of a host works without it. Logs a warning."""
        self._pool.open()
        self._open = True
        try:
            await self.source(new_key("", "0" * 64, self._ids))
        except StoreUnavailable as fault:
            log.warning("the object storage does not answer", extra={"reason": str(fault)})

    async def close(self) -> None:
        self._open = False
        for cleanup in self._cleanups:
            cleanup.cancel()
        await asyncio.gather(*self._cleanups, return_exceptions=True)
        await self._pool.close()

    async def sink(self, partition: str) -> BlobSink:
        self._check_open()
        return _Sink(self, partition, Spool(self._pool, self._folder))

    async def source(self, key: str) -> BlobSource | None:
        self._check_open()
        if split_key(key) is None:
            return None
        with _as_unavailable():
            try:
                async with asyncio.timeout(OPERATION_TIMEOUT_S):
                    metadata = await self._store.head_async(key)
            except FileNotFoundError:
                return None
        return _Source(self, key, metadata["size"])

    async def delete(self, key: str) -> None:
        self._check_open()
        if split_key(key) is None:
            return
        with _as_unavailable(), suppress(FileNotFoundError):
            async with asyncio.timeout(OPERATION_TIMEOUT_S):
                await self._store.delete_async(key)

    async def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        """`written_before` is compared with the clock of the storage."""
        self._check_open()
        pages = self._store.list(chunk_size=LIST_PAGE_SIZE)  # pyright: ignore[reportUnknownMemberType]
        while True:
            with _as_unavailable():
                async with asyncio.timeout(OPERATION_TIMEOUT_S):
                    page = await anext(pages, None)
            if page is None:
                return
            for each in page:
                if split_key(each["path"]) and each["last_modified"].timestamp() * 1000 < written_before:
                    yield each["path"]

    async def put(self, partition: str, spool: Spool) -> Blob:
        """Upload the spooled bytes. Always closes the spool."""
        sha256, data = await spool.finish()
        key = new_key(partition, sha256, self._ids)
        upload = asyncio.create_task(self._send(key, data, spool))
        try:
            await asyncio.shield(upload)
        except BaseException:
            # An upload in progress cannot be cancelled, so its object is deleted after the upload has ended.
            cleanup = asyncio.create_task(self._delete_after(key, upload))
            self._cleanups.add(cleanup)
            cleanup.add_done_callback(self._cleanups.discard)
            raise
        return Blob(key, sha256, spool.size)

    async def read_range(self, key: str, start: int, length: int) -> bytes:
        self._check_open()
        with _as_unavailable():
            async with asyncio.timeout(OPERATION_TIMEOUT_S):
                return bytes(await self._store.get_range_async(key, start=start, length=length))

    async def _send(self, key: str, data: IO[bytes] | bytes, spool: Spool) -> None:
        part_bytes = max(MIN_PART_BYTES, spool.size // MAX_PARTS + 1)
        try:
            with _as_unavailable():
                await self._store.put_async(key, data, chunk_size=part_bytes, max_concurrency=MAX_CONCURRENT_PARTS)
        finally:
            await spool.close()

    async def _delete_after(self, key: str, upload: "asyncio.Task[None]") -> None:
        with suppress(StoreUnavailable):
            await upload
        with suppress(StoreUnavailable):
            await self.delete(key)

    def _check_open(self) -> None:
        if not self._open:
            raise StoreUnavailable("the blob store is closed")


class _Sink:
    def __init__(self, blobs: ObjectBlobs, partition: str, spool: Spool) -> None:
        self._blobs = blobs
        self._partition = partition
        self._spool = spool
        # After `commit` has started, `put` closes the spool.
        self._sent = False

    @property
    def size(self) -> int:
        return self._spool.size

    async def write(self, data: bytes) -> None:
        await self._spool.write(data)

    async def commit(self) -> Blob:
        self._sent = True
        return await self._blobs.put(self._partition, self._spool)

    async def discard(self) -> None:
        if not self._sent:
            await self._spool.close()


class _Source:
    def __init__(self, blobs: ObjectBlobs, key: str, size: int) -> None:
        self.size = size
        self._blobs = blobs
        self._key = key

    async def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        end = min(start + length, self.size)
        for at in range(start, end, READ_RANGE_BYTES):
            yield await self._blobs.read_range(self._key, at, min(READ_RANGE_BYTES, end - at))

    async def close(self) -> None: ...


@contextmanager
def _as_unavailable() -> Generator[None, None, None]:
    try:
        yield
    except StoreUnavailable:
        raise
    except Exception as error:
        raise StoreUnavailable(f"the object storage failed: {type(error).__name__}") from None
