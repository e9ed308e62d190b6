"""Whether the file of a store that no host holds is whole. Only reads."""

import time
from pathlib import Path
from typing import Any, Final

from weftwork.adapters.sqlite.connection import OUTAGES, check_library, open_reader
from weftwork.adapters.sqlite.migrate import shipped
from weftwork.cli.finding import Finding
from weftwork.cli.plain import shown
from weftwork.protocol.errors import HostFault

SECONDS: Final = 20.0
"""A check of a very large file ends after this long."""
_STEPS: Final = 100_000
_RESTORE: Final = "stop using it and restore a backup; docs/operate/sqlite.md"


def check_store(path: Path, seconds: float = SECONDS) -> Finding:
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
        return Finding("fail", "store", f"cannot be read: {shown(str(error), 200)}", _RESTORE)
    if said != ["ok"]:
        return Finding("fail", "store", f"is damaged: {shown('; '.join(map(str, said)), 300)}", _RESTORE)
    newest = shipped()[-1].number
    if version > newest:
        text = f"has version {version} and this release knows {newest} at most"
        return Finding("fail", "store", text, "start the release that wrote it, or a newer one")
    return Finding("ok", "store", f"{size}, whole, version {version}")


def _version() -> str:
    import apsw

    return apsw.sqlite_lib_version()
