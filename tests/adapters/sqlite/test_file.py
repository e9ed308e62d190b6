"""The file: who may read it, which library and which versions may use it, and how statements find their rows."""

import asyncio
import os
import stat
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import apsw
import pytest

from weftwork.adapters.sqlite import interrupts
from weftwork.adapters.sqlite.database import connection as connection_module
from weftwork.adapters.sqlite.database.connection import (
    Migration,
    check_library,
    load_migrations,
    migrate,
    open_reader,
    open_writer,
)
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.protocol.errors import HostFault
from weftwork.testing.storage.definitions import register, registration
from weftwork.testing.storage.samples import batch, make_run, record


def test_the_name_of_a_new_store_is_made_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite syncs the folder of the file; the folders above it may have been made just now."""
    synced: list[Path] = []
    monkeypatch.setattr(connection_module, "_sync", synced.append)
    folder = tmp_path / "new" / "data"
    folder.mkdir(parents=True)
    open_writer(folder / "store.db", None).close(True)
    assert synced[:2] == [tmp_path / "new", tmp_path]
    synced.clear()
    open_writer(folder / "store.db", None).close(True)
    assert tmp_path not in synced


def test_what_a_killed_process_left_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(connection_module, "_sync", synced.append)
    left = open_writer(tmp_path / "store.db", None)
    synced.clear()
    open_writer(tmp_path / "store.db", None).close(True)
    assert synced == [tmp_path / "store.db-wal", tmp_path]
    left.close(True)


MODULES = [
    import_module(f"weftwork.adapters.sqlite.{name}")
    for name in (
        "annotations assets child_runs definitions idempotency interrupts keys run_queries runs transactions"
    ).split()
]


def statements() -> dict[str, str]:
    """Every statement of the store that reads or changes data of runs or records."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, str) and value.split(" ")[0].strip() in ("", "SELECT", "UPDATE", "DELETE", "INSERT"):
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = value
    del found["definitions._COUNT"]  # asked once, at start
    del found["keys._ALL_SIGNING_KEYS"]  # a handful
    del found["keys._ALL_KEYS"]  # read once, at start
    looked_at = ("o.kind IN (?, ?)", "o.node_id = ?", "o.due < ?")
    for name, where in {"": interrupts.IN_PARTITION, " of a workflow": interrupts.IN_WORKFLOW}.items():
        found[f"interrupts.edge{name}"] = interrupts.last_candidate_query(where)
        found[f"interrupts.select{name}"] = interrupts.page_query(where)
        found[f"interrupts.select{name}, filtered"] = interrupts.page_query(where, looked_at, True)
    del found["child_runs._PUT_CASCADE"]  # a template; what is made of it is there
    return {name: text for name, text in found.items() if "_COLUMNS" not in name and not name.endswith("__")}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Any]:
    connection = open_writer(tmp_path / "store.db", None)
    yield connection
    connection.close(True)


def plan(connection: Any, statement: str) -> list[str]:
    bindings = (None,) * statement.count("?")
    rows = connection.execute("EXPLAIN QUERY PLAN " + statement, bindings, can_cache=False)
    return [row[3] for row in rows]


