"""The folder: who may read it, links in it, and that a blob is durable before it is said to be kept."""

import asyncio
import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob, write_blob
from tests.harness.cases import fails_without
from weftwork.adapters.blobs import folder_tree
from weftwork.adapters.blobs import local as local_module
from weftwork.adapters.blobs.folder_tree import FolderTree
from weftwork.ports.storage.blobs import Blob, Blobs
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.testing.deterministic import ManualClock


@pytest.fixture
def local(tmp_path: Path) -> BlobStoreFactory:
    return BlobStoreFactory("local", tmp_path)


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_open_umask")
async def test_nobody_else_may_look(local: BlobStoreFactory) -> None:
    async with local.open() as blobs:
        await write_blob(blobs, b"x")
        sink = await blobs.sink("acme")
        await sink.write(bytes(300_000))
        modes = {stat.S_IMODE(path.stat().st_mode) for path in local.folder.rglob("*") if path.is_file()}
        made = {stat.S_IMODE(path.stat().st_mode) for path in (local.folder, *local.folder.rglob("*")) if path.is_dir()}
        await sink.discard()
        assert (modes, made) == ({0o600}, {0o700})
        assert len(list(local.folder.rglob("*"))) == 5


def opened(folder: Path) -> list[int]:
    """Descriptors of this process that lead into a folder."""
    found: list[int] = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith(str(folder)):
                found.append(int(name))
        except FileNotFoundError:
            # That of the listing itself.
            continue
    return found


async def test_descriptors_are_not_inherited(local: BlobStoreFactory) -> None:
    async with local.open() as blobs:
        blob = await write_blob(blobs, bytes(300_000))
        source = await blobs.source(blob.key)
        sink = await blobs.sink("acme")
        await sink.write(bytes(300_000))
        ours = opened(local.folder)
        assert len(ours) == 3, "the root, a file that is read and one that is written"
        assert not any(os.get_inheritable(each) for each in ours)
        await sink.discard()
        assert source is not None
        await source.close()


async def test_nothing_stays_open(local: BlobStoreFactory) -> None:
    async with local.open() as blobs:
        for number in range(20):
            blob = await write_blob(blobs, bytes(300_000), f"tenant-{number}")
            assert await read_blob(blobs, blob.key) == bytes(300_000)
            assert await read_blob(blobs, "0" * 32 + blob.key[32:]) is None
            await blobs.delete(blob.key)
            assert await blob_keys(blobs) == []
        assert len(opened(local.folder)) == 1, "the root"
    assert opened(local.folder) == []


def left_open(local: BlobStoreFactory) -> list[int]:
    """Descriptors that readers have left who were cancelled at every moment of the first."""

    async def work(blobs: Blobs) -> list[int]:
        key = (await write_blob(blobs, bytes(300_000))).key
        for turns in range(60):
            task = asyncio.create_task(read_blob(blobs, key))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await blobs.close()
        await asyncio.sleep(0)
        return opened(local.folder)

    return local.run(work)


def test_readers_who_are_cancelled_leave_nothing_open(local: BlobStoreFactory) -> None:
    assert left_open(local) == []


def test_without_the_guard_they_would(local: BlobStoreFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "_close_abandoned", lambda found: None)
    left = left_open(local)
    for each in left:
        os.close(each)
    assert left


def test_leftovers_are_cleared_away_at_the_start(local: BlobStoreFactory) -> None:
    kept = local.run(lambda blobs: write_blob(blobs, b"kept"))
    partial = local.folder / "partial"
    for name in ("a", "b"):
        (partial / name).write_bytes(b"half")
    (partial / "link").symlink_to(local.folder / kept.key)
    assert local.run(blob_keys) == [kept.key]
    assert sorted(files_below(local.folder)) == [kept.key]


async def test_the_time_of_a_blob_is_that_of_the_clock(tmp_path: Path) -> None:
    clock = ManualClock()
    local = BlobStoreFactory("local", tmp_path, clock)
    async with local.open() as blobs:
        first = await write_blob(blobs, b"1")
        clock.advance(1000)
        second = await write_blob(blobs, b"2")
        assert await blob_keys(blobs, clock.now() - 1000) == []
        assert await blob_keys(blobs, clock.now() - 999) == [first.key]
        assert await blob_keys(blobs, clock.now()) == [first.key]
        assert await blob_keys(blobs, clock.now() + 1) == sorted([first.key, second.key])


