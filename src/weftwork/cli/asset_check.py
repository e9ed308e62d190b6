"""Whether the bytes of assets can be kept, and how much room they take up. Only reads."""

import os
import time
from pathlib import Path
from typing import Final

from weftwork.blob_store import FOLDER
from weftwork.cli.finding import Finding
from weftwork.cli.plain import shown
from weftwork.cli.progress import size
from weftwork.settings import Settings

SECONDS: Final = 5.0
"""Counting ends after this long."""


def check_assets(settings: Settings, seconds: float = SECONDS) -> Finding:
    """The folder of assets, or where else they are."""
    folder = settings.data_folder / FOLDER
    if settings.blobs:
        return Finding("ok", "assets", f"are in {shown(settings.blobs, 200)}, and not looked into")
    if settings.store == "memory":
        return Finding("ok", "assets", "in memory")
    if not folder.exists():
        return Finding("ok", "assets", "their folder is not there yet; the first start makes it")
    place = shown(str(folder), 200)
    if not folder.is_dir():
        return Finding("fail", "assets", f"{place} is not a folder", "move it away; the next start makes a folder")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding("fail", "assets", f"{place} cannot be written by this user", "run as its owner, or chown it")
    count, total, whole = _taken(folder, time.monotonic() + seconds)
    least = "" if whole else "at least "
    return Finding(
        "ok", "assets", f"{place} can be written; {least}{size(total)} in {count} file{'' if count == 1 else 's'}"
    )


def _taken(folder: Path, end: float) -> tuple[int, int, bool]:
    """How many files, their bytes, and whether that is all."""
    count, total = 0, 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                # Deleted meanwhile.
                continue
            count += 1
        if time.monotonic() > end:
            return count, total, False
    return count, total, True
