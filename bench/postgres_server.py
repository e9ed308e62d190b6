"""The PostgreSQL server that the bench starts: that of the distribution, with its data on the disk of the bench."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.harness.postgres_server import LEFT_OUT, PostgresServer, distribution_version, server_user

SETTINGS: Final = {"shared_buffers": "128MB", "autovacuum_naptime": "1min", "deadlock_timeout": "1s"}
"""The defaults of PostgreSQL, where those of the tests differ. fsync and synchronous_commit are on."""


def missing(folder: Path) -> str | None:
    """Why no server can be started with its data in this folder; None if it can."""
    if distribution_version() is None:
        return LEFT_OUT
    closed = next((each for each in (folder, *folder.parents) if not each.stat().st_mode & 0o1), None)
    if server_user() and closed is not None:
        return f"PostgreSQL does not run as root, and other users may not enter {closed}: set TMPDIR to another folder"
    return None


@contextmanager
def started_server(folder: Path) -> Generator[PostgresServer, None, None]:
    """A server with its data in this folder. See `missing`."""
    version = distribution_version()
    assert version is not None
    with PostgresServer(version, folder, SETTINGS) as server:
        yield server
