"""Waiting on the SQLite file: its cost does not grow with who else waits."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from tests.harness.cases import each_case, present
from weftwork.adapters.sqlite import interrupts, ownership, retention, run_queries
from weftwork.adapters.sqlite.database.connection import load_migrations, migrate, open_reader
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import InterruptListing
from weftwork.protocol.timestamps import iso
from weftwork.testing.storage.harness import opened, prove
from weftwork.testing.storage.run_queries import (
    NONE_OPEN,
    append_rows,
    interrupt,
    list_all,
    open_interrupt,
    resolved_interrupt,
)
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, make_run, unfinished

FEW, MANY = 300, 3000
FILTERED = [
    InterruptQuery(kinds=("custom", "nothing")),
    InterruptQuery(node_id="nowhere"),
    InterruptQuery(workflow_id="flow-1", due_before=NOW),
    InterruptQuery(workflow_id="flow-1", kinds=("nothing",)),
]
QUERIES = [
    *FILTERED,
    InterruptQuery(),
    InterruptQuery(limit=20),
    InterruptQuery(after=f'[{NOW + 200},"",""]', limit=20),
    InterruptQuery(workflow_id="flow-1", limit=20),
    InterruptQuery(workflow_id="nobody"),
    InterruptQuery(run_id="run-200"),
    InterruptQuery(run_id="run-200", kinds=("nothing",)),
]


def lister(query: InterruptQuery) -> Callable[[Any], Any]:
    return lambda connection: interrupts.list_interrupts(connection, ACME, query)


READS: dict[str, Callable[[Any], Any]] = {
    **{repr(query): lister(query) for query in QUERIES},
    "untaken": lambda connection: ownership.list_untaken(connection, 9, None, 50),
    "untaken of a tenant": lambda connection: ownership.list_untaken(connection, 9, None, 50, None, ACME),
    "newest": ownership.find_newest,
    "next wake": lambda connection: run_queries.find_next_wake(connection, -1),
    "due": lambda connection: run_queries.list_due(connection, NOW + 2**40, 20),
    "timed": lambda connection: run_queries.list_timed(connection, None, 20),
    "none due": lambda connection: run_queries.list_due(connection, NOW - 1, 20),
}


def fill(path: Path, count: int, one: Callable[[SqliteStore, int], Awaitable[None]]) -> Path:
    async def work(store: SqliteStore) -> None:
        await asyncio.gather(*(one(store, number) for number in range(count)))

    prove(SqliteStore(path), work, 60)
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Few or many runs, all of them parked with an open interrupt but one."""
    folder = tmp_path_factory.mktemp("waiting")

    async def one(store: SqliteStore, number: int) -> None:
        run = await make_run(store, f"run-{number}", workflow_id=f"flow-{number % 2}")
        asked = interrupt("i1", number, ("approval", "clarification")[number % 2], "gate", NOW + number)
        parked = batch(run, -1, 1, "waiting-approval", (asked,))
        wake = replace(parked.projection, parked=number > 0, wake_at=NOW + number)
        await store.log.append(run, -1, replace(parked, projection=wake))

    return fill(folder / "few.db", FEW, one), fill(folder / "many.db", MANY, one)


