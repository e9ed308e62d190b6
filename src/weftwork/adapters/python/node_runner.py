"""Runs decorated functions as node types of the engine.

A call of a function has these stages: convert the inputs to the types of its annotations; run the function in its own
task, so that a cancellation by the author can be distinguished from one by the run; wait for its steps, because their
results are recorded; check the returned value against the declaration. Every exception becomes an outcome of the node.
If the node waits for an interrupt, the result or exception of the function is ignored.
"""

import asyncio
import logging
import threading
from collections.abc import Coroutine, Iterable
from typing import Any, Final

import msgspec

from weftwork.adapters.python import errors
from weftwork.adapters.python.calls.call_state import current_step
from weftwork.adapters.python.calls.invocation import Invocation, NodeServices
from weftwork.adapters.python.context import Context, PlainContext
from weftwork.adapters.python.declaration.decorator import NodeFunction
from weftwork.adapters.python.declaration.signature import Signature, expand_media_refs
from weftwork.adapters.python.loop_bridge import LoopBridge
from weftwork.adapters.python.node_tasks import TaskPath, current_task_path, guard_tasks, in_node, wait_done
from weftwork.adapters.python.threads import ThreadPool, ThreadsExhausted
from weftwork.adapters.python.values import NotJson, ValueTooLarge, as_json, convert
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, Failed, NodeOutcome, NodePending, NotDone
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.ports.outbound import Outbound
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_object

log = logging.getLogger("weftwork.node")

_ANY_OBJECT: Final[dict[str, Any]] = {"type": "object"}


def to_node_type(node: NodeFunction, services: NodeServices) -> WaitingNode:
    return WaitingNode(node.declaration, _NodeRunner(node, services).run)


class _NodeRunner:
    """Calls the function of one node type."""

    def __init__(self, node: NodeFunction, services: NodeServices) -> None:
        self._node = node
        self._services = services

    async def run(self, call: NodeCall, host: NodeContext) -> NodeOutcome:
        node = self._node
        try:
            arguments = _arguments(node.signature, call)
        except errors.NodeError as error:
            return errors.to_failure(error)
        entry = Invocation(node.declaration.type_id, node.declaration.effect, call, host, self._services)
        # The caller may run in the context of a step of another node.
        outer_node = in_node.set(entry)
        outer_step = current_step.set("")
        outcome: NodeOutcome
        try:
            outcome = await _run_with_heartbeat(entry, self._call(entry, arguments), node.heartbeat_timeout)
        except errors.NodeError as error:
            if error.__cause__ is not None:
                fields = {"runId": call.run_id, "nodeId": call.node_id, "code": error.code}
                log.info("node failed", exc_info=error, extra=fields)
            outcome = errors.to_failure(error)
            if isinstance(error, errors.FetchError) and error.sent and entry.effect == "once":
                outcome = msgspec.structs.replace(outcome, retryable=False)
        except NotDone:
            outcome = Failed("step_not_done", "A step of the node reported that its effect did not happen.")
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and entry.state.is_stopping:
                raise
            if entry.state.pending is None:
                _emit_pending_effects(entry)
                if isinstance(error, Exception | NodePending):
                    raise
                raise errors.exit_error(error) from error
            outcome = Completed({})
        finally:
            in_node.reset(outer_node)
            current_step.reset(outer_step)
            pending = entry.close()
        if pending is None:
            outcome = _with_pending_effects(entry, outcome)
            if entry.state.has_undone_step and entry.effect == "once" and isinstance(outcome, Failed):
                # The effect of the step did not happen, but the function may have other effects outside of steps.
                return msgspec.structs.replace(outcome, retryable=False)
            return outcome
        # Raised even if the function caught it: the node has to wait.
        try:
            raise pending.with_traceback(None)
        finally:
            del pending

    async def _call(self, entry: Invocation, arguments: dict[str, Any]) -> NodeOutcome:
        """The outcome of the function, after all of its steps have ended, so that their results are recorded."""
        node = self._node
        current_task_path.set(TaskPath())
        try:
            if node.is_async:
                result = await node.function(Context(entry), **arguments)
            else:
                result = await self._call_plain(entry, arguments)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except errors.CallAbandoned as error:
            if entry.state.is_over:
                raise
            await entry.steps.wait_all()
            raise errors.misuse_error(
                "The node used the context of an earlier call; use only the context that the function was called with."
            ) from error
        except (SystemExit, KeyboardInterrupt) as error:
            await entry.steps.wait_all()
            # Converted, because asyncio would end the process.
            raise errors.exit_error(error) from error
        except BaseException:
            await entry.steps.wait_all()
            raise
        await entry.state.check_all_awaited()
        await entry.steps.wait_all()
        if entry.state.failure is not None:
            raise entry.state.failure
        return _to_outcome(node, entry.call, result) if node.is_async else result

    async def _call_plain(self, entry: Invocation, arguments: dict[str, Any]) -> NodeOutcome:
        entry.steps.holds_thread = True
        node = self._node
        bridge = LoopBridge(entry)
        context = PlainContext(entry, bridge)

        def call() -> NodeOutcome:
            entry.own_thread = threading.get_ident()
            # Checked in this thread, because checking a large value would block the event loop.
            return _to_outcome(node, entry.call, node.function(context, **arguments))

        try:
            return await self._services.threads.run(call, entry.type_id)
        except ThreadsExhausted:
            raise errors.threads_exhausted_error() from None
        except asyncio.CancelledError:
            bridge.abandon()
            raise


def _with_pending_effects(entry: Invocation, outcome: NodeOutcome) -> NodeOutcome:
    """The outcome with the effects of failed model calls, so that they are recorded once, when the node ends."""
    effects = entry.state.pending_effects
    if not effects or not isinstance(outcome, Completed | Failed):
        return outcome
    if entry.call.part:
        _emit_pending_effects(entry)
        return outcome
    return msgspec.structs.replace(outcome, effects=(*outcome.effects, *effects))


