"""The only writer: one thread, one connection, and group commits.

While a commit waits for the disk, jobs queue up; the next transaction runs all of them, so one fsync serves many
callers. A job is a function of the connection and immutable data. It must detect a refusal before it writes anything.
Then only this job fails, and the rest of the batch is committed. If a job fails in any other way, the batch is rolled
back and each of its jobs runs again in its own transaction, so a bad job does not affect the others.

An outage (I/O error, full disk, lock held by another program) fails the whole batch, and its connection is not used
again: a commit whose fsync failed may have left complete frames in the WAL. While any connection is open, these frames
are not part of the store, because the shared WAL index does not list them, but a recovery after a crash would apply
them. Therefore the old connection is closed only after a new one has made a commit, which overwrites those frames.
Until that succeeds, every batch fails with StoreUnavailable.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Concatenate, Final, ParamSpec, TypeVar

import apsw

from weftwork.adapters.sqlite.database.connection import DAMAGE, OUTAGES, SqliteConnection, outage
from weftwork.adapters.sqlite.database.worker import Task, TaskResult, Worker
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import FenceLost, SequenceConflict, StoreUnavailable
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.errors import HostFault

P = ParamSpec("P")
T = TypeVar("T")

MAX_BATCH_JOBS: Final = 512
CHECKPOINT_PAGES: Final = 1024
"""Pages in the WAL (4 MiB) from which a checkpoint runs between two batches."""
MAX_WAL_PAGES: Final = 16 * CHECKPOINT_PAGES
"""Pages in the WAL (64 MiB) from which the checkpoint waits for readers that prevent it."""

_REFUSALS = (FenceLost, SequenceConflict, SourceMissing, StillLive, HostFault)
_OVERWRITE_WAL = """
    INSERT INTO meta (name, value) VALUES ('reopened', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1
"""


class SqliteWriter:
    """Runs jobs in the order of submission. Calls `on_rollback` when the changes of jobs are rolled back."""

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
        """Finish the queued jobs, then end the thread. Can be called twice."""
        if self._accepting:
            self._accepting = False
            self._flush_waiting()
            self._queue.put(None)
            await self._worker.join()

    def submit(
        self, job: Callable[Concatenate[SqliteConnection, P], T], *arguments: P.args, **named: P.kwargs
    ) -> "asyncio.Future[T]":
        """A future that settles when the transaction of the job is durable or has failed."""
        if not self._accepting:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self._flush_waiting)
        self._waiting.append(Task(future, job, arguments, named))
        return future

    def _flush_waiting(self) -> None:
        """Queue all jobs of one event loop iteration at once, because waking the thread is expensive."""
        if self._waiting:
            self._queue.put(self._waiting)
            self._waiting = []

    def begin(self) -> None:
        self._on_rollback()
        try:
            self._set_connection(self._connect())
        except OUTAGES as error:
            raise outage(error, "the store cannot be opened") from error

    def serve(self, tasks: list[Task], settle: Callable[[list[TaskResult]], None]) -> None:
        try:
            results = self._transact(tasks)
        except OUTAGES as error:
            self._mark_broken()
            results = [TaskResult(task.future, None, outage(error)) for task in tasks]
        except Exception as error:  # any other error of a job
            self._roll_back()
            if len(tasks) > 1:
                for task in tasks:
                    self.serve([task], settle)
                return
            fault: Exception = HostFault(f"a write to the store failed: {type(error).__name__}: {error}")
            if isinstance(error, DAMAGE):
                fault = outage(error)
            fault.__cause__ = error
            results = [TaskResult(tasks[0].future, None, fault)]
        settle(results)
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
        results: list[TaskResult] = []
        for task in tasks:
            before = connection.total_changes()
            try:
                value = task.job(connection, *task.arguments, **task.named)
                results.append(TaskResult(task.future, value))
            except _REFUSALS as refusal:
                if connection.total_changes() != before:
                    raise RuntimeError("a job raised a refusal after it had written") from refusal
                results.append(TaskResult(task.future, None, refusal))
        fault_point("writer.commit")
        connection.execute("COMMIT")
        fault_point("writer.committed")
        return results

    def _healthy_connection(self) -> SqliteConnection:
        if self._healthy and self._connection is not None:
            return self._connection
        connection = self._connect()
        try:
            connection.execute(_OVERWRITE_WAL)
        except BaseException:
            connection.close(True)
            raise
        self.end()
        self._set_connection(connection)
        return connection

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
                # The connection may still hold the write lock, and the new connection could then never write.
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
        if copied >= in_wal:  # the next commit starts at the beginning of the WAL
            self._checkpoint_at = CHECKPOINT_PAGES
        else:  # a large WAL may grow to twice its size: each wait for readers takes up to BUSY_TIMEOUT_MS
            self._checkpoint_at = in_wal + (in_wal if large else CHECKPOINT_PAGES)