async def test_what_is_no_blob_is_no_key(local: BlobStoreFactory) -> None:
    kept = await local.use(lambda blobs: write_blob(blobs, b"kept"))
    folder = (local.folder / kept.key).parent
    (folder / "README").write_text("x")
    (folder / (kept.sha256 + "-" + "0" * 24)).mkdir()
    (folder / (kept.sha256 + "-" + "1" * 24)).symlink_to(folder / "README")
    os.mkfifo(folder / (kept.sha256 + "-" + "2" * 24))
    (local.folder / "notes").mkdir()
    (local.folder / "notes" / "x").write_text("x")
    async with local.open() as blobs:
        assert await blob_keys(blobs) == [kept.key]
        for digit in "012":
            assert await blobs.source(f"{kept.key[:-24]}{digit * 24}") is None


def swapped(local: BlobStoreFactory, elsewhere: Path, step: int) -> tuple[str, Path]:
    """A kept blob of which one folder, or the file itself, is a link to a copy elsewhere."""
    kept = local.run(lambda blobs: write_blob(blobs, b"canary"))
    place = local.folder.joinpath(*kept.key.split("/")[: step + 1])
    elsewhere.mkdir()
    shutil.move(place, elsewhere / "moved")
    place.symlink_to(elsewhere / "moved")
    return kept.key, elsewhere / "moved"


def unharmed(local: BlobStoreFactory, elsewhere: Path, step: int) -> bool:
    """Whether nothing was read, listed, deleted or written through the link."""
    key, moved = swapped(local, elsewhere, step)

    async def work(blobs: Blobs) -> bool:
        before = sorted(path.as_posix() for path in moved.rglob("*"))
        seen = await read_blob(blobs, key) is not None or bool(await blob_keys(blobs))
        await blobs.delete(key)
        with contextlib.suppress(StoreUnavailable):
            await write_blob(blobs, b"canary")
        return not seen and sorted(path.as_posix() for path in moved.rglob("*")) == before

    return local.run(work) and moved.exists() and not list((local.folder / "partial").iterdir())


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_a_link_in_the_tree_is_not_followed(local: BlobStoreFactory, tmp_path: Path, step: int) -> None:
    assert unharmed(local, tmp_path / "elsewhere", step)


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_without_the_guard_it_would_be(
    local: BlobStoreFactory, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_tree, "FOLDER_FLAGS", folder_tree.FOLDER_FLAGS & ~os.O_NOFOLLOW)
    monkeypatch.setattr(local_module, "READ_FLAGS", local_module.READ_FLAGS & ~os.O_NOFOLLOW)
    assert not unharmed(local, tmp_path / "elsewhere", step)


