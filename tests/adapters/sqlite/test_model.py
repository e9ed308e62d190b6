"""Whatever is done to it, the SQLite store answers like the store in memory."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from tests.harness.definitions import example_count
from tests.harness.engine_harness import RunPorts
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.sqlite import retention, transactions
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.run_queries import InterruptQuery, RunQuery
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, Fork, RunKey
from weftwork.protocol.run.projection import InterruptListing, StateRow
from weftwork.testing.storage.harness import fields_of
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header, record

PARTITIONS = st.sampled_from([ACME, OTHER])
RUN_IDS = st.sampled_from([f"run-{number}" for number in range(4)])
SLOTS = st.none() | st.sampled_from(["slot-1", "slot-2", "slot-3"])
TAGS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple)
SCOPES = st.sampled_from([None, "scope-1", "scope-2"])
WORKFLOWS = st.sampled_from(["greet", "order"])
TIMES = st.integers(NOW, NOW + 5)
FENCES = st.integers(0, 3)
NAMES = st.sampled_from(["x", "y", "é", "\U0001f9f5"])
KINDS = st.sampled_from(["approval", "clarification"])
WAKES = st.none() | TIMES
LISTED = st.none() | st.builds(InterruptListing, KINDS, NAMES, TIMES, WAKES)
ROWS = st.lists(
    st.builds(StateRow, st.sampled_from(["variable", "channel", "node"]), NAMES, st.binary(max_size=4))
    | st.builds(StateRow, st.just("interrupt"), NAMES, st.binary(max_size=4), LISTED),
    max_size=4,
).map(tuple)


class Pair(RuleBasedStateMachine):
    """Every call goes to both stores; both must answer or raise the same."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.model = MemoryStore()
        self.store = SqliteStore(Path(self.folder.name) / "store.db")
        self.runner.run(self.model.open())
        self.runner.run(self.store.open())
        self.time = NOW

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.store.close())
            self.runner.close()
            self.folder.cleanup()

    def both(self, method: str, *arguments: Any) -> Any:
        async def ask(log: Any) -> Any:
            try:
                answer = await getattr(log, method)(*arguments)
            except Exception as error:
                return type(error)
            if method == "timed_runs":
                # The numbers of two stores differ.
                return [replace(each, number=0) for each in answer]
            return fields_of(answer) if method == "read" else answer

        wanted = self.runner.run(ask(RunPorts(self.model)))
        assert self.runner.run(ask(RunPorts(self.store))) == wanted
        return wanted

    def record(self, partition: str, slot: str | None) -> Any:
        if slot is None:
            return None
        self.time += 1
        return record(slot, partition, created_at=self.time, outcome=b"%d" % self.time)

    @rule()
    def restart(self) -> None:
        self.runner.run(self.store.close())
        self.store = SqliteStore(Path(self.folder.name) / "store.db")
        self.runner.run(self.store.open())

    @rule()
    def purge(self) -> None:
        self.runner.run(self.store.retention.purge())


