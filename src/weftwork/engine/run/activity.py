"""The running nodes, the timers and the time limit of one live run.

`Activity` performs the actions of committed decisions. After a restart it launches the nodes that are running according
to the log. Everything that happens is reported to the run as an input.

Timers (`Timers`) exist for retries, for nodes that wait for children or a model provider, and for deadlines and
reminders of interrupts.
They are computed from the folded state, so they survive a restart. The time limit of a run (`RunDeadline`) counts from
its start, and includes all waiting. All of them use the clock of the run, which setting the wall clock back does not
stop.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol
from weakref import ref

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.inputs import ChildrenRecheck, Input
from weftwork.engine.nodes.node_runner import NodeRunner
from weftwork.engine.nodes.run_clock import RunClock
from weftwork.engine.run.pending_commit import PendingCommit
from weftwork.engine.runtime import Runtime
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.json.values import is_object
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.effects import WHOLE_NODE, EffectRef, has_unrepeatable_effect
from weftwork.protocol.run.interrupts import InterruptState

TimerKey = tuple[str, str, int]
"""Identifies a timer: its kind, the node or interrupt, and the entry or the number of the reminder."""
MakeInput = Callable[[], Input]


class Activity:
    """Runs the nodes and timers of one run after their cause is durable, and reports outcomes as inputs."""

    __slots__ = ("_closed", "_deadline", "_report", "_timers", "_types", "runner")

    def __init__(
        self,
        runtime: Runtime,
        clock: RunClock,
        limit: int | None,
        report: Callable[[Input], None],
        redactor: Redactor | None = None,
    ) -> None:
        self._report = report
        self._types = runtime.types
        self._deadline = RunDeadline(clock, limit, report)
        self.runner = NodeRunner(runtime, clock, report, redactor)
        self._timers = Timers(clock, report)
        self._closed = False

    def is_calling_any(self, awaiting: Iterable[str]) -> bool:
        """Whether any of these nodes is being called to recheck its children."""
        return any(map(self.runner.is_running, awaiting))

    def run_instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of an instant node, or None for a node that must be launched."""
        return self.runner.run_instant(state, node_id)

    def launch_pure(self, state: RunState, work: PendingCommit, threads: bool) -> bool | None:
        """Launch the pure nodes among those that this commit starts. None if there are none, else whether any of them
        runs in a thread."""
        if not work.launches or self._closed:
            return None
        early = [node_id for node_id in work.launches if _is_pure(state, node_id, threads)]
        work.launches = [node_id for node_id in work.launches if node_id not in early]
        for node_id in early:
            if node_id in state.running:
                self.runner.launch(state, node_id)
        return any(state.plan.nodes[node_id].node.declaration.holds_thread for node_id in early) if early else None

    def apply_commit(self, state: RunState, work: PendingCommit) -> None:
        """Perform the actions of a committed batch."""
        if state.is_terminal or self._closed:
            return
        if work.interrupt:
            self.runner.drop_all()
        if work.drops_stale:
            self.runner.drop_stale(state)
        if work.launches:
            active = state.active_nodes
            for node_id in work.launches:
                if node_id in active:
                    self.runner.launch(state, node_id)
        if work.stop:
            self.runner.stop(state)
        self._update_timers(state)

    def take_up(self, state: RunState, reported: set[str], cold: bool, orphans: frozenset[str]) -> bool:
        """Launch the nodes that are running in the log and not in this process. `cold` means that the process that
        started them has died.

        False if another process executes one of them, which shows by an open effect claim that is not ours.
        """
        self.runner.drop_stale(state)
        if state.stop is None and not self._closed:
            for node_id in sorted(state.running, key=lambda node_id: state.plan.nodes[node_id].index):
                entered = state.running[node_id].entry_sequence
                if node_id not in reported and not self.runner.is_running_entry(node_id, entered):
                    if not cold and has_unrepeatable_effect(state.running[node_id].effects, entered, orphans):
                        return False
                    if cold and self._is_reexecuted(state, node_id):
                        self._report(inputs.NodeReexecuted(node_id, entered))
                    else:
                        self.runner.launch(state, node_id)
            for node_id, node in state.awaiting_children.items():
                if node_id not in reported:
                    self._report(ChildrenRecheck(node_id, node.entry_sequence))
            self._update_timers(state)
        return True

    def stop(self, state: RunState) -> None:
        """Cancel all running nodes; each node reports its end."""
        self.runner.stop(state)

    def close(self) -> list[asyncio.Task[Any]]:
        """Cancel nodes and timers without reporting anything; returns the tasks that are still ending."""
        self._closed = True
        return [*self.runner.close(), *self._timers.close(), *self._deadline.cancel()]

    def _is_reexecuted(self, state: RunState, node_id: str) -> bool:
        """node-14: whether resuming the node executes code again, its own or that of its inline bodies, so that it
        counts as a new attempt.

        A node with an open effect is not executed again yet: a person has to decide about the effect first.
        """
        if state.running[node_id].children:
            # The node derives its progress from its children, and a new attempt would have none.
            return False
        whole = state.running[node_id].effects.get(EffectRef(WHOLE_NODE))
        node = state.plan.nodes[node_id].node
        bodies = [body for at in node.declaration.bodies if is_object(body := node.config.get(at.removeprefix("/")))]
        inline = [body["typeId"] for body in bodies if "typeId" in body]
        types = [node.declaration, *(self._types[type_id].declaration for type_id in inline)]
        return any(not each.resumes_after_crash for each in types) and (whole is None or whole.status != "open")

    def _update_timers(self, state: RunState) -> None:
        self._deadline.start(state.time_limit_start or state.header.created_at)
        self._timers.update(state)


