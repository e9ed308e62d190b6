"""Timers of one run: when failed nodes are tried again. They follow from the log, so they outlive the process."""

import asyncio
from collections.abc import Callable

from weftwork.engine.inputs import Input, RetryDue
from weftwork.ports.clock import Clock
from weftwork.protocol.state import RunState


class Timers:
    """One task per node that waits to be tried again."""

    __slots__ = ("_clock", "_report", "_tasks")

    def __init__(self, clock: Clock, report: Callable[[Input], None]) -> None:
        self._clock = clock
        self._report = report
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        """By node and entry: a run may have gone on to the next attempt without a word."""

    def follow(self, state: RunState) -> None:
        """Wait for what the state waits for, and for nothing else."""
        idle = state.status == "paused" or state.stop is not None
        waits = {} if idle else {(node_id, node.entered): node for node_id, node in state.retrying.items()}
        for place in [each for each in self._tasks if each not in waits]:
            self._tasks.pop(place).cancel()
        for place, node in waits.items():
            if place not in self._tasks:
                self._tasks[place] = asyncio.create_task(self._wait(place, node.due, node.attempt))

    def close(self) -> list[asyncio.Task[None]]:
        """Returns what is still ending."""
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.cancel()
        return list(tasks.values())

    async def _wait(self, place: tuple[str, int], due: int, attempt: int) -> None:
        await self._clock.sleep_until(due)
        self._tasks.pop(place, None)
        self._report(RetryDue(place[0], attempt))
