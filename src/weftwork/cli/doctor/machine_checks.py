"""Checks of this machine: Python, packages, settings, data folder, store, event loop of a running host, assets, port,
and limit of open files."""

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
from typing import Any, Final

from weftwork.adapters.admin.client import send_request
from weftwork.adapters.http.server.http_server import bind
from weftwork.adapters.sqlite.database.connection import OUTAGES, check_library, load_migrations, open_reader
from weftwork.adapters.system.lock_file import LockFile
from weftwork.cli.console.documents import as_list, as_number, as_object
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import count_of, format_size
from weftwork.cli.doctor.findings import Finding
from weftwork.cli.doctor.store_checks import check_postgres
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.protocol.errors import HostFault
from weftwork.settings import Settings, SettingsError, load_settings
from weftwork.wiring.blob_store import ASSETS_FOLDER
from weftwork.wiring.data_folder import ADMIN_SOCKET, DATABASE_FILE, LOCK_FILE
from weftwork.wiring.node_types import load_python_nodes

MIN_PYTHON: Final = (3, 11)
MIN_FREE_BYTES: Final = 64 * 2**20
LOW_FREE_BYTES: Final = 2**30
_SPARE_FILES: Final = 64


def check_machine(data: str | None) -> Iterator[Finding]:
    """All checks that need no host, in order. Ends early if the settings cannot be loaded."""
    yield _check_python(sys.version_info[:3])
    yield from check_packages("weftwork")
    yield check_expressions()
    try:
        settings = load_settings({"data": data} if data else {})
    except SettingsError as error:
        yield Finding("fail", "settings", clean(str(error)), "docs/reference/settings.md lists all settings")
        return
    yield Finding("ok", "settings", "valid")
    yield from _check_data_folder(settings.data_folder)
    is_held = is_host_running(settings.data_folder)
    if settings.store_kind == "postgres":
        yield from check_postgres(settings)
        if is_held:
            yield check_store_use(settings.data_folder)
    else:
        yield check_database(settings, is_held)
    if is_held and settings.store_kind != "memory":
        yield check_loop(settings.data_folder)
    yield check_assets(settings, is_held)
    yield check_port(settings.host, settings.port, is_held)
    yield from _check_file_limit(settings.max_connections)
    yield from check_nodes(settings.nodes)


def check_database(settings: Settings, is_held: bool) -> Finding:
    """The store in memory or in the data folder. `is_held`: a host is running on the data folder."""
    database = settings.data_folder / DATABASE_FILE
    if settings.store_kind == "memory":
        return Finding("ok", "store", "in memory")
    if not database.exists():
        return Finding("ok", "store", "does not exist yet; `weftwork serve` creates it")
    if is_held:
        return Finding("ok", "store", "not checked: a running host is using it")
    return check_store(database)


def _check_python(version: tuple[int, ...]) -> Finding:
    message = f"{'.'.join(map(str, version))} on {platform.system()} {platform.machine()}"
    if version >= MIN_PYTHON:
        return Finding("ok", "python", message)
    return Finding("fail", "python", message, f"install Python {'.'.join(map(str, MIN_PYTHON))} or newer")


def check_packages(name: str) -> Iterator[Finding]:
    """The versions of a package and of its requirements; a failure for each requirement that is not installed."""
    requirements = [text for text in metadata.requires(name) or () if "extra ==" not in text]
    installed: list[str] = [f"{name} {metadata.version(name)}"]
    for text in requirements:
        requirement = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
        try:
            installed.append(f"{requirement} {metadata.version(requirement)}")
        except metadata.PackageNotFoundError:
            # A requirement with a marker may be for another platform only.
            if ";" not in text:
                yield Finding("fail", "packages", f"{requirement} is not installed", f"run `pip install {name}` again")
    yield Finding("ok", "packages", ", ".join(installed))


def check_expressions() -> Finding:
    """The self-test of the expression evaluator, which a host also runs at startup."""
    from weftwork.protocol.errors import HostFault
    from weftwork.wiring.dependencies import require_evaluator

    try:
        require_evaluator()
    except HostFault as fault:
        return Finding(
            "fail", "expressions", clean(str(fault), 400), "a host does not start with this version; install another"
        )
    return Finding("ok", "expressions", "self-test passed")


def _check_data_folder(folder: Path) -> Iterator[Finding]:
    path = clean(str(folder), 200)
    try:
        status = folder.stat()
    except FileNotFoundError:
        yield Finding("ok", "data folder", f"{path} does not exist yet; `weftwork serve` creates it")
        return
    except OSError as error:
        yield Finding("fail", "data folder", f"{path} is not accessible: {error.strerror}", "choose another --data")
        return
    if not stat.S_ISDIR(status.st_mode):
        yield Finding("fail", "data folder", f"{path} is not a folder", "choose another --data")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("fail", "data folder", f"{path} is not writable by this user", "run as its owner, or chown it")
    elif exposed := [path for path in (folder, *sorted(folder.iterdir())) if _is_accessible_to_others(path)]:
        names = ", ".join(clean(str(path), 200) for path in exposed[:5])
        yield Finding("warn", "data folder", f"other users can access {names}", f"run `chmod -R go-rwx {path}`")
    else:
        yield Finding("ok", "data folder", f"{path}, accessible only by this user")
    yield check_space(shutil.disk_usage(folder).free)


