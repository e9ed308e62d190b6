"""Deleting runs from SQLite, and the references of assets that go with them."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.sqlite.test_child_runs import write_old_store
from tests.harness.cases import present
from weftwork.adapters.sqlite import child_runs, retention, transactions
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.annotations import Annotation
from weftwork.ports.storage.assets import AssetEntry, AssetQuery, AssetUsage, QuotaReached
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.batch import CancelRequest, CascadeCancel, HiddenValue
from weftwork.protocol.run.header import Fork, Parent, RunKey
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage import assets
from weftwork.testing.storage.assets import asset, digest
from weftwork.testing.storage.child_runs import parent_with_children, report_result
from weftwork.testing.storage.harness import ACME, catch, opened, prove, state_of
from weftwork.testing.storage.run_queries import interrupt
from weftwork.testing.storage.samples import NOW, OTHER, batch, header, make_run

EVENTS, ROWS = 3000, 1200
AT_ONCE = {"runs", "run_tags", "kinship"}
"""Tables of whose rows none is left when a run is deleted."""
BEFORE = {"news", "orders"}
"""Tables that have no row of a run that may be deleted."""


async def full_run(store: SqliteStore, run_id: str = "run-a", events: int = EVENTS, rows: int = ROWS) -> RunKey:
    """An ended run with some of everything."""
    parent, fork = Parent("nobody", "n", "k", "core.dispatch", "nobody"), Fork("nobody", 0, "branch")
    made = header(run_id, tags=("t", "u"), parent=parent, fork=fork)
    await store.log.create(made, (HiddenValue(-1, "/x", b"secret"),))
    values = tuple(StateRow("variable", f"v{number}", b"%d" % number) for number in range(rows))
    values += (interrupt("left-open"),)
    hidden = tuple(HiddenValue(number, "/y", b"secret") for number in range(min(events, 700)))
    await store.assets.add(asset())
    last = batch(made.key, -1, events, "completed", values, hidden)
    await store.log.append(made.key, -1, replace(last, assets=(digest("a"),)))
    assert await store.annotations.add(made.key, Annotation("said-1", b"{}"), 10) == "added"
    return made.key


def tables(connection: Any) -> Iterator[tuple[str, set[str]]]:
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        if not name.startswith("sqlite_"):
            yield name, {row[1] for row in connection.execute(f"PRAGMA table_info({name})").fetchall()}


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Any]:
    connection = open_reader(path, None)
    try:
        yield connection
    finally:
        connection.close(True)


def left_of(path: Path, run_no: int) -> dict[str, int]:
    """How many rows of each table carry the number of a run."""
    found: dict[str, int] = {}
    with reading(path) as connection:
        for name, columns in tables(connection):
            where = "run_no = ?" if "run_no" in columns else "id >> 26 = ?" if name == "events" else None
            if where is not None:
                ((count,),) = connection.execute(f"SELECT count(*) FROM {name} WHERE {where}", (run_no,)).fetchall()
                found[name] = count
    return {name: count for name, count in found.items() if count}


def test_every_table_with_rows_of_runs_is_known_to_the_deletion(tmp_path: Path) -> None:
    open_writer(tmp_path / "store.db", None).close(True)
    with reading(tmp_path / "store.db") as connection:
        of_runs = {name for name, columns in tables(connection) if "run_no" in columns or name == "events"}
    assert of_runs == {*retention.RUN_TABLES, *AT_ONCE, *BEFORE, "deleted_runs"}


async def test_nothing_is_left_of_a_deleted_run(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with opened(SqliteStore(path)) as store:
        run = await full_run(store)
        kept = await full_run(store, "run-b", 10, 3)
        before = await state_of(store, kept)
        assert set(left_of(path, 1)) == {*retention.RUN_TABLES, *AT_ONCE}
        assert await store.retention.delete(run, NOW) is True
        left = left_of(path, 1)
        assert AT_ONCE.isdisjoint(left)
        assert left["deleted_runs"] == 1
        assert left["events"] == EVENTS, "only a piece is gone"
        pieces = 0
        while await store.retention.purge():
            pieces += 1
            gone = sum(left.values()) - sum((left := left_of(path, 1)).values())
            assert gone <= retention.PIECE_ROWS
        assert left == {"deleted_runs": 1}
        assert pieces >= (EVENTS + ROWS) / retention.PIECE_ROWS
        await store.retention.forget_deleted(NOW + 1)
        assert left_of(path, 1) == {}
        assert await state_of(store, kept) == before


@pytest.mark.parametrize("table", [name for name in retention.RUN_TABLES if name != "events"])
async def test_a_table_that_is_left_out_is_seen(tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the tests above."""
    others = {name: rows for name, rows in retention.RUN_TABLES.items() if name != table}
    monkeypatch.setattr(retention, "RUN_TABLES", others)
    with pytest.raises(AssertionError):
        test_every_table_with_rows_of_runs_is_known_to_the_deletion(tmp_path)
    with pytest.raises(AssertionError):
        await test_nothing_is_left_of_a_deleted_run(tmp_path)


