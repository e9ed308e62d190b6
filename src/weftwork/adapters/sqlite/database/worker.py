"""A thread that serves a queue of tasks and settles their futures on the event loop."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Protocol


class Task(NamedTuple):
    """A job, its arguments behind the connection, and the future of the caller who waits for it."""

    future: asyncio.Future[Any]
    job: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]


class TaskResult(NamedTuple):
    """How a task ended: with `value`, or with `error` if there is one."""

    future: asyncio.Future[Any]
    value: Any
    error: BaseException | None = None


class TaskHandler(Protocol):
    """What the thread does. All three are called on the thread and on no other."""

    def begin(self) -> None:
        """Called once, first. What it raises is raised by `Worker.start`."""
        ...

    def serve(self, tasks: list[Task], settle: Callable[[list[TaskResult]], None]) -> None:
        """Settle every task; those that are open when it raises get what it raised."""
        ...

    def end(self) -> None:
        """Called once, last, after every queued task was served. Raises nothing."""
        ...


class Worker:
    """One thread. It takes what is queued, up to about `max_tasks` tasks at once, in order."""

    def __init__(
        self, name: str, queue: "SimpleQueue[list[Task] | None]", handler: TaskHandler, max_tasks: int
    ) -> None:
        self._name = name
        self._queue = queue
        self._handler = handler
        self._max_tasks = max_tasks

    async def start(self) -> None:
        """Return when the handler has begun. A None in the queue ends the thread."""
        self._loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = self._loop.create_future()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        Thread(target=self._run, args=(begun,), name=self._name, daemon=True).start()
        try:
            await begun
        except asyncio.CancelledError:
            self._queue.put(None)
            raise

    async def join(self) -> None:
        """Return when the thread has served everything before its None and is gone."""
        await asyncio.shield(self._finished)

    def _run(self, begun: "asyncio.Future[None]") -> None:
        try:
            self._handler.begin()
        except BaseException as error:  # it belongs to whoever waits for start()
            self._settle([TaskResult(begun, None, error)])
            return
        self._settle([TaskResult(begun, None)])
        more = True
        while more:
            tasks, more = self._take()
            try:
                self._handler.serve(tasks, self._settle)
            except Exception as error:  # a thread that died would leave every later caller waiting
                self._settle([TaskResult(task.future, None, error) for task in tasks])
            # Else the frame would keep the last callers and their data alive until the next task comes.
            del tasks
        self._handler.end()
        self._settle([TaskResult(self._finished, None)])

    def _take(self) -> tuple[list[Task], bool]:
        """What is queued, at least one task; and whether to go on after it."""
        queue = self._queue
        given = queue.get()
        tasks: list[Task] = []
        while given is not None:
            tasks += given
            if len(tasks) >= self._max_tasks:
                return tasks, True
            try:
                given = queue.get_nowait()
            except Empty:  # asking `empty()` first would not do: workers may share a queue
                return tasks, True
        return tasks, False

    def _settle(self, settled: list[TaskResult]) -> None:
        # A loop that was closed has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_settle_futures, settled)


def _settle_futures(settled: list[TaskResult]) -> None:
    for future, value, error in settled:
        if future.done():  # the caller was cancelled; the write has happened all the same
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
