"""A process that takes a large blob in and gives it out again, and says by how much its memory grew."""

import hashlib
import os
import sys
from pathlib import Path

from tests.adapters.blobs.blob_stores import BlobStoreFactory, write_blob
from weftwork.ports.storage.blobs import Blobs

PIECE = 64 * 1024


def memory_bytes(name: str) -> int:
    """Bytes: VmRSS now, VmHWM the most since that was last forgotten."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1]) * 1024


async def measure_memory(blobs: Blobs, size: int) -> int:
    warm = await write_blob(blobs, os.urandom(1_000_000))
    await read_digest(blobs, warm.key)
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_bytes("VmRSS")
    sink = await blobs.sink("acme")
    for _ in range(size // PIECE):
        await sink.write(os.urandom(PIECE))
    blob = await sink.commit()
    assert await read_digest(blobs, blob.key) == blob.sha256
    return memory_bytes("VmHWM") - before


async def read_digest(blobs: Blobs, key: str) -> str:
    """The digest of what comes out."""
    source = await blobs.source(key)
    assert source is not None
    digest = hashlib.sha256()
    async for piece in source.read(0, source.size):
        digest.update(piece)
    await source.close()
    return digest.hexdigest()


if __name__ == "__main__":
    print(BlobStoreFactory(sys.argv[1], Path(sys.argv[2])).run(lambda blobs: measure_memory(blobs, int(sys.argv[3]))))
