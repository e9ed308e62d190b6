"""Runs the nodes of one run: instant nodes inline, waiting nodes as tasks that can be cancelled.

Each outcome is reported as an input of the run. A node that the run no longer needs is cancelled and muted, so that
nothing is reported for it any more. A node that does not stop within STOP_GRACE_S is abandoned. `run_within` applies
the time limit of a node.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from weftwork.engine.decide.inputs import Input, NodeFailed, NodeStopped
from weftwork.engine.node_events import QUESTION_HIDDEN
from weftwork.engine.nodes.concurrency import Slots, slots_for
from weftwork.engine.nodes.entry_expressions import EvaluationPostponed
from weftwork.engine.nodes.node_call import (
    entry_expressions,
    input_of_exception,
    input_of_outcome,
    is_once_node,
    make_call,
)
from weftwork.engine.nodes.node_context import EntryContext
from weftwork.engine.nodes.run_clock import RunClock
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import Failed, NodeOutcome, StepFailed, Suspended, raised_failure
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType, WaitingNode
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.fold.data_flow import NodeScope
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.privacy.redaction import Redactor

log = logging.getLogger("weftwork.node")

STOP_GRACE_S: Final = 3.0
"""Seconds that a node may take to stop before the run continues without it."""


class _Reporter(msgspec.Struct, eq=False):
    """Passes the inputs of one launched node on to its run, until it is muted."""

    _report: Callable[[Input], None]
    muted: bool = False
    stopped: bool = False
    """The run has cancelled the node."""
    slots: Slots = ()

    def __call__(self, input_: Input) -> None:
        if not self.muted:
            self._report(input_)


class NodeRunner(msgspec.Struct, eq=False, weakref=True):
    """Calls node types and reports each outcome as an input. Outcomes of abandoned nodes are dropped."""

    _runtime: Runtime
    _clock: RunClock
    _report: Callable[[Input], None]
    redactor: Redactor | None = None
    _tasks: dict[str, asyncio.Task[Input]] = {}
    _entry_sequences: dict[str, int] = {}
    _reporters: dict[str, _Reporter] = {}
    _grace: asyncio.TimerHandle | None = None
    _closing: bool = False

    def is_running(self, node_id: str) -> bool:
        """Whether any entry of that node runs here."""
        return node_id in self._tasks

    def run_instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of an instant node, or None for a node that must be launched: a waiting node, or one whose
        expressions have to wait."""
        node_type = self._type(state, node_id)
        if not isinstance(node_type, InstantNode):
            return None
        try:
            call = make_call(self._runtime, state, node_id)
        except EvaluationPostponed:
            return None
        if isinstance(call, NodeFailed):
            return call
        try:
            outcome = node_type.run(call)
            if self.redactor is not None:
                outcome = check_question(self.redactor, node_id, outcome)
            return input_of_outcome(self._runtime, state, call, outcome, self.redactor)
        except EvaluationPostponed:
            return None
        except (StepFailed, ExpressionFault) as error:
            return input_of_outcome(self._runtime, state, call, raised_failure(error))
        except Exception:
            return input_of_exception(self._runtime, state, call)

    def launch(self, state: RunState, node_id: str) -> None:
        """Start a node whose start is durable, or need not be because the node is pure. A running entry of the same
        node is dropped."""
        fault_point("node.launch")
        node_type = self._type(state, node_id)
        try:
            call = make_call(self._runtime, state, node_id) if isinstance(node_type, WaitingNode) else None
        except EvaluationPostponed:
            call = None
        if isinstance(call, NodeFailed):
            self._report(call)
            return
        if node_id in self._tasks:
            self._drop(node_id)
        reporter = self._reporters[node_id] = _Reporter(self._report)
        work = self._run_to_input(state, node_id, node_type, call, reporter)
        task = self._tasks[node_id] = asyncio.create_task(work)
        self._entry_sequences[node_id] = state.nodes[node_id].entry_sequence
        # A callback, because a task that is cancelled before its first step runs no code of its own.
        task.add_done_callback(partial(self._done, node_id))

    def stop(self, state: RunState) -> None:
        """Cancel all running nodes, once. Each node reports its end, at the latest after STOP_GRACE_S."""
        for node_id in state.running:
            if node_id not in self._tasks:
                self._report(NodeStopped(node_id))
        if self._tasks and self._grace is None:
            for node_id, task in self._tasks.items():
                self._reporters[node_id].stopped = True
                task.cancel()
            self._grace = asyncio.get_running_loop().call_later(STOP_GRACE_S, self._abandon)

    def drop_all(self) -> None:
        """Cancel and mute all running nodes."""
        for node_id in list(self._tasks):
            self._drop(node_id)

    def drop_stale(self, state: RunState) -> None:
        """Cancel and mute the nodes whose entry is no longer running according to the log."""
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        for node_id in [each for each in self._tasks if running.get(each) != self._entry_sequences[each]]:
            self._drop(node_id)

    def _drop(self, node_id: str) -> None:
        reporter = self._reporters.pop(node_id)
        reporter.muted = True
        reporter.stopped = True
        self._tasks.pop(node_id).cancel()
        if reporter.slots:
            # A node that ignores its cancellation must not hold its slots longer than the grace time.
            asyncio.get_running_loop().call_later(STOP_GRACE_S, self._release_slots, reporter)

    def _release_slots(self, reporter: _Reporter) -> None:
        slots, reporter.slots = reporter.slots, ()
        if slots:
            self._runtime.limiter.release(slots)

    def is_running_entry(self, node_id: str, entered: int) -> bool:
        """Whether that entry of a node runs here and has not reported its end."""
        return node_id in self._tasks and self._entry_sequences[node_id] == entered

    def close(self) -> list[asyncio.Task[Any]]:
        """Cancel all nodes without reporting, for a host that closes; returns the tasks that are still ending."""
        self._closing = True
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        for node_id, task in self._tasks.items():
            self._reporters[node_id].stopped = True
            task.cancel()
        return list(self._tasks.values())

    def _type(self, state: RunState, node_id: str) -> NodeType:
        return self._runtime.types[state.plan.nodes[node_id].node.declaration.type_id]

    async def _run_to_input(
        self, state: RunState, node_id: str, node_type: NodeType, made: NodeCall | None, reporter: _Reporter
    ) -> Input:
        """`made`: the call of the node. Without it, its expressions have to wait, or it is an instant node."""
        call = made or _call_without_inputs(state, node_id)
        try:
            if made is None:
                prepared = await self._prepare_call(state, call)
                if isinstance(prepared, NodeFailed):
                    return prepared
                if isinstance(prepared, Failed):
                    return input_of_outcome(self._runtime, state, call, prepared)
                call = prepared
            outcome = await self._run_node(state, node_type, call, reporter)
            if self.redactor is not None:
                outcome = check_question(self.redactor, call.node_id, outcome)
            return input_of_outcome(self._runtime, state, call, outcome, self.redactor)
        except asyncio.CancelledError:
            if reporter.stopped:
                raise
            # The run did not cancel this node: it cancelled itself, or something that it awaited was cancelled.
            return input_of_exception(self._runtime, state, call)
        except BaseException:
            # Also SystemExit and the like: without an outcome, the run would wait for this node without end.
            return input_of_exception(self._runtime, state, call)

    async def _prepare_call(self, state: RunState, call: NodeCall) -> NodeCall | NodeFailed | Failed:
        """The call with its inputs. Their expressions count towards the time limit of the node."""
        node_id = call.node_id
        evaluator = self._runtime.make_evaluator(state.header)
        work = evaluator.settle(partial(make_call, self._runtime, state, node_id, evaluator))
        limit, began = state.plan.nodes[node_id].node.timeout_ms, state.nodes[node_id].time_limit_start
        try:
            return await (run_within(self._clock, work, began, limit) if limit else work)
        except StepFailed as error:
            return error.failure

    async def _run_node(self, state: RunState, node_type: NodeType, call: NodeCall, reporter: _Reporter) -> NodeOutcome:
        """Acquire the slots of the node and run it. Waiting for slots does not count towards its time limit."""
        runtime, node = self._runtime, state.nodes[call.node_id]
        began = node.time_limit_start
        slots = slots_for(node_type.declaration, state.header.partition, runtime.limits)
        if slots:
            if await runtime.limiter.acquire(state.header.partition, slots):
                began = self._clock.now()
            reporter.slots = slots
        try:
            context = EntryContext(runtime, self._clock, reporter, state, call, redactor=self.redactor)
            work = context.run(node_type) if isinstance(node_type, WaitingNode) else _run_instant_node(node_type, call)
            limit = state.plan.nodes[call.node_id].node.timeout_ms
            if not limit:
                return await work
            outcome = await run_within(self._clock, work, began, limit)
            # A node that timed out may still be running; from here on nothing is reported for it.
            context.close()
        finally:
            self._release_slots(reporter)
        if isinstance(outcome, NodeTimedOut) and is_once_node(state, call):
            # The effect of the node may still happen, so it must not be tried again.
            return msgspec.structs.replace(outcome, retryable=False)
        return outcome

    def _done(self, node_id: str, task: asyncio.Task[Input]) -> None:
        if self._tasks.get(node_id) is not task:
            return
        del self._tasks[node_id]
        self._reporters.pop(node_id).muted = True
        if not self._closing:
            fault_point("node.ended")
            self._report(NodeStopped(node_id) if task.cancelled() else task.result())

    def _abandon(self) -> None:
        self._grace = None
        for node_id in list(self._tasks):
            del self._tasks[node_id]
            reporter = self._reporters.pop(node_id)
            reporter.muted = True
            self._release_slots(reporter)
            log.warning("node did not stop in time and was abandoned", extra={"nodeId": node_id})
            self._report(NodeStopped(node_id))


