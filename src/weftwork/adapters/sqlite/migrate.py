"""Numbered, forward-only migrations: `migrations/NNNN_name.sql`, one transaction each."""

from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from weftwork.adapters.sqlite.driver import Connection
from weftwork.ports.faults import point
from weftwork.protocol.errors import HostFault


class Migration(NamedTuple):
    """One step. A store whose user_version is `number` has had it."""

    number: int
    script: str


def shipped() -> list[Migration]:
    """The migrations of this release, in order."""
    folder = resources.files("weftwork.adapters.sqlite") / "migrations"
    scripts = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [Migration(int(entry.name.partition("_")[0]), entry.read_text("utf-8")) for entry in scripts]


def migrate(connection: Connection, migrations: Sequence[Migration]) -> None:
    """Bring the store up to date. A step that was cut short has left nothing and is done again.

    Raises HostFault when a newer release has written the store.
    """
    newest = migrations[-1].number
    found = _version(connection)
    if found > newest:
        raise HostFault(
            f"the store has version {found} and this release knows {newest} at most: "
            "start the release that wrote it, or a newer one"
        )
    for migration in migrations:
        if migration.number > found:
            _apply(connection, migration)


def _apply(connection: Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again under the lock: somebody else may have been faster.
        if _version(connection) < migration.number:
            connection.execute(migration.script)
            point("migration.applied")
            connection.pragma("user_version", migration.number)
            point("migration.stamped")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: Connection) -> int:
    return int(connection.pragma("user_version"))
