"""Stores to test, what tests do with them, and a real S3 server for the one that needs it."""

import asyncio
import contextlib
import itertools
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.live import until
from weftwork.adapters.blobs.local import LocalBlobs
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.blobs.object_storage import ObjectBlobs
from weftwork.adapters.system.clock_and_ids import RandomIds, SystemClock
from weftwork.ports.clock import Clock
from weftwork.ports.storage.blobs import Blob, Blobs, BlobSource

ACCESS, SECRET, BUCKET = "weftwork-tests", "canary-of-the-object-store", "flows"
PARTS = ("master", "volume", "filer", "s3")


class S3Server:
    """On ports of its own; it can be stopped and started again with what it has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports = _free_ports(2 * len(PARTS))
        self._process: subprocess.Popen[bytes] | None = None
        identity = {
            "name": "weftwork",
            "credentials": [{"accessKey": ACCESS, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"],
        }
        (folder / "data").mkdir(parents=True)
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    @property
    def environment(self) -> dict[str, str]:
        """What a host is told by its environment."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT": f"http://127.0.0.1:{self._ports[-2]}",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def start(self) -> None:
        """Returns when it answers. Does nothing while it runs."""
        if self._process is not None:
            return
        line = [str(Path(sys.executable).parent / "weed"), "-logtostderr", "server", f"-dir={self.folder / 'data'}"]
        line += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", f"-s3.config={self.folder / 's3.json'}"]
        line += ["-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=0", "-volume.preStopSeconds=0"]
        line += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false"]
        line += ["-master.electionTimeout=1s", "-master.heartbeatInterval=100ms"]
        line += [f"-{part}.localSocket={self.folder / part}.sock" for part in ("filer", "s3")]
        for at, part in enumerate(PARTS):
            line += [f"-{part}.port={self._ports[2 * at]}", f"-{part}.port.grpc={self._ports[2 * at + 1]}"]
        with (self.folder / "log").open("ab") as said:
            self._process = subprocess.Popen(
                line,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={"HOME": str(self.folder)},
            )
        until(self._answers, "the S3 server to answer", 60)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(10)
            for port in self._ports:
                # Sockets that it has made beside, and would have taken away had it not been killed.
                for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    path.unlink(missing_ok=True)

    def _answers(self) -> bool:
        """A bucket can be made and written to: volumes come some time after the port does."""
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
        given = self.environment
        store = S3Store(
            BUCKET,
            endpoint=given["AWS_ENDPOINT"],
            access_key_id=ACCESS,
            secret_access_key=SECRET,
            region=given["AWS_REGION"],
            client_options={"allow_http": True, "timeout": "5s"},
            retry_config={"max_retries": 0},
        )
        try:
            store.put("probe", b"probe")
        except BaseError:
            return False
        return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


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
