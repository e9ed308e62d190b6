"""What one live run has under way: its running nodes, its timers, and its time limit.

`Activity` does what the decisions of a commit ask for, and takes up again what the log says is under way after a
restart. Everything that happens comes back to the run as an input.

Timers (`Timers`) exist for retries, for nodes that wait for children, and for due dates and reminders of interrupts.
They follow from the folded state alone, so they survive the process. The time limit of a run (`RunDeadline`) counts
by wall clock from its start, and includes all waiting.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.inputs import ChildrenRecheck, Input
from weftwork.engine.nodes.node_runner import NodeRunner
from weftwork.engine.run.pending_commit import PendingCommit
from weftwork.engine.runtime import Runtime
from weftwork.ports.clock import Clock
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.values import is_object
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.effects import WHOLE_NODE, EffectRef, has_unrepeatable_effect
from weftwork.protocol.run.interrupts import InterruptState

TimerKey = tuple[str, str, int]
"""What is waited for: a retry by node and entry, or an interrupt by what is due next."""
MakeInput = Callable[[], Input]


class Activity:
    """Follows what is durable. Everything it has to say comes back as an input."""

    __slots__ = ("_closed", "_deadline", "_report", "_runner", "_timers", "_types")

    def __init__(
        self, runtime: Runtime, limit: int | None, report: Callable[[Input], None], redactor: Redactor | None = None
    ) -> None:
        self._report = report
        self._types = runtime.types
        self._deadline = RunDeadline(runtime.clock, limit, report)
        self._runner = NodeRunner(runtime, report, redactor)
        self._timers = Timers(runtime.clock, report)
        self._closed = False

    def is_calling_any(self, awaiting: Iterable[str]) -> bool:
        """Whether a node among these is called, to see what its children are about."""
        return any(map(self._runner.is_running, awaiting))

    def run_instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of a node that needs no waiting, or None for one to launch after the commit."""
        return self._runner.run_instant(state, node_id)

    def launch_pure(self, state: RunState, work: PendingCommit, threads: bool) -> bool | None:
        """Run the pure ones of nodes that were just started. None if there are none, else whether any is plain."""
        if not work.launches or self._closed:
            return None
        early = [node_id for node_id in work.launches if _is_pure(state, node_id, threads)]
        work.launches = [node_id for node_id in work.launches if node_id not in early]
        for node_id in early:
            if node_id in state.running:
                self._runner.launch(state, node_id)
        return any(state.plan.nodes[node_id].node.declaration.holds_thread for node_id in early) if early else None

    def apply_commit(self, state: RunState, work: PendingCommit) -> None:
        """Do what the decisions of a committed batch ask for."""
        if state.is_terminal or self._closed:
            return
        if work.interrupt:
            self._runner.drop_all()
        under_way = state.active_nodes
        for node_id in work.launches:
            if node_id in under_way:
                self._runner.launch(state, node_id)
        if work.stop:
            self._runner.stop(state)
        self._update_timers(state)

    def take_up(self, state: RunState, reported: set[str], cold: bool, orphans: frozenset[str]) -> bool:
        """Take up what the log says is under way and is not under way here yet; `cold`, whoever began it is gone.

        False if somebody else is at it.
        """
        self._runner.drop_stale(state)
        if state.stop is None and not self._closed:
            for node_id in sorted(state.running, key=lambda node_id: state.plan.nodes[node_id].index):
                entered = state.running[node_id].entry_sequence
                if node_id not in reported and not self._runner.is_running_entry(node_id, entered):
                    if not cold and has_unrepeatable_effect(state.running[node_id].effects, entered, orphans):
                        return False
                    if cold and self._is_reexecuted(state, node_id):
                        self._report(inputs.NodeReexecuted(node_id, entered))
                    else:
                        self._runner.launch(state, node_id)
            for node_id, node in state.awaiting_children.items():
                if node_id not in reported:
                    self._report(ChildrenRecheck(node_id, node.entry_sequence))
            self._update_timers(state)
        return True

    def stop(self, state: RunState) -> None:
        """Stop everything that runs; each node reports its end."""
        self._runner.stop(state)

    def close(self) -> list[asyncio.Task[Any]]:
        """Let go of everything without a word; returns what is still ending."""
        self._closed = True
        return [*self._runner.close(), *self._timers.close(), *self._deadline.cancel()]

    def _is_reexecuted(self, state: RunState, node_id: str) -> bool:
        """node-14: whether this is really executed again, itself or bodies of it.

        A node that somebody has to be asked about first is not, yet.
        """
        if state.running[node_id].children:
            # It finds its way by them, and another attempt would have none.
            return False
        whole = state.running[node_id].effects.get(EffectRef(WHOLE_NODE))
        node = state.plan.nodes[node_id].node
        bodies = [found for at in node.declaration.bodies if is_object(found := node.config.get(at.removeprefix("/")))]
        inline = [body["typeId"] for body in bodies if "typeId" in body]
        types = [node.declaration, *(self._types[type_id].declaration for type_id in inline)]
        return any(not each.resumes_after_crash for each in types) and (whole is None or whole.status != "open")

    def _update_timers(self, state: RunState) -> None:
        self._deadline.start(state.started_at or state.header.created_at)
        self._timers.update(state)


