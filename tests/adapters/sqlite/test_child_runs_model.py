"""Whatever runs and their children do, the SQLite store answers like the store in memory."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.sqlite.test_model import Pair
from tests.harness.definitions import example_count
from weftwork.adapters.sqlite import child_runs, transactions
from weftwork.ports.storage.child_runs import PendingChildResult
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.batch import CancelRequest, CascadeCancel, ChildCreate, ChildResult, HiddenValue
from weftwork.protocol.run.header import STATUSES, Parent, RunKey, Status
from weftwork.testing.storage.child_runs import child
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header

STEPS: tuple[Status, ...] = ("running",) * 6 + ("waiting-input", "cancelling", "completed", "cancelled")


class Families(Pair):
    """Runs that start runs, in two partitions with the same names. Chance says who does what, mostly what works."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance

    def found(self) -> list[Any]:
        log: Any = self.model.log
        return [*log._table.runs.values()]

    def some(self, ended: bool = False) -> Any:
        """A run that has ended, or has not, if there is one."""
        fit = [run for run in self.found() if run.has_ended == ended] or self.found()
        return self.chance.choice(fit)

    def seldom(self) -> bool:
        return self.chance.random() < 0.06

    def often(self) -> bool:
        return self.chance.random() < 0.5

    def fresh(self, partition: str, count: int) -> list[str]:
        """Names that are free, the lowest first, so that those of deleted runs are used again."""
        taken = {run.key.run_id for run in self.found() if run.key.partition == partition}
        return [name for name in (f"run-{number}" for number in range(200)) if name not in taken][:count]

    def make(self) -> None:
        partition = self.chance.choice((ACME, OTHER))
        parent = Parent(self.some().key.run_id, "n", "k", "core.dispatch", "run-0") if self.seldom() else None
        self.both("create", header(self.fresh(partition, 1)[0], partition, parent=parent))

    def act(self) -> None:
        known = self.some()
        run, status = known.key, self.chance.choice(STEPS)
        expected = known.projection.last_sequence + self.seldom()
        names = self.fresh(run.partition, self.chance.choice((0, 0, 1, 2)))
        if names and self.seldom():
            names[-1] = run.run_id
        root = known.parent_link.root if known.parent_link else run.run_id
        spawns: list[ChildCreate] = []
        for name in names:
            made = child(run, name, root, awaited=self.often(), cascade=self.often())
            spawns.append(replace(made, hidden=(HiddenValue(-1, "/secret", name.encode()),) if self.often() else ()))
        given = batch(run, expected, 1, status)
        if status == "running":
            given = replace(given, projection=replace(given.projection, parked=self.often()))
        told = ChildResult(run.run_id, "n", name_of(expected), expected + 1, status, b"%d" % expected)
        given = replace(
            given,
            child_creates=tuple(spawns),
            child_result=told if self.often() else None,
            cancel_requests=tuple(
                CancelRequest(self.some().key.run_id, name_of(expected)) for _ in range(self.chance.choice((0, 0, 2)))
            ),
            cascade_cancel=CascadeCancel(name_of(expected), self.often()) if self.chance.random() < 0.2 else None,
        )
        self.both("append", run, expected, given)

    def hear(self) -> None:
        kept: list[PendingChildResult] = self.both("child_results", None, 100)
        if kept:
            one = self.chance.choice(kept)
            told = replace(one.result, sequence=one.result.sequence - self.often())
            self.both(
                "acknowledge_results",
                (PendingChildResult(replace(one.parent, partition=OTHER) if self.seldom() else one.parent, told),),
            )

    def drop(self) -> None:
        self.both("delete", self.some(ended=True).key, NOW)

    def sweep(self) -> None:
        while self.runner.run(self.store.retention.purge()):
            pass
        self.both("sweep", NOW + self.often())

    def walk(self) -> None:
        parent, after, limit = self.some().key, self.chance.choice((None, *self.fresh(ACME, 1), "run-1")), 2
        after = self.some().key.run_id if self.often() else after
        self.both("cancel_requests", None if after is None else RunKey(parent.partition, after), limit)
        self.both("children", parent, after, limit)
        self.both(
            "child_results",
            None if after is None else PendingChildResult(parent, ChildResult(after, "n", "k", 0, "running")),
            limit,
        )
        statuses = tuple(self.chance.sample(STATUSES, 2)) if self.often() else ()
        self.both("list_runs", parent.partition, RunQuery(statuses, parent=parent.run_id, before=after, limit=limit))

    def agree(self) -> None:
        for run in self.found():
            if run.children or run.parent_link is None:
                self.both("children", run.key, None, 100)
                self.both("count_descendants", run.key)
        self.both("child_results", None, 100)
        self.both("cancel_requests", None, 100)

    def live(self, steps: int) -> None:
        self.begin()
        try:
            for partition in (ACME, OTHER):
                self.both("create", header("run-0", partition))
            chances = {
                self.act: 12,
                self.hear: 3,
                self.drop: 3,
                self.walk: 2,
                self.make: 1,
                self.sweep: 1,
                self.restart: 1,
            }
            for step in self.chance.choices([*chances], [*chances.values()], k=steps):
                if not all(run.has_ended for run in self.found()):
                    step()
                else:
                    self.make()
                self.agree()
        finally:
            self.teardown()


def name_of(number: int) -> str:
    return f"at {number}"


def explore(examples: int, steps: int = 60) -> None:
    @settings(max_examples=examples, deadline=None, database=None)
    @given(seed=st.integers(0, 2**32))
    def alike(seed: int) -> None:
        Families(random.Random(seed)).live(steps)

    alike()


def test_the_stores_agree_on_families() -> None:
    explore(8)


@pytest.mark.slow
def test_the_stores_agree_on_families_for_long() -> None:
    explore(example_count(30))


def walk_often(times: int) -> None:
    for seed in range(times):
        Families(random.Random(seed)).live(60)


SABOTAGES: list[tuple[Any, str, Any]] = [
    (transactions, "insert_children", lambda *_: None),
    (child_runs, "MARK_HAS_CHILDREN", "SELECT ?"),
    (child_runs, "DELETE_CHILD", "SELECT ?"),
    (child_runs, "DELETE_RESULTS", "SELECT ?"),
    (child_runs, "_ACKNOWLEDGE_RESULT", child_runs._ACKNOWLEDGE_RESULT.replace("<= ?", ">= 0 * ?")),
    (child_runs, "_PUT_RESULT", child_runs._PUT_RESULT.replace("AND p.completed_at IS NULL", "")),
    (child_runs, "has_pending_result", lambda *_: False),
    (child_runs, "_DELETE_CANCEL_REQUEST", "SELECT ?"),
    (child_runs, "_PUT_CANCEL_REQUEST", child_runs._PUT_CANCEL_REQUEST.replace("AND k.parent_no = ?", "AND ? > 0")),
    (child_runs, "CASCADE_TO_AWAITED", child_runs.CASCADE_TO_CHILDREN),
]


@pytest.mark.parametrize(("module", "name", "without"), SABOTAGES)
def test_a_store_that_loses_child_runs_is_seen(
    module: Any, name: str, without: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage: walks of the same kind tell a store without one of these from the model."""
    monkeypatch.setattr(module, name, without)
    with pytest.raises(AssertionError):
        walk_often(40)
