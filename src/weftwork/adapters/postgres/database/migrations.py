"""Migrations of the schema: numbered files that only go forward, each in one transaction, all under one advisory lock.

A migration either adds something that earlier releases ignore, or removes something that they no longer use. The table
`meta` has the number of the last migration, and the lowest number that a release must know to use the schema: during a
rolling upgrade, the release before a migration continues to work with it. A migration that every release
must know says so in its first line: `-- needs: 7`.
"""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from typing import Final, NamedTuple

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect, translate
from weftwork.ports.fault_points import fault_point
from weftwork.protocol.errors import HostFault

_HAS_SCHEMA: Final = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL"
_CREATE_SCHEMA: Final = 'CREATE SCHEMA "{schema}"'
_CREATE_META: Final = """
    CREATE TABLE IF NOT EXISTS "{schema}".meta (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL)
"""
_HAS_META: Final = "SELECT to_regclass($1) IS NOT NULL"
_VERSIONS: Final = "SELECT name, convert_from(value, 'UTF8')::integer FROM meta WHERE name IN ('version', 'needs')"
_STAMP: Final = """
    INSERT INTO meta (name, value) VALUES ($1, convert_to($2::integer::text, 'UTF8'))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_NEEDS = re.compile(r"-- needs: (\d+)\n")


class Migration(NamedTuple):
    """One migration. It sets the version of the schema to `number`; releases that do not know `needs` must not use the
    schema afterwards."""

    number: int
    needs: int
    script: str


class SchemaVersion(NamedTuple):
    """The last migration that was applied, and the lowest one that a release must know; 0 for an empty schema."""

    version: int = 0
    needs: int = 0


def load_migrations() -> list[Migration]:
    """The migrations of this release, in order."""
    folder = resources.files("weftwork.adapters.postgres") / "migrations"
    scripts = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    found: list[Migration] = []
    for entry in scripts:
        script = entry.read_text("utf-8")
        stated = _NEEDS.match(script)
        needs = int(stated[1]) if stated else found[-1].needs if found else 1
        found.append(Migration(int(entry.name.partition("_")[0]), needs, script))
    return found


@asynccontextmanager
async def migration_lock(address: StoreAddress) -> AsyncGenerator[PostgresConnection, None]:
    """A session that holds the lock of all migrations; only one process at a time has it. Also for what is created
    once per store: the salt, the first signing key and the first API key."""
    connection = await connect(address, statement_timeout="0", lock_timeout="0", application_name="weftwork migrate")
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", address.lock_key("migrations"))
        yield connection
    finally:
        await disconnect(connection)


async def schema_version(connection: PostgresConnection, address: StoreAddress) -> SchemaVersion:
    """The version of the schema; zeros if nothing was created yet."""
    if not await connection.fetchval(_HAS_META, f'"{address.schema}".meta'):
        return SchemaVersion()
    found: dict[str, int] = dict(await connection.fetch(_VERSIONS))
    return SchemaVersion(found.get("version", 0), found.get("needs", 0))


async def migrate(
    address: StoreAddress, migrations: Sequence[Migration], on_migrated: Callable[[int], None] | None = None
) -> SchemaVersion:
    """Apply the missing migrations in order. Returns the version before. `on_migrated` is called with the number of
    each migration that was applied.

    Raises StoreUnavailable, or HostFault if a newer release has migrated the schema in a way that this one cannot use.
    """
    try:
        async with migration_lock(address) as connection:
            before = await schema_version(connection, address)
            check_version(before, migrations, may_migrate=True)
            if not before.version:
                # CREATE SCHEMA IF NOT EXISTS needs the right to create one, even if an administrator has created it.
                if not await connection.fetchval(_HAS_SCHEMA, address.schema):
                    await connection.execute(_CREATE_SCHEMA.format(schema=address.schema))
                await connection.execute(_CREATE_META.format(schema=address.schema))
            for migration in migrations:
                if migration.number > before.version:
                    await _apply(connection, migration)
                    if on_migrated is not None:
                        on_migrated(migration.number)
            return before
    except Exception as error:
        raise translate(error, False) from error


async def _apply(connection: PostgresConnection, migration: Migration) -> None:
    await connection.execute("BEGIN")
    try:
        await connection.execute(migration.script)
        fault_point("migration.applied")
        await connection.execute(_STAMP, "version", migration.number)
        await connection.execute(_STAMP, "needs", migration.needs)
        fault_point("migration.stamped")
        await connection.execute("COMMIT")
    except BaseException:
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
        raise


def check_version(found: SchemaVersion, migrations: Sequence[Migration], may_migrate: bool) -> None:
    """Raise HostFault if this release cannot use the schema as it is or, with `may_migrate`, could not migrate it."""
    newest = migrations[-1].number
    if found.needs > newest:
        raise HostFault(
            f"the schema has version {found.version} and needs a release that knows version {found.needs}; this "
            f"release knows {newest}: start the release that wrote it, or a newer one"
        )
    if found.version < newest and not may_migrate:
        what = f"has version {found.version}" if found.version else "does not exist"
        raise HostFault(
            f"the schema {what}; this release needs version {newest}: run `weftwork store migrate`, "
            "or start the host with --migrate"
        )