async def test_no_child_messages_are_left(tmp_path: Path) -> None:
    """Of a family that was told, told again, ordered and cancelled there are no news and no orders when it is over."""
    path = tmp_path / "store.db"
    async with opened(SqliteStore(path)) as store:
        parent, runs = await parent_with_children(store)
        for run in runs:
            await report_result(store, parent, run, -1)
        heard = await report_result(store, parent, runs[0], 0, "completed")
        await store.child_runs.acknowledge_results((heard,))
        order = (CancelRequest(runs[1].run_id, "why"),)
        await store.log.append(parent, 0, replace(batch(parent, 0), cancel_requests=order))
        assert left_of(path, 3).keys() >= {"kinship", *BEFORE}
        last = replace(batch(parent, 1, status="cancelled"), cascade_cancel=CascadeCancel("why"))
        await store.log.append(parent, 1, last)
        for run in runs[1:]:
            await store.log.append(run, 0, batch(run, 0, status="cancelled"))
        for run in (parent, *runs):
            assert await store.retention.delete(run, NOW) is True
        for run_no in range(1, 5):
            assert left_of(path, run_no) == {"deleted_runs": 1}


@pytest.mark.parametrize(
    ("module", "name"),
    [(child_runs, "DELETE_RESULTS"), (child_runs, "_DELETE_CANCEL_REQUEST"), (child_runs, "DELETE_CHILD")],
)
async def test_child_messages_that_are_left_are_seen(
    tmp_path: Path, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage of the test above."""
    monkeypatch.setattr(module, name, "SELECT ?")
    with pytest.raises((AssertionError, StillLive)):
        await test_no_child_messages_are_left(tmp_path)


async def test_a_piece_is_bounded_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    large = retention.PIECE_BYTES // 4
    async with opened(SqliteStore(path)) as store:
        run = await make_run(store)
        last = batch(run, -1, 40, "completed")
        events = tuple(replace(event, payload=b"x" * large) for event in last.events)
        await store.log.append(run, -1, replace(last, events=events))
        await store.retention.delete(run, NOW)
        counts = [left_of(path, 1).get("events", 0)]
        while await store.retention.purge():
            counts.append(left_of(path, 1).get("events", 0))
        assert counts[0] >= 36
        assert all(before - after <= 4 for before, after in pairwise(counts))
        assert counts[-1] == 0


async def test_other_writes_come_between_two_pieces(tmp_path: Path) -> None:
    async def purge(store: SqliteStore) -> None:
        while await store.retention.purge():
            pass

    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        run = await full_run(store, events=20_000)
        other = await make_run(store, "run-b", status="running")
        await store.retention.delete(run, NOW)
        purging = asyncio.ensure_future(purge(store))
        expected = 0
        while not purging.done() and expected < 30:
            assert await store.log.append(other, expected, batch(other, expected)) is None
            expected += 1
        assert not purging.done(), "nobody waited for all of it"
        await purging


KILLED = """
import asyncio, os, signal, sys
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.testing.storage.samples import ACME, NOW
from weftwork.protocol.run.header import RunKey

async def work(path, pieces):
    store = SqliteStore(path)
    await store.open()
    assert await store.retention.delete(RunKey(ACME, "run-a"), NOW) is True
    print("deleted", flush=True)
    for _ in range(pieces):
        assert await store.retention.purge()
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(work(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.rule("run-08")
@pytest.mark.parametrize("pieces", [0, 1, 5])
async def test_a_process_that_is_killed_between_pieces_leaves_no_half_of_a_run(tmp_path: Path, pieces: int) -> None:
    path = tmp_path / "store.db"
    async with opened(SqliteStore(path)) as store:
        await full_run(store)
    line = [sys.executable, "-c", KILLED, str(path), str(pieces)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "deleted\n"), done.stderr
    async with opened(SqliteStore(path)) as store:
        run = RunKey(ACME, "run-a")
        assert await state_of(store, run) == (None, [], [])
        assert await store.annotations.page(run, None, 10, 1000) is None
        fresh = await make_run(store, "run-b")
        assert (await state_of(store, fresh))[1:] == ([], [])
        count = 0
        while await store.retention.purge():
            count += 1
        assert count > 3
        assert left_of(path, 1) == {"deleted_runs": 1}


async def test_a_piece_that_cannot_be_written_is_taken_away_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    async with opened(SqliteStore(path)) as store:
        run = await full_run(store)
        await store.retention.delete(run, NOW)
        before = left_of(path, 1)

        def fail(*_: Any) -> bool:
            real(*_)
            raise OSError("disk")

        real = retention._delete_piece
        monkeypatch.setattr(retention, "_delete_piece", fail)
        with pytest.raises(StoreUnavailable):
            await store.retention.purge()
        monkeypatch.setattr(retention, "_delete_piece", real)
        assert left_of(path, 1) == before
        while await store.retention.purge():
            pass
        assert left_of(path, 1) == {"deleted_runs": 1}


async def test_the_room_of_deleted_runs_is_used_again(tmp_path: Path) -> None:
    """The file does not shrink, and does not grow either while as much is deleted as is added."""
    path = tmp_path / "store.db"
    async with opened(SqliteStore(path)) as store:
        sizes: list[int] = []
        for number in range(4):
            run = await full_run(store, f"run-{number}")
            await store.retention.delete(run, NOW)
            while await store.retention.purge():
                pass
            with reading(path) as connection:
                sizes.append(connection.execute("PRAGMA page_count").fetchall()[0][0])
        assert max(sizes[1:]) <= sizes[0] * 1.1, sizes


COUNTED = """
    SELECT a.asset_no, a.refs, (SELECT count(*) FROM asset_refs r WHERE r.asset_no = a.asset_no) AS wanted
    FROM assets a WHERE a.refs IS NOT wanted
"""
LOST = "SELECT * FROM asset_refs WHERE asset_no NOT IN (SELECT asset_no FROM assets)"
USED = """
    SELECT partition, count, size FROM asset_usage WHERE (count, size) IS NOT
    (SELECT count(*), ifnull(sum(a.size), 0) FROM assets a WHERE a.partition = asset_usage.partition)
"""
UNUSED = "SELECT partition FROM assets WHERE partition NOT IN (SELECT partition FROM asset_usage)"


def check_counts(path: Path) -> None:
    """What is counted in the file is what a count gives."""
    with reading(path) as connection:
        for wrong in (COUNTED, LOST, USED, UNUSED):
            assert connection.execute(wrong).fetchall() == []


def life_in_pieces(path: Path) -> None:
    """References of three runs come, twice, and go by two rows at a time, with what is doomed in between."""
    names = [f"n{number}" for number in range(12)]

    async def check(store: SqliteStore) -> None:
        await assets.add_assets(store, *names)
        await assets.add_assets(store, *names, partition=OTHER)
        runs = [await make_run(store, f"run-{number}") for number in range(3)]
        for number, run in enumerate(runs):
            await assets.reference_assets(store, run, -1, *names[number:])
            await assets.reference_assets(store, run, 0, *names[number:], status="completed")
            check_counts(path)
        for run in runs:
            assert await store.retention.delete(run, NOW) is True
            check_counts(path)
            while await store.retention.purge():
                check_counts(path)
                await store.assets.tombstone_unreferenced(NOW, 1)
                check_counts(path)
        while (await store.assets.tombstone_unreferenced(NOW, 5)).count:
            check_counts(path)
        for partition in (ACME, OTHER):
            assert await store.assets.usage(partition) == assets.NO_USAGE
        assert len(await store.assets.tombstones(100)) == 24

    prove(SqliteStore(path), check)


def test_the_counts_are_right_whatever_comes_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PIECE_ROWS", 2)
    life_in_pieces(tmp_path / "store.db")


@pytest.mark.parametrize("trigger", ["asset_referred", "asset_released", "asset_kept", "asset_dropped"])
def test_a_count_that_is_not_kept_is_seen(tmp_path: Path, trigger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above."""
    monkeypatch.setattr(retention, "PIECE_ROWS", 2)
    path = tmp_path / "store.db"
    connection: Any = open_writer(path, None)
    connection.execute(f"DROP TRIGGER {trigger}")
    connection.close(True)
    with pytest.raises(AssertionError):
        life_in_pieces(path)


@pytest.mark.rule("media-20")
@pytest.mark.parametrize("pieces", [1, 2, 500])
def test_an_asset_stays_until_the_last_run_that_names_it_is_deleted(
    tmp_path: Path, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PIECE_ROWS", pieces)
    for number, check in enumerate(
        (assets.an_asset_that_a_run_names_stays, assets.an_asset_stays_until_the_last_run_is_gone)
    ):
        prove(SqliteStore(tmp_path / f"{number}.db"), check)


def test_an_asset_without_references_is_tombstoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above: the commit of a run without its references."""
    monkeypatch.setattr(transactions, "add_references", lambda *_: None)
    with pytest.raises(AssertionError):
        test_an_asset_stays_until_the_last_run_that_names_it_is_deleted(tmp_path, 2, monkeypatch)


def test_most_runs_let_go_with_their_deletion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(store: SqliteStore) -> None:
        await assets.add_assets(store, "a")
        run = await make_run(store)
        await store.log.append(run, -1, replace(batch(run, -1, 3000, "completed"), assets=(assets.digest("a"),)))
        await store.retention.delete(run, NOW)
        assert await assets.reference_count(store, "a") == 0
        assert await store.retention.purge() is True, "its events are there still"

    prove(SqliteStore(tmp_path / "store.db"), check)
    last = {name: rows for name, rows in retention.RUN_TABLES.items() if name != "asset_refs"}
    last["asset_refs"] = retention.RUN_TABLES["asset_refs"]
    monkeypatch.setattr(retention, "RUN_TABLES", last)
    with pytest.raises(AssertionError):  # The sabotage: what is referred to is looked at last.
        prove(SqliteStore(tmp_path / "another.db"), check)


async def test_the_number_of_an_asset_that_is_given_out_again_carries_nothing(tmp_path: Path) -> None:
    """The newest asset is doomed, and the next one gets its number; nobody refers to that one."""
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        await assets.add_assets(store, "a", "b")
        run = await make_run(store)
        await assets.reference_assets(store, run, -1, "b", status="completed")
        await store.retention.delete(run, NOW)
        assert (await store.assets.tombstone_unreferenced(NOW, 10)).count == 2
        again = assets.asset("c")
        await store.assets.add(again)
        assert await store.assets.page(ACME, AssetQuery()) == [AssetEntry(again, 0)]


async def test_a_full_partition_harms_nobody_else(tmp_path: Path) -> None:
    """Who is refused has written nothing, so the others of that moment are committed with one transaction."""
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        run = await make_run(store)
        refused, done, _ = await asyncio.gather(
            catch(store.assets.add(assets.asset("a"), 9)),
            store.log.append(run, -1, batch(run, -1)),
            store.assets.add(assets.asset("b"), 10),
        )
        assert isinstance(refused, QuotaReached)
        assert done is None
        assert await assets.page_keys(store) == [assets.asset("b").key]


async def test_a_store_of_the_release_before_takes_assets(tmp_path: Path) -> None:
    """Its runs refer to nothing; they may name assets, and everything else goes on."""
    path = tmp_path / "store.db"
    write_old_store(path, 9, -1, ("running", 0, None), ("completed", 0, NOW))
    async with opened(SqliteStore(path)) as store:
        going, ended = RunKey(ACME, "run-1"), RunKey(ACME, "run-2")
        assert (await assets.page_keys(store), await store.assets.usage(ACME)) == ([], assets.NO_USAGE)
        await assets.add_assets(store, "a", "b")
        for run in (going, ended):
            assert await assets.page_keys(store, run_id=run.run_id) == []
            assert present(await store.log.read_run(run)).header.assets == ()
        await assets.reference_assets(store, going, -1, "a")
        assert await store.assets.tombstone_unreferenced(NOW, 10) == AssetUsage(1, 10)
        assert await assets.page_keys(store, run_id=going.run_id) == [assets.asset("a").key]
        assert await store.retention.delete(ended, NOW) is True
        await assets.reference_assets(store, going, 0, status="completed")
        assert await store.retention.delete(going, NOW) is True
        assert await store.assets.tombstone_unreferenced(NOW, 10) == AssetUsage(1, 10)
    check_counts(path)