def _is_accessible_to_others(path: Path) -> bool:
    """Whether the mode grants access to group or others. Settings files (.toml) may be readable."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and bool(mode & (0o022 if path.suffix == ".toml" else 0o077))


def check_space(free: int) -> Finding:
    """Free disk space."""
    message = f"{free / 2**30:.1f} GiB free"
    if free >= LOW_FREE_BYTES:
        return Finding("ok", "disk", message)
    hint = "free disk space, or delete old runs with `weftwork runs prune --older-than 30d`"
    return Finding("warn" if free >= MIN_FREE_BYTES else "fail", "disk", message, hint)


def is_host_running(folder: Path) -> bool:
    """Whether a host holds the lock of the data folder."""
    if not (folder / LOCK_FILE).exists():
        return False
    lock = LockFile(folder / LOCK_FILE)
    try:
        lock.acquire()
    except HostLocked:
        return True
    except OSError:
        return False
    lock.release()
    return False


def check_port(host: str, port: int, held: bool) -> Finding:
    """Whether `weftwork serve` can listen. `held`: a host of this data folder is running and may use the port."""
    where = f"{clean(host)}:{port}"
    try:
        bind(host, port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE and held:
            return Finding("ok", "port", f"{where} is in use; a host is running on this data folder")
        message = f"cannot listen on {where}: {error.strerror or error}"
        return Finding("warn", "port", message, "start the host on another port with `weftwork serve --port PORT`")
    return Finding("ok", "port", f"{where} is free")


def _check_file_limit(connections: int) -> Iterator[Finding]:
    try:
        import resource
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard >= connections + _SPARE_FILES:
        limit = "unlimited" if hard == resource.RLIM_INFINITY else f"limit {hard}"
        yield Finding("ok", "open files", limit)
        return
    message = f"limit {hard} is too low for max_connections = {connections}"
    yield Finding("warn", "open files", message, "raise the limit (ulimit -Hn), or lower max_connections")


def check_nodes(modules: tuple[str, ...]) -> Iterator[Finding]:
    """Whether the Python node types can be loaded, which imports their modules. No finding if there are none."""
    try:
        nodes = load_python_nodes(modules)
    except SettingsError as error:
        yield Finding("fail", "nodes", clean(str(error)), "fix this first: a host with these settings does not start")
        return
    if nodes:
        names = ", ".join(node.declaration.type_id for node in nodes)
        yield Finding("ok", "nodes", f"{count_of(len(nodes), 'Python node type')}: {clean(names, 200)}")


STORE_CHECK_SECONDS: Final = 20.0
"""Time limit for the check of a very large file."""
_STEPS: Final = 100_000
_RESTORE_ADVICE: Final = (
    "stop the host and restore a backup, or copy the readable rows with `weftwork doctor --salvage NEW_FILE`; "
    "see docs/operate/sqlite.md, Damage"
)


def check_store(path: Path, seconds: float = STORE_CHECK_SECONDS) -> Finding:
    """SQLite's quick check, and whether this release supports the version of the store."""
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
            results = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
        finally:
            connection.close(True)
    except HostFault as fault:
        return Finding("fail", "store", str(fault))
    except OUTAGES as error:
        if late:
            text = f"{size}, only partly checked: no damage found within {seconds:g} s"
            return Finding("warn", "store", text, "for a full check, run PRAGMA integrity_check on a copy of the file")
        return Finding("fail", "store", f"cannot be read: {clean(str(error), 200)}", _RESTORE_ADVICE)
    if results != ["ok"]:
        return Finding("fail", "store", f"damaged: {clean('; '.join(map(str, results)), 300)}", _RESTORE_ADVICE)
    newest = load_migrations()[-1].number
    if version > newest:
        text = f"version {version} is newer than this release supports ({newest})"
        return Finding("fail", "store", text, "use the release that wrote it, or a newer one")
    return Finding("ok", "store", f"{size}, no damage found, version {version}")


