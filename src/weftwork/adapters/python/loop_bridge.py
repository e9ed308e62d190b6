"""Context calls of a plain function: each runs on the event loop and blocks the thread of the function."""

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from weftwork.adapters.python.calls.call_state import Finish, Work
from weftwork.adapters.python.calls.invocation import Invocation
from weftwork.adapters.python.errors import CallAbandoned
from weftwork.adapters.python.threads import ThreadOutcome, capture_outcome

T = TypeVar("T")


class _LoopCall(Generic[T]):
    """One call on the event loop, for a thread that waits for it.

    Plain functions of the call, such as a plain step, run in the same thread: it is idle anyway, and waiting for a
    second thread of a full pool could deadlock.
    """

    def __init__(self, bridge: "LoopBridge", work: Work[T]) -> None:
        self._bridge = bridge
        self._work = work
        self._thread_work: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._outcome: asyncio.Future[ThreadOutcome] | None = None
        self._task: asyncio.Task[T] | None = None
        self._context = contextvars.copy_context()

    def run(self) -> T:
        entry = self._bridge.invocation
        entry.state.check()
        if entry.is_on_loop:
            raise RuntimeError("this call would block the event loop; make it in the plain function of the node")
        entry.call_on_loop(self._begin)
        while (call := self._thread_work.get()) is not None:
            entry.call_on_loop(self._settle, capture_outcome(call))
        task, self._task = self._task, None
        if task is None or self._bridge.is_abandoned or task.cancelled():
            raise CallAbandoned
        try:
            return task.result()
        finally:
            # The traceback of the error refers to this frame; a reference to the task would make a cycle.
            del task

    def abandon(self) -> None:
        """Cancel the call and wake the thread. Called on the event loop."""
        if self._task is not None:
            self._task.cancel()
        self._thread_work.put(None)

    def _begin(self) -> None:
        if self._bridge.is_abandoned:
            self._thread_work.put(None)
            return
        self._bridge.pending_calls.add(self)
        self._bridge.invocation.services.threads.waiting_on_loop += 1
        self._task = self._bridge.invocation.loop.create_task(self._work(self._call_plain, None), context=self._context)
        self._task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[T]") -> None:
        self._bridge.pending_calls.discard(self)
        self._bridge.invocation.services.threads.waiting_on_loop -= 1
        if not task.cancelled():
            # Retrieved here, because an abandoned thread does not; otherwise asyncio would log it as never retrieved.
            task.exception()
        self._thread_work.put(None)

    async def _call_plain(self, call: Callable[[], Any]) -> Any:
        self._outcome = self._bridge.invocation.loop.create_future()
        self._thread_work.put(partial(contextvars.copy_context().run, call))
        threads = self._bridge.invocation.services.threads
        threads.waiting_on_loop -= 1
        try:
            result, error = await self._outcome
        finally:
            threads.waiting_on_loop += 1
        if error is None:
            return result
        try:
            raise error
        finally:
            del error

    def _settle(self, outcome: ThreadOutcome) -> None:
        # The reference is dropped because the traceback of an error refers to this call, which would be a cycle.
        future, self._outcome = self._outcome, None
        if future is not None and not future.done():
            future.set_result(outcome)


class LoopBridge:
    """The pending context calls of one plain function, so that all of them can be abandoned."""

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.pending_calls: set[_LoopCall[Any]] = set()
        self.is_abandoned = False

    def abandon(self) -> None:
        """Abandon the function: its pending context calls and all later ones raise CallAbandoned."""
        self.is_abandoned = self.invocation.state.is_over = True
        for call in [*self.pending_calls]:
            call.abandon()

    def call(self, name: str, work: Work[Any], finish: Finish | None = None) -> Any:
        result = _LoopCall(self, work).run()
        return result if finish is None else finish(result)
