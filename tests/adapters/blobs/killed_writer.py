"""A process that keeps and deletes blobs and writes down what it has been told, until a fault point kills it."""

import asyncio
import os
import sys
from pathlib import Path

from tests.adapters.blobs.blob_stores import BlobStoreFactory, write_blob
from weftwork.adapters.system.faults import arm_points
from weftwork.ports.storage.blobs import Blobs

ROUNDS = 8


async def write_until_killed(blobs: Blobs, said: int) -> None:
    """A line is written before it is asked for the next thing: kept, deleting, deleted."""
    for number in range(ROUNDS):
        data = bytes([number % 3]) * (10 if number % 2 else 600_000)
        blob = await write_blob(blobs, data, f"tenant-{number % 2}")
        os.write(said, f"kept {blob.key}\n".encode())
        if number % 3 == 2:
            os.write(said, f"deleting {blob.key}\n".encode())
            await blobs.delete(blob.key)
            os.write(said, f"deleted {blob.key}\n".encode())


def main(folder: Path, faults: str) -> None:
    arm_points(faults)
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    BlobStoreFactory("local", folder).run(lambda blobs: asyncio.wait_for(write_until_killed(blobs, said), 30))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