def test_a_partial_file_is_made_anew_or_not_at_all(
    local: BlobStoreFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who guessed its name cannot make the host write into a file of theirs."""
    target = tmp_path / "target"
    target.write_text("mine")

    async def work(blobs: Blobs) -> None:
        sink = await blobs.sink("acme")
        (local.folder / "partial" / "guessed").symlink_to(target)
        monkeypatch.setattr(sink, "_path", ("partial", "guessed"))
        with pytest.raises(StoreUnavailable, match="File exists"):
            await keep_in(sink)

    async def keep_in(sink: Any) -> None:
        await sink.write(b"x")
        await sink.commit()

    local.run(work)
    assert target.read_text() == "mine"
    (local.folder / "partial" / "guessed").unlink(missing_ok=True)
    monkeypatch.setattr(local_module, "CREATE_FLAGS", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(pytest.fail.Exception):
        local.run(work)
    assert target.read_text() != "mine"


def test_the_folder_may_be_a_link_of_whoever_runs_the_host(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "assets").symlink_to(tmp_path / "disk")
    local = BlobStoreFactory("local", tmp_path)
    kept = local.run(lambda blobs: write_blob(blobs, b"x"))
    assert (tmp_path / "disk" / kept.key).read_bytes() == b"x"


def delete(folder: Path) -> None:
    shutil.rmtree(folder)


def move_away(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def replace_by_empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir(0o700)


@pytest.mark.parametrize("change", [delete, move_away, replace_by_empty])
@fails_without(FolderTree, "_reopen", lambda tree, replaced: False, errors=(StoreUnavailable,))
async def test_a_folder_that_was_deleted_is_made_again(
    tmp_path: Path, change: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    shutil.rmtree(tmp_path / "assets", ignore_errors=True)
    shutil.rmtree(tmp_path / "elsewhere", ignore_errors=True)
    local = BlobStoreFactory("local", tmp_path)
    async with local.open() as blobs:
        lost = await write_blob(blobs, b"lost")
        change(local.folder)
        if change is not move_away:
            assert await read_blob(blobs, lost.key) is None
        kept = [await write_blob(blobs, text) for text in (b"one", b"two", b"one")]
    (record,) = [each for each in caplog.records if each.message == "the assets folder was deleted or replaced"]
    assert vars(record)["path"] == str(local.folder)
    async with local.open() as blobs:
        assert [await read_blob(blobs, each.key) for each in kept] == [b"one", b"two", b"one"]
        assert await read_blob(blobs, lost.key) is None


async def test_a_folder_that_is_restored_is_read_again(local: BlobStoreFactory, tmp_path: Path) -> None:
    async with local.open() as blobs:
        kept = await write_blob(blobs, b"kept")
        shutil.copytree(local.folder, tmp_path / "backup")
        shutil.rmtree(local.folder)
        assert await read_blob(blobs, kept.key) is None
        shutil.rmtree(local.folder)
        shutil.copytree(tmp_path / "backup", local.folder)
        assert await read_blob(blobs, kept.key) == b"kept"


@fails_without(FolderTree, "is_current", lambda tree: True)
async def test_a_blob_in_a_folder_that_is_moved_away_is_not_acknowledged(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "assets", ignore_errors=True)
    shutil.rmtree(tmp_path / "elsewhere", ignore_errors=True)
    local = BlobStoreFactory("local", tmp_path)
    async with local.open() as blobs:
        sink = await blobs.sink("acme")
        await sink.write(bytes(300_000))
        move_away(local.folder)
        with pytest.raises(StoreUnavailable):
            await sink.commit()
        assert files_below(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
async def test_a_folder_below_that_was_deleted_is_made_again(local: BlobStoreFactory, depth: int) -> None:
    async with local.open() as blobs:
        first = await write_blob(blobs, b"x")
        names = ["partial", *first.key.split("/")[:3]]
        shutil.rmtree(local.folder / "/".join(names[:1] if depth == 0 else names[1 : depth + 1]))
        again = await write_blob(blobs, b"x")
        assert await read_blob(blobs, again.key) == b"x"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "assets").write_text("a file")
    with pytest.raises(StoreUnavailable, match="File exists"):
        BlobStoreFactory("local", tmp_path).run(blob_keys)


class Disk:
    """What is on it after the power has gone. `forgets` says which syncs it only pretends to make, by their number."""

    def __init__(self, root: Path, forgets: frozenset[int] = frozenset()) -> None:
        self.calls: list[str] = []
        self.entries: set[str] = set()
        """Paths whose folder was synced while they were in it."""
        self.sizes: dict[int, int] = {}
        """Of files, by their number on the disk, when they were synced."""
        self._root = root
        self._forgets = forgets
        self._syncs = 0
        self._lock = threading.Lock()

    @contextmanager
    def heard(self) -> Iterator["Disk"]:
        with pytest.MonkeyPatch.context() as patch:
            for name, hear in (("fsync", self._fsync), ("rename", self._rename)):
                patch.setattr(os, name, partial(hear, getattr(os, name)))
            yield self

    def survives(self, blob: Blob) -> bool:
        file = self._root / blob.key
        way = [file, *list(file.parents)[: len(blob.key.split("/"))]]
        named = all(each.as_posix() in self.entries for each in way)
        return named and self.sizes.get(file.stat().st_ino) == blob.size

    def begin(self) -> None:
        """Forget what was called by now, but not what is durable."""
        self.calls.clear()
        self._syncs = 0

    def _fsync(self, real: Callable[[int], None], descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        # What comes while it is synced need not be on the disk.
        there = {each.as_posix() for each in path.iterdir()} if path.is_dir() else set[str]()
        real(descriptor)
        with self._lock:
            self.calls.append("fsync a folder" if path.is_dir() else "fsync a file")
            self._syncs += 1
            if self._syncs in self._forgets:
                return
            if path.is_dir():
                gone = {each for each in self.entries if Path(each).parent == path and not os.path.lexists(each)}
                self.entries = (self.entries | there) - gone
            else:
                self.sizes[path.stat().st_ino] = path.stat().st_size

    def _rename(self, real: Callable[..., None], *args: Any, **named: Any) -> None:
        real(*args, **named)
        with self._lock:
            self.calls.append("rename")


async def keep_some(blobs: Blobs, disk: Disk) -> bool:
    """Whether each of some blobs survives as soon as it is said to be kept; some are written at once."""

    async def one(number: int) -> bool:
        return disk.survives(await write_blob(blobs, bytes([number % 3]) * 300_000, f"tenant-{number % 2}"))

    verdicts = [await one(number) for number in range(4)]
    return all([*verdicts, *await asyncio.gather(*(one(number) for number in range(12)))])


def test_what_is_kept_survives(tmp_path: Path) -> None:
    with Disk(tmp_path / "assets").heard() as disk:
        assert BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, disk))


def test_folders_that_a_dead_process_made_are_synced_again(tmp_path: Path) -> None:
    BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, Disk(tmp_path / "assets")))
    with Disk(tmp_path / "assets").heard() as disk:
        assert BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, disk))


def test_taking_a_folder_for_durable_because_it_is_there_would_lose_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(self: FolderTree, path: tuple[str, ...]) -> None:
        with self.enter(path[:-1]) as above:
            try:
                os.mkdir(path[-1], 0o700, dir_fd=above)
                os.fsync(above)
            except FileExistsError:
                pass

    monkeypatch.setattr(FolderTree, "_make", make)
    BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, Disk(tmp_path / "assets")))
    with Disk(tmp_path / "assets").heard() as disk:
        assert not BlobStoreFactory("local", tmp_path).run(lambda blobs: keep_some(blobs, disk))


async def test_bytes_are_durable_before_they_have_a_name(tmp_path: Path) -> None:
    with Disk(tmp_path / "assets").heard() as disk:
        async with BlobStoreFactory("local", tmp_path).open() as blobs:
            await write_blob(blobs, b"first")
            disk.begin()
            await write_blob(blobs, b"first")
    assert disk.calls == ["fsync a file", "rename", "fsync a folder"], "the folders above are known by now"


@pytest.mark.parametrize("forgotten", [1, 2, 3, 4, 5])
def test_every_sync_is_needed(tmp_path: Path, forgotten: int) -> None:
    """Those of a first blob: its bytes, the root, the folder of the tenant, the one below it, the last one."""

    async def work(blobs: Blobs) -> bool:
        disk.begin()
        return disk.survives(await write_blob(blobs, b"x"))

    with Disk(tmp_path / "assets", frozenset({forgotten})).heard() as disk:
        assert not BlobStoreFactory("local", tmp_path).run(work)
    assert [each for each in disk.calls if each != "rename"] == ["fsync a file", *["fsync a folder"] * 4]


def test_a_deleted_blob_stays_away(tmp_path: Path) -> None:
    async def work(blobs: Blobs) -> str:
        blob = await write_blob(blobs, b"x")
        assert (tmp_path / "assets" / blob.key).as_posix() in disk.entries
        await blobs.delete(blob.key)
        return blob.key

    with Disk(tmp_path / "assets").heard() as disk:
        key = BlobStoreFactory("local", tmp_path).run(work)
    assert (tmp_path / "assets" / key).as_posix() not in disk.entries