class Twins(Pair):
    """Runs by themselves."""

    @rule(
        partition=PARTITIONS,
        run_id=RUN_IDS,
        slot=SLOTS,
        tags=TAGS,
        scope=SCOPES,
        workflow=WORKFLOWS,
        exclusive=st.booleans(),
        secret=st.booleans(),
        fence=FENCES,
    )
    def create(
        self,
        partition: str,
        run_id: str,
        slot: str | None,
        tags: tuple[str, ...],
        scope: str | None,
        workflow: str,
        exclusive: bool,
        secret: bool,
        fence: int,
    ) -> None:
        given = header(run_id, partition, tags=tags, scope_id=scope, workflow_id=workflow)
        hidden = (HiddenValue(-1, "/secret", run_id.encode()),) if secret else ()
        self.both("create", given, hidden, self.record(partition, slot), exclusive, None, fence)

    @rule(
        partition=PARTITIONS,
        run_id=RUN_IDS,
        off=st.sampled_from([0, 0, 0, 0, -1, 1]),
        count=st.integers(0, 3),
        status=st.sampled_from(STATUSES),
        slot=SLOTS,
        rows=ROWS,
        parked=st.booleans(),
        wake_at=WAKES,
        fence=st.none() | FENCES,
    )
    def append(
        self,
        partition: str,
        run_id: str,
        off: int,
        count: int,
        status: Any,
        slot: str | None,
        rows: Any,
        parked: bool,
        wake_at: int | None,
        fence: int | None,
    ) -> None:
        run = RunKey(partition, run_id)
        log: Any = self.model.log
        known = log._table.runs.get(run)
        expected = max(-1, (known.projection.last_sequence if known else -1) + off)
        hidden = (HiddenValue(expected + 1, "/a", b"1"),) if count else ()
        given = batch(run, expected, count, status, rows, hidden, self.record(partition, slot))
        if status not in TERMINAL_STATUSES:
            given = replace(given, projection=replace(given.projection, parked=parked, wake_at=wake_at))
        self.both("append", run, expected, given, fence)

    @rule(
        partition=PARTITIONS,
        source=RUN_IDS,
        run_id=RUN_IDS,
        from_seq=st.integers(0, 5),
        count=st.integers(0, 2),
        status=st.sampled_from(STATUSES),
        slot=SLOTS,
        rows=ROWS,
    )
    def fork(
        self,
        partition: str,
        source: str,
        run_id: str,
        from_seq: int,
        count: int,
        status: Any,
        slot: str | None,
        rows: Any,
    ) -> None:
        given = header(run_id, partition, fork=Fork(source, from_seq, "branch"))
        hidden = (HiddenValue(from_seq, "/a", b"1"),) if count else ()
        first = batch(given.key, from_seq - 1, count, status, rows, hidden)
        self.both("create_fork", given, first, self.record(partition, slot))

    @rule(partition=PARTITIONS, run_id=RUN_IDS, after=st.none() | RUN_IDS, limit=st.integers(0, 4))
    def list_forks(self, partition: str, run_id: str, after: str | None, limit: int) -> None:
        self.both("forks_of", RunKey(partition, run_id), None if after is None else RunKey(partition, after), limit)

    @rule(partition=PARTITIONS, slot=SLOTS.filter(bool))
    def remember(self, partition: str, slot: str) -> None:
        self.both("save_record", self.record(partition, slot))

    @rule(partition=PARTITIONS, slot=SLOTS.filter(bool), age=st.integers(-3, 3))
    def recall(self, partition: str, slot: str, age: int) -> None:
        self.both("find_record", partition, slot, self.time + age)

    @rule(age=st.integers(-10, 1))
    def sweep(self, age: int) -> None:
        # What is not purged is not forgotten either; the store in memory has nothing to purge.
        while self.runner.run(self.store.retention.purge()):
            pass
        self.both("sweep", self.time + age)

    @rule(partition=PARTITIONS, run_id=RUN_IDS, slot=SLOTS)
    def delete(self, partition: str, run_id: str, slot: str | None) -> None:
        self.both("delete", RunKey(partition, run_id), self.time, self.record(partition, slot))

    @rule(partition=PARTITIONS, after=st.integers(8, 11), limit=st.integers(0, 4))
    def ended(self, partition: str, after: int, limit: int) -> None:
        self.both("runs_ended_before", NOW + after, limit, partition)
        for where in (partition, None):
            self.both("count_ended", NOW + after, where)

    @rule(
        partition=PARTITIONS,
        statuses=st.lists(st.sampled_from(STATUSES), max_size=3).map(tuple),
        workflow=st.none() | WORKFLOWS,
        tags=TAGS,
        before=st.none() | RUN_IDS,
        limit=st.integers(1, 4),
    )
    def list_runs(self, partition: str, **filters: Any) -> None:
        filters["workflow_id"] = filters.pop("workflow")
        self.both("list_runs", partition, RunQuery(**filters))

    @rule(partition=PARTITIONS, run_id=RUN_IDS, fence=FENCES)
    def take(self, partition: str, run_id: str, fence: int) -> None:
        self.both("take", RunKey(partition, run_id), fence)
        self.both("fence_of", RunKey(partition, run_id))

    @rule()
    def elect(self) -> None:
        self.both("elect")

    @rule(partition=PARTITIONS, run_id=RUN_IDS, fence=FENCES, at=TIMES)
    def try_later(self, partition: str, run_id: str, fence: int, at: int) -> None:
        self.both("retry_later", RunKey(partition, run_id), fence, at)

    @rule(fence=FENCES, until=TIMES, limit=st.integers(0, 4))
    def due_for_a_retry(self, fence: int, until: int, limit: int) -> None:
        self.both("due_retries", fence, until, limit)

    @rule(partition=PARTITIONS, run_id=st.none() | RUN_IDS, limit=st.integers(0, 4), fence=FENCES)
    def untaken(self, partition: str, run_id: str | None, limit: int, fence: int) -> None:
        run = None if run_id is None else RunKey(partition, run_id)
        self.both("untaken", fence, run, limit)
        self.both("untaken", fence, None, limit, run, partition)

    @rule(partition=PARTITIONS, run_id=RUN_IDS, fence=FENCES)
    def how_many_untaken(self, partition: str, run_id: str, fence: int) -> None:
        self.both("count_untaken", fence, RunKey(partition, run_id))
        self.both("newest_run")

    @rule(until=TIMES, limit=st.integers(0, 4))
    def due(self, until: int, limit: int) -> None:
        self.both("due_runs", until, limit)

    @rule(
        partition=PARTITIONS,
        kinds=st.lists(KINDS, max_size=2).map(tuple),
        workflow_id=st.none() | WORKFLOWS,
        run_id=st.none() | RUN_IDS,
        node_id=st.none() | NAMES,
        due_before=WAKES,
        limit=st.integers(0, 4),
    )
    def list_interrupts(self, partition: str, **filters: Any) -> None:
        after, pages = None, 0
        while pages == 0 or after is not None:
            after = self.both("list_interrupts", partition, InterruptQuery(**filters, after=after)).last
            pages += 1
            assert pages < 100

    @rule(partition=PARTITIONS, run_id=RUN_IDS, after=st.integers(-3, 6), limit=st.integers(0, 4))
    def read(self, partition: str, run_id: str, after: int, limit: int) -> None:
        run = RunKey(partition, run_id)
        for method, arguments in (("read", (run, after, limit)), ("read_run", (run,)), ("hidden_values", (run,))):
            self.both(method, *arguments)
        for most in (0, 600, 2**20):
            self.both("read_whole", run, most)

    @invariant()
    def listings_agree(self) -> None:
        if hasattr(self, "store"):
            for partition in (ACME, OTHER):
                self.both("list_runs", partition, RunQuery())
                self.both("forks_of", RunKey(partition, "run-0"), None, 10)
                self.both("list_interrupts", partition, InterruptQuery())
            self.both("next_wake")
            self.both("timed_runs", None, 3)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a short run is deleted in several pieces."""
    monkeypatch.setattr(retention, "PIECE_ROWS", 2)


def test_the_stores_agree() -> None:
    chosen = settings(
        max_examples=example_count(5, full=600),
        stateful_step_count=40,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(Twins, settings=chosen)


def test_a_number_that_is_given_out_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of deletion: the next run would get the number of one that is not purged, and what it left."""
    fresh = transactions._INSERT_RUN.replace("FROM deleted_runs", "FROM runs")
    assert fresh != transactions._INSERT_RUN
    monkeypatch.setattr(transactions, "_INSERT_RUN", fresh)
    twins = Twins()
    twins.begin()
    try:
        run = header().key
        twins.both("create", header())
        twins.both("append", run, -1, batch(run, -1, 9, "completed"))
        assert twins.both("delete", run, NOW) is True
        assert twins.both("create", header("run-b")) == RunCreated()
        with pytest.raises(AssertionError):
            twins.both("read", header("run-b").key, -1, 10)
    finally:
        twins.teardown()


def test_a_store_that_answers_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: a store without its check of the sequence is told from the model."""
    twins = Twins()
    twins.begin()
    try:
        assert twins.both("create", header()) == RunCreated()
        monkeypatch.setattr(transactions, "is_sequence_conflict", lambda *_: False)
        with pytest.raises(AssertionError):
            twins.both("append", header().key, 3, batch(header().key, 3))
    finally:
        twins.teardown()
