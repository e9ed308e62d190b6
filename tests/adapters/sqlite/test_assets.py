"""Assets on the SQLite file: what they cost does not depend on how many there are, and who names none pays nothing."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from tests.adapters.sqlite.test_child_runs import Listening, lonely_life
from weftwork.adapters.sqlite import assets, transactions
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.ports.storage.assets import AssetCursor, AssetQuery
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.assets import FAR_FUTURE, add_assets, asset, digest, reference_assets
from weftwork.testing.storage.harness import prove
from weftwork.testing.storage.samples import ACME, NOW, batch, header, make_run

FEW, MANY = 30, 900
LONG = RunKey(ACME, "long")


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Any]:
    connection = open_writer(tmp_path / "store.db", None)
    yield Listening(connection)
    connection.close(True)


def of_assets(listening: Any) -> list[str]:
    return [each for each in listening.heard if "asset" in each]


def test_a_run_that_names_no_asset_asks_nothing_about_them(listening: Any) -> None:
    lonely_life(listening)
    assert len(listening.heard) == 12
    assert of_assets(listening) == []


def test_a_question_about_assets_is_seen(listening: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above: references that are always looked for."""
    insert = transactions.insert_batch

    def always(connection: Any, run_no: int, given: Any) -> None:
        insert(connection, run_no, given)
        assets.add_references(connection, run_no, ACME, (*given.assets, digest("a")))

    monkeypatch.setattr(transactions, "insert_batch", always)
    lonely_life(listening)
    assert len(of_assets(listening)) == 3


def test_each_asset_that_is_named_is_one_statement(listening: Any) -> None:
    given, heads = header(assets=(digest("a"), digest("b"))), RunHeadCache()
    transactions.create_run(listening, heads, given, b"{}", (), None, False, None)
    assert of_assets(listening) == [assets.ADD_REFERENCE] * 2
    listening.heard.clear()
    named = replace(batch(given.key, -1, 3), assets=(digest("a"),))
    transactions.append_batch(listening, heads, given.key, -1, named, ())
    assert of_assets(listening) == [assets.ADD_REFERENCE]