class Timers(msgspec.Struct, eq=False):
    """One task per thing that is waited for."""

    _clock: Clock
    _report: Callable[[Input], None]
    _tasks: dict[TimerKey, asyncio.Task[None]] = {}

    def update(self, state: RunState) -> None:
        """Wait for what the state waits for, and for nothing else."""
        if not (self._tasks or state.retrying or state.suspended or state.awaiting_children):
            return
        waits = {} if state.stop is not None else self._wanted_timers(state)
        for place in [each for each in self._tasks if each not in waits]:
            self._tasks.pop(place).cancel()
        for place, (when, due) in waits.items():
            if place not in self._tasks:
                self._tasks[place] = asyncio.create_task(self._wait(place, when, due))

    def close(self) -> list[asyncio.Task[None]]:
        """Returns what is still ending."""
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.cancel()
        return list(tasks.values())

    def _wanted_timers(self, state: RunState) -> dict[TimerKey, tuple[int, MakeInput]]:
        waits: dict[TimerKey, tuple[int, MakeInput]] = {}
        if state.status != "paused":
            for node_id, node in state.retrying.items():
                # With the entry: a run may have gone on to the next attempt without a word.
                again = inputs.RetryDue(node_id, node.attempt)
                waits["retry", node_id, node.entry_sequence] = node.retry_at, lambda again=again: again
        for asked in state.open_interrupts.values():
            waits |= self._interrupt_timers(asked)
        resting = state.status == "paused" or state.pausing is not None
        for node_id, node in state.awaiting_children.items() if not resting else ():
            if (limit := state.plan.nodes[node_id].node.timeout_ms) > 0:
                late = inputs.AwaitTimedOut(node_id, node.entry_sequence)
                waits["await", node_id, node.entry_sequence] = node.time_limit_start + limit, lambda late=late: late
        return waits

    def _interrupt_timers(self, asked: InterruptState) -> dict[TimerKey, tuple[int, MakeInput]]:
        waits: dict[TimerKey, tuple[int, MakeInput]] = {}
        name = asked.interrupt_id
        if asked.due is not None:
            waits["due", name, 0] = asked.due, lambda: inputs.InterruptTimedOut(name)
        if asked.next_reminder is not None and (asked.due is None or asked.next_reminder < asked.due):
            waits["remind", name, asked.reminders_sent] = asked.next_reminder, lambda: self._reminder(asked)
        return waits

    def _reminder(self, asked: InterruptState) -> Input:
        """One word for all reminders that came due while nobody was there to give them."""
        elapsed = self._clock.now() - asked.requested_at
        return inputs.ReminderDue(asked.interrupt_id, sum(after <= elapsed for after in asked.remind_after_ms))

    async def _wait(self, place: TimerKey, when: int, due: MakeInput) -> None:
        await self._clock.sleep_until(when)
        self._tasks.pop(place, None)
        self._report(due())


class RunDeadline(msgspec.Struct, eq=False):
    """Reports RunTimedOut once, unless it is cancelled before. `_limit` None is no limit."""

    _clock: Clock
    _limit: int | None
    _report: Callable[[inputs.RunTimedOut], None]
    _task: asyncio.Task[None] | None = None

    def start(self, start: int) -> None:
        """Watch the time from `start` on, if there is a limit. Later calls change nothing."""
        if self._limit is not None and self._task is None:
            self._task = asyncio.create_task(self._wait(start, self._limit))

    def cancel(self) -> list[asyncio.Task[None]]:
        """Returns what is still ending."""
        task, self._task = self._task, None
        if task is None:
            return []
        task.cancel()
        return [task]

    async def _wait(self, start: int, limit: int) -> None:
        await self._clock.sleep_until(start + limit + 1)
        self._report(inputs.RunTimedOut(limit, self._clock.now() - start))


def _is_pure(state: RunState, node_id: str, threads: bool) -> bool:
    """node-15 (readings, Appends): whether the node may run before its start is durable. A look at children may not:
    what it goes by must be."""
    if node_id in state.awaiting_children:
        return False
    declaration = state.plan.nodes[node_id].node.declaration
    return (
        declaration.effect == "pure"
        and not declaration.resumes_after_crash
        and (threads or not declaration.holds_thread)
    )
