"""The thread pool for plain functions.

A thread cannot be stopped. A caller that is cancelled stops waiting instead: the thread is counted as abandoned, its
place in the pool is free at once, and its result is dropped. The number of abandoned threads has its own limit, because
each holds memory until its function returns. All are daemon threads, so the process never waits for them.
"""

import asyncio
import contextvars
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

from weftwork.adapters.python.errors import loop_safe_error

log = logging.getLogger("weftwork.node")

T = TypeVar("T")

ThreadOutcome = tuple[Any, BaseException | None]
"""The result of a function, and the exception that it raised."""

IDLE_SECONDS: Final = 60.0
"""How long an idle thread waits for work before it ends."""


class ThreadsExhausted(Exception):
    """The number of abandoned threads is at its limit; no function is started until some of them end."""


class _Job:
    """A function to call, and the future for its outcome."""

    __slots__ = ("abandoned", "call", "ended", "future", "label", "loop", "started")

    def __init__(self, call: Callable[[], Any], label: str) -> None:
        context = contextvars.copy_context()
        self.call: Callable[[], Any] = lambda: context.run(call)
        self.label = label
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[ThreadOutcome] | None = self.loop.create_future()
        self.started = False
        self.abandoned = False
        self.ended = False

    def perform(self) -> None:
        """Call the function and set its outcome on the event loop."""
        try:
            self.loop.call_soon_threadsafe(self._settle, capture_outcome(self.call))
        except RuntimeError:
            # The loop is closed, so no caller waits for the outcome any more.
            return

    def _settle(self, outcome: ThreadOutcome) -> None:
        # The reference is dropped because the traceback of an error refers to this job, which would be a cycle.
        future, self.future = self.future, None
        if future is not None and not future.done():
            future.set_result(outcome)


def capture_outcome(call: Callable[[], Any]) -> ThreadOutcome:
    """The outcome of a function. A separate frame, so that the exception and its caller do not refer to each other."""
    try:
        return call(), None
    except BaseException as raised:
        return None, loop_safe_error(raised)


class ThreadPool:
    """Runs plain functions in up to `max_threads` threads; further calls wait in a queue."""

    def __init__(self, max_threads: int, max_abandoned: int) -> None:
        self._max_threads = max_threads
        self._max_abandoned = max_abandoned
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._working = 0
        self._idle = 0
        self._abandoned: Counter[str] = Counter()
        self._closed = False
        self.waiting_on_loop = 0
        """Threads whose function waits for the event loop, so they make no progress until the loop runs."""

    @property
    def abandoned(self) -> int:
        """The number of threads that still run a function whose caller was cancelled."""
        return self._abandoned.total()

    def check_capacity(self) -> None:
        """Raises ThreadsExhausted if the number of abandoned threads is at its limit."""
        if self.abandoned >= self._max_abandoned:
            held = ", ".join(f"{label} {count}" for label, count in self._abandoned.most_common(8))
            log.warning("too many abandoned threads", extra={"count": self.abandoned, "heldBy": held})
            raise ThreadsExhausted

    async def run(self, call: Callable[[], T], label: str) -> T:
        """Return what the function returns, or raise what it raises. Raises ThreadsExhausted.

        Cancelling the call abandons the thread. The function sees the context variables of the caller. `label` names
        the owner of the thread in the log.
        """
        self.check_capacity()
        result, error = await self._outcome(_Job(call, label))
        if error is None:
            return result
        try:
            raise error
        finally:
            # The traceback of the error refers to this frame; without the cycle, reference counting frees both.
            del error

    async def _outcome(self, job: _Job) -> ThreadOutcome:
        assert job.future is not None, "the job has already run"
        future = job.future
        self._submit(job)
        try:
            return await future
        except asyncio.CancelledError:
            self._abandon(job)
            raise

    def close(self) -> None:
        """End idle threads. Busy threads end after their current function."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _submit(self, job: _Job) -> None:
        with self._changed:
            self._jobs.append(job)
            self._ensure_worker()
            if not self._working:
                # The operating system refused the first thread, so no worker would ever take the job.
                self._jobs.remove(job)
                raise ThreadsExhausted

    def _ensure_worker(self) -> None:
        """Wake or start a worker for the first job, within the limit. The caller holds the lock."""
        if self._idle >= len(self._jobs):
            self._changed.notify()
        elif self._working < self._max_threads:
            self._working += 1
            try:
                threading.Thread(target=self._work, name="weftwork-node", daemon=True).start()
            except RuntimeError:
                self._working -= 1
                log.warning("the operating system refused to start a thread")

    def _abandon(self, job: _Job) -> None:
        with self._changed:
            if not job.started:
                self._jobs.remove(job)
            elif not job.ended:
                job.abandoned = True
                self._abandoned[job.label] += 1
                self._working -= 1
                if self._jobs:
                    self._ensure_worker()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.perform()
            if not self._finish(job):
                return
            del job

    def _next(self) -> _Job | None:
        with self._changed:
            self._idle += 1
            has_work = self._changed.wait_for(lambda: self._jobs or self._closed, IDLE_SECONDS)
            self._idle -= 1
            if not has_work or not self._jobs:
                self._working -= 1
                return None
            job = self._jobs.popleft()
            job.started = True
            return job

    def _finish(self, job: _Job) -> bool:
        """Whether the thread continues with the next job."""
        with self._changed:
            job.ended = True
            if not job.abandoned:
                return True
            self._abandoned -= Counter((job.label,))
            if self._working >= self._max_threads or self._closed:
                return False
            self._working += 1
            return True