def check_loop(folder: Path) -> Finding:
    """Whether the event loop of the running host was blocked, and by what."""
    try:
        report = as_object(send_request(folder / ADMIN_SOCKET, {"operation": "loop.report", "arguments": {}}))
    except OSError as error:
        hint = "if this persists, the event loop is blocked now; its log names the cause"
        return Finding("warn", "event loop", f"the host does not respond on its admin socket: {error}", hint)
    if "stages" not in report:
        return Finding("ok", "event loop", "not checked: the host does not report it")
    since, limit = clean(report.get("since", ""), 30), f"{as_number(report.get('thresholdMs'))} ms"
    stages = {clean(name, 30): as_object(each) for name, each in as_object(report["stages"]).items()}
    if not stages:
        return Finding("ok", "event loop", f"not blocked for more than {limit} since {since}")
    counts = {name: as_number(each.get("count")) for name, each in stages.items()}
    longest = max(as_number(each.get("longestMs")) for each in stages.values())
    by_stage = ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    times = count_of(sum(counts.values()), "time")
    message = f"blocked {times} for more than {limit} since {since}, at most {longest} ms; by stage: {by_stage}"
    if recent := as_list(report.get("recent")):
        message += f"; last: {_describe_stall(as_object(recent[-1]))}"
    return Finding("warn", "event loop", message, "see docs/operate/observability.md, Event loop")


def check_store_use(folder: Path) -> Finding:
    """How the running host has used its PostgreSQL store since its start."""
    try:
        report = as_object(send_request(folder / ADMIN_SOCKET, {"operation": "store.report", "arguments": {}}))
    except OSError as error:
        return Finding("warn", "store use", f"the host does not respond on its admin socket: {error}")
    if "commits" not in report:
        return Finding("ok", "store use", "not checked: the host does not report it")
    commits, writes, reconnects, waits = (
        as_number(report.get(name)) for name in ("commits", "writes", "reconnects", "poolWaits")
    )
    p99 = as_number(report.get("commitP99Us")) / 1000
    message = f"{count_of(writes, 'write')} in {count_of(commits, 'commit')}, 99 % of the last ones within {p99:.1f} ms"
    message += f"; {count_of(reconnects, 'reconnect')}, {count_of(waits, 'wait')} for a connection"
    return Finding("ok", "store use", message)


def _describe_stall(stall: dict[str, Any]) -> str:
    """One stall as a line of text: when, how long, and what is known about its cause."""
    names = {"runId": "run", "nodeId": "node", "typeId": "type", "tenant": "tenant", "operation": "operation"}
    activity = as_object(stall.get("activity"))
    cause = [f"{label} {clean(activity[name], 100)}" for name, label in names.items() if name in activity]
    stage, place = f"stage {clean(activity.get('stage', ''), 30)}", f"at {clean(activity.get('place', '?'), 200)}"
    length = f"{as_number(stall.get('blockedMs'))} ms, of which {as_number(stall.get('cpuMs'))} ms on the CPU"
    return f"{clean(stall.get('at', ''), 30)}, {length}, {', '.join([stage, *cause])}, {place}"


COUNT_SECONDS: Final = 5.0
"""Time limit for counting the files."""


def check_assets(settings: Settings, is_held: bool = False, seconds: float = COUNT_SECONDS) -> Finding:
    """Whether the assets folder is usable, and its size. `is_held`: a host is running on the data folder."""
    folder = settings.data_folder / ASSETS_FOLDER
    if settings.blobs:
        return Finding("ok", "assets", f"not checked: stored in {clean(settings.blobs, 200)}")
    if settings.store_kind == "memory":
        return Finding("ok", "assets", "in memory")
    path = clean(str(folder), 200)
    if not folder.exists():
        if not is_held and not _has_assets(settings.data_folder / DATABASE_FILE):
            return Finding("ok", "assets", "the folder does not exist yet; `weftwork serve` creates it")
        hint = "restore it from a backup; the host creates it empty, and responds with 503 to requests for older assets"
        return Finding("fail", "assets", f"{path} was deleted", hint)
    if not folder.is_dir():
        return Finding("fail", "assets", f"{path} is not a folder", "move it away; `weftwork serve` creates the folder")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding("fail", "assets", f"{path} is not writable by this user", "run as its owner, or chown it")
    count, total, is_complete = _measure(folder, time.monotonic() + seconds)
    contents = f"{'' if is_complete else 'at least '}{format_size(total)} in {count_of(count, 'file')}"
    return Finding("ok", "assets", f"{path} is writable; {contents}")


def _has_assets(database: Path) -> bool:
    """Whether the store has any asset. False if it cannot be read, which `check_store` reports."""
    if not database.exists():
        return False
    try:
        connection: Any = open_reader(database, None)
        try:
            return bool(connection.execute("SELECT 1 FROM assets LIMIT 1").fetchall())
        finally:
            connection.close(True)
    except (*OUTAGES, HostFault):
        return False


def _measure(folder: Path, end: float) -> tuple[int, int, bool]:
    """The number of files and of bytes, and whether the count is complete."""
    count, total = 0, 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                # The file was deleted since it was listed.
                continue
            count += 1
        if time.monotonic() > end:
            return count, total, False
    return count, total, True
