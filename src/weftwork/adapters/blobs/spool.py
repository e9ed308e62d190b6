"""Buffers the bytes of an upload: a small one in memory, a larger one in an unnamed temporary file.

The file system frees the file when the process ends, also after a crash.
"""

import hashlib
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, TypeVar

from weftwork.adapters.blobs.thread_pool import BlobThreadPool
from weftwork.ports.storage.event_log import StoreUnavailable

T = TypeVar("T")

WRITE_BATCH_BYTES: Final = 256 * 1024


class Spool:
    """One upload. `close`, or an error in any method, closes it and frees the file."""

    def __init__(self, pool: BlobThreadPool, folder: Path | None) -> None:
        self.size = 0
        self._pool = pool
        self._folder = folder
        self._buffer: list[bytes] = []
        self._buffer_size = 0
        self._hash = hashlib.sha256()
        self._file: IO[bytes] | None = None
        self._closed = False
        # The thread of a cancelled call may still be running; the next call waits for it here.
        self._lock = threading.Lock()

    async def write(self, data: bytes) -> None:
        self._check_open()
        self._buffer.append(data)
        self._buffer_size += len(data)
        self.size += len(data)
        if self._buffer_size >= WRITE_BATCH_BYTES:
            await self._run(self._flush)

    async def finish(self) -> tuple[str, IO[bytes] | bytes]:
        """The SHA-256 digest and the content: bytes if they fit in the buffer, else the file, positioned at 0."""
        self._check_open()
        return await self._run(self._finish)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                await self._pool.run(self._close)
            except StoreUnavailable:
                # The pool is closed, so no thread uses the file.
                self._close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the blob is closed")

    async def _run(self, work: Callable[[], T]) -> T:
        def run() -> T:
            with self._lock:
                return work()

        try:
            return await self._pool.run(run)
        except BaseException:
            await self.close()
            raise

    def _flush(self) -> None:
        data = self._take_buffer()
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def _finish(self) -> tuple[str, IO[bytes] | bytes]:
        if self._file is None:
            data = self._take_buffer()
            return self._hash.hexdigest(), data
        self._flush()
        self._file.seek(0)
        return self._hash.hexdigest(), self._file

    def _take_buffer(self) -> bytes:
        data = b"".join(self._buffer)
        self._buffer, self._buffer_size = [], 0
        self._hash.update(data)
        return data

    def _close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
