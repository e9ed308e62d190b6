"""ctx.step: runs the steps of one call of a node, and converts their recorded results.

Each step runs in its own task. Cancelling the caller of ctx.step does not cancel the step, whose result must be
recorded; only the end of the node's call does. A result is recorded as JSON and converted to the return annotation of
the step's function, in the call that ran the step and in every later one that replays it.
"""

import asyncio
import inspect
import logging
import typing
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from weftwork.adapters.python import errors
from weftwork.adapters.python.calls.call_state import CallState, PlainCaller, current_step
from weftwork.adapters.python.node_tasks import wait_done
from weftwork.adapters.python.threads import ThreadsExhausted
from weftwork.adapters.python.values import NotJson, ValueTooLarge, as_json, convert, is_storable
from weftwork.ports.node_outcome import Failed, InterruptPending, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.run.effects import MAX_STEP_NAME
from weftwork.protocol.workflow.node_types import Effect

log = logging.getLogger("weftwork.node")


def bind_step(function: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The function of a step, bound to its arguments. Raises NodeError if `function` cannot be called."""
    if callable(function):
        return partial(function, *arguments)
    if inspect.iscoroutine(function):
        # Closed, so that Python does not warn that it was never awaited; the error below says what is wrong.
        function.close()
    raise errors.misuse_error(
        "ctx.step needs the function itself, not its result: ctx.step(name, function, *arguments)."
    )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of it returns an awaitable: an async function or method, a partial of one, or such an object."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def matches_return_type(function: Callable[..., Any], value: Any) -> bool:
    """Whether the result of the function, as JSON, matches its return annotation."""
    try:
        convert(value, _return_type(function))
    except msgspec.ValidationError:
        return False
    except TypeError:
        # msgspec cannot convert to this type.
        return True
    return True


def convert_result(function: Callable[..., Any], value: Any) -> Any:
    """The recorded JSON, converted to the return annotation of the function.

    The JSON itself if there is no annotation, if msgspec cannot convert to it, or if the value does not match it. A
    mismatch is possible because a person, or an older version of the function, may have supplied the value.
    """
    try:
        return convert(value, _return_type(function))
    except (msgspec.ValidationError, TypeError):
        return convert(value, Any)


def _return_type(function: Callable[..., Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(function, "__call__", function)  # noqa: B004
    annotation = getattr(function, "__annotations__", {}).get("return", Any)
    if not isinstance(annotation, str):
        return annotation
    try:
        return typing.get_type_hints(function, include_extras=True)["return"]
    except Exception:
        return Any


class Steps:
    """The steps of one call of a node."""

    def __init__(self, type_id: str, effect: Effect, call: NodeCall, host: NodeContext, state: CallState) -> None:
        self.type_id = type_id
        self.holds_thread = False
        """Whether the node is a plain function, whose thread also runs its plain steps."""
        self.running_keys: list[str] = []
        """Effect keys of the steps whose function is running."""
        self._effect = effect
        self._call = call
        self._host = host
        self._state = state
        self._names: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, name: str, function: Callable[[], Any], effect: Effect | None, call_plain: PlainCaller) -> Any:
        """The result of the step as JSON. Raises StepError, NotDone or InterruptPending.

        Cancelling this call does not cancel the step; its result is still recorded.
        """
        self._check_name(name)
        task = asyncio.create_task(self._run(name, function, effect, call_plain))
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        try:
            await wait_done(task)
            return task.result()
        finally:
            # The traceback of an error refers to this frame, and the task to the error, which would be a cycle.
            del task

    async def wait_all(self) -> None:
        """Wait for steps that the function started but did not await, so that their results are recorded."""
        while self._tasks:
            await asyncio.wait([*self._tasks])

    def cancel_all(self) -> list["asyncio.Task[Any]"]:
        """Cancel the running steps and return their tasks. A step must not outlive its call, because its result could
        not be recorded any more."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        return tasks

    def _on_done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Retrieved, because the caller may have been cancelled; otherwise asyncio would log it as never retrieved.
            task.exception()

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= MAX_STEP_NAME or not is_storable(name):
            raise errors.misuse_error(
                f"The name of a step must be a text of 1 to {MAX_STEP_NAME} characters, without NUL."
            )
        if current_step.get():
            raise errors.misuse_error(f"The step {name} is inside another step; start it outside of that step.")
        if name in self._names:
            raise errors.misuse_error(
                f"Two steps of the node have the name {name}; use a different name for each step."
            )
        self._names.add(name)

    async def _run(self, name: str, function: Callable[[], Any], effect: Effect | None, call_plain: PlainCaller) -> Any:
        chosen: Effect = effect or ("idempotent" if self._effect == "idempotent" else "once")
        awaited = is_async(function)
        run = self._run_async if awaited else self._run_plain
        try:
            return await self._host.step(
                name,
                chosen,
                lambda: self.run_guarded(name, lambda: run(name, function, call_plain)),
                # Whether the step needs a thread of the pool.
                not (awaited or self.holds_thread),
            )
        except StepFailed as error:
            failure = error.failure
            raise errors.StepError(failure.code, failure.message, failure.details) from error.__cause__
        except NotDone as undone:
            self._state.has_undone_step = True
            if isinstance(undone.__cause__, errors.NodeError):
                raise undone.__cause__ from None
            raise
        except InterruptPending as pending:
            self._state.pending = pending
            raise

    async def run_guarded(self, name: str, run: Callable[[], Awaitable[Any]]) -> Any:
        """Run the step and convert its exceptions into StepFailed or NotDone, which can be recorded."""
        key = self._host.effect_key(name)
        token = current_step.set(key)
        self.running_keys.append(key)
        try:
            return await run()
        except (NotDone, StepFailed, InterruptPending):
            raise
        except errors.FetchError as error:
            if not error.sent:
                raise NotDone from error
            raise StepFailed(errors.to_failure(error)) from error
        except errors.NodeError as error:
            raise StepFailed(errors.to_failure(error)) from error
        except ThreadsExhausted:
            raise NotDone from errors.threads_exhausted_error()
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            if isinstance(error, errors.CallAbandoned) and self._state.is_over:
                raise
            log.error("step raised", exc_info=error, extra=self._log_fields(name))
            raise StepFailed(
                Failed("step_failed", f"The step {name} raised an error; the host's log has the details.")
            ) from error
        finally:
            self.running_keys.remove(key)
            # The host continues in this context, possibly with other nodes.
            current_step.reset(token)

    async def _run_async(self, name: str, function: Callable[[], Any], call_plain: PlainCaller) -> Any:
        return self._check_result(name, function, await function())

    async def _run_plain(self, name: str, function: Callable[[], Any], call_plain: PlainCaller) -> Any:
        def call() -> tuple[Any, bool]:
            result = function()
            # Checked in this thread, because checking a large value would block the event loop.
            return (
                (result, True) if inspect.isawaitable(result) else (self._check_result(name, function, result), False)
            )

        result, awaitable = await call_plain(call)
        # A plain function that calls an async function returns an awaitable.
        return self._check_result(name, function, await result) if awaitable else result

    def _log_fields(self, step: str) -> dict[str, str]:
        return {"runId": self._call.run_id, "nodeId": self._call.node_id, "step": step}

    def _check_result(self, name: str, function: Callable[[], Any], result: Any) -> Any:
        try:
            document = as_json(result)
        except NotJson as error:
            code = "node_output_too_large" if isinstance(error, ValueTooLarge) else "step_failed"
            what = "a value that is too large" if isinstance(error, ValueTooLarge) else "a value that is not JSON"
            log.error("the result of a step is not JSON", exc_info=error, extra=self._log_fields(name))
            raise StepFailed(Failed(code, f"The step {name} returned {what}: {error}.")) from error
        if matches_return_type(function, document):
            return document
        message = f"The result of the step {name} does not match the return annotation of its function."
        raise StepFailed(Failed("step_result_invalid", message))


def _is_cancelled() -> bool:
    """Whether the current task was cancelled. A separate frame, so that tracebacks do not refer to the task."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
