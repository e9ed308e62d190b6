"""The performer: runs the nodes of one run. Instant nodes on the spot, waiting nodes as tasks it can stop."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from weftwork.engine.call import make_call, outcome_input, raised
from weftwork.engine.inputs import Input, NodeFailed, NodeStopped
from weftwork.engine.node_context import Context, within
from weftwork.engine.runtime import Runtime
from weftwork.ports.faults import point
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType, WaitingNode
from weftwork.protocol.state import RunState

log = logging.getLogger("weftwork.node")

STOP_GRACE: Final = 3.0
"""Seconds a node may take to stop before the run goes on without it."""


class Performer:
    """Calls node types and reports each outcome as an input. Outcomes of abandoned nodes are dropped."""

    def __init__(self, runtime: Runtime, report: Callable[[Input], None]) -> None:
        self._runtime = runtime
        self._report = report
        self._tasks: dict[str, asyncio.Task[Input]] = {}
        self._entered: dict[str, int] = {}
        self._grace: asyncio.TimerHandle | None = None
        self._closing = False

    def instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of a node that needs no waiting, or None for one to launch after the commit."""
        call = make_call(state, node_id)
        if isinstance(call, NodeFailed):
            return call
        node_type = self._type(state, node_id)
        if not isinstance(node_type, InstantNode):
            return None
        try:
            return outcome_input(self._runtime, state, call, node_type.run(call))
        except Exception:
            return raised(self._runtime, state, call)

    def launch(self, state: RunState, node_id: str) -> None:
        """Run a node whose start is durable. After a crash this enters it again for the same attempt."""
        point("node.launch")
        node_type = self._type(state, node_id)
        call = make_call(state, node_id) if isinstance(node_type, WaitingNode) else None
        if isinstance(node_type, WaitingNode) and isinstance(call, NodeCall):
            task = self._tasks[node_id] = asyncio.create_task(self._wait_for(state, node_type, call))
            self._entered[node_id] = call.entered
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

    def drop(self) -> None:
        """Let go of everything that runs; no word of it is heard any more."""
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.cancel()

    def drop_others(self, state: RunState) -> None:
        """Let go of what the log no longer says is running."""
        running = {node_id: node.entered for node_id, node in state.running.items()}
        for node_id in [each for each in self._tasks if running.get(each) != self._entered[each]]:
            self._tasks.pop(node_id).cancel()

    def holds(self, node_id: str, entered: int) -> bool:
        """Whether that entry of a node runs here and has not reported its end."""
        return node_id in self._tasks and self._entered[node_id] == entered

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
        node = state.nodes[node_id]
        limit = state.plan.nodes[node_id].node.timeout_ms
        context = Context(self._runtime, self._report, call, node)
        try:
            work = node_type.run(call, context)
            outcome = await (
                within(self._runtime.clock, work, max(node.started_at, node.resumed_at), limit) if limit else work
            )
            return outcome_input(self._runtime, state, call, outcome)
        except asyncio.CancelledError:
            if _is_stopped():
                raise
            # Nobody stopped this node: something that it waited for was cancelled.
            return raised(self._runtime, state, call)
        except Exception:
            return raised(self._runtime, state, call)

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
