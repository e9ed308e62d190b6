"""The file of the store: schema, pragmas, versions, listings."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from tests.harness.cases import each_case
from weftwork.adapters.sqlite import interrupts, ownership, run_queries
from weftwork.adapters.sqlite.database import connection as connection_module
from weftwork.adapters.sqlite.runs import find_run, read_events
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunKey, Status
from weftwork.testing.storage.definitions import register, registration
from weftwork.testing.storage.harness import ACME, opened, prove
from weftwork.testing.storage.samples import OTHER, batch, header, make_run, record


def test_the_name_of_a_new_store_and_what_a_killed_process_left_are_made_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite syncs the folder of the file; the folders above it may have been made just now."""
    synced: list[Path] = []
    monkeypatch.setattr(connection_module, "_sync", synced.append)
    folder = tmp_path / "new" / "data"
    folder.mkdir(parents=True)
    connection_module.open_writer(folder / "store.db", None).close(True)
    assert synced[:2] == [tmp_path / "new", tmp_path]
    synced.clear()
    left = connection_module.open_writer(folder / "store.db", None)
    assert tmp_path not in synced
    # What a killed process left.
    synced.clear()
    connection_module.open_writer(folder / "store.db", None).close(True)
    assert synced == [folder / "store.db-wal", folder]
    left.close(True)


