"""The writer: many callers share a commit, and nobody suffers from anybody else's job."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from itertools import chain
from pathlib import Path
from queue import Empty
from typing import Any

import apsw
import pytest

from tests.harness.cases import fails_without
from weftwork.adapters.sqlite import transactions
from weftwork.adapters.sqlite.database import writer as writer_module
from weftwork.adapters.sqlite.database.worker import SharedQueue, Task
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage.harness import catch, opened
from weftwork.testing.storage.samples import batch, header, make_run


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        yield store


class Gate:
    """Holds the writer inside a job, so that everything submitted meanwhile becomes the next batch."""

    def __init__(self, store: SqliteStore) -> None:
        self._go = threading.Event()
        self._held = store._writer.submit(lambda _: self._go.wait(20))

    async def open(self) -> None:
        self._go.set()
        assert await self._held


async def count_commits(store: SqliteStore) -> list[int]:
    """A list that grows with every commit."""
    commits: list[int] = []

    def committed() -> bool:
        commits.append(1)
        return False

    def listen(connection: Any) -> None:
        connection.set_commit_hook(committed)

    await store._writer.submit(listen)
    return commits


def insert(name: str) -> Callable[[Any], None]:
    return lambda connection: connection.execute("INSERT INTO definitions VALUES (?, x'00')", (name,))


serve = writer_module.SqliteWriter.serve


def one_by_one(writer: Any, tasks: list[Any], settle: Any) -> None:
    for task in tasks:
        serve(writer, [task], settle)


@fails_without(writer_module.SqliteWriter, "serve", one_by_one)
async def test_what_is_queued_is_one_commit(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with opened(SqliteStore(tmp_path_factory.mktemp("store") / "store.db")) as store:
        runs = [await make_run(store, f"run-{number}") for number in range(100)]
        commits = await count_commits(store)
        gate = Gate(store)
        appends = [asyncio.ensure_future(store.log.append(run, -1, batch(run, -1, 4))) for run in runs]
        await asyncio.sleep(0)
        before = len(commits)
        await gate.open()
        assert await asyncio.gather(*appends) == [None] * 100
        # One for the gate, which may be counted already, and one for all hundred.
        assert len(commits) - before <= 2


async def test_a_bad_job_harms_no_other(store: SqliteStore) -> None:
    run = await make_run(store)
    gate = Gate(store)
    jobs = [
        store._writer.submit(insert("first")),
        store._writer.submit(insert("first")),
        store._writer.submit(lambda connection: connection.execute("INSERT INTO nowhere VALUES (1)")),
        store._writer.submit(lambda connection: connection.execute("INSERT INTO keys VALUES (?)", (object(),))),
        asyncio.ensure_future(store.log.append(run, -1, batch(run, -1, 4))),
        store._writer.submit(insert("last")),
    ]
    await asyncio.sleep(0)
    await gate.open()
    ends = await asyncio.gather(*map(catch, jobs))
    assert [type(end) for end in ends] == [type(None), HostFault, HostFault, HostFault, type(None), type(None)]
    assert await store.definitions.get("first") == b"\x00"
    assert await store.definitions.get("last") == b"\x00"
    assert len(await store.log.read(run, -1, 10)) == 4


async def test_what_a_bad_job_or_a_late_refusal_wrote_is_gone(store: SqliteStore) -> None:
    def failing(name: str, error: Exception) -> Callable[[Any], None]:
        def job(connection: Any) -> None:
            insert(name)(connection)
            raise error

        return job

    torn = failing("torn", ValueError("half way"))
    for others in ([], [insert("good")]):
        gate = Gate(store)
        jobs = [store._writer.submit(job) for job in [torn, *others]]
        await gate.open()
        ends = await asyncio.gather(*map(catch, jobs))
        assert [type(end) for end in ends] == [HostFault, *[type(None)] * len(others)]
        assert await store.definitions.get("torn") is None
    assert await store.definitions.get("good") == b"\x00"
    late = failing("late", SequenceConflict("too late to say so"))
    assert isinstance(await catch(store._writer.submit(late)), HostFault)
    assert await store.definitions.get("late") is None


async def test_a_refusal_spoils_no_batch(store: SqliteStore) -> None:
    run = await make_run(store)
    other = await make_run(store, "run-b")
    commits = await count_commits(store)
    gate = Gate(store)
    jobs = [
        asyncio.ensure_future(store.log.append(run, -1, batch(run, -1))),
        asyncio.ensure_future(store.log.append(run, -1, batch(run, -1))),
        asyncio.ensure_future(store.log.create(header("run-b"))),
        asyncio.ensure_future(store.log.append(other, -1, batch(other, -1))),
    ]
    await asyncio.sleep(0)
    before = len(commits)
    await gate.open()
    ends = await asyncio.gather(*map(catch, jobs))
    assert [type(end) for end in ends] == [type(None), SequenceConflict, HostFault, type(None)]
    assert len(commits) - before <= 2


@fails_without(RunHeadCache, "clear", lambda _: None, errors=(SequenceConflict,))
async def test_a_rolled_back_run_is_forgotten(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The writer remembers where runs stand; a batch that did not happen must not stay in its memory."""
    async with opened(SqliteStore(tmp_path_factory.mktemp("store") / "store.db")) as store:
        run = await make_run(store)

        def append_then_fail(connection: Any) -> None:
            transactions.append_batch(connection, heads_of(store), run, -1, batch(run, -1, 3), ())
            raise ValueError("after the append")

        assert isinstance(await catch(store._writer.submit(append_then_fail)), HostFault)
        assert await store.log.append(run, -1, batch(run, -1)) is None


