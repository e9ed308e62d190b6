"""Read-only connections, each on its own thread. A read sees every commit that was settled before it was submitted."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Concatenate, Final, ParamSpec, TypeVar

import apsw

from weftwork.adapters.sqlite.database.connection import DAMAGE, OUTAGES, SqliteConnection, outage
from weftwork.adapters.sqlite.database.worker import SharedQueue, Task, TaskResult, Worker
from weftwork.ports.storage.event_log import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 2
MAX_BATCH_READS: Final = 8
"""Reads whose results are delivered together, because waking the event loop costs as much as a small read."""


@contextmanager
def snapshot(connection: SqliteConnection) -> Generator[None, None, None]:
    """A read transaction: all statements inside see the same commit."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        # An I/O error may have ended the transaction already.
        if connection.in_transaction:
            connection.execute("COMMIT")


class SqliteReaders:
    """Runs reads on THREADS threads, which share one queue, so that a slow listing delays only one of them."""

    def __init__(self, connect: Callable[[], SqliteConnection]) -> None:
        self._connect = connect
        self._workers: list[Worker] = []
        self._accepting = False

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue = SharedQueue()
        self._workers = []
        for number in range(THREADS):
            worker = Worker(f"weftwork-reader-{number}", self._queue, _Reader(self._connect), MAX_BATCH_READS)
            await worker.start()
            self._workers.append(worker)
        self._accepting = True

    async def close(self) -> None:
        """Finish the queued reads, then end the threads. Can be called twice, and after an `open` that failed."""
        self._accepting = False
        workers, self._workers = self._workers, []
        for _ in workers:
            self._queue.put(None)
        for worker in workers:
            await worker.join()

    def submit(
        self, job: Callable[Concatenate[SqliteConnection, P], T], *arguments: P.args, **named: P.kwargs
    ) -> "asyncio.Future[T]":
        """A future with the result or error of the job. An outage becomes StoreUnavailable."""
        if not self._accepting:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put([Task(future, job, arguments, named)])
        return future


class _Reader:
    """One connection. After an outage, the next read opens a new one."""

    def __init__(self, connect: Callable[[], SqliteConnection]) -> None:
        self._connect = connect
        self._connection: SqliteConnection | None = None

    def begin(self) -> None:
        try:
            self._connection = self._connect()
        except OUTAGES as error:
            raise outage(error, "the store cannot be opened") from error

    def serve(self, tasks: list[Task], settle: Callable[[list[TaskResult]], None]) -> None:
        settle([self._read(task) for task in tasks])

    def end(self) -> None:
        if self._connection is not None:
            with suppress(apsw.Error):
                self._connection.close(True)
            self._connection = None

    def _read(self, task: Task) -> TaskResult:
        result = partial(TaskResult, task.future)
        try:
            connection = self._connection = self._connection or self._connect()
            return result(task.job(connection, *task.arguments, **task.named))
        except OUTAGES as error:
            self.end()
            return result(None, outage(error))
        except DAMAGE as error:
            return result(None, outage(error))
        except Exception as error:  # any other error belongs to the caller of the job
            return result(None, error)