def _emit_pending_effects(entry: Invocation) -> None:
    """Emit the effects of failed model calls, if the outcome cannot have effects: an exception, or an item of a map."""
    for effect in entry.state.pending_effects:
        if isinstance(effect, AppendLog | EmitEvent):
            entry.host.emit_event(effect)


async def _run_with_heartbeat(
    entry: Invocation, work: Coroutine[Any, Any, NodeOutcome], limit: float | None
) -> NodeOutcome:
    """The outcome, or a failure if the node sends no heartbeat for `limit` seconds; its function is then abandoned.

    The function has its own task: a cancellation of that task comes from the author, a cancellation of this coroutine
    from the run.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(_retrieve_exception)
    try:
        if limit is None:
            await wait_done(task)
        elif not await _ends_before_timeout(entry, task, limit):
            entry.state.is_over = True
            message = f"The node sent no heartbeat for {limit:g} s."
            # The abandoned function may still have its effect.
            return Failed("node_heartbeat_lost", message, retryable=entry.effect != "once")
    except asyncio.CancelledError:
        # The run cancels the node. The function can still clean up, and its outcome counts.
        entry.state.is_stopping = True
        task.cancel()
        await asyncio.wait((task, *entry.steps.cancel_all()))
    finally:
        task.cancel()
    try:
        return task.result()
    finally:
        # The traceback of an error refers to this frame; a reference to the task would make a cycle.
        del task


async def _ends_before_timeout(entry: Invocation, task: "asyncio.Future[NodeOutcome]", limit: float) -> bool:
    """Whether the task ends before `limit` seconds have passed since its last heartbeat."""
    while not task.done():
        left = entry.last_heartbeat + limit - entry.loop.time()
        if left <= 0:
            return False
        await asyncio.wait((task,), timeout=left)
    return True


def _retrieve_exception(task: "asyncio.Future[NodeOutcome]") -> None:
    """Retrieve the exception of an abandoned task, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()


def _arguments(signature: Signature, call: NodeCall) -> dict[str, Any]:
    """The arguments of the function. Raises NodeError if a value does not match its annotation."""
    if signature.inputs_type is not None:
        arguments = {"inputs": _convert_argument("inputs", call.inputs, signature.inputs_type)}
    else:
        arguments = {
            name: _convert_argument(f"the input {name}", expand_media_refs(call.inputs[name], kind), kind)
            for name, kind in signature.ports.items()
            if name in call.inputs
        }
        for name in signature.inputs_schema.get("required", ()):
            if name not in arguments:
                raise errors.NodeError("node_input_missing", f"The input {name} is required, but has no value.")
    if signature.config is not None:
        arguments["config"] = _convert_argument("config", call.config, signature.config)
    return arguments


def _convert_argument(what: str, value: Any, kind: Any) -> Any:
    try:
        return convert(value, kind)
    except msgspec.ValidationError as error:
        where = str(error).rpartition(" - at `$")[2].rstrip("`") if " - at `$" in str(error) else ""
        place = f" at {where.lstrip('.')}" if where else ""
        code = "node_config_invalid" if what == "config" else "node_input_invalid"
        raise errors.NodeError(code, f"The value of {what} does not match its type{place}.") from None


def _to_outcome(node: NodeFunction, call: NodeCall, result: Any) -> NodeOutcome:
    return_kind = node.signature.return_kind
    try:
        outputs = _outputs(return_kind, result)
    except ValueTooLarge as error:
        return Failed("node_output_too_large", f"The value that the node returned {error.why}.", retryable=False)
    except NotJson as error:
        # A single value is the output port `output`.
        where = f"/outputs{'/output' if return_kind == 'value' else ''}{error.pointer}"
        message = f"The node returned an invalid output: {where} {error.why}."
        fields = {"runId": call.run_id, "nodeId": call.node_id, "typeId": node.declaration.type_id}
        log.error("the output of a node is not JSON", extra={**fields, "place": node.place, "reason": message})
        return Failed("node_output_invalid", message, {"pointer": where}, retryable=False)
    if node.declaration.outputs != _ANY_OBJECT:
        violations = schema.check_inline(node.declaration.outputs, outputs, "/outputs")
        if violations:
            first = violations[0]
            message = f"An output does not match the declaration of the node: {first.message}."
            return Failed("node_output_invalid", message, {"pointer": first.pointer}, retryable=False)
    return Completed(outputs)


def _outputs(return_kind: str, result: Any) -> dict[str, Any]:
    """The outputs by port. Raises NotJson."""
    if return_kind == "nothing" or (return_kind == "any" and result is None):
        return {}
    document = as_json(result)
    if return_kind == "value" or (return_kind == "any" and not is_object(document)):
        return {"output": document}
    if not is_object(document):
        what = "is null" if document is None else "is not an object"
        raise NotJson("", f"{what}, but the return annotation of the function is an object type")
    return document


class PythonNodes:
    """All Python nodes of a host, and the threads of plain functions."""

    def __init__(self, nodes: Iterable[NodeFunction], threads: ThreadPool, outbound: Outbound | None) -> None:
        self.nodes = [*nodes]
        self.threads = threads
        services = NodeServices(threads, outbound)
        self.types: dict[str, NodeType] = {
            node.declaration.type_id: to_node_type(node, services) for node in self.nodes
        }

    def start(self) -> None:
        """Guard the tasks that nodes start on the running event loop. Does nothing without nodes."""
        if self.nodes:
            guard_tasks(asyncio.get_running_loop())

    def stop(self) -> None:
        """Close the thread pool, without waiting for it."""
        self.threads.close()
