"""A thread that serves a queue of tasks and settles their futures on the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol

import msgspec


class Task(msgspec.Struct, frozen=True, eq=False):
    """A job, its arguments after the connection, and the future that its caller awaits."""

    future: asyncio.Future[Any]
    job: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]


class TaskResult(msgspec.Struct, frozen=True, eq=False):
    """The result of a task: `error` if it is set, else `value`."""

    future: asyncio.Future[Any]
    value: Any
    error: BaseException | None = None


class SharedQueue:
    """A queue of tasks for several threads. Like SimpleQueue, except that an entry wakes one thread, the one that began
    to wait last. A `get` of SimpleQueue wakes the next waiting thread, which costs as much as a small read."""

    def __init__(self) -> None:
        self._entries: deque[list[Task] | None] = deque()
        self._waiting: list[Lock] = []
        """A held lock for each thread that waits; its release wakes the thread."""
        self._mutex = Lock()

    def put(self, entry: list[Task] | None) -> None:
        with self._mutex:
            self._entries.append(entry)
            sleeper = self._waiting.pop() if self._waiting else None
        if sleeper is not None:
            sleeper.release()

    def get(self) -> list[Task] | None:
        """The oldest entry. Waits for one."""
        while True:
            with self._mutex:
                if self._entries:
                    return self._entries.popleft()
                sleeper = Lock()
                sleeper.acquire()
                self._waiting.append(sleeper)
            # Another thread may take the entry first; then this one waits again.
            sleeper.acquire()

    def get_nowait(self) -> list[Task] | None:
        """The oldest entry. Raises Empty."""
        with self._mutex:
            if not self._entries:
                raise Empty
            return self._entries.popleft()


class TaskHandler(Protocol):
    """The work of a thread. All methods are called on this thread only."""

    def begin(self) -> None:
        """Called once, first. `Worker.start` raises the error that it raises."""
        ...

    def serve(self, tasks: list[Task], settle: Callable[[list[TaskResult]], None]) -> None:
        """Settle every task. If it raises, the tasks that are not settled yet get this error."""
        ...

    def end(self) -> None:
        """Called once, last, after every queued task was served. Raises nothing."""
        ...


class Worker:
    """One thread that serves queued tasks in order, in groups of about `max_tasks` or fewer.

    A None in the queue ends the thread after the tasks before it.
    """

    def __init__(
        self, name: str, queue: "SimpleQueue[list[Task] | None] | SharedQueue", handler: TaskHandler, max_tasks: int
    ) -> None:
        self._name = name
        self._queue = queue
        self._handler = handler
        self._max_tasks = max_tasks

    async def start(self) -> None:
        """Start the thread, and return when `begin` of the handler has returned. Raises what `begin` raised."""
        self._loop = asyncio.get_running_loop()
        started: asyncio.Future[None] = self._loop.create_future()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        Thread(target=self._run, args=(started,), name=self._name, daemon=True).start()
        try:
            await started
        except asyncio.CancelledError:
            self._queue.put(None)
            raise

    async def join(self) -> None:
        """Wait until the thread has served all tasks before its None and has ended."""
        await asyncio.shield(self._finished)

    def _run(self, started: "asyncio.Future[None]") -> None:
        try:
            self._handler.begin()
        except BaseException as error:  # raised again by `start`
            self._settle([TaskResult(started, None, error)])
            return
        self._settle([TaskResult(started, None)])
        more = True
        while more:
            tasks, more = self._take()
            try:
                self._handler.serve(tasks, self._settle)
            except Exception as error:  # if the thread ended here, every later caller would wait indefinitely
                self._settle([TaskResult(task.future, None, error) for task in tasks])
            # Otherwise this frame would keep the tasks and their data alive until the next task arrives.
            del tasks
        self._handler.end()
        self._settle([TaskResult(self._finished, None)])

    def _take(self) -> tuple[list[Task], bool]:
        """Wait for queued tasks. Returns them, and False if the thread must end after them."""
        queue = self._queue
        entry = queue.get()
        tasks: list[Task] = []
        while entry is not None:
            tasks += entry
            if len(tasks) >= self._max_tasks:
                return tasks, True
            try:
                entry = queue.get_nowait()
            except Empty:  # checking `empty()` first would be a race, because workers may share a queue
                return tasks, True
        return tasks, False

    def _settle(self, results: list[TaskResult]) -> None:
        try:
            self._loop.call_soon_threadsafe(_settle_futures, results)
        except RuntimeError:
            return  # the loop is closed, so no caller is waiting for the futures


def _settle_futures(results: list[TaskResult]) -> None:
    for result in results:
        future = result.future
        if future.done():  # the caller was cancelled; a write has happened nevertheless
            continue
        if result.error is None:
            future.set_result(result.value)
        else:
            future.set_exception(result.error)
