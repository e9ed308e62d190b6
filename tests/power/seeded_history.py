"""What happens to a host before the power goes: callers with and without keys, delays, secrets, cancels, restarts."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import apsw
import pytest

from tests.harness.engine_harness import CALLER, EngineHarness
from tests.power.recording_disk import QUICK_FOLDER, DiskOperation, RecordingDisk, open_disk
from tests.power.turn_based_log import CommittedState, TurnBasedLog
from tests.power.workflows import TAGS, WORKFLOWS, secret_of
from weftwork.adapters.sqlite.database.worker import Worker
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.engine.api.runs import RunOutcome
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault

STORE: Final = "store.db"
BOUND: Final = 120.0


class Acknowledgement(NamedTuple):
    """A caller was told, at that point of the disk's log, that this run has come at least so far."""

    point: int
    run_id: str
    status: str
    last_sequence: int = -1
    key: str | None = None
    document: dict[str, Any] | None = None
    """With a key: what was sent."""


class Recording(NamedTuple):
    """Everything that a proof needs: what the disk saw, what was committed, and what callers were told."""

    seed: int
    turns: int
    faulty: bool
    log: list[DiskOperation]
    states: list[CommittedState]
    acks: list[Acknowledgement]
    keyed: dict[str, str]
    kept: list[tuple[int, str]]
    """Assets, each with the point by which a caller knew that it is kept and named."""


class SeededHistory:
    """One seeded life of a host on a disk that takes notes, and fails now and then if it is to."""

    def __init__(self, seed: int, folder: Path, disk: RecordingDisk, faulty: bool) -> None:
        self.rng = Random(seed)
        self._faulty = faulty
        self.acks: list[Acknowledgement] = []
        self.path = folder / STORE
        self.disk = disk
        self.rounds = TurnBasedLog(disk, self.path)
        self.engine = EngineHarness(store=self._store(), wrap=lambda _: self.rounds)
        self._asked: dict[str, dict[str, Any]] = {}
        self._acknowledged: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._callers = 0
        self._reader: Any = None

    async def run(self, turns: int) -> None:
        await self._open()
        restart = self.rng.randrange(turns * 2)
        calls = (self._create, self._create_again, self._cancel, self._prune)
        for turn in range(turns):
            for _ in range(self.rng.choice((0, 1, 1, 2, 3, 6))):
                self._spawn(self.rng.choices(calls, (6, 2, 2, 1))[0])
            if self.rng.random() < 0.6:
                self.engine.clock.advance(self.rng.choice((1, 10, 30, 60, 200, 1000)))
            if self.rng.random() < (0.1 if self._reader is None else 0.3):
                self._toggle_reader()
            if self._faulty:
                self._change_disk_faults(turn)
            await self._turn()
            await self._read_run()
            if turn == restart:
                await self._restart()
        await self._close()

    def _change_disk_faults(self, turn: int) -> None:
        """The disk breaks, or is mended."""
        if self.disk.broken or self.disk.after is not None:
            if self.rng.random() < 0.4:
                self.disk.repair()
        elif self.rng.random() < 0.15 or turn % 20 == 10:
            self.disk.error = self.rng.choice((apsw.IOError, apsw.FullError))
            self.disk.fails_after_writing = self.rng.random() < 0.5
            if self.rng.random() < 0.5:
                self.disk.broken = {self.rng.choice(("write", "sync", "truncate"))}
            else:
                self.disk.after = self.rng.randrange(40)

    def _store(self) -> Any:
        store = SqliteStore(self.path, self.disk.vfs)
        self.rounds.use(store)
        return store

    async def _restart(self) -> None:
        await self._close()
        self.engine = self.engine.successor(store=self._store(), wrap=lambda _: self.rounds)
        await self._open()
        recovering = asyncio.create_task(self.engine.executor.recover())
        # A run is taken before it is loaded.
        while await self.rounds.commit_pending():
            pass
        await recovering

    async def _open(self) -> None:
        await self.rounds.open()
        for document in WORKFLOWS.values():
            await self.rounds.commit(self.engine.catalog.register(document))
            # Asked now: a look into the store in the middle of a story would take a time of its own.
            await self.engine.catalog.find_plan(CALLER.tenant, document["id"])

    async def _close(self) -> None:
        self.disk.repair()
        await self._turn()
        # Whoever has to wait for the store tries again after a second.
        self.engine.clock.advance(1000)
        while await self._turn():
            pass
        assert not self._tasks
        if self._reader is not None:
            self._toggle_reader()
        await self.engine.close()
        await self.rounds.close()

    def _toggle_reader(self) -> None:
        """Somebody reads for long, so that the write-ahead log cannot be copied whole."""
        if self._reader is None:
            self._reader = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            self._reader.execute("BEGIN; SELECT count(*) FROM runs").fetchall()
        else:
            self._reader.close(True)
            self._reader = None

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.create_task(work()))

    async def _turn(self) -> bool:
        """Write what is to be written, and hear of every call that has ended."""
        written = await self.rounds.commit_pending()
        for task in self._tasks:
            if task.done():
                task.result()
        self._tasks = [task for task in self._tasks if not task.done()]
        return written

    def _record_ack(self, run_id: str, status: str, last_sequence: int = -1, **more: Any) -> None:
        self.acks.append(Acknowledgement(self.rounds.settled, run_id, status, last_sequence, **more))

    async def _create(self) -> None:
        self._callers += 1
        number = self._callers
        name = self.rng.choice(list(WORKFLOWS))
        document: dict[str, Any] = {"workflowId": name, "metadata": {"number": number}}
        if self.rng.random() < 0.4:
            document["tags"] = self.rng.sample(TAGS, 2)
        if name == "bulky":
            document["inputs"] = {"text": f"{number} " * self.rng.choice((10, 800, 4000))}
        elif name == "secret":
            document["inputs"] = {"secret": secret_of(number)}
        scoped = self.rng.random() < 0.2
        if scoped:
            document["scopeId"] = self.rng.choice(("north", "south"))
        key = f"key-{number}" if self.rng.random() < 0.6 else None
        if key is not None:
            self._asked[key] = document
        await self._send(document, key, scoped)

    async def _create_again(self) -> None:
        """The same key: with the same body it gives the same run, with another one it is refused."""
        if not self._asked:
            return
        key = self.rng.choice(list(self._asked))
        document = self._asked[key]
        if self.rng.random() < 0.3:
            document = {**document, "tags": ["red"]}
        await self._send(document, key, "scopeId" in document)

    async def _send(self, document: dict[str, Any], key: str | None, exclusive: bool) -> None:
        try:
            outcome: RunOutcome = await self.engine.service.create_run(CALLER, document, key, exclusive)
        except ClientFault as fault:
            if fault.code not in ("idempotency_key_mismatch", "run_already_active"):
                raise
            return
        except StoreUnavailable:
            assert self._faulty
            return
        if key is not None:
            assert self._acknowledged.setdefault(key, outcome.run_id) == outcome.run_id
        self._record_ack(outcome.run_id, outcome.status, key=key, document=document)

    async def _cancel(self) -> None:
        if not self.acks:
            return
        run_id = self.rng.choice(self.acks[-5:]).run_id
        key = f"cancel-{len(self.acks)}" if self.rng.random() < 0.5 else None
        try:
            outcome = await self.engine.control.cancel_run(CALLER, run_id, {}, key)
        except StoreUnavailable:
            assert self._faulty
        else:
            self._record_ack(outcome.run_id, outcome.status)

    async def _prune(self) -> None:
        try:
            await self.rounds.prune()
        except StoreUnavailable:
            assert self._faulty

    async def _read_run(self) -> None:
        """What a reader was shown counts as told."""
        if self.acks:
            run_id = self.rng.choice(self.acks).run_id
            shown = (await self.engine.store.log.read_run(CALLER.run(run_id))).projection  # type: ignore[union-attr]
            self._record_ack(run_id, shown.status, shown.last_sequence)