def slow_steps(steps: list[str]) -> list[str]:
    """Steps whose cost grows with the store: scans of a whole table or index, and sorting."""
    return [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


@pytest.mark.parametrize("name", statements())
def test_no_statement_scans(connection: Any, name: str) -> None:
    assert slow_steps(plan(connection, statements()[name])) == []


def test_the_interrupts_of_a_run_are_found_by_it_and_sorted(connection: Any) -> None:
    steps = plan(connection, interrupts.page_query(interrupts.IN_RUN, ("o.due < ?",)))
    assert slow_steps(steps) == ["USE TEMP B-TREE FOR ORDER BY"]
    assert "SEARCH o USING PRIMARY KEY (run_no=?)" in steps


def test_the_statements_are_all_there() -> None:
    names = set(statements())
    assert {
        "run_queries.BY_STATUS",
        "run_queries.BY_TAG",
        "run_queries.UNFINISHED",
        "runs._READ_EVENTS",
        "runs._FIND_RUN",
    } <= names
    assert {
        "transactions._UPDATE_ENDED",
        "transactions._UPDATE_PARKED",
        "transactions._LIVE_IN_SCOPE",
        "idempotency._SWEEP",
    } <= names
    assert {
        "child_runs.CHILDREN",
        "child_runs.COUNT_DESCENDANTS",
        "run_queries.BY_PARENT",
        "child_runs.RESULTS_PAGE",
        "child_runs._PUT_RESULT",
        "child_runs._ACKNOWLEDGE_RESULT",
    } <= names
    assert {
        "child_runs._PUT_CANCEL_REQUEST",
        "child_runs.CASCADE_TO_CHILDREN",
        "child_runs.CASCADE_TO_AWAITED",
        "child_runs.CANCEL_REQUESTS_PAGE",
        "transactions._RUN_ID_IN_USE",
    } <= names
    assert {
        "assets.FIND_ASSET",
        "assets.UNREFERENCED",
        "assets.UNREFERENCED_USAGE",
        "assets.RUN_ASSETS_PAGE",
        "assets.ADD_REFERENCE",
        "assets.IS_KNOWN_KEY",
    } <= names
    assert {
        "transactions._FIND_HEAD",
        "interrupts._INSERT_OPEN",
        "interrupts._DELETE_OPEN",
        "run_queries.DUE_RUNS",
        "keys._DELETE_SIGNING_KEY",
    } <= names


AFTER = "(requested_at,run_id,interrupt_id)>(?,?,?)"
UNTIL = "(requested_at,run_id,interrupt_id)<(?,?,?)"
INDEXES = {
    "run_queries.BY_STATUS": "runs USING COVERING INDEX runs_by_status (partition=? AND status=? AND run_no<?)",
    "run_queries.BY_WORKFLOW": (
        "runs USING COVERING INDEX runs_by_workflow (partition=? AND workflow_id=? AND status=? AND run_no<?)"
    ),
    "run_queries.UNFINISHED": "runs USING INDEX runs_awake (run_no>?)",
    "run_queries.NEXT_WAKE": "runs USING COVERING INDEX runs_waking (wake_at>?)",
    "run_queries.DUE_RUNS": "runs USING INDEX runs_waking (wake_at>? AND wake_at<?)",
    "interrupts.edge": f"o USING COVERING INDEX open_by_age (partition=? AND {AFTER})",
    "interrupts.edge of a workflow": (
        f"o USING COVERING INDEX open_by_workflow (partition=? AND workflow_id=? AND {AFTER})"
    ),
    "interrupts.select": f"o USING COVERING INDEX open_by_age (partition=? AND {AFTER})",
    "interrupts.select, filtered": f"o USING COVERING INDEX open_by_age (partition=? AND {AFTER} AND {UNTIL})",
    "interrupts.select of a workflow": (
        f"o USING COVERING INDEX open_by_workflow (partition=? AND workflow_id=? AND {AFTER})"
    ),
    "interrupts.select of a workflow, filtered": (
        f"o USING COVERING INDEX open_by_workflow (partition=? AND workflow_id=? AND {AFTER} AND {UNTIL})"
    ),
    "transactions._LIVE_IN_SCOPE": "runs USING INDEX runs_live_in_scope (partition=? AND scope_id=?)",
    "idempotency._SWEEP": "idempotency USING COVERING INDEX idempotency_by_age (created_at<?)",
    "definitions._PAGE": "workflows USING INDEX workflows_current (tenant=? AND workflow_id>?)",
    "definitions._FIND_CURRENT": "workflows USING INDEX workflows_current (tenant=? AND workflow_id=?)",
    "definitions._VERSIONS": "workflows USING INDEX workflows_by_age (tenant=? AND workflow_id=?)",
    "child_runs.CHILDREN": "k USING COVERING INDEX kinship_by_parent (parent_no=? AND run_no>?)",
    "child_runs.COUNT_DESCENDANTS": "kinship USING COVERING INDEX kinship_by_root (partition=? AND root=?)",
    "run_queries.BY_PARENT": "k USING COVERING INDEX kinship_by_parent (parent_no=? AND run_no<?)",
    "child_runs.CASCADE_TO_CHILDREN": "k USING COVERING INDEX kinship_by_parent (parent_no=?)",
    "child_runs.CASCADE_TO_AWAITED": "k USING COVERING INDEX kinship_by_parent (parent_no=?)",
    "child_runs.DELETE_RESULTS": "news USING INDEX news_by_parent (parent_no=?)",
    "runs._READ_HIDDEN": "h USING INDEX hidden_by_run (run_no=?)",
    "annotations.COUNT_ANNOTATIONS": "annotations USING COVERING INDEX annotations_by_run (run_no=?)",
    "annotations.FIND_ANNOTATION": "annotations USING INDEX annotations_by_id (run_no=? AND annotation_id=?)",
    "assets.FIND_ASSET": "assets USING INDEX assets_by_digest (partition=? AND sha256=?)",
    "assets.ADD_REFERENCE": "assets USING COVERING INDEX assets_by_digest (partition=? AND sha256=?)",
    "assets.ASSETS_PAGE": "assets USING INDEX assets_by_age (partition=? AND rowid<?)",
    "assets.NEWEST_NOT_AFTER": "assets USING COVERING INDEX assets_by_time (partition=? AND created_at<?)",
    "assets.UNREFERENCED_USAGE": "assets USING COVERING INDEX assets_loose (held_until<?)",
    "assets.UNREFERENCED": "assets USING INDEX assets_loose (held_until<?)",
    "assets.IS_KNOWN_KEY": "assets USING COVERING INDEX assets_by_key (key=?)",
    "annotations.ANNOTATIONS_PAGE": "annotations USING INDEX annotations_by_run (run_no=? AND annotation_no>?)",
}


@pytest.mark.parametrize("name", INDEXES)
def test_a_statement_uses_all_of_its_index(connection: Any, name: str) -> None:
    wanted = f"SEARCH {INDEXES[name]}"
    assert wanted in plan(connection, statements()[name])
    # The sabotage: without the index the plan is another one.
    connection.execute(f"DROP INDEX {wanted.partition('INDEX ')[2].partition(' ')[0]}")
    assert wanted not in plan(connection, statements()[name])


async def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    async def scenario() -> set[int]:
        store = SqliteStore(tmp_path / "store.db")
        await store.open()
        try:
            await make_run(store)
            return {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        finally:
            await store.close()

    before = os.umask(0)
    try:
        assert (await scenario()) == {0o600}
    finally:
        os.umask(before)


def test_the_connections_are_set_up_for_durability(tmp_path: Path, connection: Any) -> None:
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("wal_autocheckpoint") == 0
    assert connection.pragma("mmap_size") == 0
    reader = open_reader(tmp_path / "store.db", None)
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("INSERT INTO meta VALUES ('a', 1)")
    reader.close(True)


def test_values_that_are_bound_do_not_prepare_a_statement_anew(connection: Any) -> None:
    """A library with statistics peeks at values unless told not to, and then a lookup costs ten times as much."""
    assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.51.2"])
def test_an_old_library_is_refused(version: str) -> None:
    with pytest.raises(HostFault, match=r"3\.51\.3 or newer"):
        check_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "3.100.0", "4.0.0"])
