"""A disk that is full, broken or read-only, and a process that is killed: promises are kept, nothing stays behind."""

import asyncio
import errno
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule, run_state_machine_as_test

from tests.adapters.blobs import killed_writer
from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob, write_blob
from tests.harness.cases import each_case, present
from weftwork.adapters.blobs import local
from weftwork.adapters.blobs.local import LocalSink
from weftwork.ports import fault_points
from weftwork.ports.fault_points import POINTS
from weftwork.ports.storage.blobs import Blobs, BlobSink
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


CALLS = ["write", "fsync", "rename", "mkdir", "open", "utime"]
WRITES = [*((name, kind, 1) for name in CALLS for kind in KINDS), *(("fsync", errno.EIO, nth) for nth in (2, 3, 4, 5))]


@each_case("name, kind, nth", *WRITES)
def test_a_blob_that_cannot_be_written(tmp_path: Path, name: str, kind: int, nth: int) -> None:
    """The last sync is that of the folder, when the file has its key already."""
    folder = tmp_path / f"{name}-{kind}-{nth}"
    folder.mkdir()
    made = goes_on(folder, name, kind, nth)
    assert made == nth or made > nth == 1


async def test_a_disk_that_takes_a_part_of_each_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[: max(1, len(data) // 3)]))
    data = os.urandom(50_000)
    async with BlobStoreFactory("local", tmp_path).open() as blobs:
        assert await read_blob(blobs, (await write_blob(blobs, data)).key) == data


def test_without_clearing_up_something_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalSink, "_remove", lambda self: None)
    with pytest.raises(AssertionError):
        goes_on(tmp_path, "fsync", errno.EIO, 5)


@pytest.mark.parametrize("name", ["blob.partial", "blob.synced", "blob.renamed"])
async def test_a_fault_at_a_point_leaves_nothing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise StoreUnavailable("armed")

    monkeypatch.setattr(fault_points, "_armed", {(name, 1): fail})
    monkeypatch.setattr(fault_points, "_pass_counts", {})
    ground = BlobStoreFactory("local", tmp_path)
    async with ground.open() as blobs:
        with pytest.raises(StoreUnavailable, match="armed"):
            await write_blob(blobs, bytes(600_000))
        assert files_below(ground.folder) == {}
        await write_blob(blobs, bytes(600_000))
        assert len(files_below(ground.folder)) == 1


async def test_a_blob_that_cannot_be_deleted_or_read(tmp_path: Path) -> None:
    async with BlobStoreFactory("local", tmp_path).open() as blobs:
        blob = await write_blob(blobs, b"x")
        for name in ("open", "pread"):
            with failing(name, errno.EIO), pytest.raises(StoreUnavailable):
                await read_blob(blobs, blob.key)
            assert await read_blob(blobs, blob.key) == b"x"
        for name in ("unlink", "fsync", "open"):
            with failing(name, errno.EIO), pytest.raises(StoreUnavailable):
                await blobs.delete(blob.key)
            await blobs.delete(blob.key)
            assert await blob_keys(blobs) == []
            blob = await write_blob(blobs, b"x")


async def test_a_blob_that_somebody_made_shorter(tmp_path: Path) -> None:
    ground = BlobStoreFactory("local", tmp_path)
    async with ground.open() as blobs:
        blob = await write_blob(blobs, bytes(600_000))
        source = present(await blobs.source(blob.key))
        os.truncate(ground.folder / blob.key, 300_000)
        with pytest.raises(StoreUnavailable, match="truncated"):
            async for _ in source.read(0, source.size):
                pass
        await source.close()


FULL = os.environ.get("WEFTWORK_PROOF") == "full"
ROOT = Path(__file__).parents[3]
NAMES = [name for name in POINTS if name.startswith("blob.")]
TIMES = {"blob.deleted": 2}
"""How often a whole life passes the point; the others, as often as it keeps something."""


def cases() -> list[tuple[str, int]]:
    found = [(name, nth) for name in NAMES for nth in range(1, TIMES.get(name, killed_writer.ROUNDS) + 1)]
    return found if FULL else [(name, nth) for name, nth in found if nth in (1, 2)]


def live(folder: Path, faults: str) -> None:
    line = [sys.executable, "-m", "tests.adapters.blobs.killed_writer", str(folder), faults]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def told(folder: Path) -> tuple[set[str], set[str], set[str]]:
    """Keys that must be there, keys that must not, and keys that may or may not."""
    kept: set[str] = set()
    gone: set[str] = set()
    open_: set[str] = set()
    for line in (folder / "said").read_text().splitlines():
        word, _, key = line.partition(" ")
        if word == "kept":
            kept.add(key)
        elif word == "deleting":
            kept.remove(key)
            open_.add(key)
        elif word == "deleted":
            open_.remove(key)
            gone.add(key)
    return kept, gone, open_


def check(folder: Path, lives: int = 1) -> None:
    """What the next process finds after so many that were killed."""
    kept, gone, maybe = told(folder)

    async def work(blobs: Blobs) -> None:
        found = set(await blob_keys(blobs))
        assert kept <= found
        assert not gone & found
        unheard = found - kept - maybe
        assert len(unheard) <= lives, "at most the one that each was about to be told of"
        for key in found:
            data = present(await read_blob(blobs, key))
            assert hashlib.sha256(data).hexdigest() == key.split("/")[-1][:64], "every one is whole"

    ground = BlobStoreFactory("local", folder)
    ground.run(work)
    assert {name for name in files_below(ground.folder) if name.startswith("partial/")} == set()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "nth"), cases())
