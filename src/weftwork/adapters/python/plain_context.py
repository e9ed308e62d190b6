"""The context of a plain function, which blocks: each call goes to the event loop and waits for what comes back."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, overload

from weftwork.adapters.python.calls.fetch import Headers, Response, request_of
from weftwork.adapters.python.calls.interrupts import Question
from weftwork.adapters.python.calls.invocation import Entry
from weftwork.adapters.python.calls.media import Media, MediaContent
from weftwork.adapters.python.calls.model_calls import Answer, Envelope
from weftwork.adapters.python.calls.steps import CallPlain, bound, returned
from weftwork.adapters.python.context import Asks, Shows, Speaks
from weftwork.adapters.python.errors import Abandoned, missing
from weftwork.adapters.python.threads import Outcome, outcome_of
from weftwork.protocol.workflow.node_types import Effect

T = TypeVar("T")


class _Hop(Generic[T]):
    """One call on the loop for a thread that waits. Plain functions that the call needs are run by that same thread:
    it has nothing else to do, and a second one might never be free."""

    def __init__(self, ways: "Ways", work: Callable[[CallPlain], Coroutine[Any, Any, T]]) -> None:
        self._ways = ways
        self._work = work
        self._post: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._outcome: asyncio.Future[Outcome] | None = None
        self._task: asyncio.Task[T] | None = None
        self._context = contextvars.copy_context()

    def wait(self) -> T:
        entry = self._ways.entry
        entry.fate.check()
        if entry.on_loop:
            raise RuntimeError("this call blocks, and would block the event loop; use it in the plain function itself")
        entry.later(self._begin)
        while (call := self._post.get()) is not None:
            entry.later(self._settle, outcome_of(call))
        task, self._task = self._task, None
        if task is None or self._ways.left or task.cancelled():
            raise Abandoned
        try:
            return task.result()
        finally:
            # What it raised knows this frame, which is not to know it.
            del task

    def leave(self) -> None:
        """Wake the thread and stop the call; on the loop."""
        if self._task is not None:
            self._task.cancel()
        self._post.put(None)

    def _begin(self) -> None:
        if self._ways.left:
            self._post.put(None)
            return
        self._ways.hops.add(self)
        self._ways.entry.tools.threads.resting += 1
        self._task = self._ways.entry.loop.create_task(self._work(self._call_plain), context=self._context)
        self._task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[T]") -> None:
        self._ways.hops.discard(self)
        self._ways.entry.tools.threads.resting -= 1
        if not task.cancelled():
            # Asked here, because a thread that was left behind does not.
            task.exception()
        self._post.put(None)

    async def _call_plain(self, call: Callable[[], Any]) -> Any:
        self._outcome = self._ways.entry.loop.create_future()
        self._post.put(partial(contextvars.copy_context().run, call))
        threads = self._ways.entry.tools.threads
        threads.resting -= 1
        try:
            result, error = await self._outcome
        finally:
            threads.resting += 1
        if error is None:
            return result
        try:
            raise error
        finally:
            del error

    def _settle(self, outcome: Outcome) -> None:
        # Forgotten here: frames of what was raised lead to this hop.
        future, self._outcome = self._outcome, None
        if future is not None and not future.done():
            future.set_result(outcome)


class Ways:
    """The calls of one plain function that are under way, so that all of them can be left."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.hops: set[_Hop[Any]] = set()
        self.left = False

    def leave(self) -> None:
        """Nobody waits for the function any more: every call of its context raises from now on."""
        self.left = self.entry.fate.over = True
        for hop in [*self.hops]:
            hop.leave()

    def hop(self, work: Callable[[CallPlain], Coroutine[Any, Any, T]]) -> T:
        return _Hop(self, work).wait()


class PlainContext(Asks[Any, dict[str, Any]], Speaks[Answer, Envelope], Shows[Media, MediaContent]):
    """The first argument of a node that is a plain function. The same as Context, without await."""

    __slots__ = ("_ways",)

    def __init__(self, ways: Ways) -> None:
        super().__init__(ways.entry)
        self._ways = ways

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
        call = bound(function, arguments)
        value = self._ways.hop(lambda call_plain: self._entry.step(name, call, effect, call_plain))
        return returned(function, value)

    def _ask(self, name: str, asked: Question) -> Any:
        return self._ways.hop(lambda _: self._entry.ask(asked))

    def _speak(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._ways.hop(lambda _: work())

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Headers = (),
        json: Any = None,
        content: bytes | str | None = None,
        timeout: float | None = None,
    ) -> Response:
        """A request to a public address, through the guard of the host. Raises FetchError when no answer came."""
        request = request_of(url, method, headers, json, content, timeout)
        return Response(self._ways.hop(lambda _: self._entry.fetch(request)))

    def heartbeat(self, **progress: Any) -> None:
        """Tell that the node is alive; the fields go to the host's own log at the level debug.

        Raises when the run went on without this call, so that a long loop ends.
        """
        self._entry.heartbeat(progress)

    def get_version(self, change_id: str, min: int, max: int) -> int:  # noqa: A002
        """The version of a change that this run keeps to: `max` for the first who asks, and that one ever after."""
        return self._ways.hop(lambda _: self._entry.get_version(change_id, min, max))

    def secret(self, *arguments: Any, **named: Any) -> Any:
        """Not offered by this host: raises NodeError, host_capability_missing."""
        raise missing("secrets")