class NodeTimedOut(Failed, frozen=True):
    """The node reached its time limit. Its effects may still happen."""


def _call_without_inputs(state: RunState, node_id: str) -> NodeCall:
    """Identifies an entry whose inputs are not known yet."""
    entered = state.nodes[node_id].entry_sequence
    scope = NodeScope(state, node_id, {})
    return NodeCall(state.header.run_id, node_id, {}, {}, scope, entry_sequence=entered)


async def _run_instant_node(node_type: InstantNode, call: NodeCall) -> NodeOutcome:
    """The outcome of an instant node whose expressions may have to wait."""
    try:
        return await entry_expressions(call).settle(partial(node_type.run, call))
    except (StepFailed, ExpressionFault) as error:
        return raised_failure(error)


T = TypeVar("T")


async def run_within(clock: RunClock, work: Awaitable[T], started_at: int, limit: int) -> T | NodeTimedOut:
    """node-13 (readings, Time limits): the outcome, or NodeTimedOut once `limit` milliseconds have passed since
    `started_at`.

    A node that ignores its cancellation is left running in the background.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep_until(started_at + limit))
    # The result of an abandoned task is not read, so its exception must be consumed here.
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        return NodeTimedOut("node_timeout", f"The node did not end within {limit} ms.")
    except asyncio.CancelledError:
        # The run has to end. The node may clean up, and its outcome counts.
        task.cancel()
        await asyncio.wait((task,))
        return task.result()
    finally:
        task.cancel()
        timer.cancel()
        # The traceback of the task's exception refers to this frame; a reference back to the task would be a cycle.
        del task


def check_question(redactor: Redactor, node_id: str, outcome: NodeOutcome) -> NodeOutcome:
    """hide-07: the outcome, or a failure if the node requests an interrupt of which a person could read nothing."""
    if not isinstance(outcome, Suspended):
        return outcome
    interrupt = outcome.interrupt
    return outcome if redactor.may_ask(node_id, interrupt.kind, interrupt.data) else QUESTION_HIDDEN
