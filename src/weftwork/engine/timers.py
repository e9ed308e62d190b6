"""Timers of one run: when failed nodes are tried again, nodes that wait for children have had their time, interrupts
are due and people are reminded of them.

They follow from the log, so they outlive the process.
"""

import asyncio
from collections.abc import Callable

from weftwork.engine.inputs import AwaitDue, Input, InterruptDue, ReminderDue, RetryDue
from weftwork.ports.clock import Clock
from weftwork.protocol.state import InterruptState, RunState

Place = tuple[str, str, int]
"""What is waited for: a retry by node and entry, or an interrupt by what is due next."""
Due = Callable[[], Input]


class Timers:
    """One task per thing that is waited for."""

    __slots__ = ("_clock", "_report", "_tasks")

    def __init__(self, clock: Clock, report: Callable[[Input], None]) -> None:
        self._clock = clock
        self._report = report
        self._tasks: dict[Place, asyncio.Task[None]] = {}

    def follow(self, state: RunState) -> None:
        """Wait for what the state waits for, and for nothing else."""
        if not (self._tasks or state.retrying or state.suspended or state.awaiting):
            return
        waits = {} if state.stop is not None else self._waits(state)
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

    def _waits(self, state: RunState) -> dict[Place, tuple[int, Due]]:
        waits: dict[Place, tuple[int, Due]] = {}
        if state.status != "paused":
            for node_id, node in state.retrying.items():
                # With the entry: a run may have gone on to the next attempt without a word.
                again = RetryDue(node_id, node.attempt)
                waits["retry", node_id, node.entered] = node.due, lambda again=again: again
        for asked in state.asked.values():
            waits |= self._waits_for(asked)
        resting = state.status == "paused" or state.pausing is not None
        for node_id, node in state.awaiting.items() if not resting else ():
            if (limit := state.plan.nodes[node_id].node.timeout_ms) > 0:
                late = AwaitDue(node_id, node.entered)
                waits["await", node_id, node.entered] = node.began_at + limit, lambda late=late: late
        return waits

    def _waits_for(self, asked: InterruptState) -> dict[Place, tuple[int, Due]]:
        waits: dict[Place, tuple[int, Due]] = {}
        name = asked.interrupt_id
        if asked.due is not None:
            waits["due", name, 0] = asked.due, lambda: InterruptDue(name)
        if asked.next_reminder is not None and (asked.due is None or asked.next_reminder < asked.due):
            waits["remind", name, asked.reminded] = asked.next_reminder, lambda: self._reminder(asked)
        return waits

    def _reminder(self, asked: InterruptState) -> Input:
        """One word for all reminders that came due while nobody was there to give them."""
        elapsed = self._clock.now() - asked.requested_at
        return ReminderDue(asked.interrupt_id, sum(after <= elapsed for after in asked.remind_after_ms))

    async def _wait(self, place: Place, when: int, due: Due) -> None:
        await self._clock.sleep_until(when)
        self._tasks.pop(place, None)
        self._report(due())
