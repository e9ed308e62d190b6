"""Migrations: once, in order, all or nothing, and with a release before or behind."""

import asyncio
from pathlib import Path

import pytest

from tests.adapters.postgres.stores import main_server, make_store, session
from tests.harness.cases import each_case
from tests.harness.postgres_server import new_schema
from weftwork.adapters.postgres.database import migrations
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.migrations import (
    Migration,
    SchemaVersion,
    check_version,
    load_migrations,
    migrate,
    schema_version,
)
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import HostFault
from weftwork.testing.storage.harness import catch, opened

pytestmark = pytest.mark.slow


def new_address() -> StoreAddress:
    return StoreAddress(main_server().socket_url(), new_schema())


async def version_of(address: StoreAddress) -> SchemaVersion:
    async with session(address) as connection:
        return await schema_version(connection, address)


def test_migrations_are_numbered_without_a_gap() -> None:
    found = load_migrations()
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert all(each.needs <= each.number for each in found)


async def test_a_schema_that_was_not_migrated_is_refused() -> None:
    address = new_address()
    error = await catch(PostgresStore(address.url, address.schema).open())
    assert isinstance(error, HostFault)
    assert "run `weftwork store migrate`" in str(error)
    async with opened(PostgresStore(address.url, address.schema, may_migrate=True)):
        pass
    async with opened(PostgresStore(address.url, address.schema)):
        assert (await version_of(address)).version == load_migrations()[-1].number


async def test_processes_that_migrate_together_migrate_once() -> None:
    address = new_address()
    given = load_migrations()
    before = await asyncio.gather(*(migrate(address, given) for _ in range(4)))
    assert sorted(each.version for each in before) == [0, *[given[-1].number] * 3]


STEPS = [Migration(1, 1, "CREATE TABLE a (x int)"), Migration(2, 1, "CREATE TABLE b (x int)")]


async def test_a_migration_that_fails_leaves_the_one_before() -> None:
    address = new_address()
    broken = [*STEPS, Migration(3, 3, "CREATE TABLE c (x int); SELECT nothing_of_this_name()")]
    assert isinstance(await catch(migrate(address, broken)), HostFault)
    assert await version_of(address) == SchemaVersion(2, 1)
    async with session(address) as connection:
        assert await connection.fetchval("SELECT to_regclass('c') IS NULL")
    await migrate(address, [*STEPS, Migration(3, 3, "CREATE TABLE c (x int)")])
    assert await version_of(address) == SchemaVersion(3, 3)


@each_case("point", "migration.applied", "migration.stamped")
async def test_a_crash_within_a_migration_leaves_the_one_before(point: str) -> None:
    address = new_address()

    def crash(name: str) -> None:
        if name == point:
            raise OSError("crash")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "fault_point", crash)
        assert isinstance(await catch(migrate(address, STEPS)), StoreUnavailable)
    assert await version_of(address) == SchemaVersion(0, 0)
    await migrate(address, STEPS)
    assert await version_of(address) == SchemaVersion(2, 1)


@each_case(
    "found, may_migrate, fits",
    (SchemaVersion(2, 1), False, True),
    (SchemaVersion(3, 1), False, True),
    (SchemaVersion(3, 2), False, True),
    (SchemaVersion(3, 3), False, False),
    (SchemaVersion(3, 3), True, False),
    (SchemaVersion(1, 1), False, False),
    (SchemaVersion(1, 1), True, True),
    (SchemaVersion(0, 0), True, True),
)
def test_a_release_uses_a_newer_schema_that_was_only_extended(
    found: SchemaVersion, may_migrate: bool, fits: bool
) -> None:
    try:
        check_version(found, STEPS, may_migrate)
    except HostFault:
        assert not fits
    else:
        assert fits


async def test_a_newer_schema_stays_as_it_is() -> None:
    address = new_address()
    newer = [*STEPS, Migration(3, 1, "CREATE TABLE c (x int)")]
    await migrate(address, newer)
    assert await migrate(address, STEPS) == SchemaVersion(3, 1)
    assert await version_of(address) == SchemaVersion(3, 1)


async def test_the_store_opens_in_a_schema_of_another_name(tmp_path: Path) -> None:
    schema = new_schema("other_name")
    async with opened(make_store(schema)) as store, session(store.address) as connection:
        found = await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = $1", schema)
        assert found > 20
        assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
