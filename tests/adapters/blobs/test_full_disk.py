"""A disk that is full, broken or read-only: it is said, nothing stays behind, and the store goes on afterwards."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob, write_blob
from weftwork.adapters.blobs.local import LocalSink
from weftwork.ports import fault_points
from weftwork.ports.storage.blobs import Blobs
from weftwork.ports.storage.event_log import StoreUnavailable

KINDS = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE, errno.EDQUOT]


@contextmanager
def failing(name: str, kind: int, nth: int = 1) -> Iterator[list[int]]:
    """From the n-th time on, a call of the system fails. Yields how often it was made."""
    real: Callable[..., Any] = getattr(os, name)
    made = [0]

    def call(*args: Any, **named: Any) -> Any:
        made[0] += 1
        if made[0] >= nth:
            raise OSError(kind, os.strerror(kind), "/somewhere/canary-path")
        return real(*args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, call)
        yield made


def goes_on(tmp_path: Path, name: str, kind: int, nth: int, size: int = 600_000) -> int:
    """How often the call was made. Nothing may stay behind, and then everything is as before."""
    ground = BlobStoreFactory("local", tmp_path)

    async def work(blobs: Blobs) -> int:
        first = await write_blob(blobs, b"first")
        with failing(name, kind, nth) as made, pytest.raises(StoreUnavailable) as caught:
            await write_blob(blobs, bytes(size), "other")
        assert "canary" not in str(caught.value)
        assert os.strerror(kind) in str(caught.value)
        assert sorted(files_below(ground.folder)) == [first.key]
        assert await read_blob(blobs, first.key) == b"first"
        again = await write_blob(blobs, bytes(size), "other")
        assert await blob_keys(blobs) == sorted([first.key, again.key])
        return made[0]

    return ground.run(work)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["write", "fsync", "rename", "mkdir", "open", "utime"])
def test_a_blob_that_cannot_be_written(tmp_path: Path, name: str, kind: int) -> None:
    assert goes_on(tmp_path, name, kind, 1) >= 1


@pytest.mark.parametrize("nth", [2, 3, 4, 5])
def test_any_sync_may_fail(tmp_path: Path, nth: int) -> None:
    """The last of them is that of the folder, when the file has its key already."""
    assert goes_on(tmp_path, "fsync", errno.EIO, nth) == nth


def test_a_disk_that_takes_a_part_of_each_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[: max(1, len(data) // 3)]))
    data = os.urandom(50_000)

    async def work(blobs: Blobs) -> None:
        assert await read_blob(blobs, (await write_blob(blobs, data)).key) == data

    BlobStoreFactory("local", tmp_path).run(work)


def test_without_clearing_up_something_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalSink, "_remove", lambda self: None)
    with pytest.raises(AssertionError):
        goes_on(tmp_path, "fsync", errno.EIO, 5)


@pytest.mark.parametrize("name", ["blob.partial", "blob.synced", "blob.renamed"])
def test_a_fault_at_a_point_leaves_nothing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise StoreUnavailable("armed")

    monkeypatch.setattr(fault_points, "_armed", {(name, 1): fail})
    monkeypatch.setattr(fault_points, "_pass_counts", {})
    ground = BlobStoreFactory("local", tmp_path)

    async def work(blobs: Blobs) -> None:
        with pytest.raises(StoreUnavailable, match="armed"):
            await write_blob(blobs, bytes(600_000))
        assert files_below(ground.folder) == {}
        await write_blob(blobs, bytes(600_000))
        assert len(files_below(ground.folder)) == 1

    ground.run(work)


@pytest.mark.parametrize("name", ["unlink", "fsync", "open"])
def test_a_blob_that_cannot_be_deleted(tmp_path: Path, name: str) -> None:
    async def work(blobs: Blobs) -> None:
        blob = await write_blob(blobs, b"x")
        with failing(name, errno.EIO), pytest.raises(StoreUnavailable):
            await blobs.delete(blob.key)
        await blobs.delete(blob.key)
        assert await blob_keys(blobs) == []

    BlobStoreFactory("local", tmp_path).run(work)


@pytest.mark.parametrize("name", ["open", "pread"])
def test_a_blob_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    async def work(blobs: Blobs) -> None:
        blob = await write_blob(blobs, b"x")
        with failing(name, errno.EIO), pytest.raises(StoreUnavailable):
            await read_blob(blobs, blob.key)
        assert await read_blob(blobs, blob.key) == b"x"

    BlobStoreFactory("local", tmp_path).run(work)


def test_a_blob_that_somebody_made_shorter(tmp_path: Path) -> None:
    ground = BlobStoreFactory("local", tmp_path)

    async def work(blobs: Blobs) -> None:
        blob = await write_blob(blobs, bytes(600_000))
        source = await blobs.source(blob.key)
        assert source is not None
        os.truncate(ground.folder / blob.key, 300_000)
        with pytest.raises(StoreUnavailable, match="shorter"):
            async for _ in source.read(0, source.size):
                pass
        await source.close()

    ground.run(work)
