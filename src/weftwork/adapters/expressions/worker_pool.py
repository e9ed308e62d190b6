"""Runs expression jobs in a few worker processes, which are started when they are needed.

A job gets a worker of its own until its result is there. Cancelling the job kills the worker, because an evaluation
cannot be interrupted in any other way; the next job starts a new one. If the worker dies by itself, the job is repeated
once in another worker. Tenants take turns: a free worker goes to the tenant that has waited longest since its last one.

A job that needs more memory than a worker has is repeated with the memory of two. It then takes two places of the pool,
so that all workers together never have more memory than that of all places. A pool with a single place is the
exception.
"""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from contextlib import suppress
from typing import Final

import msgspec

from weftwork.adapters.expressions.worker import LENGTH_BYTES, MAX_PLACES, RETIRE
from weftwork.ports.expression_workers import WorkerLost
from weftwork.protocol.expressions.job import ExpressionJob, JobResult

log = logging.getLogger("weftwork.expressions")

ATTEMPTS: Final = 2
_CODE: Final = """
import sys
sys.path[:] = sys.argv[1:]
from weftwork.adapters.expressions.worker import main
main()
"""
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The only variables that a worker inherits: some builds of Python do not start without them."""


class WorkerPool:
    """Implements ports.expression_workers.ExpressionWorkers."""

    def __init__(self, size: int) -> None:
        """`size`: places, and so jobs that run concurrently."""
        self._size = size
        self._busy = 0
        self._idle: list[_Worker] = []
        self._working: set[_Worker] = set()
        self._starting: set[asyncio.Task[Process]] = set()
        self._ending: set[asyncio.Task[int]] = set()
        self._queues: dict[str, deque[_Waiter]] = {}
        """Waiting jobs by tenant. The first tenant is the next one to get a worker."""
        self._is_closed = False

    async def evaluate(self, partition: str, job: ExpressionJob) -> JobResult:
        message = msgspec.json.encode(job)
        result = await self._evaluate(partition, message, 1)
        return await self._evaluate(partition, message, MAX_PLACES) if result.is_out_of_memory else result

    async def _evaluate(self, partition: str, message: bytes, places: int) -> JobResult:
        await self._acquire(partition, min(places, self._size))
        try:
            for _ in range(ATTEMPTS):
                if (result := await self._perform(message, places)) is not None:
                    return result
            raise WorkerLost
        finally:
            self._release(min(places, self._size))

    async def close(self) -> None:
        self._is_closed = True
        for queue in self._queues.values():
            for waiting, _ in queue:
                waiting.cancel()
        for worker in [*self._idle, *self._working]:
            self._end(worker)
        if self._starting:
            await asyncio.wait(self._starting)
        if self._ending:
            await asyncio.wait(self._ending)

    async def _perform(self, message: bytes, places: int) -> JobResult | None:
        """The result of a job; None if the worker is lost."""
        worker = None
        try:
            worker = self._idle.pop() if self._idle else await self._start_worker()
            self._working.add(worker)
            result, retires = await worker.perform(message, places)
        except (OSError, EOFError) as error:
            if self._is_closed:
                raise WorkerLost from None
            status = None if worker is None else self._end(worker)
            log.warning("expression worker lost", extra={"error": repr(error), "status": status})
            return None
        except BaseException:
            if worker is not None:
                self._end(worker)
            raise
        self._working.discard(worker)
        if retires or self._is_closed:
            self._end(worker)
        else:
            self._idle.append(worker)
        return result

    async def _start_worker(self) -> "_Worker":
        if self._is_closed:
            raise WorkerLost
        paths = [path for path in sys.path if path]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        command = (sys.executable, "-I", "-S", "-c", _CODE, *paths)
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, cwd="/")
        )
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        try:
            return _Worker(await asyncio.shield(starting))
        except asyncio.CancelledError:
            # A start that is cancelled halfway could leave the process behind.
            starting.add_done_callback(self._end_started)
            raise

    def _end_started(self, starting: asyncio.Task[Process]) -> None:
        """End a worker whose job was cancelled while it started."""
        if not starting.cancelled() and starting.exception() is None:
            self._end(_Worker(starting.result()))

    def _end(self, worker: "_Worker") -> int | None:
        """Kill a worker, and return its exit status if it has ended by itself."""
        status = worker.process.returncode
        if worker in self._idle:
            self._idle.remove(worker)
        self._working.discard(worker)
        worker.kill()
        task = asyncio.ensure_future(worker.process.wait())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return status

    async def _acquire(self, partition: str, places: int) -> None:
        """Wait until so many places are free and it is this job's turn. Raises WorkerLost if the pool is closed."""
        if self._is_closed:
            raise WorkerLost
        if self._busy + places <= self._size and not self._queues:
            self._busy += places
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(partition, deque()).append((mine, places))
        try:
            await mine
        except asyncio.CancelledError:
            if self._is_closed and mine.cancelled():
                raise WorkerLost from None
            # If a release had already given its places to this job, they are free again. If not, the jobs behind it may
            # fit into the free ones.
            self._release(0 if mine.cancelled() else places)
            raise

    def _release(self, places: int) -> None:
        """Give the free places to the next jobs. A job that does not fit keeps its turn and waits for more places:
        otherwise smaller jobs could overtake it without end."""
        self._busy -= places
        while self._queues:
            partition = next(iter(self._queues))
            queue = self._queues[partition]
            while queue and queue[0][0].done():
                queue.popleft()
            if queue and self._busy + queue[0][1] > self._size:
                return
            del self._queues[partition]
            if queue:
                waiting, needed = queue.popleft()
                self._busy += needed
                waiting.set_result(None)
            if queue:
                # The tenant waits behind the others for its next turn.
                self._queues[partition] = queue


_Waiter = tuple[asyncio.Future[None], int]
"""A waiting job, and the places that it takes."""


class _Worker:
    """A worker process and its pipes."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._jobs = process.stdin
        self._results = process.stdout

    async def perform(self, message: bytes, places: int) -> tuple[JobResult, bool]:
        """The result, and whether the worker ends after it. Raises EOFError or OSError if the worker is lost."""
        self._jobs.write(len(message).to_bytes(LENGTH_BYTES) + bytes([places]) + message)
        await self._jobs.drain()
        head = await self._results.readexactly(LENGTH_BYTES + 1)
        encoded = await self._results.readexactly(int.from_bytes(head[:LENGTH_BYTES]))
        return msgspec.json.decode(encoded, type=JobResult), head[LENGTH_BYTES:] == RETIRE

    def kill(self) -> None:
        """End the process at once."""
        self._jobs.close()
        with suppress(ProcessLookupError):
            self.process.kill()
