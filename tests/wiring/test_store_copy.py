"""Copies of SQLite stores to PostgreSQL: complete, verified, restartable, and only into an empty schema."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.harness.cases import each_case
from tests.harness.postgres_place import postgres_server
from tests.harness.postgres_server import new_schema
from tests.histories.replay import RECORDINGS, restore
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect
from weftwork.adapters.postgres.operation import table_copy
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.system.lock_file import LockFile
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.ports.store_copy import TABLES, Digester, UncopiedTable
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunKey
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.data_folder import DATABASE_FILE, LOCK_FILE
from weftwork.wiring.store_copy import TableResult, copy_store, find_database

NOT_COPIED = {
    "meta": {"name", "value"},
    "elections": {"slot", "epoch", "holder", "engine_version"},
    "runs": {"fence", "retry_at", "queue", "touched_at"},
}
"""Columns that belong to one store: its salt is copied as a table of its own, and no executor has taken its runs."""
RECORDING = "schema-12"


def ignore(_table: str, _done: int, _total: int) -> None: ...


@pytest.fixture
def data(tmp_path: Path) -> Path:
    restore(RECORDINGS / RECORDING, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def target(tmp_path: Path) -> Settings:
    return Settings(store=postgres_server().url(), store_schema=new_schema(tmp_path.name))


async def copied(data: Path, target: Settings) -> dict[str, TableResult]:
    return {each.name: each for each in await copy_store(find_database(data), target, ignore)}


@contextlib.asynccontextmanager
async def session(target: Settings) -> AsyncIterator[PostgresConnection]:
    connection = await connect(StoreAddress(target.store, target.store_schema))
    try:
        yield connection
    finally:
        await disconnect(connection)


def count_rows(data: Path, name: str) -> int:
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        return int(str(connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]))


@each_case("recording", *sorted(path.name for path in RECORDINGS.iterdir()))
async def test_every_row_of_every_recording_is_copied(tmp_path: Path, recording: str) -> None:
    data = tmp_path / recording
    restore(RECORDINGS / recording, data)
    target = Settings(store=postgres_server().url(), store_schema=new_schema(recording))
    results = await copied(data, target)
    assert list(results) == [table.name for table in TABLES]
    assert not any(each.was_copied for each in results.values())
    for name in ("runs", "events", "run_state", "hidden", "idempotency", "open_interrupts", "annotations", "assets"):
        assert results[name].rows == count_rows(data, name), name
    assert results["children"].rows == count_rows(data, "kinship")
    assert results["salt"].rows == 1


async def test_both_stores_read_the_same(data: Path, target: Settings) -> None:
    await copied(data, target)
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        keys = [RunKey(*map(str, row)) for row in connection.execute("SELECT partition, run_id FROM runs")]
    stores = SqliteStore(data / DATABASE_FILE), PostgresStore(target.store, target.store_schema)
    for store in stores:
        await store.open()
    try:
        assert len(keys) > 3
        for key in keys:
            one, other = [await store.log.read_run(key) for store in stores]
            assert one == other
            one, other = [await store.log.read(key, -1, 10_000) for store in stores]
            assert one == other
        salts = [await store.keys.salt() for store in stores]
        assert salts[0] == salts[1]
    finally:
        for store in stores:
            await store.close()


async def test_every_column_of_the_schema_is_copied_or_listed(data: Path, target: Settings) -> None:
    await copied(data, target)
    async with session(target) as connection:
        rows = await connection.fetch(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1",
            target.store_schema,
        )
    found = {(name, column) for name, column in rows}
    known = {(table.name, column) for table in TABLES if table.name != "salt" for column in table.columns}
    known |= {(name, column) for name, columns in NOT_COPIED.items() for column in columns}
    assert found == known


async def test_an_interrupted_copy_continues_with_the_missing_tables(
    data: Path, target: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = table_copy.PostgresCopyTarget.write

    async def fail_at_events(self: Any, table: Any, rows: Any) -> Any:
        if table.name == "events":
            raise asyncio.CancelledError
        return await write(self, table, rows)

    monkeypatch.setattr(table_copy.PostgresCopyTarget, "write", fail_at_events)
    with pytest.raises(asyncio.CancelledError):
        await copied(data, target)
    monkeypatch.undo()
    store = PostgresStore(target.store, target.store_schema)
    with pytest.raises(HostFault, match="an unfinished copy of another store; finish it"):
        await store.open()
    results = await copied(data, target)
    done = [name for name, each in results.items() if each.was_copied]
    assert done == [table.name for table in TABLES][: len(done)]
    assert "runs" in done
    assert "events" not in done
    await store.open()
    await store.close()


async def test_a_table_that_has_changed_since_is_copied_again(
    data: Path, target: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(self: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(table_copy.PostgresCopyTarget, "finish", fail)
    with pytest.raises(asyncio.CancelledError):
        await copied(data, target)
    monkeypatch.undo()
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        connection.execute("INSERT INTO definitions (digest, document) VALUES ('sha256:new', x'7b7d')")
    results = await copied(data, target)
    assert [name for name, each in results.items() if not each.was_copied] == ["definitions"]


async def test_a_value_that_the_target_changes_is_noticed(data: Path, target: Settings) -> None:
    await copied(data, target)
    async with session(target) as connection:
        await connection.execute("DELETE FROM meta WHERE name = 'copy'")
        for table in reversed(TABLES):
            if table.name != "salt":
                await connection.execute(f"DELETE FROM {table.name}")
        await connection.execute("""
            CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN NEW.timestamp := NEW.timestamp + 1; RETURN NEW; END $$;
            CREATE TRIGGER change BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.sequence = 1) EXECUTE FUNCTION change()
        """)
    with pytest.raises(UncopiedTable, match="table events: PostgreSQL returns other rows than it was sent"):
        await copied(data, target)
    async with session(target) as connection:
        assert await connection.fetchval("SELECT count(*) FROM events") == 0
        await connection.execute("DROP TRIGGER change ON events")
    assert (await copied(data, target))["events"].rows > 0


async def test_a_text_that_postgres_cannot_store_is_named(data: Path, target: Settings) -> None:
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        connection.execute("UPDATE runs SET workflow_id = 'a' || char(0) || 'b' WHERE run_no = 1")
    with pytest.raises(UncopiedTable, match="table runs: "):
        await copied(data, target)


async def test_new_rows_continue_behind_the_copied_ones(data: Path, target: Settings) -> None:
    await copied(data, target)
    async with session(target) as connection:
        newest = await connection.fetchval("SELECT max(run_no) FROM runs")
        assert await connection.fetchval("SELECT nextval('run_numbers')") > newest
        for table in TABLES:
            if table.number:
                last = await connection.fetchval(f"SELECT coalesce(max({table.number}), 0) FROM {table.name}")
                sequence = await connection.fetchval("SELECT pg_get_serial_sequence($1, $2)", table.name, table.number)
                assert await connection.fetchval("SELECT nextval($1::text::regclass)", sequence) == last + 1


async def test_a_target_with_data_is_refused(data: Path, target: Settings) -> None:
    store = PostgresStore(target.store, target.store_schema, may_migrate=True)
    await store.open()
    await store.definitions.put("sha256:x", b"{}")
    await store.close()
    with pytest.raises(HostFault, match="the schema is not empty: there are rows in definitions"):
        await copied(data, target)


async def test_a_finished_copy_is_not_repeated(data: Path, target: Settings) -> None:
    await copied(data, target)
    with pytest.raises(HostFault, match="already the result of a copy"):
        await copied(data, target)


async def test_a_copy_of_another_store_is_not_continued(
    data: Path, target: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(self: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(table_copy.PostgresCopyTarget, "finish", fail)
    with pytest.raises(asyncio.CancelledError):
        await copied(data, target)
    monkeypatch.undo()
    restore(RECORDINGS / "schema-1", tmp_path / "other")
    with pytest.raises(HostFault, match="an unfinished copy of another store"):
        await copied(tmp_path / "other", target)


async def test_no_host_may_use_either_store(data: Path, target: Settings) -> None:
    lock = LockFile(data / LOCK_FILE)
    lock.acquire()
    with pytest.raises(HostLocked, match="is using"):
        await copied(data, target)
    lock.release()
    store = PostgresStore(target.store, target.store_schema, may_migrate=True)
    await store.open()
    await store.election.take()
    with pytest.raises(HostLocked, match="executes the runs of this store"):
        await copied(data, target)
    await store.close()
    await copied(data, target)


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path, target: Settings) -> None:
    other = tmp_path / "other.db"
    with contextlib.closing(apsw.Connection(str(other))) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    before = other.read_bytes()
    with pytest.raises(HostFault, match="is not a store of weftwork"):
        await copied(other, target)
    assert other.read_bytes() == before


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no store; pass a data folder"):
        find_database(tmp_path)


@each_case(
    "change", lambda rows: rows[1:], lambda rows: [*rows, rows[0]], lambda rows: [("x", *rows[0][1:]), *rows[1:]]
)
def test_the_digest_depends_on_rows_and_not_on_their_order(change: Callable[[list[Any]], list[Any]]) -> None:
    def digest(rows: list[Any]) -> Any:
        digester = Digester()
        assert list(digester.pass_through(rows)) == rows
        return digester.result

    rows = [("a", 1, b"x"), ("a", 1, b"y"), ("b", None, b"")]
    assert digest(rows) == digest(rows[::-1])
    assert digest(rows) != digest(change(rows))
