"""Where and with what was measured, and whether the disk is one."""

import os
import platform
import resource
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from tests.harness.postgres_server import binaries, distribution_version

from bench.child_process import ROOT
from bench.plan import Plan

PACKAGES: Final = (
    "weftwork",
    "apsw",
    "uvicorn",
    "uvloop",
    "httptools",
    "starlette",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "dbos",
    "asyncpg",
    "psycopg",
)
_MEMORY_DISKS = ("tmpfs", "ramfs")
BUSY_LOAD: Final = 0.5
"""Load average from which other work shows in the figures."""


def description(plan: Plan) -> dict[str, Any]:
    """The `meta` of the results."""
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "cpu": cpu_model(Path("/proc/cpuinfo").read_text("utf-8")),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "rounds": plan.rounds,
        "load": round(os.getloadavg()[0], 2),
        "versions": versions(),
    }


def cpu_model(text: str) -> str:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Hardware"):
            return value.strip()
    return platform.machine()


def commit() -> str:
    """The short id of the commit, with a plus if the tree differs from it."""
    try:
        line = ["git", "--no-optional-locks", "describe", "--always", "--exclude=*", "--dirty=+"]
        said = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return said.stdout.strip()


def versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    postgres = distribution_version()
    if postgres is not None:
        found["PostgreSQL"] = _postgres_version(binaries()[postgres] / "postgres")
    return found


def _postgres_version(program: Path) -> str:
    """Like 15.12."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True)
    return said.stdout.split()[2]


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that a folder is on, by the lines of /proc/mounts."""
    best, kind = "", "unknown"
    for line in mounts.splitlines():
        _, where, what, *_ = line.split()
        inside = where == "/" or path == Path(where) or Path(where) in path.parents
        if inside and len(where) >= len(best):
            best, kind = where, what
    return kind


def warnings(folder: Path) -> Iterator[str]:
    """Why the figures may be worth little."""
    kind = file_system(folder.resolve(), Path("/proc/mounts").read_text("utf-8"))
    if kind in _MEMORY_DISKS:
        yield f"{folder} is on a {kind}, where a commit costs nothing: set TMPDIR to a folder on a disk"
    busy = os.getloadavg()[0]
    if busy > BUSY_LOAD:
        yield f"this machine is busy with something else (load {busy:.1f}): every figure suffers"


def allow_sockets(count: int) -> None:
    """Raise the limit of open files, for the bench and all that it starts, as far as that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
