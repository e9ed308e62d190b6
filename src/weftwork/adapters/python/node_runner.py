"""Runs decorated functions as node types of the engine.

One call of a function goes like this: convert the inputs to its annotations; run it in its own task, so that a
cancellation by the author and one by the run can be told apart; wait for its steps, whose results are recorded; check
what it returned against its declaration. Everything it raises becomes an outcome of the node. An interrupt that the
node waits for wins over whatever the function made of it.
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
from weftwork.adapters.python.loopwatch import LoopWatch
from weftwork.adapters.python.node_tasks import TaskPath, current_task_path, guard_tasks, in_node, wait_done
from weftwork.adapters.python.threads import ThreadPool, ThreadsExhausted
from weftwork.adapters.python.values import NotJson, ValueTooLarge, as_json, convert
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, Failed, InterruptPending, NodeOutcome, NotDone
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.ports.outbound import Outbound
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_object

log = logging.getLogger("weftwork.node")

_ANY_OBJECT: Final[dict[str, Any]] = {"type": "object"}


def to_node_type(node: NodeFunction, services: NodeServices) -> WaitingNode:
    """The node type of a decorated function."""
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
        # Whoever launched this may have been told by a step of another node.
        outer_node = in_node.set(True)
        outer_step = current_step.set("")
        outcome: NodeOutcome
        try:
            outcome = await _run_with_heartbeat(entry, self._call(entry, arguments), node.heartbeat_timeout)
        except errors.NodeError as error:
            if error.__cause__ is not None:
                told = {"runId": call.run_id, "nodeId": call.node_id, "code": error.code}
                log.info("node failed", exc_info=error, extra=told)
            outcome = errors.to_failure(error)
            if isinstance(error, errors.FetchError) and error.sent and entry.effect == "once":
                outcome = msgspec.structs.replace(outcome, retryable=False)
        except NotDone:
            outcome = Failed("step_not_done", "A step of the node says that its effect did not happen.")
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and entry.state.is_stopping:
                raise
            if entry.state.pending_interrupt is None:
                _emit_pending_effects(entry)
                if isinstance(error, Exception | InterruptPending):
                    raise
                raise errors.exit_error(error) from error
            outcome = Completed({})
        finally:
            in_node.reset(outer_node)
            current_step.reset(outer_step)
            asking = entry.close()
        if asking is None:
            outcome = _with_pending_effects(entry, outcome)
            if entry.state.has_undone_step and entry.effect == "once" and isinstance(outcome, Failed):
                # The step did not happen, but what stands around it may have.
                return msgspec.structs.replace(outcome, retryable=False)
            return outcome
        # Whatever the function made of it: the node waits for its answer.
        try:
            raise asking.with_traceback(None)
        finally:
            del asking

    async def _call(self, entry: Invocation, arguments: dict[str, Any]) -> NodeOutcome:
        """What the function comes to, once its steps are over: what they do is recorded."""
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
            raise errors.misuse_error("The node uses the context of another call, which is over.") from error
        except (SystemExit, KeyboardInterrupt) as error:
            await entry.steps.wait_all()
            # Not as it is: asyncio would end the process.
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
            # Checked here as well, where it keeps nobody waiting, however large it is.
            return _to_outcome(node, entry.call, node.function(context, **arguments))

        try:
            return await self._services.threads.run(call, entry.type_id)
        except ThreadsExhausted:
            raise errors.threads_exhausted_error() from None
        except asyncio.CancelledError:
            bridge.abandon()
            raise


def _with_pending_effects(entry: Invocation, outcome: NodeOutcome) -> NodeOutcome:
    """What models that failed leave to be said is said once, with the end of the node, whatever that is."""
    unsaid = entry.state.pending_effects
    if not unsaid or not isinstance(outcome, Completed | Failed):
        return outcome
    if entry.call.part:
        _emit_pending_effects(entry)
        return outcome
    return msgspec.structs.replace(outcome, effects=(*outcome.effects, *unsaid))


def _emit_pending_effects(entry: Invocation) -> None:
    """The same where the end of the node has no place for it: with an error of its own, and in a part of a map."""
    for effect in entry.state.pending_effects:
        if isinstance(effect, AppendLog | EmitEvent):
            entry.host.emit_event(effect)


async def _run_with_heartbeat(
    entry: Invocation, work: Coroutine[Any, Any, NodeOutcome], limit: float | None
) -> NodeOutcome:
    """The outcome, or a failure once nothing has been heard of the node for so many seconds. It is left behind then.

    The function has a task of its own: what cancels that is the author's doing, what cancels this is the run's.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(_retrieve_exception)
    try:
        if limit is None:
            await wait_done(task)
        elif not await _ends_before_timeout(entry, task, limit):
            entry.state.is_over = True
            message = f"Nothing was heard of the node for {limit:g} s."
            # It may still happen.
            return Failed("node_heartbeat_lost", message, retryable=entry.effect != "once")
    except asyncio.CancelledError:
        # The run is to end. The node may still clean up, and what it did in the end counts.
        entry.state.is_stopping = True
        task.cancel()
        await asyncio.wait((task, *entry.steps.cancel_all()))
    finally:
        task.cancel()
    try:
        return task.result()
    finally:
        # What the task raised knows this frame, which is not to know the task.
        del task


