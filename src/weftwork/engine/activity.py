"""The activity of one run: nodes that run, nodes that wait to be tried again, and the run's own time limit."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from weftwork.engine.deadline import Deadline
from weftwork.engine.inputs import Input, Look, NodeAgain
from weftwork.engine.performer import Performer
from weftwork.engine.runtime import Runtime
from weftwork.engine.timers import Timers
from weftwork.engine.work import Work
from weftwork.protocol.effect import NODE, Place, is_unrepeatable
from weftwork.protocol.json_value import is_object
from weftwork.protocol.redaction import Redactor
from weftwork.protocol.state import RunState


class Activity:
    """Follows what is durable. Everything it has to say comes back as an input."""

    __slots__ = ("_closed", "_deadline", "_performer", "_report", "_timers", "_types")

    def __init__(
        self, runtime: Runtime, limit: int | None, report: Callable[[Input], None], redactor: Redactor | None = None
    ) -> None:
        self._report = report
        self._types = runtime.types
        self._deadline = Deadline(runtime.clock, limit, report)
        self._performer = Performer(runtime, report, redactor)
        self._timers = Timers(runtime.clock, report)
        self._closed = False

    def looks_at(self, awaiting: Iterable[str]) -> bool:
        """Whether a node among these is called, to see what its children are about."""
        return any(map(self._performer.is_called, awaiting))

    def instant(self, state: RunState, node_id: str) -> Input | None:
        """The outcome of a node that needs no waiting, or None for one to launch after the commit."""
        return self._performer.instant(state, node_id)

    def launch_early(self, state: RunState, work: Work, threads: bool) -> bool | None:
        """Run the pure ones of nodes that were just started. None if there are none, else whether any is plain."""
        if not work.launches or self._closed:
            return None
        early = [node_id for node_id in work.launches if _is_pure(state, node_id, threads)]
        work.launches = [node_id for node_id in work.launches if node_id not in early]
        for node_id in early:
            if node_id in state.running:
                self._performer.launch(state, node_id)
        return any(state.plan.nodes[node_id].node.declaration.plain for node_id in early) if early else None

    def follow(self, state: RunState, work: Work) -> None:
        """Do what the decisions of a committed batch ask for."""
        if state.terminal or self._closed:
            return
        if work.interrupt:
            self._performer.drop()
        under_way = state.under_way
        for node_id in work.launches:
            if node_id in under_way:
                self._performer.launch(state, node_id)
        if work.stop:
            self._performer.stop(state)
        self._watch(state)

    def enter(self, state: RunState, reported: set[str], cold: bool, orphans: frozenset[str]) -> bool:
        """Take up what the log says is under way and is not under way here yet; `cold`, whoever began it is gone.

        False if somebody else is at it.
        """
        self._performer.drop_others(state)
        if state.stop is None and not self._closed:
            for node_id in sorted(state.running, key=lambda node_id: state.plan.nodes[node_id].index):
                entered = state.running[node_id].entered
                if node_id not in reported and not self._performer.holds(node_id, entered):
                    if not cold and is_unrepeatable(state.running[node_id].effects, entered, orphans):
                        return False
                    if cold and self._runs_again(state, node_id):
                        self._report(NodeAgain(node_id, entered))
                    else:
                        self._performer.launch(state, node_id)
            for node_id, node in state.awaiting.items():
                if node_id not in reported:
                    self._report(Look(node_id, node.entered))
            self._watch(state)
        return True

    def stop(self, state: RunState) -> None:
        """Stop everything that runs; each node reports its end."""
        self._performer.stop(state)

    def close(self) -> list[asyncio.Task[Any]]:
        """Let go of everything without a word; returns what is still ending."""
        self._closed = True
        return [*self._performer.close(), *self._timers.close(), *self._deadline.cancel()]

    def _runs_again(self, state: RunState, node_id: str) -> bool:
        """node-14: whether this is really executed again, itself or bodies of it.

        A node that somebody has to be asked about first is not, yet.
        """
        if state.running[node_id].children:
            # It finds its way by them, and another attempt would have none.
            return False
        whole = state.running[node_id].effects.get(Place(NODE))
        node = state.plan.nodes[node_id].node
        bodies = [found for at in node.declaration.bodies if is_object(found := node.config.get(at.removeprefix("/")))]
        inline = [body["typeId"] for body in bodies if "typeId" in body]
        types = [node.declaration, *(self._types[type_id].declaration for type_id in inline)]
        return any(not each.continued for each in types) and (whole is None or whole.status != "open")

    def _watch(self, state: RunState) -> None:
        self._deadline.watch(state.started_at or state.header.created_at)
        self._timers.follow(state)


def _is_pure(state: RunState, node_id: str, threads: bool) -> bool:
    """node-15 (readings, Appends): whether the node may run before its start is durable. A look at children may not:
    what it goes by must be."""
    if node_id in state.awaiting:
        return False
    declaration = state.plan.nodes[node_id].node.declaration
    return declaration.effect == "pure" and not declaration.continued and (threads or not declaration.plain)
