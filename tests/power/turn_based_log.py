"""A log whose writes go to the store together, one transaction per round: so a seed always gives the same story."""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import msgspec
from msgspec.structs import replace

from tests.harness.engine_harness import RunPorts
from tests.power.recording_disk import RecordingDisk
from weftwork.adapters.sqlite import assets
from weftwork.adapters.sqlite.database.worker import Task, TaskResult, Worker
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.assets import StoredAsset
from weftwork.ports.storage.event_log import RunCreated, StoreUnavailable
from weftwork.protocol.run.batch import Batch, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader, RunKey

REFERENCING_EVENT: Final = "node.completed"

_REFERENCES = """
    SELECT a.sha256 FROM runs JOIN asset_refs r USING (run_no) JOIN assets a USING (asset_no)
    WHERE runs.partition = ? AND runs.run_id = ?
"""
_COUNTS: Final = {
    "an asset counts its runs wrongly": """
        SELECT asset_no FROM assets
        WHERE refs <> (SELECT count(*) FROM asset_refs r WHERE r.asset_no = assets.asset_no)
    """,
    "a run refers to what is not there": "SELECT * FROM asset_refs WHERE asset_no NOT IN (SELECT asset_no FROM assets)",
    "the usage is wrong": """
        SELECT partition, count(*), sum(size) FROM assets GROUP BY partition
        EXCEPT SELECT partition, count, size FROM asset_usage
    """,
    "a doomed key has a row": "SELECT key FROM assets INTERSECT SELECT key FROM doomed_blobs",
}


