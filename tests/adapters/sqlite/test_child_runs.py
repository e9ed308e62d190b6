"""Child runs in SQLite: what is stored, what it costs, and that any order of calls agrees with the model."""

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from tests.adapters.sqlite.test_model import Pair
from tests.harness.cases import each_case
from tests.harness.definitions import example_count
from weftwork.adapters.sqlite import child_runs, event_log, run_queries, transactions
from weftwork.adapters.sqlite.database.connection import load_migrations, migrate, open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.sqlite.transactions import RunHead, RunHeadCache
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, CancelRequest, CascadeCancel, ChildCreate, ChildResult, HiddenValue
from weftwork.protocol.run.header import STATUSES, Parent, RunKey, Status
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage.child_runs import child, create_children, parent_with_children, report_result
from weftwork.testing.storage.harness import ACME, catch, opened, prove
from weftwork.testing.storage.samples import NOW, OTHER, batch, header, make_run, unfinished

FEW, MANY = 30, 600
PARENT, CHILD = RunKey(ACME, "run-a"), RunKey(ACME, "run-a-1")
TOLD = PendingChildResult(PARENT, ChildResult(CHILD.run_id, "node-1", CHILD.run_id, 0, "running"))


def writing(run: RunKey, expected: int, given: Batch) -> Callable[[Any], Any]:
    """An append, undone afterwards."""
    children = tuple((each, b"{}") for each in given.child_creates)

    def work(connection: Any) -> Any:
        connection.execute("BEGIN IMMEDIATE")
        assert transactions.append_batch(connection, RunHeadCache(), run, expected, given, children) is None
        changed = connection.total_changes()
        connection.execute("ROLLBACK")
        return changed

    return work


