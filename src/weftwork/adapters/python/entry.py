"""One entry of a node: everything that its context can do, in a form that async and plain functions share."""

import asyncio
import contextvars
import inspect
import logging
import random
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from weftwork.adapters.python.errors import Abandoned, FetchError, NodeError, StepError, failed, missing, misused
from weftwork.adapters.python.question import question
from weftwork.adapters.python.threads import Threads, ThreadsExhausted
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.ports.nodes import AppendLog, Asking, EmitEvent, Failed, NodeCall, NodeContext, NotDone, StepFailed
from weftwork.ports.outbound import FetchFailed, FetchRefused, Outbound, Request, Response
from weftwork.protocol.node_type import Effect
from weftwork.protocol.version import version_problem

log = logging.getLogger("weftwork.node")

MAX_STEP_NAME: Final = 128

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_step: contextvars.ContextVar[str] = contextvars.ContextVar("weftwork_step")
"""The key of the step that runs here; threads see that of whoever started them."""

CallPlain = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a plain function where it keeps nobody waiting."""


class Tools(msgspec.Struct, frozen=True):
    """What nodes share: the threads of plain functions, and the way out."""

    threads: Threads
    outbound: Outbound | None = None


class Entry:
    """Belongs to one call of the function, and is of no more use when that is over."""

    def __init__(self, type_id: str, effect: Effect, call: NodeCall, host: NodeContext, tools: Tools) -> None:
        self.type_id = type_id
        self.effect: Effect = effect
        self.call = call
        self.host = host
        self.tools = tools
        self.loop = asyncio.get_running_loop()
        self.heard_at = self.loop.time()
        self.asking: Asking | None = None
        self.failure: NodeError | None = None
        self.over = False
        self.plain = False
        """Whether the node holds a thread itself, in which its plain steps run."""
        self._thread = threading.get_ident()
        self._names: set[str] = set()
        self._open = 0
        self._stepping: set[asyncio.Task[Any] | None] = set()
        """Tasks in which a step is under way."""
        self.undone = False
        """Whether a step said that its effect did not happen."""
        self._settled: asyncio.Event | None = None
        self._random: random.Random | None = None

    @property
    def on_loop(self) -> bool:
        """Whether this is asked in the thread of the event loop."""
        return threading.get_ident() == self._thread

    @property
    def key(self) -> str:
        """The key of the step that asks, or of the node."""
        return _step.get("") or self.host.effect_key()

    @property
    def random(self) -> random.Random:
        if self._random is None:
            # Not for secrets: the same numbers in every attempt are what it is there for.
            self._random = random.Random(f"random:{self.host.effect_key()}")  # noqa: S311
        return self._random

    def now(self) -> datetime:
        self.check()
        return _EPOCH + timedelta(milliseconds=self.host.now)

    def check(self) -> None:
        """Raises Abandoned when the entry is over, Asking while an answer is awaited, NodeError if it said too much."""
        if self.over:
            raise Abandoned
        if self.asking is not None:
            raise self.asking
        if self.failure is not None:
            raise self.failure

    def check_going_on(self) -> None:
        """The same, for what is recorded. Raises CancelledError again in a function that was told to stop: the run
        may be past caring, and what it began now would be in doubt for ever."""
        self.check()
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError

    def say(self, effect: AppendLog | EmitEvent) -> None:
        self.check()
        if self.on_loop:
            self._say(effect)
            self.check()
        else:
            self.later(self._say, effect)

    def _say(self, effect: AppendLog | EmitEvent) -> None:
        try:
            self.host.say(effect)
        except StepFailed as error:
            # Kept, because a thread that said it has gone on.
            failure = error.failure
            self.failure = NodeError(failure.code, failure.message, failure.details, failure.retryable)

    def later(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call something on the event loop, from another thread. Raises Abandoned when there is no loop any more."""
        try:
            self.loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            raise Abandoned from None

    def heartbeat(self, progress: dict[str, Any]) -> None:
        self.check()
        if self.on_loop:
            self._beat()
        else:
            # The clock of the loop stands still between its turns, so it is not asked from here.
            self.later(self._beat)
        if log.isEnabledFor(logging.DEBUG):
            told = {"runId": self.call.run_id, "nodeId": self.call.node_id, "progress": repr(progress)}
            log.debug("heartbeat of a node", extra=told)

    def _beat(self) -> None:
        self.heard_at = self.loop.time()

    async def step(
        self, name: str, function: Callable[[], Any], effect: Effect | None, is_async: bool, call_plain: CallPlain
    ) -> Any:
        """What the step came to, as JSON. Raises StepError, NotDone or Asking."""
        self.check_going_on()
        self._check_step(name)
        chosen: Effect = effect or ("idempotent" if self.effect == "idempotent" else "once")
        key = self.host.effect_key(name)

        async def run() -> Any:
            token = _step.set(key)
            try:
                result = await (function() if is_async else call_plain(function))
                # A plain function around an async one gives something to await.
                return self._recordable(name, await result if inspect.isawaitable(result) else result)
            finally:
                _step.reset(token)

        self._open += 1
        task = asyncio.current_task()
        if task is not None:
            self._stepping.add(task)
        try:
            return await self.host.step(name, chosen, lambda: self.guarded(name, run), not (is_async or self.plain))
        except StepFailed as error:
            failure = error.failure
            raise StepError(failure.code, failure.message, failure.details) from error.__cause__
        except NotDone as undone:
            self.undone = True
            if isinstance(undone.__cause__, NodeError):
                raise undone.__cause__ from None
            raise
        except Asking as asking:
            self.asking = asking
            raise
        finally:
            self._open -= 1
            self._stepping.discard(task)
            # What is raised here knows this frame, and the task what is raised.
            del task
            if self._settled is not None and not self._open:
                self._settled.set()

    def _check_step(self, name: str) -> None:
        if not name or len(name) > MAX_STEP_NAME:
            raise misused(f"The name of a step takes 1 to {MAX_STEP_NAME} characters.")
        if _step.get(""):
            raise misused(f"The step {name} is inside another step.")
        if name in self._names:
            raise misused(f"Two steps of the node are named {name}; each needs a name of its own.")
        self._names.add(name)

    async def guarded(self, name: str, run: Callable[[], Awaitable[Any]]) -> Any:
        """The step, with everything that it raises turned into what can be recorded."""
        try:
            return await run()
        except (NotDone, StepFailed):
            raise
        except FetchError as error:
            if not error.sent:
                raise NotDone from error
            raise StepFailed(failed(error)) from error
        except NodeError as error:
            raise StepFailed(failed(error)) from error
        except ThreadsExhausted:
            raise NotDone from exhausted()
        except (Exception, SystemExit) as error:
            log.error("step raised", exc_info=error, extra=self._told(name))
            raise StepFailed(
                Failed("step_failed", f"The step {name} raised an error; the host's log has the details.")
            ) from error

    def _told(self, step: str) -> dict[str, str]:
        return {"runId": self.call.run_id, "nodeId": self.call.node_id, "step": step}

    def _recordable(self, name: str, result: Any) -> Any:
        try:
            return as_json(result)
        except NotJson as error:
            log.error("the result of a step is not JSON", exc_info=error, extra=self._told(name))
            message = f"The step {name} returned what is not JSON; the host's log says where."
            raise StepFailed(Failed("step_failed", message)) from error

    def close(self) -> Asking | None:
        """End the entry; the question that the node waits for, if it does. A step does not outlive its entry: what it
        did later would be found by nobody who looks now."""
        mine = asyncio.current_task()
        for task in self._stepping:
            if task is not None and task is not mine:
                task.cancel()
        asking, self.asking, self.failure, self.over = self.asking, None, None, True
        return asking

    async def settle(self) -> None:
        """Wait for steps that the function started and did not wait for: what they do is to be recorded."""
        if self._open:
            self._settled = asyncio.Event()
            await self._settled.wait()

    async def ask(self, key: str, kind: str, data: Any, custom_kind: str | None) -> Any:
        self.check_going_on()
        if self.effect == "once":
            raise misused("A node of the effect once cannot ask; put its effect into a step, and make it pure.")
        if _step.get(""):
            raise misused("A step cannot ask; ask before it or after it.")
        try:
            return await self.host.ask(question(self.call, key, kind, data, custom_kind))
        except Asking as asking:
            self.asking = asking
            raise

    async def fetch(self, request: Request) -> Response:
        self.check()
        if self.tools.outbound is None:
            raise missing("requests to others")
        try:
            return await self.tools.outbound.fetch(request)
        except FetchRefused as refused:
            raise NodeError("ssrf_blocked", str(refused), {"blocked": refused.blocked}) from None
        except FetchFailed as error:
            raise FetchError(str(error), error.sent) from None

    async def get_version(self, change_id: str, least: int, most: int) -> int:
        self.check_going_on()
        wrong = version_problem(change_id, least, most, None)
        if wrong is None:
            pinned = await self.host.pin_version(change_id, most)
            wrong = version_problem(change_id, least, most, pinned)
            if wrong is None:
                return pinned
        raise NodeError(*wrong)


def exhausted() -> NodeError:
    """Why a plain function is not started at all."""
    message = "Too many threads of this host are held by nodes that were left behind."
    return NodeError("node_threads_exhausted", message, retryable=True)
