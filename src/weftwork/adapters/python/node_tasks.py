"""The tasks that nodes start: they cannot end the process, and each has a stable identity.

asyncio propagates SystemExit and KeyboardInterrupt of any task out of the event loop, which would end the host. The
host would resume the run at its next start, and end again. Tasks that are created while a node runs (the context
variable `in_node`) therefore raise another exception instead.

A second context variable holds the TaskPath of a task: where in the node the task was started, by name and number. The
path is the same whenever the node takes the same steps, and identifies the recorded model calls of the task. The name
is that of the coroutine or, for a call of the context, of its class.
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

in_node: contextvars.ContextVar[object] = contextvars.ContextVar("weftwork_in_node", default=None)
"""The call of a node that runs in this context; None outside of nodes."""


class TaskPath:
    """The position of a task in a node: the function itself, or a task that it started, by name and number."""

    __slots__ = ("_call_numbers", "_child_counts", "_path")

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._child_counts: Counter[str] = Counter()
        self._call_numbers = itertools.count()

    def child(self, name: str) -> "TaskPath":
        """The path of the next task with this name that this task starts."""
        # Counted by name, so that tasks that libraries start do not change the numbers of the author's tasks.
        place = f"{self._path}/{name}/{self._child_counts[name]}"
        self._child_counts[name] += 1
        return TaskPath(hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:16])

    def next_turn_prefix(self) -> str:
        """The identity of the next recorded call of this task. Thread-safe."""
        return f"{self._path}{':' if self._path else ''}{next(self._call_numbers)}."


current_task_path: contextvars.ContextVar[TaskPath | None] = contextvars.ContextVar("weftwork_branch", default=None)


def guard_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Install the task factory on this loop, unless it already has one."""
    if loop.get_task_factory() is None:
        loop.set_task_factory(_task_factory)


async def wait_done(task: "asyncio.Future[Any]") -> None:
    """Wait for the end of a task. Cancelling the wait does not cancel the task. Cheaper than asyncio.wait."""
    if not task.done():
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: waiter.done() or waiter.set_result(None))
        await waiter


def _task_factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
    entry = in_node.get()
    if entry is not None and isinstance(work, Coroutine):
        guarded = work = GuardedCoroutine(cast("Coroutine[Any, Any, Any]", work), entry)
        here = current_task_path.get()
        if here is not None and options.get("context") is None:
            options["context"] = contextvars.copy_context()
            options["context"].run(current_task_path.set, here.child(guarded.__name__))
    return asyncio.Task(work, loop=loop, **options)


class GuardedCoroutine(Coroutine[Any, Any, T]):
    """Wraps a coroutine and converts the exceptions that would end the process.

    Not an async function: if the task were cancelled before its first step, the inner coroutine would never be awaited,
    and Python would warn about it. `entry` is the call of the node that started the task.
    """

    __slots__ = ("__name__", "__qualname__", "_work", "entry")

    def __init__(self, work: Coroutine[Any, Any, T], entry: object) -> None:
        self._work = work
        self.entry = entry
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
