"""A decorated function as a node type that the engine can run."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, Final

import msgspec

from weftwork.adapters.python.context import Context
from weftwork.adapters.python.declare import NodeFunction
from weftwork.adapters.python.entry import Entry, Tools, exhausted
from weftwork.adapters.python.errors import Exited, FetchError, NodeError, failed
from weftwork.adapters.python.plain import PlainContext, Ways
from weftwork.adapters.python.signature import Signature
from weftwork.adapters.python.threads import ThreadsExhausted
from weftwork.adapters.python.values import NotJson, as_json, converted
from weftwork.ports.nodes import Asking, Completed, Failed, NodeCall, NodeContext, NotDone, Outcome, WaitingNode
from weftwork.protocol import schema
from weftwork.protocol.json_value import is_object

log = logging.getLogger("weftwork.node")

_OPEN: Final[dict[str, Any]] = {"type": "object"}


def waiting_node(node: NodeFunction, tools: Tools) -> WaitingNode:
    """The node type of a decorated function."""
    return WaitingNode(node.declaration, _Runner(node, tools).run)


class _Runner:
    """Calls the function of one node type."""

    def __init__(self, node: NodeFunction, tools: Tools) -> None:
        self._node = node
        self._tools = tools

    async def run(self, call: NodeCall, host: NodeContext) -> Outcome:
        node = self._node
        try:
            arguments = _arguments(node.signature, call)
        except NodeError as error:
            return failed(error)
        entry = Entry(node.declaration.type_id, node.declaration.effect, call, host, self._tools)
        outcome: Outcome
        try:
            work = self._call(entry, arguments)
            limit = node.heartbeat_timeout
            outcome = await (work if limit is None else _heard(entry, work, limit))
        except NodeError as error:
            if error.__cause__ is not None:
                told = {"runId": call.run_id, "nodeId": call.node_id, "code": error.code}
                log.info("node failed", exc_info=error, extra=told)
            outcome = failed(error)
            if isinstance(error, FetchError) and error.sent and entry.effect == "once":
                outcome = msgspec.structs.replace(outcome, retryable=False)
        except NotDone:
            outcome = Failed("step_not_done", "A step of the node says that its effect did not happen.")
        except (Exception, BaseExceptionGroup, Asking):
            if entry.asking is None:
                raise
            outcome = Completed({})
        finally:
            asking = entry.close()
        if asking is None:
            if entry.undone and entry.effect == "once" and isinstance(outcome, Failed):
                # The step did not happen, but what stands around it may have.
                return msgspec.structs.replace(outcome, retryable=False)
            return outcome
        # Whatever the function made of it: the node waits for its answer.
        try:
            raise asking.with_traceback(None)
        finally:
            del asking

    async def _call(self, entry: Entry, arguments: dict[str, Any]) -> Outcome:
        try:
            if self._node.is_async:
                result = await self._node.function(Context(entry), **arguments)
            else:
                result = await self._call_plain(entry, arguments)
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
            raise
        except SystemExit as error:
            raise Exited("raised SystemExit") from error
        except BaseException:
            await entry.settle()
            raise
        await entry.settle()
        if entry.failure is not None:
            raise entry.failure
        return _completed(self._node, result)

    async def _call_plain(self, entry: Entry, arguments: dict[str, Any]) -> Any:
        entry.plain = True
        ways = Ways(entry)
        context = PlainContext(ways)
        function = self._node.function
        try:
            return await self._tools.threads.run(lambda: function(context, **arguments), entry.type_id)
        except ThreadsExhausted:
            raise exhausted() from None
        except asyncio.CancelledError:
            ways.leave()
            raise


async def _heard(entry: Entry, work: Awaitable[Outcome], limit: float) -> Outcome:
    """The outcome, or a failure once nothing has been heard of the node for so many seconds. It is left behind then."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(_ended)
    try:
        while not task.done():
            left = entry.heard_at + limit - entry.loop.time()
            if left <= 0:
                entry.over = True
                message = f"Nothing was heard of the node for {limit:g} s."
                # It may still happen.
                return Failed("node_heartbeat_lost", message, retryable=entry.effect != "once")
            await asyncio.wait((task,), timeout=left)
        return task.result()
    except asyncio.CancelledError:
        # The run is to end. The node may still clean up, and what it did in the end counts.
        task.cancel()
        await asyncio.wait((task,))
        return task.result()
    finally:
        task.cancel()
        # What the task raised knows this frame, which is not to know the task.
        del task


def _ended(task: "asyncio.Future[Outcome]") -> None:
    """Nobody asks a task that was left behind what it came to."""
    if not task.cancelled():
        task.exception()


def _arguments(signature: Signature, call: NodeCall) -> dict[str, Any]:
    """What the function is called with. Raises NodeError if something does not fit its annotation."""
    if signature.whole is not None:
        arguments = {"inputs": _taken("inputs", call.inputs, signature.whole)}
    else:
        arguments = {
            name: _taken(f"the input {name}", call.inputs[name], kind)
            for name, kind in signature.ports.items()
            if name in call.inputs
        }
        for name in signature.inputs_schema.get("required", ()):
            if name not in arguments:
                raise NodeError("node_input_missing", f"The input {name} has no value.")
    if signature.config is not None:
        arguments["config"] = _taken("config", call.config, signature.config)
    return arguments


def _taken(what: str, value: Any, kind: Any) -> Any:
    try:
        return converted(value, kind)
    except msgspec.ValidationError as error:
        where = str(error).rpartition(" - at `$")[2].rstrip("`") if " - at `$" in str(error) else ""
        place = f" at {where.lstrip('.')}" if where else ""
        code = "node_config_invalid" if what == "config" else "node_input_invalid"
        raise NodeError(code, f"The value of {what} does not fit its type{place}.") from None


def _completed(node: NodeFunction, result: Any) -> Outcome:
    try:
        outputs = _outputs(node.signature.gives, result)
    except NotJson as error:
        where = f"/outputs{error.pointer}"
        message = "The node returned a value that is not JSON."
        told = {"typeId": node.declaration.type_id, "place": node.place, "reason": f"{where} {error.why}"}
        log.error("the output of a node is not JSON", extra=told)
        return Failed("node_output_invalid", message, {"pointer": where}, retryable=False)
    if node.declaration.outputs != _OPEN:
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
        raise NotJson("", "is not an object, as the annotation says")
    return made