@contextmanager
def frequent_checkpoints() -> Iterator[None]:
    """Checkpoints come often and wait for no one; reads come in order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weftwork.adapters.sqlite.database.writer.CHECKPOINT_PAGES", 40)
        patch.setattr("weftwork.adapters.sqlite.database.writer.MAX_WAL_PAGES", 160)
        patch.setattr("weftwork.adapters.sqlite.database.connection.BUSY_TIMEOUT_MS", 20)
        patch.setattr("weftwork.adapters.sqlite.database.reader.THREADS", 1)
        yield


def record(seed: int, turns: int, faulty: bool = False) -> Recording:
    async def bounded(story: SeededHistory) -> None:
        async with asyncio.timeout(BOUND):
            await story.run(turns)

    with (
        tempfile.TemporaryDirectory(dir=QUICK_FOLDER) as folder,
        open_disk() as disk,
        frequent_checkpoints(),
        pytest.MonkeyPatch.context() as patch,
    ):
        # The fences of runs are in the store, and a story that is told again has the same ones.
        patch.setattr("tests.harness.engine_harness._EPOCHS", count(1))
        story = SeededHistory(seed, Path(folder), disk, faulty)
        patch.setattr(Worker, "_take", lambda worker: story.rounds.take_turn(worker))
        patch.setattr(Worker, "_settle", lambda worker, settled: story.rounds.record_settled(worker, settled))
        asyncio.run(bounded(story))
    rounds = story.rounds
    return Recording(seed, turns, faulty, disk.log, rounds.states, story.acks, rounds.slots, rounds.referenced_assets)