class Timers(msgspec.Struct, eq=False):
    """One task per timer."""

    _clock: RunClock
    _report: Callable[[Input], None]
    _tasks: dict[TimerKey, asyncio.Task[None]] = {}

    def update(self, state: RunState) -> None:
        """Start the timers that the state needs, and cancel the others."""
        if not (self._tasks or state.retrying or state.suspended or state.awaiting_children):
            return
        wanted = {} if state.stop is not None else self._wanted_timers(state)
        for key in [each for each in self._tasks if each not in wanted]:
            self._tasks.pop(key).cancel()
        for key, (when, due) in wanted.items():
            if key not in self._tasks:
                self._tasks[key] = asyncio.create_task(self._wait(key, when, due))

    def close(self) -> list[asyncio.Task[None]]:
        """Cancel all timers; returns the tasks that are still ending."""
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.cancel()
        return list(tasks.values())

    def _wanted_timers(self, state: RunState) -> dict[TimerKey, tuple[int, MakeInput]]:
        timers: dict[TimerKey, tuple[int, MakeInput]] = {}
        if state.status != "paused":
            for node_id, node in state.retrying.items():
                # The key has the entry, so that the timer of an earlier attempt or wait is replaced.
                if node.provider_wait is None:
                    retry = inputs.RetryDue(node_id, node.attempt)
                    timers["retry", node_id, node.entry_sequence] = node.retry_at, lambda retry=retry: retry
                elif not 0 < _time_limit_end(state, node_id, node) <= node.retry_at:
                    # Otherwise the node times out first, also if both times have passed when the run is loaded.
                    due = inputs.ProviderRetryDue(node_id, node.entry_sequence)
                    timers["provider", node_id, node.entry_sequence] = node.retry_at, lambda due=due: due
        for interrupt in state.open_interrupts.values():
            timers |= self._interrupt_timers(interrupt)
        if state.status == "paused" or state.pausing is not None:
            return timers
        limited = dict(state.awaiting_children)
        limited |= {node_id: node for node_id, node in state.retrying.items() if node.provider_wait is not None}
        for node_id, node in limited.items():
            if deadline := _time_limit_end(state, node_id, node):
                timeout = inputs.AwaitTimedOut(node_id, node.entry_sequence)
                timers["await", node_id, node.entry_sequence] = deadline, lambda timeout=timeout: timeout
        return timers

    def _interrupt_timers(self, interrupt: InterruptState) -> dict[TimerKey, tuple[int, MakeInput]]:
        timers: dict[TimerKey, tuple[int, MakeInput]] = {}
        name = interrupt.interrupt_id
        if interrupt.due is not None:
            timers["due", name, 0] = interrupt.due, lambda: inputs.InterruptTimedOut(name)
        if interrupt.next_reminder is not None and (interrupt.due is None or interrupt.next_reminder < interrupt.due):
            timers["remind", name, interrupt.reminders_sent] = (
                interrupt.next_reminder,
                lambda: self._reminder(interrupt),
            )
        return timers

    def _reminder(self, interrupt: InterruptState) -> Input:
        """One input for all reminders that have come due, for instance while the host was down."""
        elapsed = self._clock.now() - interrupt.requested_at
        return inputs.ReminderDue(interrupt.interrupt_id, sum(after <= elapsed for after in interrupt.remind_after_ms))

    async def _wait(self, key: TimerKey, when: int, due: MakeInput) -> None:
        await self._clock.sleep_until(when)
        self._tasks.pop(key, None)
        self._report(due())


def _time_limit_end(state: RunState, node_id: str, node: NodeState) -> int:
    """When the time limit of a node ends; 0 if it has none."""
    limit = state.plan.nodes[node_id].node.timeout_ms
    return node.time_limit_start + limit if limit > 0 else 0


class RunDeadline(msgspec.Struct, eq=False):
    """Reports RunTimedOut once, unless it is cancelled before. A `_limit` of None is no limit."""

    _clock: RunClock
    _limit: int | None
    _report: Callable[[inputs.RunTimedOut], None]
    _task: asyncio.Task[None] | None = None

    def start(self, start: int) -> None:
        """Start the deadline, counted from the instant `start`. Later calls change nothing."""
        if self._limit is not None and self._task is None:
            self._task = asyncio.create_task(self._wait(start, self._limit))

    def cancel(self) -> list[asyncio.Task[None]]:
        """Cancel the deadline; returns the task that is still ending, if any."""
        task, self._task = self._task, None
        if task is None:
            return []
        task.cancel()
        return [task]

    async def _wait(self, start: int, limit: int) -> None:
        await self._clock.sleep_until(start + limit + 1)
        self._report(inputs.RunTimedOut(limit, self._clock.now() - start))


def _is_pure(state: RunState, node_id: str, threads: bool) -> bool:
    """node-15 (readings, Appends): whether the node may run before its start is durable. A node that rechecks its
    children may not, because the results that it acts on must be durable."""
    if node_id in state.awaiting_children:
        return False
    declaration = state.plan.nodes[node_id].node.declaration
    return (
        declaration.effect == "pure"
        and not declaration.resumes_after_crash
        and (threads or not declaration.holds_thread)
    )


class Receiver(Protocol):
    """A run, as far as its activity uses it."""

    def send(self, input_: Input) -> None: ...


def weak_reporter(receiver: Receiver) -> Callable[[Input], None]:
    """A callback that does not keep the receiver alive, and does nothing once it is freed."""
    # A WeakMethod would cost several calls when it is made and one when the run is freed.
    reference = ref(receiver)

    def report(input_: Input) -> None:
        alive = reference()
        if alive is not None:
            alive.send(input_)

    return report
