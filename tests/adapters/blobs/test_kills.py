"""A process that is killed anywhere loses no blob that it was told of, and leaves no half of one."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.blobs import killed_writer
from tests.adapters.blobs.blob_stores import BlobStoreFactory, blob_keys, files_below, read_blob
from weftwork.adapters.blobs import local
from weftwork.ports.fault_points import POINTS
from weftwork.ports.storage.blobs import Blobs

pytestmark = pytest.mark.slow

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
            data = await read_blob(blobs, key)
            assert data is not None
            assert hashlib.sha256(data).hexdigest() == key.split("/")[-1][:64], "every one is whole"

    ground = BlobStoreFactory("local", folder)
    ground.run(work)
    assert {name for name in files_below(ground.folder) if name.startswith("partial/")} == set()


@pytest.mark.parametrize(("name", "nth"), cases())
def test_killed_there(tmp_path: Path, name: str, nth: int) -> None:
    live(tmp_path, f"{name}:{nth}:kill")
    if name in ("blob.partial", "blob.synced"):
        assert len(list((tmp_path / "assets" / "partial").iterdir())) == 1
    check(tmp_path)
    live(tmp_path, "blob.renamed:3:kill")
    check(tmp_path, lives=2)


def test_without_clearing_away_halves_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live(tmp_path, "blob.synced:1:kill")
    monkeypatch.setattr(local.os, "listdir", lambda folder: [])
    with pytest.raises(AssertionError):
        check(tmp_path)


def test_a_name_before_the_bytes_would_be_seen(tmp_path: Path) -> None:
    """A file that has its key and not all of its bytes, as a rename in the wrong place would leave it."""
    live(tmp_path, "blob.renamed:2:kill")
    check(tmp_path)
    kept = sorted(told(tmp_path)[0])[0]
    with (tmp_path / "assets" / kept).open("r+b") as file:
        file.truncate(5)
    with pytest.raises(AssertionError, match="whole"):
        check(tmp_path)
