"""The context of a plain function: each call runs on the event loop and blocks the function's thread until it ends."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, overload

from weftwork.adapters.python.calls.fetch import FetchResponse, Headers, build_request
from weftwork.adapters.python.calls.interrupts import InterruptRequest
from weftwork.adapters.python.calls.invocation import Invocation
from weftwork.adapters.python.calls.media import Media, MediaContent
from weftwork.adapters.python.calls.model_calls import AiAnswer, Envelope
from weftwork.adapters.python.calls.steps import PlainCaller, bind_step, convert_result
from weftwork.adapters.python.context import ContextBase
from weftwork.adapters.python.errors import CallAbandoned, missing_capability_error
from weftwork.adapters.python.threads import ThreadOutcome, capture_outcome
from weftwork.protocol.workflow.node_types import Effect

T = TypeVar("T")


class _LoopCall(Generic[T]):
    """One call on the loop for a thread that waits. Plain functions that the call needs are run by that same thread:
    it has nothing else to do, and a second one might never be free."""

    def __init__(self, bridge: "LoopBridge", work: Callable[[PlainCaller], Coroutine[Any, Any, T]]) -> None:
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
            raise RuntimeError("this call blocks, and would block the event loop; use it in the plain function itself")
        entry.call_on_loop(self._begin)
        while (call := self._thread_work.get()) is not None:
            entry.call_on_loop(self._settle, capture_outcome(call))
        task, self._task = self._task, None
        if task is None or self._bridge.is_abandoned or task.cancelled():
            raise CallAbandoned
        try:
            return task.result()
        finally:
            # What it raised knows this frame, which is not to know it.
            del task

    def abandon(self) -> None:
        """Wake the thread and stop the call; on the loop."""
        if self._task is not None:
            self._task.cancel()
        self._thread_work.put(None)

    def _begin(self) -> None:
        if self._bridge.is_abandoned:
            self._thread_work.put(None)
            return
        self._bridge.pending_calls.add(self)
        self._bridge.invocation.services.threads.waiting_on_loop += 1
        self._task = self._bridge.invocation.loop.create_task(self._work(self._call_plain), context=self._context)
        self._task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[T]") -> None:
        self._bridge.pending_calls.discard(self)
        self._bridge.invocation.services.threads.waiting_on_loop -= 1
        if not task.cancelled():
            # Asked here, because a thread that was left behind does not.
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
        # Forgotten here: frames of what was raised lead to this call.
        future, self._outcome = self._outcome, None
        if future is not None and not future.done():
            future.set_result(outcome)


class LoopBridge:
    """The calls of one plain function that are under way, so that all of them can be left."""

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.pending_calls: set[_LoopCall[Any]] = set()
        self.is_abandoned = False

    def abandon(self) -> None:
        """Nobody waits for the function any more: every call of its context raises from now on."""
        self.is_abandoned = self.invocation.state.is_over = True
        for call in [*self.pending_calls]:
            call.abandon()

    def call(self, work: Callable[[PlainCaller], Coroutine[Any, Any, T]]) -> T:
        return _LoopCall(self, work).run()


class PlainContext(ContextBase[Any, dict[str, Any], AiAnswer, Envelope, Media, MediaContent]):
    """The first argument of a node that is a plain function. The same as Context, without await."""

    __slots__ = ("_bridge",)

    def __init__(self, bridge: LoopBridge) -> None:
        super().__init__(bridge.invocation)
        self._bridge = bridge

    @overload
    def step(
        self, name: str, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, effect: Effect | None = None
    ) -> T: ...
    @overload
    def step(self, name: str, function: Callable[..., T], *arguments: Any, effect: Effect | None = None) -> T: ...
    def step(self, name: str, function: Callable[..., Any], *arguments: Any, effect: Effect | None = None) -> Any:
        """Call a function once. When the node is entered again, what it returned or how it failed comes back instead.

        Raises StepError for a failure. An async function runs on the event loop.
        """
        call = bind_step(function, arguments)
        value = self._bridge.call(lambda call_plain: self._invocation.step(name, call, effect, call_plain))
        return convert_result(function, value)

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Headers = (),
        json: Any = None,
        content: bytes | str | None = None,
        timeout: float | None = None,
    ) -> FetchResponse:
        """A request to a public address, through the guard of the host. Raises FetchError when no answer came."""
        request = build_request(url, method, headers, json, content, timeout)
        return FetchResponse(self._bridge.call(lambda _: self._invocation.fetch(request)))

    def heartbeat(self, **progress: Any) -> None:
        """Tell that the node is alive; the fields go to the host's own log at the level debug.

        Raises when the run went on without this call, so that a long loop ends.
        """
        self._invocation.heartbeat(progress)

    def get_version(self, change_id: str, min: int, max: int) -> int:  # noqa: A002
        """The version of a change that this run keeps to: `max` for the first who asks, and that one ever after."""
        return self._bridge.call(lambda _: self._invocation.get_version(change_id, min, max))

    def secret(self, *arguments: Any, **named: Any) -> Any:
        """Not offered by this host: raises NodeError, host_capability_missing."""
        raise missing_capability_error("secrets")

    def _request_interrupt(self, name: str, asked: InterruptRequest) -> Any:
        return self._bridge.call(lambda _: self._invocation.request_interrupt(asked))

    def _run_call(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._bridge.call(lambda _: work())
