"""Whatever is kept, named, deleted and doomed, the SQLite store answers like the store in memory."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from tests.adapters.sqlite.test_model import PARTITIONS, RUN_IDS, Pair
from tests.harness.definitions import example_count
from weftwork.adapters.sqlite import assets, transactions
from weftwork.ports.storage.assets import AssetCursor, AssetQuery
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey, Status
from weftwork.testing.storage.assets import asset, digest
from weftwork.testing.storage.child_runs import child
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header

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


def explore(examples: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(Assets, settings=chosen)


def test_the_stores_agree_on_assets() -> None:
    explore(8)


@pytest.mark.slow
def test_the_stores_agree_on_assets_for_long() -> None:
    explore(example_count(12))


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


def test_a_short_life_is_the_same_in_both() -> None:
    short_life()


@pytest.mark.parametrize(
    ("module", "name", "without"),
    [
        (transactions, "add_references", lambda *_: None),
        (assets, "ADD_REFERENCE", assets.ADD_REFERENCE.replace("SELECT ?, asset_no", "SELECT ? + 100, asset_no")),
        (assets, "UNREFERENCED", assets.UNREFERENCED.replace("refs = 0 AND", "")),
        (assets, "_INSERT_TOMBSTONE", "SELECT ?"),
        (assets, "_DELETE_ASSET", "SELECT ?"),
        (assets, "_REKEY", "SELECT ?, ?"),
        (assets, "NEWEST_NOT_AFTER", assets.NEWEST_NOT_AFTER.replace("<=", "<")),
    ],
)
def test_a_store_that_keeps_other_assets_is_seen(
    module: Any, name: str, without: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage: a store without one of its statements is told from the model."""
    monkeypatch.setattr(module, name, without)
    with pytest.raises(AssertionError):
        short_life()
