"""The activity of one run: nodes that run, nodes that wait to be tried again, and the run's own time limit."""

import asyncio
from collections.abc import Callable
from typing import Any

from weftwork.engine.deadline import Deadline
from weftwork.engine.inputs import Input, NodeRecorded
from weftwork.engine.performer import Performer
from weftwork.engine.runtime import Runtime
from weftwork.engine.timers import Timers
from weftwork.engine.work import Work
from weftwork.protocol.limits import time_limit
from weftwork.protocol.state import RunState


class Activity:
    """Follows what is durable. Everything it has to say comes back as an input."""

    __slots__ = ("_closed", "_deadline", "_performer", "_timers")

    def __init__(self, runtime: Runtime, state: RunState, report: Callable[[Input], None]) -> None:
        limit = time_limit(runtime.limits, state.plan.workflow.timeout_ms, state.header.configurable)
        self._deadline = Deadline(runtime.clock, limit, report)
        self._performer = Performer(runtime, report)
        self._timers = Timers(runtime.clock, report)
        self._closed = False

    def instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of a node that needs no waiting, or None for one to launch after the commit."""
        return self._performer.instant(state, node_id)

    def follow(self, state: RunState, work: Work) -> None:
        """Do what the decisions of a committed batch ask for."""
        tell_recorded(work.inputs)
        if state.terminal or self._closed:
            return
        if work.interrupt:
            self._performer.drop()
        for node_id in work.launches:
            if node_id in state.running:
                self._performer.launch(state, node_id)
        if work.stop:
            self._performer.stop(state)
        self._watch(state)

    def enter(self, state: RunState, reported: set[str]) -> None:
        """Take up what the log says is under way and is not under way here yet."""
        self._performer.drop_others(state)
        if state.stop is None and not self._closed:
            for node_id in sorted(state.running, key=lambda node_id: state.plan.nodes[node_id].index):
                entered = state.running[node_id].entered
                if node_id not in reported and not self._performer.holds(node_id, entered):
                    self._performer.launch(state, node_id)
            self._watch(state)

    def stop(self, state: RunState) -> None:
        """Stop everything that runs; each node reports its end."""
        self._performer.stop(state)

    def close(self) -> list[asyncio.Task[Any]]:
        """Let go of everything without a word; returns what is still ending."""
        self._closed = True
        return [*self._performer.close(), *self._timers.close(), *self._deadline.cancel()]

    def _watch(self, state: RunState) -> None:
        self._deadline.watch(state.started_at or state.header.created_at)
        self._timers.follow(state)


def tell_recorded(inputs: list[Input]) -> None:
    """Tell nodes that their items are durable, or no longer matter."""
    for given in inputs:
        if isinstance(given, NodeRecorded) and not given.durable.done():
            given.durable.set_result(None)
