"""References on the SQLite file: their counts are right, they go with their run, and stores from before have none."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from weftwork.adapters.sqlite import event_log, retention, transactions
from weftwork.adapters.sqlite.database.connection import load_migrations, migrate, open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.assets import AssetEntry, AssetQuery, AssetUsage, QuotaReached
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage import assets
from weftwork.testing.storage.harness import ACME, NOW, OTHER, batch, catch, header, make_run, prove

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
    connection: Any = open_reader(path, None)
    try:
        for wrong in (COUNTED, LOST, USED, UNUSED):
            assert connection.execute(wrong).fetchall() == []
    finally:
        connection.close(True)


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


def test_the_number_of_an_asset_that_is_given_out_again_carries_nothing(tmp_path: Path) -> None:
    """The newest asset is doomed, and the next one gets its number; nobody refers to that one."""

    async def check(store: SqliteStore) -> None:
        await assets.add_assets(store, "a", "b")
        run = await make_run(store)
        await assets.reference_assets(store, run, -1, "b", status="completed")
        await store.retention.delete(run, NOW)
        assert (await store.assets.tombstone_unreferenced(NOW, 10)).count == 2
        again = assets.asset("c")
        await store.assets.add(again)
        assert await store.assets.page(ACME, AssetQuery()) == [AssetEntry(again, 0)]

    prove(SqliteStore(tmp_path / "store.db"), check)


def test_a_full_partition_harms_nobody_else(tmp_path: Path) -> None:
    """Who is refused has written nothing, so the others of that moment are committed with one transaction."""

    async def check(store: SqliteStore) -> None:
        run = await make_run(store)
        refused, done, _ = await asyncio.gather(
            catch(store.assets.add(assets.asset("a"), 9)),
            store.log.append(run, -1, batch(run, -1)),
            store.assets.add(assets.asset("b"), 10),
        )
        assert isinstance(refused, QuotaReached)
        assert done is None
        assert await assets.page_keys(store) == [assets.asset("b").key]

    prove(SqliteStore(tmp_path / "store.db"), check)


def test_a_store_of_the_release_before_takes_assets(tmp_path: Path) -> None:
    """Its runs refer to nothing; they may name assets, and everything else goes on."""
    path = tmp_path / "store.db"
    old: Any = apsw.Connection(str(path))
    migrate(old, load_migrations()[:9])
    for number, status, completed in ((1, "running", None), (2, "completed", NOW)):
        old.execute(
            """INSERT INTO runs
            (run_no, partition, run_id, workflow_id, status, last_sequence, completed_at, executions)
            VALUES (?, ?, ?, 'greet', ?, -1, ?, 0)""",
            (number, ACME, f"run-{number}", status, completed),
        )
        old.execute(
            "INSERT INTO run_headers VALUES (?, ?)", (number, event_log._encode_header(header(f"run-{number}")))
        )
    old.close()

    async def check(store: SqliteStore) -> None:
        going, ended = RunKey(ACME, "run-1"), RunKey(ACME, "run-2")
        assert (await assets.page_keys(store), await store.assets.usage(ACME)) == ([], assets.NO_USAGE)
        await assets.add_assets(store, "a", "b")
        for run in (going, ended):
            assert await assets.page_keys(store, run_id=run.run_id) == []
            stored = await store.log.read_run(run)
            assert stored is not None
            assert stored.header.assets == ()
        await assets.reference_assets(store, going, -1, "a")
        assert await store.assets.tombstone_unreferenced(NOW, 10) == AssetUsage(1, 10)
        assert await assets.page_keys(store, run_id=going.run_id) == [assets.asset("a").key]
        assert await store.retention.delete(ended, NOW) is True
        await assets.reference_assets(store, going, 0, status="completed")
        assert await store.retention.delete(going, NOW) is True
        assert await store.assets.tombstone_unreferenced(NOW, 10) == AssetUsage(1, 10)

    prove(SqliteStore(path), check)
    check_counts(path)