def test_a_newer_library_is_fine(version: str) -> None:
    check_library(version)


async def test_an_old_library_is_refused_by_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(HostFault, match=r"SQLite 3\.51\.2"):
        await SqliteStore(tmp_path / "store.db").open()
    assert list(tmp_path.iterdir()) == []


async def test_a_store_of_a_newer_release_is_refused(tmp_path: Path, connection: Any) -> None:
    newest = load_migrations()[-1].number
    connection.pragma("user_version", newest + 1)
    with pytest.raises(HostFault, match=f"version {newest + 1} .* {newest} at most"):
        await SqliteStore(tmp_path / "store.db").open()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in load_migrations()] == list(range(1, len(load_migrations()) + 1))


def test_migrations_are_applied_once_and_in_order(tmp_path: Path) -> None:
    connection: Any = apsw.Connection(str(tmp_path / "store.db"))
    first = Migration(1, "CREATE TABLE a (x); INSERT INTO a VALUES (1)")
    second = Migration(2, "INSERT INTO a VALUES (2)")
    for known in ([first], [first], [first, second], [first, second]):
        migrate(connection, known)
    assert connection.execute("SELECT x FROM a").fetchall() == [(1,), (2,)]
    assert connection.pragma("user_version") == 2
    connection.close()


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    connection: Any = apsw.Connection(str(tmp_path / "store.db"))
    first = Migration(1, "CREATE TABLE a (x)")
    broken = Migration(2, "CREATE TABLE b (x); INSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(apsw.SQLError, match="nowhere"):
        migrate(connection, [first, broken])
    assert connection.pragma("user_version") == 1
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
    assert connection.execute("SELECT x FROM a").fetchall() == []
    migrate(connection, [first, Migration(2, "CREATE TABLE b (x)")])
    connection.close()


async def test_a_store_of_the_first_release_takes_registrations(tmp_path: Path) -> None:
    old: Any = apsw.Connection(str(tmp_path / "store.db"))
    migrate(old, load_migrations()[:1])
    old.execute("INSERT INTO definitions (digest, document) VALUES ('d', x'7b7d')")
    old.close()

    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    try:
        assert await store.definitions.get("d") == b"{}"
        await register(store, registration(digest="d"))
        assert await store.definitions.find("acme", "greet") == registration(digest="d")
    finally:
        await store.close()


async def test_a_used_store_is_sound(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    try:
        async with asyncio.timeout(120):
            runs = [await make_run(store, f"run-{number}", tags=("a", "b")) for number in range(50)]
            appends = [store.log.append(made, -1, batch(made, -1, 3, "completed")) for made in runs]
            await asyncio.gather(*appends, store.records.save_record(record()))
    finally:
        await store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]
    connection = apsw.Connection(str(tmp_path / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("SELECT count(*) FROM events").fetchall() == [(150,)]
    connection.close()