async def _ends_before_timeout(entry: Invocation, task: "asyncio.Future[NodeOutcome]", limit: float) -> bool:
    """Whether the task ends before it was silent for too long."""
    while not task.done():
        left = entry.last_heartbeat + limit - entry.loop.time()
        if left <= 0:
            return False
        await asyncio.wait((task,), timeout=left)
    return True


def _retrieve_exception(task: "asyncio.Future[NodeOutcome]") -> None:
    """Nobody asks a task that was left behind what it came to."""
    if not task.cancelled():
        task.exception()


def _arguments(signature: Signature, call: NodeCall) -> dict[str, Any]:
    """What the function is called with. Raises NodeError if something does not fit its annotation."""
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
                raise errors.NodeError("node_input_missing", f"The input {name} has no value.")
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
        raise errors.NodeError(code, f"The value of {what} does not fit its type{place}.") from None


def _to_outcome(node: NodeFunction, call: NodeCall, result: Any) -> NodeOutcome:
    gives = node.signature.return_kind
    try:
        outputs = _outputs(gives, result)
    except ValueTooLarge as error:
        return Failed("node_output_too_large", f"What the node returned {error.why}.", retryable=False)
    except NotJson as error:
        # A single value is the port output.
        where = f"/outputs{'/output' if gives == 'value' else ''}{error.pointer}"
        message = f"The node returned what cannot be its output: {where} {error.why}."
        told = {"runId": call.run_id, "nodeId": call.node_id, "typeId": node.declaration.type_id}
        log.error("the output of a node is not JSON", extra={**told, "place": node.place, "reason": message})
        return Failed("node_output_invalid", message, {"pointer": where}, retryable=False)
    if node.declaration.outputs != _ANY_OBJECT:
        violations = schema.check_inline(node.declaration.outputs, outputs, "/outputs")
        if violations:
            first = violations[0]
            message = f"An output does not fit what the node declares: {first.message}."
            return Failed("node_output_invalid", message, {"pointer": first.pointer}, retryable=False)
    return Completed(outputs)


def _outputs(gives: str, result: Any) -> dict[str, Any]:
    """The outputs by port. Raises NotJson."""
    if gives == "nothing" or (gives == "any" and result is None):
        return {}
    made = as_json(result)
    if gives == "value" or (gives == "any" and not is_object(made)):
        return {"output": made}
    if not is_object(made):
        what = "is nothing" if made is None else "is no object"
        raise NotJson("", f"{what}, and the annotation of the function promises one")
    return made


class PythonNodes:
    """All Python nodes of a host. `start` begins to watch the event loop for nodes that block it."""

    def __init__(self, nodes: Iterable[NodeFunction], threads: ThreadPool, outbound: Outbound | None) -> None:
        self.nodes = [*nodes]
        self.threads = threads
        services = NodeServices(threads, outbound)
        self.types: dict[str, NodeType] = {
            node.declaration.type_id: to_node_type(node, services) for node in self.nodes
        }
        self._watch = LoopWatch(self.nodes)

    def start(self) -> None:
        """Watch the loop that runs now, if any node could block it, and keep their tasks from ending it."""
        if self.nodes:
            guard_tasks(asyncio.get_running_loop())
            self._watch.start()

    def stop(self) -> None:
        """Let go of everything, and wait for nothing."""
        self._watch.stop()
        self.threads.close()
