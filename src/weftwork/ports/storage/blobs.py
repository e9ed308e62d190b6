"""Blobs: the bytes of assets. What they mean, who may have them and how long they stay is said elsewhere.

Theory. A blob is written under a key that nobody has used before, and never changed: the tenant's folder, the digest of
its bytes, and a mark of the writing. So whoever deletes a key cannot hit what another has just written with the same
bytes, in this process or in any other. No reader sees a blob before `commit` has returned; after that it survives the
death of the process and of the machine.

Faults of the disk or of the service are StoreUnavailable.
"""

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec


class Blob(msgspec.Struct, frozen=True):
    """Bytes that are durable."""

    key: str
    sha256: str
    """In hexadecimal digits."""
    size: int


class BlobSink(Protocol):
    """Bytes on their way in."""

    @property
    def size(self) -> int:
        """How many there are so far."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def commit(self) -> Blob:
        """Make it durable under its key. The sink is closed then."""
        ...

    async def discard(self) -> None:
        """Leave nothing of it. Does nothing after `commit`, so it may stand in a `finally`."""
        ...


class BlobSource(Protocol):
    """Bytes on their way out. A blob that is deleted meanwhile may be read to its end, or raises StoreUnavailable."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        """A stretch of it in pieces of bounded size."""
        ...

    async def close(self) -> None: ...


class Blobs(Protocol):
    """Implementations are proved by tests/blobs."""

    async def open(self) -> None:
        """Make ready, and clear away what writers that are gone left behind unfinished."""
        ...

    async def close(self) -> None: ...

    async def sink(self, partition: str) -> BlobSink: ...

    async def source(self, key: str) -> BlobSource | None:
        """None if there is no blob with that key."""
        ...

    async def delete(self, key: str) -> None:
        """Durable on return. Nothing happens if there is none."""
        ...

    def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        """Every key, as far as it was written before that instant (milliseconds since 1970)."""
        ...
