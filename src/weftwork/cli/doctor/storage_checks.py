"""Checks of a store that no host has open: whether its file is whole, and whether there is room for assets.

All of them only read.
"""

import os
import time
from pathlib import Path
from typing import Any, Final

from weftwork.adapters.sqlite.database.connection import OUTAGES, check_library, load_migrations, open_reader
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_size
from weftwork.cli.doctor.finding import Finding
from weftwork.protocol.errors import HostFault
from weftwork.settings import Settings
from weftwork.wiring.blob_store import ASSETS_FOLDER

STORE_CHECK_SECONDS: Final = 20.0
"""A check of a very large file ends after this long."""
_STEPS: Final = 100_000
_RESTORE_ADVICE: Final = "stop using it and restore a backup; docs/operate/sqlite.md"


def check_store(path: Path, seconds: float = STORE_CHECK_SECONDS) -> Finding:
    """SQLite's own quick check, and whether this release can read the store."""
    end = time.monotonic() + seconds
    size = f"{path.stat().st_size / 2**20:.1f} MiB"
    late = False

    def is_late() -> bool:
        nonlocal late
        late = time.monotonic() > end
        return late

    try:
        check_library(_version())
        connection: Any = open_reader(path, None)
        try:
            connection.set_progress_handler(is_late, _STEPS)
            version = int(connection.pragma("user_version"))
            said = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
        finally:
            connection.close(True)
    except HostFault as fault:
        return Finding("fail", "store", str(fault))
    except OUTAGES as error:
        if late:
            text = f"{size}, no damage in the part that was read within {seconds:g} s"
            return Finding("warn", "store", text, "run PRAGMA integrity_check on a copy of the file to see all of it")
        return Finding("fail", "store", f"cannot be read: {clean(str(error), 200)}", _RESTORE_ADVICE)
    if said != ["ok"]:
        return Finding("fail", "store", f"is damaged: {clean('; '.join(map(str, said)), 300)}", _RESTORE_ADVICE)
    newest = load_migrations()[-1].number
    if version > newest:
        text = f"has version {version} and this release knows {newest} at most"
        return Finding("fail", "store", text, "start the release that wrote it, or a newer one")
    return Finding("ok", "store", f"{size}, whole, version {version}")


def _version() -> str:
    import apsw

    return apsw.sqlite_lib_version()


COUNT_SECONDS: Final = 5.0
"""Counting ends after this long."""


def check_assets(settings: Settings, seconds: float = COUNT_SECONDS) -> Finding:
    """The folder of assets, or where else they are."""
    folder = settings.data_folder / ASSETS_FOLDER
    if settings.blobs:
        return Finding("ok", "assets", f"are in {clean(settings.blobs, 200)}, and not looked into")
    if settings.store == "memory":
        return Finding("ok", "assets", "in memory")
    if not folder.exists():
        return Finding("ok", "assets", "their folder is not there yet; the first start makes it")
    place = clean(str(folder), 200)
    if not folder.is_dir():
        return Finding("fail", "assets", f"{place} is not a folder", "move it away; the next start makes a folder")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding("fail", "assets", f"{place} cannot be written by this user", "run as its owner, or chown it")
    count, total, whole = _measure(folder, time.monotonic() + seconds)
    least = "" if whole else "at least "
    return Finding(
        "ok",
        "assets",
        f"{place} can be written; {least}{format_size(total)} in {count} file{'' if count == 1 else 's'}",
    )


def _measure(folder: Path, end: float) -> tuple[int, int, bool]:
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