def heads_of(store: SqliteStore) -> RunHeadCache:
    log: Any = store.log
    return log._heads


async def test_heads_are_few_and_ended_runs_leave_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.sqlite.transactions.MAX_CACHED_HEADS", 3)
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        runs = [await make_run(store, f"run-{number}") for number in range(5)]
        kept = heads_of(store)._heads
        assert list(kept) == runs[2:]
        await store.log.append(runs[4], -1, batch(runs[4], -1, status="completed"))
        assert list(kept) == runs[2:4]
        for run in runs[:4]:
            assert await store.log.append(run, -1, batch(run, -1)) is None
        assert len(kept) == 3


async def test_a_cancelled_caller_does_not_cancel_the_write(store: SqliteStore) -> None:
    gate = Gate(store)
    creating = asyncio.ensure_future(store.log.create(header()))
    await asyncio.sleep(0)
    creating.cancel()
    await gate.open()
    with pytest.raises(asyncio.CancelledError):
        await creating
    await make_run(store, "barrier")
    assert await store.log.read_run(header().key) is not None


async def test_closing_finishes_what_is_queued(store: SqliteStore) -> None:
    gate = Gate(store)
    creating = [asyncio.ensure_future(store.log.create(header(f"run-{number}"))) for number in range(700)]
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    await gate.open()
    await closing
    assert await asyncio.gather(*creating) == [RunCreated()] * 700
    await store.close()


@fails_without(writer_module.SqliteWriter, "_checkpoint", lambda _: None, match="st_size")
async def test_the_wal_is_copied_by_the_writer(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("store") / "store.db"
    async with opened(SqliteStore(path)) as store:
        assert await store._writer.submit(lambda connection: connection.pragma("wal_autocheckpoint")) == 0
        run = await make_run(store)
        for expected in range(-1, 60):
            # A value of its own each time: SQLite writes no page that stays as it is.
            rows = (StateRow("variable", "v", b"%06d" % expected * 80_000),)
            await store.log.append(run, expected, batch(run, expected, rows=rows))
        assert Path(f"{path}-wal").stat().st_size < 8 << 20


async def test_a_reader_in_the_way_delays_the_copy_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "CHECKPOINT_PAGES", 8)
    monkeypatch.setattr(writer_module, "MAX_WAL_PAGES", 32)
    async with opened(SqliteStore(tmp_path / "store.db")) as store:
        await store._writer.submit(lambda connection: connection.set_busy_timeout(1))
        run = await make_run(store)
        outsider = apsw.Connection(str(tmp_path / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
        outsider.execute("BEGIN; SELECT count(*) FROM runs")
        for expected in range(-1, 100):
            await store.log.append(run, expected, batch(run, expected))
        grown = (tmp_path / "store.db-wal").stat().st_size
        assert grown > 32 * 4096
        outsider.close(True)
        for expected in range(100, 300):
            await store.log.append(run, expected, batch(run, expected))
        assert (tmp_path / "store.db-wal").stat().st_size <= grown
        assert len(await store.log.read(run, -1, 1000)) == 301


def test_every_entry_of_a_shared_queue_is_taken_by_one_thread() -> None:
    queue, entries = SharedQueue(), 2_000
    taken: list[list[object]] = [[] for _ in range(3)]

    def take(into: list[object]) -> None:
        while (entry := queue.get()) is not None:
            into.append(entry)

    threads = [threading.Thread(target=take, args=(into,), daemon=True) for into in taken]
    for thread in threads:
        thread.start()
    sent: list[list[Task]] = [[] for _ in range(entries)]
    for entry in sent:
        queue.put(entry)
    for _ in threads:
        queue.put(None)
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert sorted(map(id, chain(*taken))) == sorted(map(id, sent))
    with pytest.raises(Empty):
        queue.get_nowait()


def test_an_entry_wakes_one_of_the_threads_that_wait() -> None:
    queue = SharedQueue()
    sleepers = [threading.Lock() for _ in range(2)]
    for each in sleepers:
        each.acquire()
    queue._waiting += sleepers
    queue.put([])
    assert [each.locked() for each in sleepers] == [True, False]
    assert queue.get() == []
    assert sleepers[0].locked()
