"""Blobs: the bytes of assets. The asset index decides which tenant may read a blob and when it is deleted.

Theory. A blob is written once, under a key that was never used before, and never changed. The key consists of the
tenant's folder, the digest of the bytes, and a random part for each write. Deleting a key can therefore never hit a
blob that another writer has just stored with the same bytes, in this process or another. A reader sees no blob before
`commit` has returned; after that the blob survives a crash of the process and of the machine.

Every call raises StoreUnavailable for faults of the disk or of the storage service.
"""

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec


class Blob(msgspec.Struct, frozen=True):
    """A durable blob."""

    key: str
    sha256: str
    """The digest in hexadecimal."""
    size: int


class BlobSink(Protocol):
    """Writes one blob."""

    @property
    def size(self) -> int:
        """The number of bytes written so far."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def commit(self) -> Blob:
        """Make the blob durable under its key and close the sink."""
        ...

    async def discard(self) -> None:
        """Close the sink and delete what was written. Does nothing after `commit`, so it fits in a `finally`."""
        ...


class BlobSource(Protocol):
    """Reads one blob. If the blob is deleted during the read, the source returns all bytes or raises
    StoreUnavailable."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        """A range of the bytes, in pieces of bounded size."""
        ...

    async def close(self) -> None: ...


class Blobs(Protocol):
    """Implementations are proved by tests/adapters/blobs/test_contract.py."""

    async def open(self) -> None:
        """Make the store usable, and delete unfinished blobs of writers that no longer exist."""
        ...

    async def close(self) -> None: ...

    async def sink(self, partition: str) -> BlobSink: ...

    async def source(self, key: str) -> BlobSource | None:
        """None if there is no blob with that key."""
        ...

    async def delete(self, key: str) -> None:
        """Delete the blob if it exists; durable on return."""
        ...

    def keys(self, written_before: int) -> AsyncGenerator[str, None]:
        """The keys of all blobs that were written before that instant (milliseconds since the epoch)."""
        ...
