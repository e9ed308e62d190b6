"""The work of a read does not grow with history."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from weftwork.adapters.sqlite import run_queries
from weftwork.adapters.sqlite.database.connection import open_reader
from weftwork.adapters.sqlite.runs import find_run, read_events
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.header import RunKey, Status
from weftwork.testing.storage.samples import ACME, OTHER, batch, make_run

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

READS: dict[str, Callable[[Any], Any]] = {
    **{
        repr(query): lambda connection, query=query: run_queries.list_runs(connection, ACME, query) for query in QUERIES
    },
    "unfinished": lambda connection: run_queries.list_unfinished(connection, None, 50),
    "stored": lambda connection: find_run(connection, RunKey(ACME, "run-200")),
    "read": lambda connection: read_events(connection, RunKey(ACME, "run-200"), -1, 50),
    "stored, long log": lambda connection: find_run(connection, RunKey(OTHER, "long")),
    "read, long log": lambda connection: read_events(connection, RunKey(OTHER, "long"), 250, 20),
}


def fill(path: Path, count: int) -> None:
    async def run() -> None:
        store = SqliteStore(path)
        await store.open()
        try:
            await asyncio.gather(*(one(store, number) for number in range(count)), long_run(store))
        finally:
            await store.close()

    async def long_run(store: SqliteStore) -> None:
        made = await make_run(store, "long", OTHER)
        await store.log.append(made, -1, batch(made, -1, count))

    async def one(store: SqliteStore, number: int) -> None:
        status: Status = ("completed", "failed", "running")[number % 3]
        tags = ("often", "rare") if number == 0 else ("often",)
        await make_run(store, f"run-{number}", status=status, workflow_id=f"flow-{number % 2}", tags=tags)

    asyncio.run(run())


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("stores")
    for count in (FEW, MANY):
        fill(folder / f"{count}.db", count)
    return folder / f"{FEW}.db", folder / f"{MANY}.db"


@pytest.mark.parametrize("name", READS)
def test_the_work_does_not_grow_with_history(stores: tuple[Path, Path], name: str) -> None:
    few, many = (instructions_of(path, READS[name]) for path in stores)
    assert few > 10
    assert many <= few * 1.1


@pytest.mark.parametrize("statement", ["BY_STATUS", "BY_WORKFLOW"])
def test_a_walk_that_cannot_use_its_index_is_seen(
    stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """The sabotage of the test above: a unary plus keeps SQLite from using the column in an index."""
    monkeypatch.setattr(
        run_queries, statement, getattr(run_queries, statement).replace("partition = ?", "+partition = ?")
    )
    query = RunQuery(workflow_id="flow-1" if statement == "BY_WORKFLOW" else None, statuses=("paused",))
    few, many = (
        instructions_of(path, lambda connection: run_queries.list_runs(connection, ACME, query)) for path in stores
    )
    assert many > few * 5


def test_a_walk_along_a_tag_is_bounded(stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be short or empty and still say more; walking on finds everything."""
    monkeypatch.setattr(run_queries, "MAX_CANDIDATES", 50)
    query = RunQuery(tags=("often", "rare"))
    few, many = (
        instructions_of(path, lambda connection: run_queries.list_runs(connection, ACME, query)) for path in stores
    )
    assert many <= few * 1.1
    connection = open_reader(stores[0], None)
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


def test_an_unbounded_walk_is_seen(stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above."""
    monkeypatch.setattr(run_queries, "MAX_CANDIDATES", MANY)
    query = RunQuery(tags=("often", "rare"))
    few, many = (
        instructions_of(path, lambda connection: run_queries.list_runs(connection, ACME, query)) for path in stores
    )
    assert many > few * 5
