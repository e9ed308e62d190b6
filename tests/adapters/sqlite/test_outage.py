"""A disk that fails: callers hear StoreUnavailable, nothing is half written, and the store comes back by itself."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import apsw
import pytest

from tests.harness.cases import each_case, fails_without
from tests.power.recording_disk import QUICK_FOLDER, RecordingDisk, open_disk
from weftwork.adapters.sqlite.database import connection as connection_module
from weftwork.adapters.sqlite.database import writer as writer_module
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.event_log import RunCreated, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage.harness import ACME, catch, opened, prove, state_of
from weftwork.testing.storage.samples import NOW, batch, header, make_run, record

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
KEY = ApiKeyRow("key-1", b"digest", "acme", "live", ("runs:read",), "", NOW)

OUTSIDER = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("SELECT count(*) FROM runs").fetchall()
store.close()
"""


@pytest.fixture
def disk() -> Iterator[RecordingDisk]:
    with open_disk() as disk:
        yield disk


def open_store(path: Path, disk: RecordingDisk | None = None) -> AbstractAsyncContextManager[SqliteStore]:
    return opened(SqliteStore(path, disk and disk.vfs))


async def refused(call: Awaitable[object]) -> bool:
    return isinstance(await catch(call), StoreUnavailable)


@pytest.mark.parametrize("operation", ["sync", "write"])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
@pytest.mark.parametrize("late", [False, True])
async def test_a_failed_commit_leaves_nothing(
    tmp_path: Path, disk: RecordingDisk, operation: str, error: type[Exception], late: bool
) -> None:
    async with open_store(tmp_path / "store.db", disk) as store:
        run = await make_run(store)
        await store.log.append(run, -1, batch(run, -1))
        before = await state_of(store, run)
        disk.broken, disk.error, disk.fails_after_writing = {operation}, error, late
        given = batch(run, 0, 3, rows=(StateRow("node", "n", b"1"),), record=record())
        assert await refused(store.log.append(run, 0, given))
        assert await refused(store.log.create(header("run-b")))
        assert await refused(store.records.save_record(record("slot-2")))
        assert await refused(store.records.sweep(NOW))
        assert await refused(store.definitions.put("d1", b""))
        assert await refused(store.keys.put(KEY))
        assert await refused(store.log.check_ready())
        assert await state_of(store, run) == before
        disk.repair()
        await store.log.check_ready()
        assert await state_of(store, run) == before
        for slot in ("slot-1", "slot-2"):
            assert await store.records.find_record(ACME, slot, 0) is None
        assert await store.definitions.get("d1") is None
        assert await store.keys.all() == []
        assert await store.log.append(run, 0, given) is None
        assert await store.log.create(header("run-b")) == RunCreated()
    check_integrity(tmp_path / "store.db")


def check_integrity(path: Path) -> None:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


@fails_without(writer_module, "_OVERWRITE_WAL", "SELECT 1", match="failed")
async def test_a_failed_commit_does_not_come_back_after_a_crash(
    tmp_path_factory: pytest.TempPathFactory, disk: RecordingDisk
) -> None:
    """What the failed fsync left in the WAL is overwritten before the next write is acknowledged."""
    tmp_path = tmp_path_factory.mktemp("store")
    async with open_store(tmp_path / "store.db", disk) as store:
        await make_run(store)
        disk.broken = {"sync"}
        assert await refused(store.log.create(header("failed")))
        disk.repair()
        # The smallest write there is: it alone would not overwrite much.
        assert await store.records.sweep(0) == 0
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"store.db{suffix}", tmp_path / f"crashed.db{suffix}")
    async with open_store(tmp_path / "crashed.db") as store:
        page = await store.queries.list_runs(ACME, RunQuery())
        assert [run.header.run_id for run in page.runs] == ["run-a"]


