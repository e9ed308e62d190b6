"""The performer: runs the nodes of one run. Instant nodes on the spot, waiting nodes as tasks it can stop."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from weftwork.engine.decide import Input, NodeCompleted, NodeFailed, NodeStopped
from weftwork.engine.runtime import Runtime
from weftwork.ports.faults import point
from weftwork.ports.nodes import Completed, Failed, InstantNode, NodeCall, NodeType, Outcome, WaitingNode
from weftwork.protocol import schema
from weftwork.protocol.dataflow import Missing, resolve_inputs
from weftwork.protocol.fold import RunState

log = logging.getLogger("weftwork.node")

STOP_GRACE: Final = 3.0
"""Seconds a node may take to stop before the run goes on without it."""


class Performer:
    """Calls node types and reports each outcome as an input. Outcomes of abandoned nodes are dropped."""

    def __init__(self, runtime: Runtime, report: Callable[[Input], None]) -> None:
        self._runtime = runtime
        self._report = report
        self._tasks: dict[str, asyncio.Task[Input]] = {}
        self._grace: asyncio.TimerHandle | None = None
        self._closing = False

    def instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of a node that needs no waiting, or None for one to launch after the commit."""
        call = _call(state, node_id)
        if isinstance(call, NodeFailed):
            return call
        node_type = self._type(state, node_id)
        if not isinstance(node_type, InstantNode):
            return None
        try:
            return _input(node_id, node_type.run(call))
        except Exception:
            return _raised(state, node_id)

    def launch(self, state: RunState, node_id: str) -> None:
        """Run a node whose start is durable. After a crash this enters it again for the same attempt."""
        point("node.launch")
        node_type = self._type(state, node_id)
        call = _call(state, node_id) if isinstance(node_type, WaitingNode) else None
        if isinstance(node_type, WaitingNode) and isinstance(call, NodeCall):
            task = self._tasks[node_id] = asyncio.create_task(self._wait_for(state, node_type, call))
            # A callback, because a task that is cancelled before its first step runs no code of its own.
            task.add_done_callback(partial(self._done, node_id))
        else:
            outcome = call if isinstance(call, NodeFailed) else self.instant(state, node_id)
            if outcome is not None:
                self._report(outcome)

    def stop(self, state: RunState) -> None:
        """Stop everything that runs, once; each node reports its end, at the latest after the grace time."""
        for node_id in state.running:
            if node_id not in self._tasks:
                self._report(NodeStopped(node_id))
        if self._tasks and self._grace is None:
            for task in self._tasks.values():
                task.cancel()
            self._grace = asyncio.get_running_loop().call_later(STOP_GRACE, self._abandon)

    def holds(self, node_id: str) -> bool:
        """Whether that node runs here and has not reported its end."""
        return node_id in self._tasks

    def close(self) -> list[asyncio.Task[Any]]:
        """Cancel without reporting, for a host that goes away; returns what is still ending."""
        self._closing = True
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        for task in self._tasks.values():
            task.cancel()
        return list(self._tasks.values())

    def _type(self, state: RunState, node_id: str) -> NodeType:
        return self._runtime.types[state.plan.nodes[node_id].node.declaration.type_id]

    async def _wait_for(self, state: RunState, node_type: WaitingNode, call: NodeCall) -> Input:
        node_id = call.node_id
        context = _Context(self._runtime, state.nodes[node_id].started_at)
        try:
            return _input(node_id, await node_type.run(call, context))
        except asyncio.CancelledError:
            if _is_stopped():
                raise
            # Nobody stopped this node: something that it waited for was cancelled.
            return _raised(state, node_id)
        except Exception:
            return _raised(state, node_id)

    def _done(self, node_id: str, task: asyncio.Task[Input]) -> None:
        if self._tasks.get(node_id) is not task:
            return
        del self._tasks[node_id]
        if not self._closing:
            point("node.ended")
            self._report(NodeStopped(node_id) if task.cancelled() else task.result())

    def _abandon(self) -> None:
        self._grace = None
        for node_id in list(self._tasks):
            del self._tasks[node_id]
            log.warning("node did not stop in time and was abandoned", extra={"nodeId": node_id})
            self._report(NodeStopped(node_id))


def _is_stopped() -> bool:
    """Whether the task that runs this was cancelled. Not asked in place: a frame that knows its own task, kept by
    the exception that the task keeps, would outlive both."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _call(state: RunState, node_id: str) -> NodeCall | NodeFailed:
    node = state.plan.nodes[node_id].node
    inputs = resolve_inputs(state, node_id)
    if isinstance(inputs, Missing):
        message = f"The input {inputs.port} has no value: {inputs.source} is not set."
        return NodeFailed(node_id, "node_input_missing", message)
    violations = schema.check_inline(node.declaration.inputs, inputs, "/inputs")
    if violations:
        message = f"An input does not fit the node type: {violations[0].message}."
        return NodeFailed(node_id, "node_config_invalid", message, {"pointer": violations[0].pointer})
    return NodeCall(state.header.run_id, node_id, inputs, node.config)


def _input(node_id: str, outcome: Outcome) -> Input:
    match outcome:
        case Completed(outputs):
            return NodeCompleted(node_id, outputs)
        case Failed(code, message, details):
            return NodeFailed(node_id, code, message, details)


def _raised(state: RunState, node_id: str) -> NodeFailed:
    """What a node raised goes to the log file; the wire learns only that it failed."""
    log.exception("node raised", extra={"runId": state.header.run_id, "nodeId": node_id})
    return NodeFailed(node_id, "node_failed", "The node raised an error; the host's log has the details.")


class _Context:
    """The host as a waiting node sees it."""

    __slots__ = ("_runtime", "started_at")

    def __init__(self, runtime: Runtime, started_at: int) -> None:
        self._runtime = runtime
        self.started_at = started_at

    async def sleep_until(self, when: int) -> None:
        await self._runtime.clock.sleep_until(when)
