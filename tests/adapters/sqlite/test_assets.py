"""Assets in SQLite: what is stored, what it costs, and that any order of calls agrees with the model."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from tests.adapters.sqlite.test_child_runs import Listening, lonely_life
from tests.adapters.sqlite.test_model import PARTITIONS, RUN_IDS, Pair
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count
from weftwork.adapters.sqlite import assets, transactions
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.ports.storage.assets import AssetCursor, AssetQuery
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey, Status
from weftwork.testing.storage.assets import FAR_FUTURE, add_assets, asset, digest, reference_assets
from weftwork.testing.storage.child_runs import child
from weftwork.testing.storage.harness import ACME, prove
from weftwork.testing.storage.samples import NOW, OTHER, batch, header, make_run

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


@each_case("name", *READS)
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


NAMES = st.sampled_from([f"n{number}" for number in range(6)])
NAMED = st.lists(NAMES, max_size=4).map(lambda names: tuple(map(digest, names)))
INSTANTS = st.integers(NOW, NOW + 6)
STATUSES = st.sampled_from(["running", "running", "completed"])


class Assets(Pair):
    """Runs of two partitions that name assets of either."""

    keys = 0

    def ask(self, method: str, *arguments: Any) -> Any:
        async def asked(store: Any) -> Any:
            try:
                return await getattr(store.assets, method)(*arguments)
            except Exception as error:
                return type(error)

        wanted = self.runner.run(asked(self.model))
        assert self.runner.run(asked(self.store)) == wanted
        return wanted

    @rule(
        partition=PARTITIONS,
        name=NAMES,
        size=st.integers(0, 9),
        made=INSTANTS,
        until=INSTANTS,
        quota=st.sampled_from([0, 0, 12, 30]),
    )
    def keep(self, partition: str, name: str, size: int, made: int, until: int, quota: int) -> None:
        self.keys += 1
        key = f"{name}-{self.keys}"
        self.ask("add", asset(name, partition, key=key, size=size, created_at=made, held_until=until), quota)
        self.ask("known_keys", [f"{name}-{number}" for number in range(1, self.keys + 2)])

    @initialize()
    def begin(self) -> None:
        super().begin()
        for name in ("n0", "n1", "n2"):
            self.keep(ACME, name, 5, NOW, NOW, 0)

    @rule(partition=PARTITIONS, name=NAMES, until=INSTANTS)
    def hold(self, partition: str, name: str, until: int) -> None:
        self.ask("hold", partition, digest(name), until)

    @rule(partition=PARTITIONS, name=NAMES)
    def rekey(self, partition: str, name: str) -> None:
        self.keys += 1
        self.ask("rekey", partition, digest(name), f"{name}-{self.keys}")

    @rule(partition=PARTITIONS, run_id=RUN_IDS, named=NAMED, first=NAMED | st.none())
    def create(self, partition: str, run_id: str, named: Any, first: Any) -> None:
        given = header(run_id, partition, assets=named)
        begun = replace(batch(given.key, -1), assets=first) if first is not None else None
        self.both("create", given, (), None, False, begun)

    @rule(
        partition=PARTITIONS,
        run_id=RUN_IDS,
        named=NAMED,
        status=STATUSES,
        off=st.sampled_from([0, 0, 0, 1]),
        born=st.none() | RUN_IDS,
        inherited=NAMED,
    )
    def append(
        self, partition: str, run_id: str, named: Any, status: Status, off: int, born: str | None, inherited: Any
    ) -> None:
        run = RunKey(partition, run_id)
        log: Any = self.model.log
        found = log._table.runs.get(run)
        at = (found.projection.last_sequence if found is not None else -1) + off
        spawns: Any = ()
        if born is not None and status not in TERMINAL_STATUSES:
            root = found.parent_link.root if found is not None and found.parent_link else run_id
            spawn = child(run, born, root)
            spawns = (replace(spawn, header=replace(spawn.header, assets=inherited)),)
        self.both("append", run, at, replace(batch(run, at, status=status), assets=named, child_creates=spawns))

    @rule(partition=PARTITIONS, run_id=RUN_IDS)
    def delete(self, partition: str, run_id: str) -> None:
        self.both("delete", RunKey(partition, run_id), NOW)
        # In memory all of it goes at once.
        while self.runner.run(self.store.retention.purge()):
            pass

    @rule(now=INSTANTS, limit=st.integers(0, 4))
    def doom(self, now: int, limit: int) -> None:
        self.ask("unreferenced_usage", now)
        self.ask("tombstone_unreferenced", now, limit)

    @rule(count=st.integers(0, 3))
    def bury(self, count: int) -> None:
        self.ask("clear_tombstones", self.ask("tombstones", count))

    @rule(
        partition=PARTITIONS,
        run_id=st.none() | RUN_IDS,
        after=st.none() | st.builds(AssetCursor, INSTANTS, NAMES.map(digest)),
        limit=st.integers(0, 4),
    )
    def page(self, partition: str, run_id: str | None, after: AssetCursor | None, limit: int) -> None:
        self.ask("page", partition, AssetQuery(run_id, after, limit))

    @invariant()
    def stores_agree(self) -> None:
        if hasattr(self, "store"):
            self.ask("tombstones", 100)
            for partition in (ACME, OTHER):
                self.ask("usage", partition)
                for found in self.ask("page", partition, AssetQuery()):
                    self.ask("find", partition, found.asset.sha256)
                for number in range(4):
                    self.ask("page", partition, AssetQuery(f"run-{number}"))


def test_the_stores_agree_on_assets() -> None:
    chosen = settings(
        max_examples=example_count(4, full=240),
        stateful_step_count=40,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(Assets, settings=chosen)


def short_life() -> None:
    """What two runs name is kept, and goes when the last of them is gone."""
    machine = Assets()
    machine.begin()
    try:
        names = (digest("n0"), digest("n1"))
        for run_id in ("run-0", "run-1"):
            machine.create(ACME, run_id, names, names)
            machine.append(ACME, run_id, (*names, digest("n2")), "completed", 0, None, ())
        machine.rekey(ACME, "n1")
        for run_id in ("run-1", "run-0"):
            machine.stores_agree()
            machine.delete(ACME, run_id)
            machine.doom(NOW + 9, 10)
        machine.keep(ACME, "n3", 5, NOW + 1, NOW, 0)
        machine.page(ACME, None, AssetCursor(NOW + 1, digest("n0")), 4)
        machine.stores_agree()
    finally:
        machine.teardown()


@each_case(
    "module, name, without",
    (transactions, "add_references", lambda *_: None),
    (assets, "ADD_REFERENCE", assets.ADD_REFERENCE.replace("SELECT ?, asset_no", "SELECT ? + 100, asset_no")),
    (assets, "UNREFERENCED", assets.UNREFERENCED.replace("refs = 0 AND", "")),
    (assets, "_INSERT_TOMBSTONE", "SELECT ?"),
    (assets, "_DELETE_ASSET", "SELECT ?"),
    (assets, "_REKEY", "SELECT ?, ?"),
    (assets, "NEWEST_NOT_AFTER", assets.NEWEST_NOT_AFTER.replace("<=", "<")),
)
def test_a_short_life_is_the_same_in_both_and_not_without_each_statement(module: Any, name: str, without: Any) -> None:
    fails_without(module, name, without)(short_life)()