@pytest.mark.slow
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
@pytest.mark.parametrize("late", [False, True])
def test_whichever_operation_fails_acknowledged_work_is_kept(
    disk: RecordingDisk, error: type[Exception], late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th write or sync fails and all after it, for n = 0, 1, 2, ... until the workload gets through."""
    # A few frames only, so that checkpoints fail as well.
    monkeypatch.setattr(writer_module, "CHECKPOINT_PAGES", 12)
    disk.error, disk.fails_after_writing = error, late
    broken_at = 0
    for working in range(0, 1000, 1 if FULL else 11):
        acknowledged: list[str] = []

        async def scenario(store: SqliteStore, working: int = working, done: list[str] = acknowledged) -> None:
            disk.after = working
            for number in range(6):
                if await catch(store.log.create(header(f"run-{number}"), record=record(f"slot-{number}"))) is None:
                    done.append(f"run-{number}")
            disk.repair()
            page = await store.queries.list_runs(ACME, RunQuery())
            assert [run.header.run_id for run in page.runs] == done[::-1]
            slots = [await store.records.find_record(ACME, f"slot-{number}", 0) is not None for number in range(6)]
            assert slots == [f"run-{number}" in done for number in range(6)]
            assert await store.log.create(header("last")) == RunCreated()

        with tempfile.TemporaryDirectory(dir=QUICK_FOLDER) as folder:
            prove(SqliteStore(Path(folder) / "store.db", disk and disk.vfs), scenario)
            check_integrity(Path(folder) / "store.db")
        if len(acknowledged) == 6:
            broken_at = working
            break
    assert broken_at > 12


async def test_the_store_stays_away_until_it_can_be_opened(tmp_path: Path, disk: RecordingDisk) -> None:
    async with open_store(tmp_path / "store.db", disk) as store:
        run = await make_run(store)
        disk.broken = {"sync"}
        assert await refused(store.log.append(run, -1, batch(run, -1)))
        disk.broken = {"open"}
        for _ in range(3):
            assert await refused(store.log.append(run, -1, batch(run, -1)))
        assert await store.log.read_run(run) is not None
        disk.repair()
        assert await store.log.append(run, -1, batch(run, -1)) is None


async def test_a_failed_read_is_unavailable_and_passes(tmp_path: Path, disk: RecordingDisk) -> None:
    async with open_store(tmp_path / "store.db", disk) as store:
        run = await make_run(store)
        await store.log.append(run, -1, batch(run, -1, 200))
        disk.broken = {"read"}
        for _ in range(4):
            assert await refused(store.log.read(run, -1, 1000))
            assert await refused(store.queries.list_runs(ACME, RunQuery()))
        disk.repair()
        assert len(await store.log.read(run, -1, 1000)) == 200


async def test_a_full_disk_of_the_real_kind(tmp_path: Path) -> None:
    async with open_store(tmp_path / "store.db") as store:
        pages = await store._writer.submit(lambda connection: connection.pragma("page_count"))
        await store._writer.submit(lambda connection: connection.pragma("max_page_count", pages + 20))
        made: list[str] = []
        for number in range(100):
            if await catch(store.log.create(header(f"run-{number}", inputs={"x": "y" * 5000}))) is None:
                made.append(f"run-{number}")
            elif made:
                break
        page = await store.queries.list_runs(ACME, RunQuery(limit=1000))
        assert [run.header.run_id for run in page.runs] == made[::-1]
        assert 1 <= len(made) < 100


def touch(path: Path) -> None:
    """To close a file is to drop all locks on it."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT))


@fails_without(connection_module, "_create_private", touch, errors=(FileNotFoundError,))
async def test_nobody_from_outside_takes_the_log_away_after_an_outage(
    tmp_path_factory: pytest.TempPathFactory, disk: RecordingDisk
) -> None:
    """A program that is the last one to close the store deletes the write-ahead log; it must see that we are here."""
    path = tmp_path_factory.mktemp("store") / "store.db"

    def look_in() -> None:
        subprocess.run([sys.executable, "-c", OUTSIDER, path], check=True, timeout=30)

    async with open_store(path, disk) as store:
        run = await make_run(store)
        disk.broken = {"sync"}
        assert await refused(store.log.append(run, -1, batch(run, -1)))
        disk.repair()
        assert await store.log.append(run, -1, batch(run, -1)) is None
        await asyncio.to_thread(look_in)
        assert await store.log.append(run, 0, batch(run, 0)) is None
        await asyncio.to_thread(look_in)
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", path.with_name(f"crashed.db{suffix}"))
    async with open_store(path.with_name("crashed.db")) as store:
        assert len(await store.log.read(header().key, -1, 10)) == 2


async def test_a_lock_from_outside_is_an_outage_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "BUSY_TIMEOUT_MS", 10)
    async with open_store(tmp_path / "store.db") as store:
        run = await make_run(store)
        outsider = apsw.Connection(str(tmp_path / "store.db"))
        outsider.execute("BEGIN IMMEDIATE")
        assert await refused(store.log.append(run, -1, batch(run, -1)))
        assert await store.log.read_run(run) is not None
        outsider.execute("ROLLBACK")
        outsider.close()
        assert await store.log.append(run, -1, batch(run, -1)) is None


@each_case("name", "missing/store.db", "text.db", "store.db")
async def test_a_store_that_cannot_be_opened_is_unavailable(tmp_path: Path, disk: RecordingDisk, name: str) -> None:
    (tmp_path / "text.db").write_text("this is no database" * 100)
    disk.broken = {"open"}
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        await SqliteStore(tmp_path / name, disk.vfs if name == "store.db" else None).open()