def test_killed_there(tmp_path: Path, name: str, nth: int) -> None:
    live(tmp_path, f"{name}:{nth}:kill")
    if name in ("blob.partial", "blob.synced"):
        assert len(list((tmp_path / "assets" / "partial").iterdir())) == 1
    check(tmp_path)
    live(tmp_path, "blob.renamed:3:kill")
    check(tmp_path, lives=2)


@pytest.mark.slow
def test_without_clearing_away_halves_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live(tmp_path, "blob.synced:1:kill")
    monkeypatch.setattr(local.os, "listdir", lambda folder: [])
    with pytest.raises(AssertionError):
        check(tmp_path)


@pytest.mark.slow
def test_a_name_before_the_bytes_would_be_seen(tmp_path: Path) -> None:
    """A file that has its key and not all of its bytes, as a rename in the wrong place would leave it."""
    live(tmp_path, "blob.renamed:2:kill")
    check(tmp_path)
    kept = sorted(told(tmp_path)[0])[0]
    with (tmp_path / "assets" / kept).open("r+b") as file:
        file.truncate(5)
    with pytest.raises(AssertionError, match="whole"):
        check(tmp_path)


PARTITIONS = st.sampled_from(["acme", "globex", "../acme"])
SIZES = st.sampled_from([0, 1, 1000, 262_143, 262_144, 262_145, 600_000])


class Machine(RuleBasedStateMachine):
    """Its folder is that of the test; a new one for every run of the machine."""

    blob_stores: BlobStoreFactory
    sinks = Bundle("sinks")
    kept = Bundle("kept")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.blobs = self.blob_stores.make()
        self.loop.run_until_complete(self.blobs.open())
        self.model: dict[str, bytes] = {}
        self.writing: dict[BlobSink, bytearray] = {}

    def do(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, 30))

    @rule(target=sinks, partition=PARTITIONS)
    def begin(self, partition: str) -> BlobSink:
        sink = self.do(self.blobs.sink(partition))
        self.writing[sink] = bytearray()
        return sink

    @rule(sink=sinks, size=SIZES, byte=st.integers(0, 255))
    def write(self, sink: BlobSink, size: int, byte: int) -> None:
        data = bytes([byte]) * size
        if sink not in self.writing:
            with pytest.raises(StoreUnavailable):
                self.do(sink.write(data))
            return
        self.do(sink.write(data))
        self.writing[sink] += data
        assert sink.size == len(self.writing[sink])

    @rule(target=kept, sink=sinks)
    def keep(self, sink: BlobSink):
        if sink not in self.writing:
            with pytest.raises(StoreUnavailable):
                self.do(sink.commit())
            return multiple()
        blob = self.do(sink.commit())
        assert blob.key not in self.model
        self.model[blob.key] = bytes(self.writing.pop(sink))
        return blob.key

    @rule(sink=consumes(sinks))
    def drop(self, sink: BlobSink) -> None:
        self.do(sink.discard())
        self.writing.pop(sink, None)

    @rule(key=kept)
    def delete(self, key: str) -> None:
        self.do(self.blobs.delete(key))
        self.model.pop(key, None)

    @rule(key=kept, start=st.integers(0, 700_000), length=st.integers(0, 700_000))
    def look(self, key: str, start: int, length: int) -> None:
        known = self.model.get(key)
        found = self.do(read_blob(self.blobs, key, start, length))
        assert found == (None if known is None else known[start : start + length])

    @rule()
    def count(self) -> None:
        assert self.do(blob_keys(self.blobs)) == sorted(self.model)

    @rule()
    def open_again(self) -> None:
        for sink in self.writing:
            self.do(sink.discard())
        self.writing.clear()
        self.do(self.blobs.close())
        self.blobs = self.blob_stores.make()
        self.do(self.blobs.open())
        self.count()

    def teardown(self) -> None:
        self.open_again()
        if self.blob_stores.kind == "local":
            assert sorted(files_below(self.blob_stores.folder)) == sorted(self.model)
        for key in self.model:
            self.do(self.blobs.delete(key))
        assert self.do(blob_keys(self.blobs)) == []
        self.do(self.blobs.close())
        self.loop.close()


def test_any_order_of_calls(blob_stores: BlobStoreFactory, tmp_path: Path) -> None:
    class Here(Machine):
        pass

    Here.blob_stores = blob_stores
    count = 200 if FULL else 8 if blob_stores.kind == "object" else 30
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=count,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            database=None,
        ),
    )
