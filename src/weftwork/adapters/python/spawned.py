"""Tasks that nodes start: one that tries to end the process only fails.

Theory. asyncio lets SystemExit and KeyboardInterrupt of any task out of the loop, which ends the host; and since the
run is taken up again at the next start, it would end that one too. So the tasks that are made while a node runs, which
a context variable tells, raise something else in their place.
"""

import asyncio
import contextvars
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar, cast

from weftwork.adapters.python.errors import exited

T = TypeVar("T")

in_node: contextvars.ContextVar[bool] = contextvars.ContextVar("weftwork_in_node", default=False)


def guard_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """See to the tasks of this loop, unless somebody else does."""
    if loop.get_task_factory() is None:
        loop.set_task_factory(_task)


async def ended(task: "asyncio.Future[Any]") -> None:
    """Wait for the end of a task without having it cancelled, and without asking what it came to. Cheaper than
    asyncio.wait."""
    if not task.done():
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: waiter.done() or waiter.set_result(None))
        await waiter


def _task(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> "asyncio.Task[Any]":
    if in_node.get() and isinstance(work, Coroutine):
        work = _Guarded(cast("Coroutine[Any, Any, Any]", work))
    return asyncio.Task(work, loop=loop, **given)


class _Guarded(Coroutine[Any, Any, T]):
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
            raise exited(error) from error

    def throw(self, *raised: Any) -> Any:
        try:
            return self._work.throw(*raised)
        except (SystemExit, KeyboardInterrupt) as error:
            raise exited(error) from error

    def close(self) -> None:
        self._work.close()
