"""Keys by chance and by malice reach nothing outside of the folder, and nothing in it that is not theirs."""

import asyncio
import os
import random
import sys
from pathlib import Path

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob, write_blob
from weftwork.adapters.blobs import blob_key as key_module
from weftwork.adapters.blobs import local
from weftwork.ports.storage.blobs import Blobs

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
COUNT = 100_000 if FULL else 3_000
BITES = [
    "..",
    ".",
    "/",
    "//",
    "\\",
    "\0",
    "\n",
    "~",
    "%2e%2e",
    "partial",
    "-",
    " ",
    "ü",
    "\ud800",
    "$(x)",
    "*",
    "a" * 300,
]
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


def test_a_partition_is_never_a_name(tmp_path: Path) -> None:
    ground = BlobStoreFactory("local", tmp_path)

    async def work(blobs: Blobs) -> None:
        await asyncio.gather(*(write_blob(blobs, b"x", name) for name in ["../../up", "/etc", "a\0b", "canary-tenant"]))

    ground.run(work)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assets"]
    assert not [name for name in files_below(tmp_path) if "canary" in name or "up" in name]
