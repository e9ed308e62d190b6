"""The state of one call of a node function, and the awaitable that every call of an async context returns."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from weftwork.adapters.python.errors import CallAbandoned, NodeError, misuse_error, node_error
from weftwork.ports.node_outcome import NodeEffect, NodePending, StepFailed

T = TypeVar("T")

PlainCaller = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a plain function in another thread than that of the event loop."""
Finish = Callable[[Any], Any]
"""Converts a result into the value that the author gets."""
Work = Callable[[PlainCaller, Finish | None], Coroutine[Any, Any, T]]
"""The part of a context call that runs on the event loop. It receives `Finish`, unless its caller applies it."""

INTERRUPT_CALLS: Final = frozenset({"ctx.interrupt", "ctx.approve", "ctx.clarify", "ctx.wait_for_event"})
"""Calls that request an interrupt."""

current_step: contextvars.ContextVar[str] = contextvars.ContextVar("weftwork_step", default="")
"""The key of the running step. Tasks, threads of the pool and threads of asyncio.to_thread inherit it."""


class CallState:
    """The state that the context, steps, model calls and media of one call share."""

    __slots__ = (
        "_host_tasks",
        "failure",
        "has_undone_step",
        "is_over",
        "is_stopping",
        "pending",
        "pending_effects",
        "unawaited",
    )

    def __init__(self) -> None:
        self.pending: NodePending | None = None
        """The interrupt or the model provider that the node waits for."""
        self.failure: NodeError | None = None
        """The error that every further context call raises."""
        self.is_over = False
        self.is_stopping = False
        """Whether the run has cancelled the node."""
        self.has_undone_step = False
        """Whether a step has reported that its effect did not happen."""
        self.unawaited: list[str] = []
        """Names of context calls that have not been awaited yet."""
        self.pending_effects: list[NodeEffect] = []
        """Effects of failed model calls. They are recorded in the commit that ends the node, with any outcome."""
        self._host_tasks: set[asyncio.Task[Any]] = set()

    def check(self) -> None:
        """Raises CallAbandoned if the call is over, NodePending if the node waits for an interrupt or a model provider,
        or NodeError if the call has failed.

        Inside a step, NodePending is not raised, so that a running step can finish.
        """
        if self.is_over:
            raise CallAbandoned
        if self.pending is not None and not current_step.get():
            raise self.pending
        if self.failure is not None:
            raise self.failure

    def check_not_stopping(self) -> None:
        """Like `check`, for calls that are recorded. Also raises CancelledError if the run has cancelled the node: the
        run may not record the result any more, so the outcome of a new effect would stay unknown."""
        self.check()
        if self.is_stopping:
            raise asyncio.CancelledError

    async def await_host(self, work: Awaitable[T]) -> T:
        """The result of a call of the host. Raises NodePending, or NodeError for a failure."""
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        self._host_tasks.add(task)
        try:
            return await work
        except NodePending as pending:
            self.pending = pending
            raise
        except StepFailed as error:
            raise node_error(error.failure) from None
        finally:
            self._host_tasks.discard(task)

    def cancel_host_tasks(self) -> None:
        """Cancel the tasks that wait for the host, because the call is over."""
        for task in self._host_tasks:
            task.cancel()

    @property
    def unawaited_interrupt(self) -> str | None:
        """The first call that requests an interrupt and has not been awaited yet."""
        return next((name for name in self.unawaited if name in INTERRUPT_CALLS), None)

    async def run_after_interrupts(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a call that was made after an interrupt call that had not been awaited. Raises NodeError if that is still
        not awaited, because this call would happen without the answer."""
        # The interrupt call may be in a task that has not started yet.
        await asyncio.sleep(0)
        if (name := self.unawaited_interrupt) is not None:
            raise _not_awaited_error(name)
        return await make()

    async def check_all_awaited(self) -> None:
        """Called when the function has ended. Raises NodeError if a context call was never awaited."""
        if self.unawaited:
            await asyncio.sleep(0)
            if self.unawaited and self.failure is None:
                raise _not_awaited_error(self.unawaited[0])
        if self.failure is not None:
            raise self.failure

    def on_dropped(self, name: str, task: int) -> None:
        """A call was garbage-collected without being awaited. In the task that made the call, that is a mistake of the
        author. A call that another task should await may disappear because that task was cancelled."""
        self.unawaited.remove(name)
        here = _current_task()
        if not self.is_over and self.failure is None and id(here) == task and not (here and here.cancelling()):
            self.failure = _not_awaited_error(name)


def _not_awaited_error(name: str) -> NodeError:
    return misuse_error(f"{name} was called without await, so it had no effect; write: await {name}(...).")


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        # A thread without a loop.
        return None


class ContextCall(Coroutine[Any, Any, T]):
    """A call of an async context: a coroutine that reports to its CallState if it is never awaited."""

    __slots__ = ("_call_plain", "_coroutine", "_finish", "_follows_interrupt", "_name", "_state", "_task", "_work")

    def __init__(
        self,
        state: CallState,
        call_plain: PlainCaller,
        name: str,
        work: Work[T],
        finish: Finish | None = None,
    ) -> None:
        self._state = state
        self._call_plain = call_plain
        self._name = name
        self._work: Work[T] | None = work
        self._finish = finish
        self._coroutine: Coroutine[Any, Any, T] | None = None
        # The id, not the task, because the frames of the task refer to this object, which would be a cycle.
        self._task = id(_current_task())
        self._follows_interrupt = bool(state.unawaited) and state.unawaited_interrupt is not None
        state.unawaited.append(name)

    def _begin(self) -> Coroutine[Any, Any, T]:
        work, self._work = self._work, None
        if work is None:
            raise RuntimeError(f"{self._name} has already been awaited")
        self._state.unawaited.remove(self._name)
        if self._follows_interrupt:
            self._coroutine = self._state.run_after_interrupts(partial(work, self._call_plain, self._finish))
        else:
            self._coroutine = work(self._call_plain, self._finish)
        return self._coroutine

    def __await__(self) -> Any:
        return self._begin().__await__()

    def send(self, value: Any) -> Any:
        return (self._coroutine or self._begin()).send(value)

    def throw(self, *raised: Any) -> Any:
        return (self._coroutine or self._begin()).throw(*raised)

    def close(self) -> None:
        (self._coroutine or self._begin()).close()

    def __bool__(self) -> bool:
        # Without this, `if ctx.approve(...)` without await would always be true.
        raise _not_awaited_error(self._name)

    def __del__(self) -> None:
        if self._work is not None:
            self._state.on_dropped(self._name, self._task)
