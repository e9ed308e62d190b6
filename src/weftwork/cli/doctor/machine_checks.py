"""Checks of this machine: Python, packages, settings, the data folder, store and assets, the port, the file limit."""

import errno
import os
import platform
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from weftwork.adapters.http.server.http_server import bind
from weftwork.adapters.sqlite.database.connection import OUTAGES, check_library, load_migrations, open_reader
from weftwork.adapters.system.lock_file import LockFile
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import count_of, format_size
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.protocol.errors import HostFault
from weftwork.settings import Settings, SettingsError, load_settings
from weftwork.wiring.blob_store import ASSETS_FOLDER
from weftwork.wiring.data_folder import DATABASE_FILE, LOCK_FILE
from weftwork.wiring.node_types import load_python_nodes

MIN_PYTHON: Final = (3, 11)
MIN_FREE_BYTES: Final = 64 * 2**20
LOW_FREE_BYTES: Final = 2**30
_SPARE_FILES: Final = 64


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor: how something stands, and for what is not well, what to do."""

    status: Literal["ok", "warn", "fail"]
    check: str
    message: str
    hint: str = ""


def check_machine(data: str | None) -> Iterator[Finding]:
    """Everything that can be seen without a host, one after the other."""
    yield _check_python(sys.version_info[:3])
    yield from check_packages("weftwork")
    yield check_expressions()
    try:
        settings = load_settings({"data": data} if data else {})
    except SettingsError as error:
        yield Finding("fail", "settings", clean(str(error)), "correct it; docs/reference/settings.md lists all of them")
        return
    yield Finding("ok", "settings", "can be used")
    yield from _check_data_folder(settings.data_folder)
    database, is_held = settings.data_folder / DATABASE_FILE, _is_host_running(settings.data_folder)
    if settings.store == "memory":
        yield Finding("ok", "store", "in memory")
    elif not database.exists():
        yield Finding("ok", "store", "is not there yet; the first start makes it")
    elif is_held:
        yield Finding("ok", "store", "in use by a running host, and not looked into")
    else:
        yield check_store(database)
    yield check_assets(settings)
    yield check_port(settings.host, settings.port, is_held)
    yield from _check_file_limit(settings.max_connections)
    yield from check_nodes(settings.nodes)


def _check_python(found: tuple[int, ...]) -> Finding:
    said = f"{'.'.join(map(str, found))} on {platform.system()} {platform.machine()}"
    if found >= MIN_PYTHON:
        return Finding("ok", "python", said)
    return Finding("fail", "python", said, f"use Python {'.'.join(map(str, MIN_PYTHON))} or newer")


def check_packages(name: str) -> Iterator[Finding]:
    """A package and those that it needs on this machine."""
    needed = [text for text in metadata.requires(name) or () if "extra ==" not in text]
    found: list[str] = [f"{name} {metadata.version(name)}"]
    for text in needed:
        wanted = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
        try:
            found.append(f"{wanted} {metadata.version(wanted)}")
        except metadata.PackageNotFoundError:
            # What another platform needs is not missed here.
            if ";" not in text:
                yield Finding("fail", "packages", f"{wanted} is not installed", f"install {name} again with pip")
    yield Finding("ok", "packages", ", ".join(found))


def check_expressions() -> Finding:
    """The self-test that a host runs when it starts."""
    from weftwork.protocol.errors import HostFault
    from weftwork.wiring.dependencies import require_evaluator

    try:
        require_evaluator()
    except HostFault as fault:
        return Finding(
            "fail", "expressions", clean(str(fault), 400), "no host starts with this package; install another"
        )
    return Finding("ok", "expressions", "have the values they should have")


def _check_data_folder(folder: Path) -> Iterator[Finding]:
    place = clean(str(folder), 200)
    try:
        found = folder.stat()
    except FileNotFoundError:
        yield Finding("ok", "data folder", f"{place} is not there yet; the first start makes it")
        return
    except OSError as error:
        yield Finding("fail", "data folder", f"{place} cannot be looked at: {error.strerror}", "choose another --data")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield Finding("fail", "data folder", f"{place} is not a folder", "choose another --data")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("fail", "data folder", f"{place} cannot be written by this user", "run as its owner, or chown it")
    elif opened := [path for path in (folder, *sorted(folder.iterdir())) if _is_accessible_to_others(path)]:
        names = ", ".join(clean(str(path), 200) for path in opened[:5])
        yield Finding("warn", "data folder", f"others can get at {names}", f"chmod -R go-rwx {place}")
    else:
        yield Finding("ok", "data folder", f"{place}, for this user alone")
    yield check_space(shutil.disk_usage(folder).free)


def _is_accessible_to_others(path: Path) -> bool:
    """Whether anybody but the owner may do something with it. Settings may be read by others."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and bool(mode & (0o022 if path.suffix == ".toml" else 0o077))


