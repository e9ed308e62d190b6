"""The steps of one entry of a node: each in a task of its own, so that only the end of the entry cuts it.

What a step returned, as its function says that it does.
"""

import asyncio
import inspect
import logging
import typing
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from weftwork.adapters.python.calls.call_state import Fate, step_here
from weftwork.adapters.python.errors import Abandoned, FetchError, NodeError, StepError, exhausted, failed, misused
from weftwork.adapters.python.node_tasks import ended
from weftwork.adapters.python.threads import ThreadsExhausted
from weftwork.adapters.python.values import NotJson, TooLarge, as_json, converted, is_storable
from weftwork.ports.node_outcome import Failed, InterruptPending, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.run.effects import MAX_STEP_NAME
from weftwork.protocol.workflow.node_types import Effect


def bound(function: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The function of a step with its arguments. Raises NodeError for what is no function."""
    if callable(function):
        return partial(function, *arguments)
    if inspect.iscoroutine(function):
        # Nobody will await it, and the node hears of that here.
        function.close()
    raise misused("ctx.step takes the function itself, not what it returned: ctx.step(name, function, *arguments).")


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await: an async function, method, partial or object."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def fits(function: Callable[..., Any], value: Any) -> bool:
    """Whether what the function gave, as JSON, is of its return annotation."""
    try:
        converted(value, _kind(function))
    except msgspec.ValidationError:
        return False
    except TypeError:
        # There is no way back to this type.
        return True
    return True


def returned(function: Callable[..., Any], value: Any) -> Any:
    """The recorded JSON in the type of the return annotation; as it is, without one, where there is no way back, and
    where it does not fit: what the function gave did, so this is the word of a person, or of older code."""
    try:
        return converted(value, _kind(function))
    except (msgspec.ValidationError, TypeError):
        return converted(value, Any)


def _kind(function: Callable[..., Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(function, "__call__", function)  # noqa: B004
    found = getattr(function, "__annotations__", {}).get("return", Any)
    if not isinstance(found, str):
        return found
    try:
        return typing.get_type_hints(function, include_extras=True)["return"]
    except Exception:
        return Any


log = logging.getLogger("weftwork.node")


CallPlain = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a plain function where it keeps nobody waiting."""


class Steps:
    """Begins, watches and ends them. `running` are the keys of those whose function is under way."""

    def __init__(self, type_id: str, effect: Effect, call: NodeCall, host: NodeContext, fate: Fate) -> None:
        self.type_id = type_id
        self.plain = False
        """Whether the node holds a thread itself, in which its plain steps run."""
        self.running: list[str] = []
        self._effect = effect
        self._call = call
        self._host = host
        self._fate = fate
        self._names: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def take(self, name: str, function: Callable[[], Any], effect: Effect | None, call_plain: CallPlain) -> Any:
        """What the step came to, as JSON. Raises StepError, NotDone or Asking.

        Who is cancelled here stops waiting; the step goes on, and what it comes to is recorded.
        """
        self._admit(name)
        task = asyncio.create_task(self._take(name, function, effect, call_plain))
        self._tasks.add(task)
        task.add_done_callback(self._over)
        try:
            await ended(task)
            return task.result()
        finally:
            # What is raised here knows this frame, and the task what is raised.
            del task

    async def settle(self) -> None:
        """Wait for steps that the function began and did not wait for: what they do is to be recorded."""
        while self._tasks:
            await asyncio.wait([*self._tasks])

    def cut(self) -> list["asyncio.Task[Any]"]:
        """Cancel what is under way: a step does not outlive its entry, what it did later would be found by nobody."""
        cut = [*self._tasks]
        for task in cut:
            task.cancel()
        return cut

    def _over(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Asked here, because nobody else may.
            task.exception()

    def _admit(self, name: Any) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= MAX_STEP_NAME or not is_storable(name):
            raise misused(f"The name of a step is a text of 1 to {MAX_STEP_NAME} characters, without NUL.")
        if step_here.get():
            raise misused(f"The step {name} is inside another step.")
        if name in self._names:
            raise misused(f"Two steps of the node are named {name}; each needs a name of its own.")
        self._names.add(name)

    async def _take(self, name: str, function: Callable[[], Any], effect: Effect | None, call_plain: CallPlain) -> Any:
        chosen: Effect = effect or ("idempotent" if self._effect == "idempotent" else "once")
        awaited = is_async(function)
        run = self._run_async if awaited else self._run_plain
        try:
            return await self._host.step(
                name, chosen, lambda: self.guarded(name, lambda: run(name, function, call_plain)), self._holds(awaited)
            )
        except StepFailed as error:
            failure = error.failure
            raise StepError(failure.code, failure.message, failure.details) from error.__cause__
        except NotDone as undone:
            self._fate.undone = True
            if isinstance(undone.__cause__, NodeError):
                raise undone.__cause__ from None
            raise
        except InterruptPending as asking:
            self._fate.asking = asking
            raise

    def _holds(self, awaited: bool) -> bool:
        """Whether the step needs a thread that the node has not got."""
        return not (awaited or self.plain)

    async def guarded(self, name: str, run: Callable[[], Awaitable[Any]]) -> Any:
        """The step, with everything that it raises turned into what can be recorded."""
        key = self._host.effect_key(name)
        here = step_here.set(key)
        self.running.append(key)
        try:
            return await run()
        except (NotDone, StepFailed, InterruptPending):
            raise
        except FetchError as error:
            if not error.sent:
                raise NotDone from error
            raise StepFailed(failed(error)) from error
        except NodeError as error:
            raise StepFailed(failed(error)) from error
        except ThreadsExhausted:
            raise NotDone from exhausted()
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cut():
                raise
            if isinstance(error, Abandoned) and self._fate.over:
                raise
            log.error("step raised", exc_info=error, extra=self._told(name))
            raise StepFailed(
                Failed("step_failed", f"The step {name} raised an error; the host's log has the details.")
            ) from error
        finally:
            self.running.remove(key)
            # What follows is the host's, which may go on to other nodes from here.
            step_here.reset(here)

    async def _run_async(self, name: str, function: Callable[[], Any], call_plain: CallPlain) -> Any:
        return self._recordable(name, function, await function())

    async def _run_plain(self, name: str, function: Callable[[], Any], call_plain: CallPlain) -> Any:
        def call() -> tuple[Any, bool]:
            result = function()
            # Where it keeps nobody waiting, however large it is.
            return (result, True) if inspect.isawaitable(result) else (self._recordable(name, function, result), False)

        result, awaitable = await call_plain(call)
        # A plain function around an async one gives something to await.
        return self._recordable(name, function, await result) if awaitable else result

    def _told(self, step: str) -> dict[str, str]:
        return {"runId": self._call.run_id, "nodeId": self._call.node_id, "step": step}

    def _recordable(self, name: str, function: Callable[[], Any], result: Any) -> Any:
        try:
            made = as_json(result)
        except NotJson as error:
            code = "node_output_too_large" if isinstance(error, TooLarge) else "step_failed"
            what = "too much" if isinstance(error, TooLarge) else "what is not JSON"
            log.error("the result of a step is not JSON", exc_info=error, extra=self._told(name))
            raise StepFailed(Failed(code, f"The step {name} returned {what}: {error}.")) from error
        if fits(function, made):
            return made
        message = f"The result of the step {name} does not fit the return annotation of its function."
        raise StepFailed(Failed("step_result_invalid", message))


def _is_cut() -> bool:
    """Whether the task that runs this was told to stop. Not asked in place: what is raised knows the frame."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
