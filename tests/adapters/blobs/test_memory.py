"""However large a blob is, the memory that it takes on its way in and out is the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory

pytestmark = pytest.mark.slow

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
SIZES = {"memory": 30_000_000, "local": 30_000_000, "object": 90_000_000}
MOST = {"local": 10_000_000, "object": 60_000_000}
"""Two parts of five million bytes are sent to the storage at once, and the library has each of them several times."""
ROOT = Path(__file__).parents[3]


def growth(blob_stores: BlobStoreFactory, folder: Path, size: int) -> int:
    line = [sys.executable, "-m", "tests.adapters.blobs.memory_meter", blob_stores.kind, str(folder), str(size)]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


def test_a_large_blob(blob_stores: BlobStoreFactory, tmp_path: Path) -> None:
    size = SIZES[blob_stores.kind]
    if blob_stores.kind == "memory":
        assert growth(blob_stores, tmp_path, size) > 0.9 * size, "what holds it all is seen to do so"
    else:
        assert growth(blob_stores, tmp_path, 300_000_000 if FULL else size) < MOST[blob_stores.kind]