def check_space(free: int) -> Finding:
    """Room for the store."""
    said = f"{free / 2**30:.1f} GiB free"
    if free >= LOW_FREE_BYTES:
        return Finding("ok", "disk", said)
    advice = "make room, or delete old runs with `weftwork runs prune`"
    return Finding("warn" if free >= MIN_FREE_BYTES else "fail", "disk", said, advice)


def _is_host_running(folder: Path) -> bool:
    """Whether a host has the store."""
    if not (folder / LOCK_FILE).exists():
        return False
    seat = LockFile(folder / LOCK_FILE)
    try:
        seat.acquire()
    except HostLocked:
        return True
    except OSError:
        return False
    seat.release()
    return False


def check_port(host: str, port: int, held: bool) -> Finding:
    """Whether `weftwork serve` could listen; no matter if the host of this folder does so already."""
    where = f"{clean(host)}:{port}"
    try:
        bind(host, port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE and held:
            return Finding("ok", "port", f"{where} is in use, and a host runs on this data folder")
        said = f"cannot listen on {where}: {error.strerror or error}"
        return Finding("warn", "port", said, "choose another port for `weftwork serve` with --port")
    return Finding("ok", "port", f"{where} is free")


def _check_file_limit(connections: int) -> Iterator[Finding]:
    try:
        import resource
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard >= connections + _SPARE_FILES:
        shown_limit = "no limit" if hard == resource.RLIM_INFINITY else f"{hard} at once"
        yield Finding("ok", "open files", shown_limit)
        return
    said = f"{hard} at once, and max_connections is {connections}"
    yield Finding("warn", "open files", said, "raise the limit (ulimit -Hn), or set fewer connections")


def check_nodes(modules: tuple[str, ...]) -> Iterator[Finding]:
    """Whether the nodes written in Python can be loaded, which runs their modules; nothing if there are none."""
    try:
        found = load_python_nodes(modules)
    except SettingsError as error:
        yield Finding("fail", "nodes", clean(str(error)), "a host with these settings does not start; correct it")
        return
    if found:
        names = ", ".join(node.declaration.type_id for node in found)
        yield Finding("ok", "nodes", f"{len(found)} written in Python: {clean(names, 200)}")


STORE_CHECK_SECONDS: Final = 20.0
"""A check of a very large file ends after this long."""
_STEPS: Final = 100_000
_RESTORE_ADVICE: Final = "stop using it and restore a backup; docs/operate/sqlite.md"


def check_store(path: Path, seconds: float = STORE_CHECK_SECONDS) -> Finding:
    """SQLite's own quick check, and whether this release can read the store."""
    import apsw

    end = time.monotonic() + seconds
    size = f"{path.stat().st_size / 2**20:.1f} MiB"
    late = False

    def is_late() -> bool:
        nonlocal late
        late = time.monotonic() > end
        return late

    try:
        check_library(apsw.sqlite_lib_version())
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
    found = f"{'' if whole else 'at least '}{format_size(total)} in {count_of(count, 'file')}"
    return Finding("ok", "assets", f"{place} can be written; {found}")


def _measure(folder: Path, end: float) -> tuple[int, int, bool]:
    """How many files, their bytes, and whether that is all."""
    count, total = 0, 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                # The file was deleted since it was listed.
                continue
            count += 1
        if time.monotonic() > end:
            return count, total, False
    return count, total, True