def writing(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A write, undone afterwards."""

    def undone(connection: Any) -> Any:
        connection.execute("BEGIN IMMEDIATE")
        answer = work(connection)
        assert connection.total_changes() > 0
        connection.execute("ROLLBACK")
        return answer if answer is not None else True

    return undone


def named(connection: Any) -> None:
    given = replace(batch(LONG, 0), assets=(digest("long-1"), digest("loose-1")))
    transactions.append_batch(connection, RunHeadCache(), LONG, 0, given, ())


GONE = AssetCursor(NOW, digest("nobody"))
KEYS = (asset("live-3").key, asset("gone-1").key, "nobody")
WRITES: dict[str, Callable[[Any], Any]] = {
    "keep": writing(lambda connection: assets._add(connection, asset("new"), 10**9)),
    "keep again": writing(lambda connection: assets._add(connection, asset("live-1", held_until=FAR_FUTURE), 10**9)),
    "hold": writing(lambda connection: assets._hold(connection, ACME, digest("live-1"), FAR_FUTURE)),
    "rekey": writing(lambda connection: assets._rekey(connection, ACME, digest("live-1"), "new")),
    "doom": writing(lambda connection: assets._tombstone_unreferenced(connection, NOW, 5)),
    "bury": writing(lambda connection: assets._clear_tombstones(connection, KEYS)),
    "refer": writing(named),
}
READS: dict[str, Callable[[Any], Any]] = {
    "find": lambda connection: assets._find(connection, ACME, digest("common")),
    "page": lambda connection: assets._page(connection, ACME, AssetQuery(limit=10)),
    "page behind": lambda connection: assets._page(connection, ACME, AssetQuery(after=asset("long-9").cursor, limit=5)),
    "page behind what is gone": lambda connection: assets._page(connection, ACME, AssetQuery(after=GONE, limit=5)),
    "page behind all": lambda connection: assets._page(connection, ACME, AssetQuery(after=replace(GONE, created_at=0))),
    "page of a run": lambda connection: assets._page(connection, ACME, AssetQuery("long", limit=5)),
    "usage": lambda connection: assets._usage(connection, ACME),
    "idle": lambda connection: assets._unreferenced_usage(connection, NOW),
    "nothing to doom": lambda connection: assets._unreferenced(connection, NOW - 1, 10),
    "doomed": lambda connection: assets._tombstones(connection, 2),
    "known": lambda connection: assets._known_keys(connection, KEYS),
    **WRITES,
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run like another, beside few or many that refer to assets of their own and to one that all of them name.

    Few or many are held, and ten can go.
    """
    folder = tmp_path_factory.mktemp("assets")

    async def one(store: SqliteStore, number: int) -> None:
        await add_assets(store, f"live-{number}")
        run = await make_run(store, f"run-{number}")
        await reference_assets(store, run, -1, f"live-{number}", "common")
        await store.assets.add(asset(f"held-{number}", held_until=FAR_FUTURE))

    for count in (FEW, MANY):

        async def fill(store: SqliteStore, count: int = count) -> None:
            await add_assets(store, *(f"gone-{number}" for number in range(count)))
            while (await store.assets.tombstone_unreferenced(NOW, 500)).count:
                pass
            await add_assets(store, "common")
            run = await make_run(store, "common")
            await reference_assets(store, run, -1, "common")
            await asyncio.gather(*(one(store, number) for number in range(count // 2)))
            await make_run(store, "long")
            names = [f"long-{number}" for number in range(20)]
            await add_assets(store, *names)
            await reference_assets(store, LONG, -1, *names, "common")
            await asyncio.gather(*(one(store, number) for number in range(count // 2, count)))
            await add_assets(store, *(f"loose-{number}" for number in range(10)))

        prove(SqliteStore(folder / f"{count}.db"), fill, 60)
    return folder / f"{FEW}.db", folder / f"{MANY}.db"


def steps(path: Path, name: str) -> int:
    return instructions_of(path, READS[name], open_writer if name in WRITES else open_reader)


@pytest.mark.parametrize("name", READS)
def test_the_work_does_not_grow_with_other_assets(stores: tuple[Path, Path], name: str) -> None:
    few, many = (steps(path, name) for path in stores)
    assert few > 5
    assert many <= few * 1.1


@pytest.mark.parametrize(
    ("name", "plain", "read"),
    [
        ("FIND_ASSET", "sha256 = ?", "find"),
        ("FIND_ASSET", "sha256 = ?", "keep"),
        ("ASSETS_PAGE", "asset_no <", "page behind"),
        ("FIND_ASSET", "sha256 = ?", "rekey"),
        ("_REKEY", "asset_no =", "rekey"),
        ("NEWEST_NOT_AFTER", "created_at <=", "page behind all"),
        ("RUN_ASSETS_PAGE", "r.run_no =", "page of a run"),
        ("_USAGE", "partition =", "usage of many"),
        ("UNREFERENCED", "refs =", "doom"),
        ("UNREFERENCED", "refs =", "nothing to doom"),
        ("UNREFERENCED_USAGE", "refs =", "idle"),
        ("UNREFERENCED", "held_until <=", "nothing to doom"),
        ("IS_KNOWN_KEY", "key =", "known"),
        ("_DELETE_TOMBSTONE", "key =", "bury"),
        ("ADD_REFERENCE", "sha256 =", "refer"),
        ("TOMBSTONES", "doom_no LIMIT", "doomed"),
    ],
)
def test_a_search_without_its_index_is_seen(
    stores: tuple[Path, Path], name: str, plain: str, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage of the test above: a unary plus keeps SQLite from using the column in an index."""
    text: str = getattr(assets, name)
    monkeypatch.setattr(assets, name, text.replace(f" {plain}", f" +{plain}"))
    assert getattr(assets, name) != text
    if read == "usage of many":
        # There are two partitions only; what a sum would cost is to be seen.
        monkeypatch.setattr(assets, "_USAGE", "SELECT count(*), sum(size) FROM assets WHERE partition = ?")
        read = "usage"
    few, many = (steps(path, read) for path in stores)
    assert many > few * 2
