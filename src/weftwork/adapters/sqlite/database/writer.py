"""The only writer: one thread, one connection, one commit for everything that queued up meanwhile.

Theory. While a commit waits for the disk, callers queue up; the next transaction takes them all, so one
fsync serves many. A job is a function of the connection over immutable data. It must find out whether it is
refused before it writes anything; then the refusal is its own and the rest of the batch is committed. If a
job fails in any other way, the batch is rolled back and every job is run again in a transaction of its own,
so a bad job does not affect the others.

An outage (I/O error, full disk, lock held by another program) fails the whole batch, and the connection is
not used again: a commit whose fsync failed may have left complete frames in the WAL. They are not part of
the store while any connection is open, because the shared index does not name them, but a recovery after a
crash would find them. Therefore the old connection is closed only after a fresh one has made a commit of its
own, which overwrites those frames. Until that works, every batch is answered with StoreUnavailable.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Concatenate, Final, ParamSpec, TypeVar

import apsw

from weftwork.adapters.sqlite.database.connection import OUTAGES, SqliteConnection
from weftwork.adapters.sqlite.database.worker import Task, TaskResult, Worker
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import SequenceConflict, StoreUnavailable
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.errors import HostFault

P = ParamSpec("P")
T = TypeVar("T")

MAX_BATCH_JOBS: Final = 512
CHECKPOINT_PAGES: Final = 1024
"""4 MiB of WAL: copy it into the main file between two batches."""
MAX_WAL_PAGES: Final = 16 * CHECKPOINT_PAGES
"""64 MiB of WAL: readers have been in the way for too long, wait for them."""

_REFUSALS = (SequenceConflict, StillLive, HostFault)
_OVERWRITE_WAL = """
    INSERT INTO meta (name, value) VALUES ('reopened', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1
"""


class SqliteWriter:
    """Runs jobs in the order of submission. `on_rollback` is called when the changes of jobs were undone."""

    def __init__(self, connect: Callable[[], SqliteConnection], on_rollback: Callable[[], None]) -> None:
        self._connect = connect
        self._on_rollback = on_rollback
        self._connection: SqliteConnection | None = None
        self._healthy = False
        self._wal_pages = 0
        self._checkpoint_at = CHECKPOINT_PAGES
        self._accepting = False
        self._waiting: list[Task] = []

    async def open(self) -> None:
        self._queue: SimpleQueue[list[Task] | None] = SimpleQueue()
        self._worker = Worker("weftwork-writer", self._queue, self, MAX_BATCH_JOBS)
        await self._worker.start()
        self._loop = asyncio.get_running_loop()
        self._accepting = True

    async def close(self) -> None:
        """Finish what is queued, then end. Safe to call twice."""
        if self._accepting:
            self._accepting = False
            self._flush_waiting()
            self._queue.put(None)
            await self._worker.join()

    def submit(
        self, job: Callable[Concatenate[SqliteConnection, P], T], *arguments: P.args, **named: P.kwargs
    ) -> "asyncio.Future[T]":
        """The future settles when the job's transaction is durable or has failed."""
        if not self._accepting:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self._flush_waiting)
        self._waiting.append(Task(future, job, arguments, named))
        return future

    def _flush_waiting(self) -> None:
        """Hand over everything that one turn of the event loop submitted at once: waking the thread is expensive."""
        if self._waiting:
            self._queue.put(self._waiting)
            self._waiting = []

    def begin(self) -> None:
        self._on_rollback()
        try:
            self._set_connection(self._connect())
        except OUTAGES as error:
            raise StoreUnavailable(f"the store cannot be opened: {error}") from error

    def serve(self, tasks: list[Task], settle: Callable[[list[TaskResult]], None]) -> None:
        try:
            settled = self._transact(tasks)
        except OUTAGES as error:
            self._mark_broken()
            settled = [
                TaskResult(task.future, None, StoreUnavailable(f"{type(error).__name__}: {error}")) for task in tasks
            ]
        except Exception as error:  # whatever a job may raise
            self._roll_back()
            if len(tasks) > 1:
                for task in tasks:
                    self.serve([task], settle)
                return
            fault = HostFault(f"the store refused a write: {type(error).__name__}: {error}")
            fault.__cause__ = error
            settled = [TaskResult(tasks[0].future, None, fault)]
        settle(settled)
        if self._wal_pages >= self._checkpoint_at:
            self._checkpoint()

    def end(self) -> None:
        if self._connection is not None:
            with suppress(apsw.Error):
                self._connection.close(True)
            self._connection = None

    def _transact(self, tasks: list[Task]) -> list[TaskResult]:
        fault_point("writer.begin")
        connection = self._healthy_connection()
        connection.execute("BEGIN IMMEDIATE")
        settled: list[TaskResult] = []
        for future, job, arguments, named in tasks:
            before = connection.total_changes()
            try:
                settled.append(TaskResult(future, job(connection, *arguments, **named)))
            except _REFUSALS as refusal:
                if connection.total_changes() != before:
                    raise RuntimeError("a job was refused after it had written") from refusal
                settled.append(TaskResult(future, None, refusal))
        fault_point("writer.commit")
        connection.execute("COMMIT")
        fault_point("writer.committed")
        return settled

    def _healthy_connection(self) -> SqliteConnection:
        if self._healthy and self._connection is not None:
            return self._connection
        fresh = self._connect()
        try:
            fresh.execute(_OVERWRITE_WAL)
        except BaseException:
            fresh.close(True)
            raise
        self.end()
        self._set_connection(fresh)
        return fresh

    def _set_connection(self, connection: SqliteConnection) -> None:
        connection.set_wal_hook(self._on_wal_commit)
        self._connection = connection
        self._healthy = True

    def _mark_broken(self) -> None:
        self._healthy = False
        self._roll_back()

    def _roll_back(self) -> None:
        self._on_rollback()
        connection = self._connection
        if connection is not None and connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except apsw.Error:
                # It may hold the write lock; then the fresh connection would wait for it for ever.
                self._healthy = False
                self.end()

    def _on_wal_commit(self, _connection: SqliteConnection, _database: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        connection = self._connection
        if connection is None or not self._healthy:
            return
        large = self._wal_pages >= MAX_WAL_PAGES
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if large else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            fault_point("writer.checkpoint")
            in_wal, copied = connection.wal_checkpoint(mode=mode)
            fault_point("writer.checkpointed")
        except apsw.BusyError:
            in_wal, copied = self._wal_pages, 0
        except OUTAGES:
            self._mark_broken()
            return
        self._wal_pages = 0
        if copied >= in_wal:  # the next commit starts the WAL anew
            self._checkpoint_at = CHECKPOINT_PAGES
        else:  # each wait for readers may take as long as BUSY_TIMEOUT_MS, so they become rare
            self._checkpoint_at = in_wal + (in_wal if large else CHECKPOINT_PAGES)