def digest_of(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def asset_of(partition: str, digest: str) -> StoredAsset:
    """An asset that nobody holds."""
    return StoredAsset(partition, digest, f"blob-{digest}", len(digest), "image/png", 0, 0)


def expected_references(run_id: str, events: list[Event]) -> set[str]:
    """What a run with this log refers to. A host that goes on with it later names nothing."""
    of_nodes = {
        event.event_id
        for event in events
        if event.type == REFERENCING_EVENT and not event.event_id.startswith("later-")
    }
    return {digest_of(name) for name in (run_id, *of_nodes)}


def with_asset(header: RunHeader) -> RunHeader:
    return replace(header, assets=(digest_of(header.run_id),))


def with_event_assets(batch: Batch) -> Batch:
    digests = tuple(digest_of(event.event_id) for event in batch.events if event.type == REFERENCING_EVENT)
    return replace(batch, assets=digests) if digests else batch


def stored_references(connection: Any, partition: str, run_id: str) -> set[str]:
    return {digest for (digest,) in connection.execute(_REFERENCES, (partition, run_id))}


def check_counts(connection: Any) -> None:
    for wrong, statement in _COUNTS.items():
        assert connection.execute(statement).fetchall() == [], wrong


IDLE_TURNS = 25
WAIT = 120.0

_TAKE, _SETTLE = Worker._take, Worker._settle
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'meta' ORDER BY name"


def content_of(connection: Any) -> bytes:
    """A digest of every row of every table but `meta`, where the store counts how often it was mended."""
    tables = connection.execute(_TABLES).fetchall()
    rows = [(name, connection.execute(f"SELECT * FROM {name}").fetchall()) for (name,) in tables]
    return blake2b(msgspec.msgpack.encode(rows), digest_size=16).digest()


class CommittedState(NamedTuple):
    """What the store held after a transaction that began and was settled at these points of the disk's log."""

    content: bytes
    begun: int
    settled: int
    failed: bool = False
    """Whether anybody was told that the store is away. Then a crash may bring back what it could not keep."""


class TurnBasedLog:
    """Writes wait for `turn`, which hands all of them to the writer while that is held.

    Reads wait until nothing else goes on, and pass one by one: what a thread does must not overtake what the
    loop does one time, and come after it another time.
    """

    def __init__(self, disk: RecordingDisk, path: Path) -> None:
        self.states: list[CommittedState] = []
        self.settled = 0
        """How far the disk's log was when the writer last told somebody that a write is done."""
        self.slots: dict[str, str] = {}
        """The slot that belongs to a run, if its caller gave a key."""
        self.referenced_assets: list[tuple[int, str]] = []
        """Digests of assets, each with the point by which it was kept and named."""
        self._disk = disk
        self._path = path
        self._reads: deque[asyncio.Future[None]] = deque()
        self._writes: deque[asyncio.Future[None]] = deque()
        self._busy = 0
        self._refused = False
        self._go = threading.Event()
        self._holding = False
        self._idle = 0

    def use(self, store: SqliteStore) -> None:
        self._store: Any = store

    def take_turn(self, worker: Worker) -> tuple[list[Task], bool]:
        """In place of `Worker._take`: a writer that is held takes nothing until it is let go, and then everything."""
        if worker._name == "weftwork-writer" and self._holding:
            self._idle += 1
            assert self._go.wait(WAIT)
            self._go.clear()
        return _TAKE(worker)

    def record_settled(self, worker: Worker, settled: list[TaskResult]) -> None:
        """In place of `Worker._settle`: nobody can know of a write before this."""
        if worker._name == "weftwork-writer":
            self.settled = len(self._disk.log)
        _SETTLE(worker, settled)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._wait, self._reads, name)

    async def create(self, header: RunHeader, *arguments: Any) -> Any:
        for record in arguments:
            if isinstance(record, IdempotencyRecord):
                self.slots[header.run_id] = record.slot
        given = [with_event_assets(each) if isinstance(each, Batch) else each for each in arguments]
        batches = [each for each in given if isinstance(each, Batch)]
        named = [digest_of(header.run_id), *(digest for each in batches for digest in each.assets)]
        loose = digest_of(f"loose-{header.run_id}")
        return await self._write_with_assets(header.partition, named, [loose], "create", with_asset(header), *given)

    async def append(self, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        batch = with_event_assets(batch)
        return await self._write_with_assets(run.partition, [*batch.assets], [], "append", run, expected, batch, *fence)

    async def prune(self) -> None:
        """Doom some assets that nobody names, and bury one."""
        await self._commit_turn(self._writes)
        submit = self._store._writer.submit
        await asyncio.gather(
            self._count_busy(submit, assets._tombstone_unreferenced, 0, 2),
            self._count_busy(
                submit,
                lambda connection: assets._clear_tombstones(connection, tuple(assets._tombstones(connection, 1))),
            ),
        )

    async def save_record(self, *arguments: Any) -> Any:
        return await self._wait(self._writes, "save_record", *arguments)

    async def take(self, *arguments: Any) -> Any:
        return await self._wait(self._writes, "take", *arguments)

    async def retry_later(self, *arguments: Any) -> Any:
        return await self._wait(self._writes, "retry_later", *arguments)

    async def _write_with_assets(
        self, partition: str, named: list[str], loose: list[str], name: str, *arguments: Any
    ) -> Any:
        """A write with the assets that it names, which are kept just before it."""
        await self._commit_turn(self._writes)
        keeps = [self._count_busy(self._store.assets.add, asset_of(partition, digest)) for digest in (*named, *loose)]
        write = self._count_busy(getattr(RunPorts(self._store), name), *arguments)
        *_, done = await asyncio.gather(*keeps, write, return_exceptions=True)
        if isinstance(done, BaseException):
            raise done
        if done in (None, RunCreated()):
            self.referenced_assets += [(self.settled, digest) for digest in named]
        return done

    async def _wait(self, line: deque[asyncio.Future[None]], name: str, *arguments: Any) -> Any:
        await self._commit_turn(line)
        return await self._count_busy(getattr(RunPorts(self._store), name), *arguments)

    async def _commit_turn(self, line: deque[asyncio.Future[None]]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        await turn

    async def _count_busy(self, call: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        self._busy += 1
        try:
            return await call(*arguments)
        except StoreUnavailable:
            self._refused = True
            raise
        finally:
            self._busy -= 1

    async def open(self) -> None:
        """Open the store. From then on its writer is held."""
        self._holding, idle = True, self._idle
        await self._store.open()
        await self._until(lambda: self._idle > idle)
        if not self.states:
            self.states.append(CommittedState(self._content(), 0, len(self._disk.log)))

    async def close(self) -> None:
        self._holding = False
        self._go.set()
        await self._store.close()
        self._go.clear()

    async def commit_pending(self) -> bool:
        """One transaction, if there is anything to write."""
        await self.wait_until_idle()
        if not self._writes:
            return False
        await self._transact(lambda: [_release_first(self._writes) for _ in range(len(self._writes))])
        return True

    async def commit(self, work: Awaitable[Any]) -> None:
        """One transaction of something that is not the log."""
        await self._transact(lambda: asyncio.ensure_future(self._count_busy(lambda: work)))

    async def _transact(self, submit: Callable[[], Any]) -> None:
        self._refused = False
        submit()
        for _ in range(IDLE_TURNS):
            await asyncio.sleep(0)
        begun, idle = len(self._disk.log), self._idle
        self._go.set()
        await self._until(lambda: self._idle > idle)
        await self.wait_until_idle()
        self.states.append(CommittedState(self._content(), begun, self.settled, self._refused))

    async def wait_until_idle(self) -> None:
        """Return when everything waits for a turn, for time, or for nothing."""
        quiet = 0
        while quiet < IDLE_TURNS or self._reads:
            if quiet >= IDLE_TURNS:
                _release_first(self._reads)
            await asyncio.sleep(0.0002 if self._busy else 0)
            quiet = 0 if self._busy else quiet + 1

    async def _until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT):
            while not so():
                await asyncio.sleep(0.0002)

    def _content(self) -> bytes:
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return content_of(connection)
        finally:
            connection.close()


def _release_first(line: deque[asyncio.Future[None]]) -> None:
    """Let the first in the line go on, if it still waits."""
    first = line.popleft()
    if not first.done():
        first.set_result(None)
