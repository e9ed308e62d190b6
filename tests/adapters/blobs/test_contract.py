"""What ports/storage/blobs.py promises, of every store: also for hostile keys, and in bounded memory."""

import asyncio
import hashlib
import itertools
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob, read_range, write_blob
from tests.harness.cases import present
from weftwork.adapters.blobs import blob_key as key_module
from weftwork.adapters.blobs import local
from weftwork.adapters.blobs.object_storage import ObjectBlobs
from weftwork.ports.storage.blobs import Blobs, BlobSink
from weftwork.ports.storage.event_log import StoreUnavailable

PIECE = 256 * 1024
FORM = re.compile(r"[0-9a-f]{32}/([0-9a-f]{2})/([0-9a-f]{2})/(\1\2[0-9a-f]{60})-[0-9a-f]{24}")


def pattern(size: int) -> bytes:
    """Bytes that differ from place to place."""
    return b"".join(number.to_bytes(4, "big") for number in range(size // 4 + 1))[:size]


def test_what_is_kept_is_read_again_by_the_next_store(blob_stores: BlobStoreFactory) -> None:
    for size in (0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 17):
        data = pattern(size)
        blob = blob_stores.run(lambda blobs, data=data: write_blob(blobs, data))
        assert (blob.sha256, blob.size) == (hashlib.sha256(data).hexdigest(), size)
        named = present(FORM.fullmatch(blob.key))
        assert named[3] == blob.sha256
        assert blob_stores.run(lambda blobs, key=blob.key: read_blob(blobs, key)) == data
        assert blob_stores.run(blob_keys) == [blob.key]
        blob_stores.run(lambda blobs, key=blob.key: blobs.delete(key))


async def check_closed(sink: BlobSink) -> None:
    with pytest.raises(StoreUnavailable, match="closed"):
        await sink.write(b"more")
    with pytest.raises(StoreUnavailable, match="closed"):
        await sink.commit()


async def test_nothing_is_there_before_it_is_kept(blobs: Blobs) -> None:
    sink = await blobs.sink("acme")
    await sink.write(pattern(2 * PIECE))
    assert sink.size == 2 * PIECE
    assert await blob_keys(blobs) == []
    blob = await sink.commit()
    assert await blob_keys(blobs) == [blob.key]
    await check_closed(sink)
    await sink.discard()
    assert await read_blob(blobs, blob.key) == pattern(2 * PIECE), "drop does nothing after keep"
    assert len(await blob_keys(blobs)) == 1


async def test_what_is_dropped_leaves_nothing(blob_stores: BlobStoreFactory) -> None:
    async with blob_stores.open() as blobs:
        for size in (0, 10, 2 * PIECE):
            sink = await blobs.sink("acme")
            await sink.write(pattern(size))
            await sink.discard()
            await sink.discard()
            assert await blob_keys(blobs) == []
            await check_closed(sink)
    assert blob_stores.kind != "local" or files_below(blob_stores.folder) == {}


async def test_every_writing_has_a_key_of_its_own(blobs: Blobs) -> None:
    made = await asyncio.gather(*(write_blob(blobs, b"the same") for _ in range(8)))
    assert len({blob.key for blob in made}) == 8
    assert len({blob.sha256 for blob in made}) == 1
    await blobs.delete(made[0].key)
    assert await read_blob(blobs, made[0].key) is None
    for blob in made[1:]:
        assert await read_blob(blobs, blob.key) == b"the same"
    await blobs.delete(made[0].key)
    assert await blob_keys(blobs) == sorted(blob.key for blob in made[1:])


async def test_tenants_share_no_folder(blobs: Blobs) -> None:
    names = ["acme", "acm", "Acme", "../acme", "a/b", "", "\0", "ü", "x" * 10_000]
    made = [await write_blob(blobs, b"the same", name) for name in names]
    folders = [blob.key.split("/")[0] for blob in made]
    assert len(set(folders)) == len(names)
    again = await write_blob(blobs, b"other", "acme")
    assert again.key.split("/")[0] == folders[0]


async def test_stretches(blob_stores: BlobStoreFactory) -> None:
    data = pattern(3 * PIECE + 17)
    edges = [0, 1, PIECE - 1, PIECE, PIECE + 1, len(data) - 1, len(data)]
    async with blob_stores.open() as blobs:
        source = present(await blobs.source((await write_blob(blobs, data)).key))
        assert source.size == len(data)
        for start, end in itertools.combinations_with_replacement(edges, 2):
            assert await read_range(source, start, end - start) == data[start:end], (start, end)
        assert await read_range(source, PIECE, len(data)) == data[PIECE:], "as far as there is something"
        assert await read_range(source, len(data) + 5, 10) == b""
        both = await asyncio.gather(read_range(source, 0, len(data)), read_range(source, 5, PIECE))
        assert both == [data, data[5 : 5 + PIECE]]
        await source.close()


async def test_pieces_are_bounded(blob_stores: BlobStoreFactory) -> None:
    data = pattern(5 * 1024 * 1024)
    async with blob_stores.open() as blobs:
        blob = await write_blob(blobs, data, piece=len(data))
        source = present(await blobs.source(blob.key))
        pieces = [piece async for piece in source.read(0, source.size)]
        await source.close()
        assert max(len(piece) for piece in pieces) <= 1024 * 1024
        assert b"".join(pieces) == data


async def test_a_reader_who_goes_away_leaves_nothing_open(blobs: Blobs) -> None:
    blob = await write_blob(blobs, pattern(3 * PIECE))
    for _ in range(20):
        source = present(await blobs.source(blob.key))
        reading = source.read(0, source.size)
        assert await anext(reading)
        await reading.aclose()
        await source.close()
        await source.close()


async def test_a_blob_deleted_while_it_is_read(blob_stores: BlobStoreFactory) -> None:
    data = pattern(5 * 1024 * 1024)
    async with blob_stores.open() as blobs:
        blob = await write_blob(blobs, data)
        source = present(await blobs.source(blob.key))
        got = b""
        try:
            async for piece in source.read(0, source.size):
                if not got:
                    await blobs.delete(blob.key)
                got += piece
            assert got == data
        except StoreUnavailable:
            assert data.startswith(got)
        await source.close()
        assert await blobs.source(blob.key) is None


async def test_what_is_no_key_is_not_there(blobs: Blobs) -> None:
    key = (await write_blob(blobs, b"mine")).key
    tenant, first, second, name = key.split("/")
    strange = ["", "/", ".", "..", "partial", key + "/", "/" + key, key + "\n", key + "\0", key.upper(), key[:-1]]
    strange += [f"{tenant}/{first}/{second}", f"{tenant}/../{tenant}/{first}/{second}/{name}", f"./{key}"]
    strange += [key.replace("-", "_"), key.replace("/", "\\"), f"{tenant}//{first}/{second}/{name}", "\ud800"]
    strange += [f"{tenant}/{second}/{first}/{name}" if first != second else "", f"{'0' * 32}/{key[33:]}"]
    for each in strange:
        assert await blobs.source(each) is None, each
        await blobs.delete(each)
    assert await read_blob(blobs, key) == b"mine"


async def test_keys_by_the_time_of_their_writing(blob_stores: BlobStoreFactory, blobs: Blobs) -> None:
    key = (await write_blob(blobs, b"x")).key
    now = blob_stores.clock.now()
    assert await blob_keys(blobs, now - 60_000) == []
    assert await blob_keys(blobs, now + 60_000) == [key]
    assert await blob_keys(blobs, 0) == []


def test_a_cancelled_writer_leaves_nothing(blob_stores: BlobStoreFactory) -> None:
    async def writing(blobs: Blobs) -> str:
        sink = await blobs.sink("acme")
        try:
            for _ in range(4):
                await sink.write(pattern(PIECE))
            return (await sink.commit()).key
        finally:
            await sink.discard()

    async def work(blobs: Blobs) -> int:
        cancelled = 0
        for turns in range(25):
            task = asyncio.create_task(writing(blobs))
            for _ in range(turns * turns):
                await asyncio.sleep(0)
            task.cancel()
            (result,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(result, str):
                await blobs.delete(result)
            else:
                assert isinstance(result, asyncio.CancelledError)
                cancelled += 1
            await emptied(blobs)
        return cancelled

    async def emptied(blobs: Blobs) -> None:
        """A request to the storage that was under way arrives, and is undone."""
        if isinstance(blobs, ObjectBlobs) and blobs._cleanups:
            await asyncio.wait(blobs._cleanups, timeout=20)
        assert await blob_keys(blobs) == []

    assert blob_stores.run(work) > 0
    assert blob_stores.kind != "local" or files_below(blob_stores.folder) == {}


async def test_a_closed_store_says_so(blob_stores: BlobStoreFactory) -> None:
    blobs = blob_stores.make()
    with pytest.raises(StoreUnavailable, match="closed"):
        await blobs.sink("acme")
    await blobs.open()
    key = (await write_blob(blobs, pattern(2 * PIECE))).key
    sink = await blobs.sink("acme")
    await sink.write(b"x")
    source = present(await blobs.source(key))
    await blobs.close()
    await blobs.close()
    with pytest.raises(StoreUnavailable):
        await sink.commit()
    await sink.discard()
    for ask in (blobs.source(key), blobs.delete(key), blob_keys(blobs), blobs.sink("acme")):
        with pytest.raises(StoreUnavailable, match="closed"):
            await ask
    await source.close()
    await blobs.open()
    assert await blob_keys(blobs) == [key]
    await blobs.close()


FULL = os.environ.get("WEFTWORK_PROOF") == "full"
COUNT = 100_000 if FULL else 3_000
BITES = [*".. . / // \\ ~ %2e%2e partial - ü $(x) *".split(), "\0", "\n", " ", "\ud800", "a" * 300]
NAMES = {"open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink"}

_watching: list[tuple[str, object]] | None = None


def _hear(event: str, args: tuple[object, ...]) -> None:
    if _watching is not None and event in NAMES:
        _watching.extend((event, each) for each in args[:1])


def strange(dice: random.Random, key: str) -> str:
    """A key that something was done to, or one of nothing but bites."""
    if dice.random() < 0.3:
        return "/".join(dice.choice(BITES) for _ in range(dice.randint(1, 8)))
    steps = key.split("/")
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(steps))
        steps[at] = dice.choice([dice.choice(BITES), steps[at] + dice.choice(BITES), dice.choice(BITES) + steps[at]])
    return "/".join(steps)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that somebody would like to have."""
    file = tmp_path / "secret"
    file.write_text("canary")
    return file


def hunt(tmp_path: Path, count: int) -> list[str]:
    """What strange keys and partitions came to: the names that the system was asked for, but for plain ones."""
    global _watching
    ground = BlobStoreFactory("local", tmp_path)
    dice = random.Random(7)

    async def work(blobs: Blobs) -> None:
        kept = (await write_blob(blobs, b"mine", "acme")).key
        for number in range(count):
            name = strange(dice, kept)
            assert await read_blob(blobs, name) is None
            await blobs.delete(name)
            if number % 50 == 0:
                made = await write_blob(blobs, b"x", name)
                await blobs.delete(made.key)
        assert await read_blob(blobs, kept) == b"mine"
        assert await blob_keys(blobs) == [kept]

    sys.addaudithook(_hear)
    _watching = []
    try:
        ground.run(work)
    finally:
        heard, _watching = _watching, None
    root = str(ground.folder)
    plain = [each for _, each in heard if isinstance(each, str | bytes | os.PathLike)]
    texts = [os.fsdecode(each) for each in plain]
    return [text for text in texts if ("/" in text or text.startswith(".")) and text not in (root, str(tmp_path))]


def test_strange_keys_reach_nothing(tmp_path: Path, outside: Path) -> None:
    assert hunt(tmp_path, COUNT) == []
    assert outside.read_text() == "canary"
    assert len(files_below(tmp_path / "assets")) == 1


def test_without_the_form_of_a_key_they_would(tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def anything(key: str) -> tuple[str, str, str, str] | None:
        steps = key.replace("\0", "").replace("\ud800", "").split("/")
        return (steps[0] or ".", steps[1] or ".", steps[2] or ".", "/".join(steps[3:])) if len(steps) > 3 else None

    monkeypatch.setattr(local, "split_key", anything)
    ground = BlobStoreFactory("local", tmp_path)
    hidden = "../././secret"
    assert ground.run(lambda blobs: read_blob(blobs, hidden)) == b"canary"
    monkeypatch.setattr(local, "split_key", key_module.split_key)
    assert ground.run(lambda blobs: read_blob(blobs, hidden)) is None


async def test_a_partition_is_never_a_name(tmp_path: Path) -> None:
    ground = BlobStoreFactory("local", tmp_path)
    async with ground.open() as blobs:
        await asyncio.gather(*(write_blob(blobs, b"x", name) for name in ["../../up", "/etc", "a\0b", "canary-tenant"]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assets"]
    assert not [name for name in files_below(tmp_path) if "canary" in name or "up" in name]


SIZES = {"memory": 15_000_000, "local": 20_000_000, "object": 75_000_000}
MOST = {"local": 10_000_000, "object": 60_000_000}
"""Two parts of five million bytes are sent to the storage at once, and the library has each of them several times."""
ROOT = Path(__file__).parents[3]


def growth(blob_stores: BlobStoreFactory, folder: Path, size: int) -> int:
    line = [sys.executable, "-m", "tests.adapters.blobs.memory_meter", blob_stores.kind, str(folder), str(size)]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


@pytest.mark.slow
def test_a_large_blob(blob_stores: BlobStoreFactory, tmp_path: Path) -> None:
    size = SIZES[blob_stores.kind]
    if blob_stores.kind == "memory":
        assert growth(blob_stores, tmp_path, size) > 0.9 * size, "what holds it all is seen to do so"
    else:
        assert growth(blob_stores, tmp_path, 300_000_000 if FULL else size) < MOST[blob_stores.kind]
