"""A disk that fails: callers hear StoreUnavailable, nothing is half written, and the store comes back by itself."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from weftwork.adapters.sqlite import writer as writer_module
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.eventlog import Created, RunQuery, StateRow, StoreUnavailable
from weftwork.testing.storage.sample import ACME, batch, header, make_run, record, state_of
from weftwork.testing.storage.store import prove, raised

VFS = "weftwork-failing"


class Disk:
    """Which operations fail. `after` counts down the writes and syncs that still work, if it is not None."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.error: type[Exception] = apsw.IOError
        self.after: int | None = None

    def use(self, operation: str) -> None:
        if operation in self.broken:
            raise self.error(f"{operation} fails")
        if self.after is not None and operation in ("write", "sync"):
            if self.after == 0:
                raise self.error(f"{operation} fails")
            self.after -= 1

    def mend(self) -> None:
        self.broken.clear()
        self.after = None


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.use("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.use("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.use("sync")
        super().xSync(flags)


class FailingVFS(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__(VFS, "")

    def xOpen(self, name: Any, flags: list[int]) -> FailingFile:  # noqa: N802
        self._disk.use("open")
        return FailingFile(self._disk, name, flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    vfs = FailingVFS(disk)
    yield disk
    vfs.unregister()


def with_store(path: Path, scenario: Callable[[SqliteStore], Awaitable[None]], vfs: str | None = VFS) -> None:
    prove(SqliteStore(path, vfs), scenario)


async def refused(call: Awaitable[object]) -> bool:
    return isinstance(await raised(call), StoreUnavailable)


@pytest.mark.parametrize("operation", ["sync", "write"])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_a_failed_commit_leaves_nothing(tmp_path: Path, disk: Disk, operation: str, error: type[Exception]) -> None:
    async def scenario(store: SqliteStore) -> None:
        run = await make_run(store)
        await store.log.append(run, -1, batch(run, -1))
        before = await state_of(store, run)
        disk.broken, disk.error = {operation}, error
        given = batch(run, 0, 3, rows=(StateRow("node", "n", b"1"),), record=record())
        assert await refused(store.log.append(run, 0, given))
        assert await refused(store.log.create(header("run-b")))
        assert await refused(store.definitions.put("d1", b""))
        assert await refused(store.log.ready())
        assert await state_of(store, run) == before
        disk.mend()
        await store.log.ready()
        assert await state_of(store, run) == before
        assert await store.log.recall(ACME, "slot-1", 0) is None
        assert await store.log.append(run, 0, given) is None
        assert await store.log.create(header("run-b")) == Created()

    with_store(tmp_path / "store.db", scenario)
    check_integrity(tmp_path / "store.db")


def check_integrity(path: Path) -> None:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


def test_a_failed_commit_does_not_come_back_after_a_crash(tmp_path: Path, disk: Disk) -> None:
    """What the failed fsync left in the WAL is overwritten before the next write is acknowledged."""

    async def scenario(store: SqliteStore) -> None:
        await make_run(store)
        disk.broken = {"sync"}
        assert await refused(store.log.create(header("failed")))
        disk.mend()
        # The smallest write there is: it alone would not overwrite much.
        assert await store.log.sweep(0) == 0
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"store.db{suffix}", tmp_path / f"crashed.db{suffix}")

    async def after_the_crash(store: SqliteStore) -> None:
        page = await store.log.list_runs(ACME, RunQuery())
        assert [run.header.run_id for run in page.runs] == ["run-a"]

    with_store(tmp_path / "store.db", scenario)
    with_store(tmp_path / "crashed.db", after_the_crash, vfs=None)


def test_without_the_overwrite_it_would_come_back(tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above."""
    monkeypatch.setattr(writer_module, "_OVERWRITE", "SELECT 1")
    with pytest.raises(AssertionError, match="failed"):
        test_a_failed_commit_does_not_come_back_after_a_crash(tmp_path, disk)


@pytest.mark.slow
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_whichever_operation_fails_acknowledged_work_is_kept(
    tmp_path: Path, disk: Disk, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th write or sync fails and all after it, for n = 0, 1, 2, ... until the workload gets through."""
    # A few frames only, so that checkpoints fail as well.
    monkeypatch.setattr(writer_module, "CHECKPOINT_PAGES", 12)
    disk.error = error
    broken_at = 0
    for working in range(1000):
        path = tmp_path / f"{working}.db"
        acknowledged: list[str] = []

        async def scenario(store: SqliteStore, working: int = working, done: list[str] = acknowledged) -> None:
            disk.after = working
            for number in range(6):
                if await raised(store.log.create(header(f"run-{number}"), record=record(f"slot-{number}"))) is None:
                    done.append(f"run-{number}")
            disk.mend()
            page = await store.log.list_runs(ACME, RunQuery())
            assert [run.header.run_id for run in page.runs] == done[::-1]
            slots = [await store.log.recall(ACME, f"slot-{number}", 0) is not None for number in range(6)]
            assert slots == [f"run-{number}" in done for number in range(6)]
            assert await store.log.create(header("last")) == Created()

        with_store(path, scenario)
        check_integrity(path)
        if len(acknowledged) == 6:
            broken_at = working
            break
    assert broken_at > 12


def test_the_store_stays_away_until_it_can_be_opened(tmp_path: Path, disk: Disk) -> None:
    async def scenario(store: SqliteStore) -> None:
        run = await make_run(store)
        disk.broken = {"sync"}
        assert await refused(store.log.append(run, -1, batch(run, -1)))
        disk.broken = {"open"}
        for _ in range(3):
            assert await refused(store.log.append(run, -1, batch(run, -1)))
        assert await store.log.stored(run) is not None
        disk.mend()
        assert await store.log.append(run, -1, batch(run, -1)) is None

    with_store(tmp_path / "store.db", scenario)


def test_a_failed_read_is_unavailable_and_passes(tmp_path: Path, disk: Disk) -> None:
    async def scenario(store: SqliteStore) -> None:
        run = await make_run(store)
        await store.log.append(run, -1, batch(run, -1, 200))
        disk.broken = {"read"}
        for _ in range(4):
            assert await refused(store.log.read(run, -1, 1000))
            assert await refused(store.log.list_runs(ACME, RunQuery()))
        disk.mend()
        assert len(await store.log.read(run, -1, 1000)) == 200

    with_store(tmp_path / "store.db", scenario)


def test_a_full_disk_of_the_real_kind(tmp_path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        pages = await store._writer.submit(lambda connection: connection.pragma("page_count"))
        await store._writer.submit(lambda connection: connection.pragma("max_page_count", pages + 20))
        made: list[str] = []
        for number in range(100):
            if await raised(store.log.create(header(f"run-{number}", inputs={"x": "y" * 5000}))) is None:
                made.append(f"run-{number}")
            elif made:
                break
        page = await store.log.list_runs(ACME, RunQuery(limit=1000))
        assert [run.header.run_id for run in page.runs] == made[::-1]
        assert 1 <= len(made) < 100

    with_store(tmp_path / "store.db", scenario, vfs=None)


def test_a_lock_from_outside_is_an_outage_and_passes(tmp_path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        run = await make_run(store)
        outsider = apsw.Connection(str(tmp_path / "store.db"))
        outsider.execute("BEGIN IMMEDIATE")
        assert await refused(store.log.append(run, -1, batch(run, -1)))
        assert await store.log.stored(run) is not None
        outsider.execute("ROLLBACK")
        outsider.close()
        assert await store.log.append(run, -1, batch(run, -1)) is None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weftwork.adapters.sqlite.connection.BUSY_TIMEOUT", 10)
        with_store(tmp_path / "store.db", scenario, vfs=None)


def test_a_store_that_cannot_be_opened_is_unavailable(tmp_path: Path, disk: Disk) -> None:
    def opening(path: Path, vfs: str | None = None) -> None:
        asyncio.run(SqliteStore(path, vfs).open())

    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        opening(tmp_path / "missing" / "store.db")
    (tmp_path / "text.db").write_text("this is no database" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        opening(tmp_path / "text.db")
    disk.broken = {"open"}
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        opening(tmp_path / "store.db", VFS)
