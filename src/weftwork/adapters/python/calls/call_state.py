"""What one call of a function has come to so far, for everything in it that has to know."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from weftwork.adapters.python.errors import Abandoned, NodeError, misused
from weftwork.ports.node_outcome import InterruptPending

T = TypeVar("T")

QUESTIONS: Final = frozenset({"ctx.interrupt", "ctx.approve", "ctx.clarify", "ctx.wait_for_event"})
"""Calls that ask somebody outside."""

step_here: contextvars.ContextVar[str] = contextvars.ContextVar("weftwork_step", default="")
"""The key of the step that runs here. Tasks, and threads of ours and of asyncio.to_thread, see that of their maker."""


class Fate:
    """asking: the question that the node waits for; failure: why it cannot go on; stopped: whether the run told it to
    end; over: whether it has; undone: whether a step said that its effect did not happen; uncalled: calls of the
    context that nobody has awaited yet, by name."""

    __slots__ = ("asking", "failure", "over", "stopped", "uncalled", "undone")

    def __init__(self) -> None:
        self.asking: InterruptPending | None = None
        self.failure: NodeError | None = None
        self.over = False
        self.stopped = False
        self.undone = False
        self.uncalled: list[str] = []

    def check(self) -> None:
        """Raises Abandoned when the entry is over, Asking while an answer is awaited, NodeError if it cannot go on.

        A step that is under way is not kept from its end by what others ask.
        """
        if self.over:
            raise Abandoned
        if self.asking is not None and not step_here.get():
            raise self.asking
        if self.failure is not None:
            raise self.failure

    def check_going_on(self) -> None:
        """The same, for what is recorded. Raises CancelledError again in a function that was told to stop: the run
        may be past caring, and what it began now would be in doubt for ever."""
        self.check()
        if self.stopped:
            raise asyncio.CancelledError

    @property
    def unasked(self) -> str | None:
        """The first question that nobody has awaited yet."""
        return next((name for name in self.uncalled if name in QUESTIONS), None)

    async def behind_questions(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something that was called after a question which nobody had awaited then. Raises NodeError if nobody has
        yet: it would happen without its answer."""
        # Somebody may have made a task of the question that has not begun.
        await asyncio.sleep(0)
        if (name := self.unasked) is not None:
            raise _forgotten(name)
        return await make()

    async def check_all_called(self) -> None:
        """Raises NodeError if the function has ended and something that it called was never awaited."""
        if self.uncalled:
            await asyncio.sleep(0)
            if self.uncalled and self.failure is None:
                raise _forgotten(self.uncalled[0])
        if self.failure is not None:
            raise self.failure

    def dropped(self, name: str, task: int) -> None:
        """A call was thrown away without being awaited. In the task that made it that is a mistake of the author; what
        others were to await may go with them when they are cancelled."""
        self.uncalled.remove(name)
        here = _task_here()
        if not self.over and self.failure is None and id(here) == task and not (here and here.cancelling()):
            self.failure = _forgotten(name)


def _forgotten(name: str) -> NodeError:
    return misused(f"{name} was called without await, so it did not happen.")


def _task_here() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        # A thread without a loop.
        return None


class Call(Coroutine[Any, Any, T]):
    """A call of an async context: a coroutine that tells its entry when it is thrown away without being awaited."""

    __slots__ = ("_begun", "_behind", "_fate", "_make", "_name", "_task")

    def __init__(self, fate: Fate, name: str, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._fate = fate
        self._name = name
        self._make: Callable[[], Coroutine[Any, Any, T]] | None = make
        self._begun: Coroutine[Any, Any, T] | None = None
        # Not the task itself, which knows whoever holds this.
        self._task = id(_task_here())
        self._behind = fate.unasked is not None
        fate.uncalled.append(name)

    def _begin(self) -> Coroutine[Any, Any, T]:
        make, self._make = self._make, None
        if make is None:
            raise RuntimeError(f"{self._name} was awaited already")
        self._fate.uncalled.remove(self._name)
        self._begun = self._fate.behind_questions(make) if self._behind else make()
        return self._begun

    def __await__(self) -> Any:
        return self._begin().__await__()

    def send(self, value: Any) -> Any:
        return (self._begun or self._begin()).send(value)

    def throw(self, *raised: Any) -> Any:
        return (self._begun or self._begin()).throw(*raised)

    def close(self) -> None:
        (self._begun or self._begin()).close()

    def __bool__(self) -> bool:
        # A question that was not asked would say yes.
        raise _forgotten(self._name)

    def __del__(self) -> None:
        if self._make is not None:
            self._fate.dropped(self._name, self._task)