WRITES: dict[str, Callable[[Any], Any]] = {
    "spawn": writing(PARENT, 0, replace(batch(PARENT, 0), child_creates=(child(PARENT, "new"),))),
    "order": writing(PARENT, 0, replace(batch(PARENT, 0), cancel_requests=(CancelRequest(CHILD.run_id, "why"),))),
    "cascade": writing(PARENT, 0, replace(batch(PARENT, 0, status="cancelled"), cascade_cancel=CascadeCancel("why"))),
    "tell": writing(CHILD, 0, replace(batch(CHILD, 0), child_result=TOLD.result)),
    "end of a child": writing(CHILD, 0, batch(CHILD, 0, status="completed")),
    "end of a parent": writing(PARENT, 0, batch(PARENT, 0, status="completed")),
}
READS: dict[str, Callable[[Any], Any]] = {
    "children": lambda connection: child_runs.list_children(connection, PARENT, None, 100),
    "children behind": lambda connection: child_runs.list_children(connection, PARENT, "run-a-0", 2),
    "descendants": lambda connection: child_runs.count_descendants(connection, PARENT),
    "list": lambda connection: run_queries.list_runs(connection, ACME, RunQuery(parent="run-a")),
    "news": lambda connection: child_runs.list_results(connection, None, 10),
    "news behind": lambda connection: child_runs.list_results(connection, TOLD, 10),
    "instructions": lambda connection: child_runs.list_cancel_requests(connection, None, 10),
    "instructions behind": lambda connection: child_runs.list_cancel_requests(connection, CHILD, 10),
    **WRITES,
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One family like another, beside few or many that have as much to say."""
    folder = tmp_path_factory.mktemp("kin")

    async def one(store: SqliteStore, name: str) -> None:
        parent, runs = await parent_with_children(store, name)
        for run in runs:
            await report_result(store, parent, run, -1)
        order = (CancelRequest(runs[0].run_id, "why"),)
        await store.log.append(parent, 0, replace(batch(parent, 0), cancel_requests=order))

    for count in (FEW, MANY):

        async def fill(store: SqliteStore, count: int = count) -> None:
            for half in (range(count // 2), range(count // 2, count)):
                await asyncio.gather(*(one(store, f"beside-{number}") for number in half))
                if half.start == 0:
                    parent, runs = await parent_with_children(store)
                    for run in runs:
                        await report_result(store, parent, run, -1)

        prove(SqliteStore(folder / f"{count}.db"), fill, 60)
    return folder / f"{FEW}.db", folder / f"{MANY}.db"


def steps(path: Path, name: str) -> int:
    return instructions_of(path, READS[name], open_writer if name in WRITES else open_reader)


@each_case("name", *READS)
def test_the_work_does_not_grow_with_other_families(stores: tuple[Path, Path], name: str) -> None:
    few, many = (steps(path, name) for path in stores)
    assert few > 5
    assert many <= few * 1.1


@pytest.mark.parametrize(
    ("module", "name", "plain", "read"),
    [
        (child_runs, "CHILDREN", "k.parent_no", "children"),
        (child_runs, "COUNT_DESCENDANTS", "root", "descendants"),
        (run_queries, "BY_PARENT", "k.parent_no", "list"),
        (child_runs, "RESULTS_PAGE", "n.run_no >", "news behind"),
        (child_runs, "DELETE_RESULTS", "parent_no", "end of a parent"),
        (child_runs, "CANCEL_REQUESTS_PAGE", "o.run_no >", "instructions behind"),
        (child_runs, "_PUT_CANCEL_REQUEST", "c.run_id", "order"),
        (child_runs, "CASCADE_TO_CHILDREN", "k.parent_no", "cascade"),
        (child_runs, "_DELETE_CANCEL_REQUEST", "run_no", "end of a child"),
    ],
)
def test_a_search_without_its_index_is_seen(
    stores: tuple[Path, Path], module: Any, name: str, plain: str, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage of the test above: a unary plus keeps SQLite from using the column in an index."""
    text: str = getattr(module, name)
    monkeypatch.setattr(module, name, text.replace(f" {plain}", f" +{plain}"))
    assert getattr(module, name) != text
    few, many = (steps(path, read) for path in stores)
    assert many > few * 3


class Listening:
    """A connection that keeps what it is asked."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.heard: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, bindings: Any = None) -> Any:
        self.heard.append(statement)
        return self._connection.execute(statement, bindings)

    def executemany(self, statement: str, bindings: Any) -> Any:
        self.heard += [statement] * len(bindings)
        return self._connection.executemany(statement, bindings)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Any]:
    connection = open_writer(tmp_path / "store.db", None)
    yield Listening(connection)
    connection.close(True)


def of_kin(listening: Any) -> list[str]:
    words = ("kinship", "news", "orders", "SET has_children")
    return [each for each in listening.heard if any(word in each for word in words)]


def write_old_store(path: Path, migrations: int, last: int, *runs: tuple[str, int, int | None]) -> None:
    """A store of an earlier release with runs of these statuses, parked or not, and ended or not."""
    old: Any = apsw.Connection(str(path))
    migrate(old, load_migrations()[:migrations])
    for number, (status, parked, completed) in enumerate(runs, 1):
        old.execute(
            """INSERT INTO runs
            (run_no, partition, run_id, workflow_id, status, last_sequence, completed_at, executions, parked)
            VALUES (?, ?, ?, 'greet', ?, ?, ?, 0, ?)""",
            (number, ACME, f"run-{number}", status, last, completed, parked),
        )
        encoded = event_log._encode_header(header(f"run-{number}"))
        old.execute("INSERT INTO run_headers VALUES (?, ?)", (number, encoded))
    old.close()


def lonely_life(listening: Any) -> None:
    """A run that is made, works, is parked and ends, all of it in the memory of the writer and not."""
    given, heads = header(), RunHeadCache()
    transactions.create_run(listening, heads, given, b"{}", (), None, False, None)
    parked = batch(given.key, 0, status="waiting-input", rows=(StateRow("variable", "v", b"1"),))
    parked = replace(parked, projection=replace(parked.projection, parked=True))
    for expected, step in enumerate((batch(given.key, -1), parked, batch(given.key, 1, status="completed")), -1):
        transactions.append_batch(listening, heads, given.key, expected, step, ())


def test_a_run_without_child_runs_queries_none(listening: Any) -> None:
    lonely_life(listening)
    assert len(listening.heard) == 12
    assert of_kin(listening) == []


def test_a_query_for_child_runs_is_seen(listening: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above: runs that are all taken for children and parents."""

    def related(*values: Any) -> RunHead:
        return replace(RunHead(*values), is_child=True, has_children=True)

    monkeypatch.setattr("weftwork.adapters.sqlite.transactions.RunHead", related)
    lonely_life(listening)
    assert len(of_kin(listening)) == 2


@pytest.mark.parametrize("count", [3, 300])
def test_a_cascade_is_one_statement(listening: Any, count: int) -> None:
    heads, parent = RunHeadCache(), header()
    transactions.create_run(listening, heads, parent, b"{}", (), None, False, None)
    spawns = tuple(child(parent.key, f"c-{number}") for number in range(count))
    children = tuple((each, b"{}") for each in spawns)
    first = replace(batch(parent.key, -1), child_creates=spawns)
    transactions.append_batch(listening, heads, parent.key, -1, first, children)
    listening.heard.clear()
    last = replace(batch(parent.key, 0, status="cancelled"), cascade_cancel=CascadeCancel("why"))
    transactions.append_batch(listening, heads, parent.key, 0, last, ())
    assert of_kin(listening) == [child_runs.CASCADE_TO_CHILDREN, child_runs.DELETE_RESULTS]
    assert len(child_runs.list_cancel_requests(listening, None, 1000)) == count


async def test_a_refused_child_harms_nobody_else(tmp_path: Path) -> None:
    """The id is looked at before anything is written, so the others who write at that moment are not held up."""
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        parent, other = await make_run(store), await make_run(store, "run-b")
        good = child(parent, "new")
        for expected, bad in enumerate(((good, child(parent, "run-b")), (good, good)), -1):
            refused, _ = await asyncio.gather(
                catch(store.log.append(parent, -1, replace(batch(parent, -1), child_creates=bad))),
                store.log.append(other, expected, batch(other, expected)),
            )
            assert isinstance(refused, HostFault)
            assert str(refused) == f"the run id {bad[1].header.run_id} is in use"


@pytest.mark.parametrize(
    ("module", "name", "without"),
    [
        (transactions, "check_run_ids_free", lambda *_: None),
        (transactions, "_RUN_ID_IN_USE", "SELECT 1 WHERE ? IS NULL AND ? IS NULL"),
    ],
)
async def test_a_child_that_is_refused_late_is_seen(
    tmp_path: Path, module: Any, name: str, without: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage of the test above."""
    monkeypatch.setattr(module, name, without)
    with pytest.raises(AssertionError, match="after it had written"):
        await test_a_refused_child_harms_nobody_else(tmp_path)


async def test_a_store_of_the_release_before_takes_children(tmp_path: Path) -> None:
    """Its runs have no kin; they may start runs, and everything else goes on."""
    path = tmp_path / "store.db"
    write_old_store(path, 7, 0, ("running", 0, None), ("waiting-approval", 1, None), ("completed", 0, NOW))
    async with opened(SqliteStore(path)) as store:
        runs = [RunKey(ACME, f"run-{number}") for number in (1, 2, 3)]
        assert await unfinished(store, None, 10) == runs[:1]
        for run in runs:
            assert await store.child_runs.children(run, None, 10) == []
            assert await store.child_runs.count_descendants(run) == 0
        assert await store.child_runs.child_results(None, 10) == []
        assert await store.child_runs.cancel_requests(None, 10) == []
        assert await store.retention.delete(runs[2], NOW) is True
        for parent in runs[:2]:
            (born,) = await create_children(store, parent, 0, child(parent, f"child-of-{parent.run_id}"))
            told = await report_result(store, parent, born, -1, "waiting-input")
            assert await store.child_runs.child_results(None, 10) == [told]
            last = replace(batch(parent, 1, status="cancelled"), cascade_cancel=CascadeCancel("why"))
            assert await store.log.append(parent, 1, last) is None
            request = PendingCancelRequest(born, parent.run_id, "why")
            assert await store.child_runs.cancel_requests(None, 10) == [request]
            assert await store.log.append(born, 0, batch(born, 0, status="cancelled")) is None
            assert await store.child_runs.child_results(None, 10) == []
            assert await store.child_runs.cancel_requests(None, 10) == []


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
            parent = replace(one.parent, partition=OTHER) if self.seldom() else one.parent
            self.both("acknowledge_results", (PendingChildResult(parent, told),))

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
        behind = None if after is None else PendingChildResult(parent, ChildResult(after, "n", "k", 0, "running"))
        self.both("child_results", behind, limit)
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
            calls = [self.act, self.hear, self.drop, self.walk, self.make, self.sweep, self.restart]
            for step in self.chance.choices(calls, [12, 3, 3, 2, 1, 1, 1], k=steps):
                if not all(run.has_ended for run in self.found()):
                    step()
                else:
                    self.make()
                self.agree()
        finally:
            self.teardown()


def name_of(number: int) -> str:
    return f"at {number}"


@settings(max_examples=example_count(10, full=600), deadline=None, database=None)
@given(seed=st.integers(0, 2**32))
def test_the_stores_agree_on_families(seed: int) -> None:
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
        [Families(random.Random(seed)).live(60) for seed in range(40)]
