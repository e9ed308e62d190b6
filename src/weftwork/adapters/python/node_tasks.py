"""The tasks that nodes start: they cannot end the process, and each has a stable identity.

asyncio lets SystemExit and KeyboardInterrupt of any task out of the loop, which would end the host; and since the run
is resumed at the next start, it would end that one too. Tasks made while a node runs (the context variable `in_node`)
therefore raise another exception instead.

A second context variable holds the TaskPath of a task: where in the node it was started, by name and number. It is the
same whenever the node does the same again, and identifies the recorded model calls of the task. The name is that of
the coroutine or, for a call of the context, of its class.
"""

import asyncio
import contextvars
import hashlib
import itertools
from collections import Counter
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar, cast

from weftwork.adapters.python.errors import exit_error

T = TypeVar("T")

in_node: contextvars.ContextVar[bool] = contextvars.ContextVar("weftwork_in_node", default=False)


class TaskPath:
    """Where in a node a task belongs: the function itself, or what it started, by name and number."""

    __slots__ = ("_call_numbers", "_child_counts", "_path")

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._child_counts: Counter[str] = Counter()
        self._call_numbers = itertools.count()

    def child(self, name: str) -> "TaskPath":
        """The next task of this name that is started here."""
        # By name, because libraries start tasks of their own whenever they like.
        place = f"{self._path}/{name}/{self._child_counts[name]}"
        self._child_counts[name] += 1
        return TaskPath(hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:16])

    def next_turn_prefix(self) -> str:
        """The name of the next call that is made here. Good in any thread."""
        return f"{self._path}{':' if self._path else ''}{next(self._call_numbers)}."


current_task_path: contextvars.ContextVar[TaskPath | None] = contextvars.ContextVar("weftwork_branch", default=None)


def guard_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """See to the tasks of this loop, unless somebody else does."""
    if loop.get_task_factory() is None:
        loop.set_task_factory(_task_factory)


async def wait_done(task: "asyncio.Future[Any]") -> None:
    """Wait for the end of a task without having it cancelled, and without asking what it came to. Cheaper than
    asyncio.wait."""
    if not task.done():
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: waiter.done() or waiter.set_result(None))
        await waiter


def _task_factory(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> "asyncio.Task[Any]":
    if in_node.get() and isinstance(work, Coroutine):
        guarded = work = _GuardedCoroutine(cast("Coroutine[Any, Any, Any]", work))
        here = current_task_path.get()
        if here is not None and given.get("context") is None:
            given["context"] = contextvars.copy_context()
            given["context"].run(current_task_path.set, here.child(guarded.__name__))
    return asyncio.Task(work, loop=loop, **given)


class _GuardedCoroutine(Coroutine[Any, Any, T]):
    """The same coroutine, which does not end the process. Not an async function around it: of a task that is cancelled
    before it began, that would leave a coroutine which nobody awaited."""

    __slots__ = ("__name__", "__qualname__", "_work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self.__name__ = self.__qualname__ = getattr(work, "__qualname__", type(work).__name__)

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        try:
            return self._work.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise exit_error(error) from error

    def throw(self, *raised: Any) -> Any:
        try:
            return self._work.throw(*raised)
        except (SystemExit, KeyboardInterrupt) as error:
            raise exit_error(error) from error

    def close(self) -> None:
        self._work.close()