def assert_seen(stores: tuple[Path, Path], read: Callable[[Any], Any], *guard: Any) -> None:
    """Sabotage: without a bound or an index, the work grows with the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*guard)
        few, many = (instructions_of(path, read) for path in stores)
    assert many > few * 5


@each_case("name", *READS)
def test_the_work_does_not_grow_with_who_waits(
    stores: tuple[Path, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupts, "MAX_CANDIDATES", 50)
    few, many = (instructions_of(path, READS[name]) for path in stores)
    assert few > 5
    assert many <= few * 1.1
    if name in map(repr, FILTERED):
        assert_seen(stores, READS[name], interrupts, "MAX_CANDIDATES", 2 * MANY)


@each_case(
    "module, name, plain, read",
    (interrupts, "IN_PARTITION", "o.partition", repr(InterruptQuery())),
    (interrupts, "IN_WORKFLOW", "o.workflow_id", repr(InterruptQuery(workflow_id="nobody"))),
    (ownership, "UNTAKEN", "parked", "untaken"),
    (run_queries, "NEXT_WAKE", "parked", "next wake"),
    (run_queries, "DUE_RUNS", "parked", "none due"),
)
def test_a_search_without_its_index_is_seen(
    stores: tuple[Path, Path], module: Any, name: str, plain: str, read: str
) -> None:
    """A unary plus keeps SQLite from using the column in an index."""
    assert_seen(stores, READS[read], module, name, getattr(module, name).replace(plain, f"+{plain}", 1))


def test_a_filtered_page_may_be_empty_and_say_more(stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "MAX_CANDIDATES", 40)
    connection = open_reader(stores[0], None)
    query = InterruptQuery(due_before=NOW + 250, node_id="gate", after=f'[{NOW + 5},"",""]')
    found, pages = 0, 0
    try:
        page = InterruptPage((), query.after, True)
        while page.more:
            page = interrupts.list_interrupts(connection, ACME, replace(query, after=page.last))
            found += len(page.interrupts)
            pages += 1
        assert (found, page.last) == (245, None)
        assert (FEW - 5) / 40 <= pages <= (FEW - 5) / 40 + 1
        assert interrupts.list_interrupts(connection, ACME, InterruptQuery(node_id="x")).more
    finally:
        connection.close(True)


async def test_a_page_is_bounded_in_bytes(tmp_path: Path) -> None:
    rows = [replace(interrupt(f"i{number}", number), value=b"%100000d" % number) for number in range(20)]
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        run = await make_run(store)
        await append_rows(store, run, -1, *rows)
        for bound, held in ((250_000, (3, True)), (2**40, (20, False))):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(interrupts, "MAX_PAGE_BYTES", bound)
                page = await store.queries.list_interrupts(ACME, InterruptQuery())
                assert (len(page.interrupts), page.more) == held
                assert await list_all(store) == [open_interrupt(run, row) for row in rows]


PARTS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.just({})
CURSORS = st.text(st.characters(), max_size=20) | st.lists(PARTS, max_size=4).map(json.dumps)


@settings(max_examples=200, deadline=None)
@given(after=CURSORS)
def test_no_cursor_is_an_error(stores: tuple[Path, Path], after: str) -> None:
    connection = open_reader(stores[0], None)
    try:
        page = interrupts.list_interrupts(connection, ACME, InterruptQuery(after=after))
    finally:
        connection.close(True)
    try:
        at, run_id, interrupt_id = json.loads(after)
    except (ValueError, TypeError):
        at = run_id = interrupt_id = None
    if type(at) is int and abs(at) < 2**63 and isinstance(run_id, str) and isinstance(interrupt_id, str):
        assert page == NONE_OPEN or page.interrupts[0].listed.requested_at >= at
    elif not isinstance(at, float):  # 1.0 is an integer to some
        assert page == NONE_OPEN


async def test_a_store_of_the_time_before_goes_on(tmp_path: Path) -> None:
    """Its runs are recovered, those that wait, too, and what they ask is listed."""
    path = tmp_path / "store.db"
    old: Any = apsw.Connection(str(path))
    migrate(old, load_migrations()[:5])
    for number, (status, completed) in enumerate(
        (("waiting-approval", None), ("completed", NOW), ("running", None)), 1
    ):
        old.execute(
            """INSERT INTO runs
            (run_no, partition, run_id, workflow_id, status, last_sequence, completed_at, executions)
            VALUES (?, ?, ?, 'greet', ?, 0, ?, 0)""",
            (number, ACME, f"run-{number}", status, completed),
        )
    was = {"interruptId": "i1", "nodeId": "gate", "kind": "custom", "requestedAt": iso(NOW + 7), "status": "open"}
    for run_no, row in ((1, was), (1, {**was, "interruptId": "i2", "status": "resolved"}), (2, was)):
        old.execute(
            "INSERT INTO run_state VALUES (?, 'interrupt', ?, ?)",
            (run_no, row["interruptId"], json.dumps(row).encode()),
        )
    old.close()
    async with opened(SqliteStore(path)) as store:
        runs = [RunKey(ACME, f"run-{number}") for number in (1, 2, 3)]
        assert await unfinished(store, None, 10) == [runs[0], runs[2]]
        assert (await store.queries.next_wake(), await store.queries.due_runs(2**60, 10)) == (None, [])
        page = await store.queries.list_interrupts(ACME, InterruptQuery())
        assert [(each.run_id, each.workflow_id, each.interrupt_id) for each in page.interrupts] == [
            ("run-1", "greet", "i1")
        ]
        assert page.interrupts[0].listed == InterruptListing("custom", "gate", NOW + 7)
        found = present(await store.log.projection(runs[0]))
        assert (found.parked, found.wake_at) == (False, None)
        touched = batch(runs[0], 0, 1, "waiting-approval", (interrupt("i1"), resolved_interrupt("i2")))
        touched = replace(touched, projection=replace(touched.projection, parked=True, wake_at=NOW))
        assert await store.log.append(runs[0], 0, touched) is None
        assert await list_all(store) == [open_interrupt(runs[0], interrupt("i1"))]
        assert await unfinished(store, None, 10) == [runs[2]]
        assert await store.queries.due_runs(NOW, 10) == [runs[0]]
        assert await store.signing.all() == []


SEARCHES: dict[str, Callable[[Any], Any]] = {
    "of one partition": lambda connection: retention.list_ended(connection, NOW, 20, ACME),
    "of all": lambda connection: retention.list_ended(connection, NOW, 20, None),
    "none of one": lambda connection: retention.list_ended(connection, 0, 20, ACME),
    "count of all": lambda connection: retention.count_ended(connection, NOW, None),
}


@pytest.fixture(scope="module")
def ended_stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Thirty runs that ended before NOW, and few or many that ended later or not at all."""
    folder = tmp_path_factory.mktemp("ended")

    async def one(store: SqliteStore, number: int) -> None:
        run = await make_run(store, f"run-{number}", OTHER if number % 3 == 0 else ACME)
        if number % 5 == 4:
            return
        last = batch(run, -1, status="completed")
        completed = NOW - number if number < 30 else NOW + number
        await store.log.append(run, -1, replace(last, projection=replace(last.projection, completed_at=completed)))

    return fill(folder / "few.db", 200, one), fill(folder / "many.db", 2000, one)


@each_case("name", *SEARCHES)
def test_the_search_for_old_runs_does_not_look_at_others(ended_stores: tuple[Path, Path], name: str) -> None:
    few, many = (instructions_of(path, SEARCHES[name]) for path in ended_stores)
    assert few > 10
    assert many <= few * 1.1
    if name == "of one partition":
        without = retention.ENDED_IN_PARTITION.replace("completed_at < ?", "+completed_at < ?")
        assert_seen(ended_stores, SEARCHES[name], retention, "ENDED_IN_PARTITION", without)