MODULES = [
    import_module(f"weftwork.adapters.sqlite.{name}")
    for name in (
        "annotations assets child_runs definitions forks idempotency interrupts keys ownership run_queries runs "
        "transactions"
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
    connection = connection_module.open_writer(tmp_path / "store.db", None)
    yield connection
    connection.close(True)


def plan(connection: Any, statement: str) -> list[str]:
    bindings = (None,) * statement.count("?")
    rows = connection.execute("EXPLAIN QUERY PLAN " + statement, bindings, can_cache=False)
    return [row[3] for row in rows]


def slow_steps(steps: list[str]) -> list[str]:
    """Steps whose cost grows with the store: scans of a whole table or index, and sorting."""
    return [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


@each_case("name", *statements())
def test_no_statement_scans(connection: Any, name: str) -> None:
    assert slow_steps(plan(connection, statements()[name])) == []


def test_the_interrupts_of_a_run_are_found_by_it_and_sorted(connection: Any) -> None:
    steps = plan(connection, interrupts.page_query(interrupts.IN_RUN, ("o.due < ?",)))
    assert slow_steps(steps) == ["USE TEMP B-TREE FOR ORDER BY"]
    assert "SEARCH o USING PRIMARY KEY (run_no=?)" in steps


def test_the_statements_are_all_there() -> None:
    wanted = """
    run_queries.BY_STATUS run_queries.BY_TAG run_queries.BY_PARENT run_queries.DUE_RUNS ownership.UNTAKEN
    ownership.NEXT_UNTAKEN_FENCE ownership._TAKE ownership._RETRY_LATER
    runs._READ_EVENTS runs._FIND_RUN transactions._UPDATE_ENDED transactions._UPDATE_PARKED transactions._LIVE_IN_SCOPE
    transactions._RUN_ID_IN_USE transactions._FIND_HEAD idempotency._SWEEP keys._DELETE_SIGNING_KEY child_runs.CHILDREN
    child_runs.COUNT_DESCENDANTS child_runs.RESULTS_PAGE child_runs._PUT_RESULT child_runs._ACKNOWLEDGE_RESULT
    child_runs._PUT_CANCEL_REQUEST child_runs.CASCADE_TO_CHILDREN child_runs.CASCADE_TO_AWAITED
    child_runs.CANCEL_REQUESTS_PAGE assets.FIND_ASSET assets.UNREFERENCED assets.UNREFERENCED_USAGE
    assets.RUN_ASSETS_PAGE assets.ADD_REFERENCE assets._COPY_REFERENCES assets.IS_KNOWN_KEY forks.FORKS_PAGE
    forks.COPY_EVENTS forks._EVENT_SIZES forks._FIND_HIDDEN forks._COPY_HIDDEN
    interrupts._INSERT_OPEN interrupts._DELETE_OPEN
    """
    assert set(wanted.split()) - set(statements()) == set()


AFTER = "(requested_at,run_id,interrupt_id)>(?,?,?)"
UNTIL = "(requested_at,run_id,interrupt_id)<(?,?,?)"
INDEXES = {
    "run_queries.BY_STATUS": "runs USING COVERING INDEX runs_by_status (partition=? AND status=? AND run_no<?)",
    "run_queries.BY_WORKFLOW": (
        "runs USING COVERING INDEX runs_by_workflow (partition=? AND workflow_id=? AND status=? AND run_no<?)"
    ),
    "ownership.NEXT_UNTAKEN_FENCE": "runs USING INDEX runs_untaken (fence>? AND fence<?)",
    "ownership.UNTAKEN": "runs USING INDEX runs_untaken (fence=? AND run_no>? AND run_no<?)",
    "ownership.UNTAKEN_IN_PARTITION": "runs USING INDEX runs_untaken (fence=? AND run_no>? AND run_no<?)",
    "ownership.COUNT_UNTAKEN": "runs USING INDEX runs_untaken (fence<?)",
    "ownership.DUE_RETRIES": "runs USING INDEX runs_retried (fence=? AND retry_at>? AND retry_at<?)",
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
    "runs._READ_HIDDEN": "h USING INDEX hidden_by_run (run_no=? AND sequence>? AND sequence<?)",
    "forks.FORKS_PAGE": "f USING COVERING INDEX forks_by_source (partition=? AND source=? AND rowid>?)",
    "forks._FIND_HIDDEN": "hidden USING COVERING INDEX hidden_by_run (run_no=? AND sequence<?)",
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


@each_case("name", *INDEXES)
def test_a_statement_uses_all_of_its_index(connection: Any, name: str) -> None:
    wanted = f"SEARCH {INDEXES[name]}"
    assert wanted in plan(connection, statements()[name])
    # The sabotage: without the index the plan is another one.
    connection.execute("BEGIN")
    connection.execute(f"DROP INDEX {wanted.partition('INDEX ')[2].partition(' ')[0]}")
    without = plan(connection, statements()[name])
    connection.execute("ROLLBACK")
    assert wanted not in without


async def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with opened(SqliteStore(tmp_path / "store.db")) as store:
            await make_run(store)
            assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(before)


def test_the_connections_are_set_up_for_durability(tmp_path: Path, connection: Any) -> None:
    names = ("journal_mode", "synchronous", "wal_autocheckpoint", "mmap_size")
    assert [connection.pragma(name) for name in names] == ["wal", 2, 0, 0]
    # A library with statistics peeks at bound values unless told not to, and then a lookup costs ten times as much.
    assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
    reader = connection_module.open_reader(tmp_path / "store.db", None)
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("INSERT INTO meta VALUES ('a', 1)")
    reader.close(True)


async def test_an_old_library_is_refused_and_a_newer_one_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("3.7.0", "3.40.1", "3.51.2"):
        with pytest.raises(HostFault, match=r"3\.51\.3 or newer"):
            connection_module.check_library(version)
    for version in ("3.51.3", "3.52.0", "3.100.0", "4.0.0"):
        connection_module.check_library(version)
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(HostFault, match=r"SQLite 3\.51\.2"):
        await SqliteStore(tmp_path / "store.db").open()
    assert list(tmp_path.iterdir()) == []


async def test_migrations_have_no_gaps_and_a_store_of_a_newer_release_is_refused(
    tmp_path: Path, connection: Any
) -> None:
    numbers = [migration.number for migration in connection_module.load_migrations()]
    assert numbers == [*range(1, len(numbers) + 1)]
    newest = numbers[-1]
    connection.pragma("user_version", newest + 1)
    with pytest.raises(HostFault, match=f"version {newest + 1}, .* up to {newest}:"):
        await SqliteStore(tmp_path / "store.db").open()


def test_migrations_are_applied_once_and_in_order(tmp_path: Path) -> None:
    connection: Any = apsw.Connection(str(tmp_path / "store.db"))
    first = connection_module.Migration(1, "CREATE TABLE a (x); INSERT INTO a VALUES (1)")
    second = connection_module.Migration(2, "INSERT INTO a VALUES (2)")
    for known in ([first], [first], [first, second], [first, second]):
        connection_module.migrate(connection, known)
    assert connection.execute("SELECT x FROM a").fetchall() == [(1,), (2,)]
    assert connection.pragma("user_version") == 2
    connection.close()


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    connection: Any = apsw.Connection(str(tmp_path / "store.db"))
    first = connection_module.Migration(1, "CREATE TABLE a (x)")
    broken = connection_module.Migration(
        2, "CREATE TABLE b (x); INSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (1)"
    )
    with pytest.raises(apsw.SQLError, match="nowhere"):
        connection_module.migrate(connection, [first, broken])
    assert connection.pragma("user_version") == 1
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
    assert connection.execute("SELECT x FROM a").fetchall() == []
    connection_module.migrate(connection, [first, connection_module.Migration(2, "CREATE TABLE b (x)")])
    connection.close()


async def test_a_store_of_the_first_release_takes_registrations(tmp_path: Path) -> None:
    old: Any = apsw.Connection(str(tmp_path / "store.db"))
    connection_module.migrate(old, connection_module.load_migrations()[:1])
    old.execute("INSERT INTO definitions (digest, document) VALUES ('d', x'7b7d')")
    old.close()
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        assert await store.definitions.get("d") == b"{}"
        await register(store, registration(digest="d"))
        assert await store.definitions.find("acme", "greet") == registration(digest="d")


async def test_a_used_store_is_sound(tmp_path: Path) -> None:
    async with opened(SqliteStore(tmp_path / "store.db")) as store, asyncio.timeout(120):
        runs = [await make_run(store, f"run-{number}", tags=("a", "b")) for number in range(50)]
        appends = [store.log.append(made, -1, batch(made, -1, 3, "completed")) for made in runs]
        await asyncio.gather(*appends, store.records.save_record(record()))
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]
    connection = apsw.Connection(str(tmp_path / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("SELECT count(*) FROM events").fetchall() == [(150,)]
    connection.close()


FEW, MANY = 300, 3000

QUERIES = [
    RunQuery(),
    RunQuery(statuses=("completed", "failed")),
    RunQuery(workflow_id="flow-1"),
    RunQuery(workflow_id="flow-1", statuses=("failed",)),
    RunQuery(statuses=("paused",)),
    RunQuery(tags=("often",)),
    RunQuery(before="run-250"),
]


def lister(query: RunQuery) -> Callable[[Any], Any]:
    return lambda connection: run_queries.list_runs(connection, ACME, query)


READS: dict[str, Callable[[Any], Any]] = {
    **{repr(query): lister(query) for query in QUERIES},
    "untaken": lambda connection: ownership.list_untaken(connection, 9, None, 50),
    "stored": lambda connection: find_run(connection, RunKey(ACME, "run-200")),
    "read": lambda connection: read_events(connection, RunKey(ACME, "run-200"), -1, 50),
    "stored, long log": lambda connection: find_run(connection, RunKey(OTHER, "long")),
    "read, long log": lambda connection: read_events(connection, RunKey(OTHER, "long"), 250, 20),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    async def one(store: SqliteStore, number: int) -> None:
        status: Status = ("completed", "failed", "running")[number % 3]
        tags = ("often", "rare") if number == 0 else ("often",)
        await make_run(store, f"run-{number}", status=status, workflow_id=f"flow-{number % 2}", tags=tags)

    def filled(path: Path, count: int) -> Path:
        async def fill(store: SqliteStore) -> None:
            await asyncio.gather(*(one(store, number) for number in range(count)))
            made = await make_run(store, "long", OTHER)
            await store.log.append(made, -1, batch(made, -1, count))

        prove(SqliteStore(path), fill, 120)
        return path

    folder = tmp_path_factory.mktemp("stores")
    return filled(folder / "few.db", FEW), filled(folder / "many.db", MANY)


@each_case("name", *READS)
def test_the_work_does_not_grow_with_history(stores: tuple[Path, Path], name: str) -> None:
    few, many = (instructions_of(path, READS[name]) for path in stores)
    assert few > 10
    assert many <= few * 1.1


@each_case("statement, workflow_id", ("BY_STATUS", None), ("BY_WORKFLOW", "flow-1"))
def test_a_walk_that_cannot_use_its_index_is_seen(
    stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, statement: str, workflow_id: str | None
) -> None:
    """The sabotage of the test above: a unary plus keeps SQLite from using the column in an index."""
    without = getattr(run_queries, statement).replace("partition = ?", "+partition = ?")
    monkeypatch.setattr(run_queries, statement, without)
    query = RunQuery(workflow_id=workflow_id, statuses=("paused",))
    few, many = list_instructions(stores, query)
    assert many > few * 5


def list_instructions(stores: tuple[Path, Path], query: RunQuery) -> tuple[int, int]:
    """What a page costs in a small store and in a large one."""
    few, many = (instructions_of(path, lister(query)) for path in stores)
    return few, many


def test_a_walk_along_a_tag_is_bounded(stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be short or empty and still say more; walking on finds everything."""
    query = RunQuery(tags=("often", "rare"))
    monkeypatch.setattr(run_queries, "MAX_CANDIDATES", MANY)
    few, many = list_instructions(stores, query)
    assert many > few * 5, "a walk without a bound is seen"
    monkeypatch.setattr(run_queries, "MAX_CANDIDATES", 50)
    few, many = list_instructions(stores, query)
    assert many <= few * 1.1
    connection = connection_module.open_reader(stores[0], None)
    try:
        page = run_queries.list_runs(connection, ACME, query)
        assert (page.runs, page.more) == ((), True)
        found = list(page.runs)
        pages = 1
        while page.more:
            page = run_queries.list_runs(connection, ACME, replace(query, before=page.last))
            found += page.runs
            pages += 1
        assert [run.header.run_id for run in found] == ["run-0"]
        assert FEW / 50 <= pages <= FEW / 50 + 1
    finally:
        connection.close(True)


async def test_events_of_a_store_from_before_trust_are_read_and_followed_by_others(tmp_path: Path) -> None:
    """The old ones say nothing of it and are what they were; new ones do."""
    run = header().key

    async def written(path: Path, after: int, trust: Any) -> list[Any]:
        async with opened(SqliteStore(path)) as store:
            if after < 0:
                await make_run(store)
            given = batch(run, after, 3)
            events = tuple(replace(each, content_trust=trust) for each in given.events)
            await store.log.append(run, after, replace(given, events=events))
            return await store.log.read(run, -1, 100)

    before = await written(tmp_path / "new.db", -1, None)
    old: Any = apsw.Connection(str(tmp_path / "old.db"))
    connection_module.migrate(old, connection_module.load_migrations()[:8])
    old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
    for table in ("runs", "run_headers", "events"):
        columns = ", ".join(name for _, name, *_ in old.execute(f"PRAGMA main.table_info({table})"))
        old.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    old.close()
    after = await written(tmp_path / "old.db", 2, "untrusted")
    assert [each.content_trust for each in after] == [None] * 3 + ["untrusted"] * 3
    assert [each.document for each in after[:3]] == [each.document for each in before]
