"""The inbox of a live run: what it has not looked at yet, and those who wait for an answer."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final

from weftwork.engine.decide.inputs import (
    EffectClaimed,
    Input,
    NodeAwaitsChildren,
    NodeCompleted,
    NodeFailed,
    NodeReexecuted,
    NodeSuspended,
    Step,
)
from weftwork.engine.run.pending_commit import PendingCommit, RunRequest
from weftwork.protocol.fold.state import RunState

_NODE_ENDS: Final = (NodeCompleted, NodeFailed, NodeSuspended, NodeReexecuted, NodeAwaitsChildren)


class Inbox:
    """In the order of arrival."""

    __slots__ = ("_filled", "_items", "_unanswered")

    def __init__(self) -> None:
        self._items: deque[Input | RunRequest] = deque()
        self._unanswered: list[RunRequest] = []
        self._filled: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._items)

    @property
    def has_claims(self) -> bool:
        """Whether something is in here that only a run which is there can say: a claim, or word of children."""
        return any(map(_is_claim, self._items))

    def put(self, given: Input | RunRequest) -> None:
        self._items.append(given)
        _wake(self._filled)

    async def wait_filled(self, seconds: float) -> None:
        """Wait, not long, until there is something."""
        if not self._items:
            loop = asyncio.get_running_loop()
            self._filled = loop.create_future()
            timer = loop.call_later(seconds, _wake, self._filled)
            try:
                await self._filled
            finally:
                timer.cancel()
                self._filled = None

    def put_back(self, inputs: Iterable[Input]) -> None:
        """What was taken and has to be taken again, first of all."""
        self._items.extendleft(reversed(list(inputs)))

    def take(self, work: PendingCommit) -> Input:
        """The next input, or a step. One request per commit: its record belongs to that commit and no other."""
        if not self._items or (work.request is not None and isinstance(self._items[0], RunRequest)):
            return Step()
        item = self._items.popleft()
        if isinstance(item, RunRequest):
            work.request = item
            self._unanswered = [*(asked for asked in self._unanswered if not asked.done.done()), item]
            return item.given
        work.inputs.append(item)
        return item

    def drop_stale(self, state: RunState) -> None:
        """Drop word of entries that are not in the log after all: the next ones may get the same numbers."""
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        self._items = deque(item for item in self._items if not _is_stale(item, running))

    def reported_nodes(self, state: RunState) -> set[str]:
        """Running nodes whose end is in here, or that they start again; word of an older entry of a node is none."""
        found = [item for item in self._items if isinstance(item, _NODE_ENDS)]
        running = {node_id: node.entry_sequence for node_id, node in state.active_nodes.items()}
        return {item.node_id for item in found if running.get(item.node_id) == item.entry_sequence}

    def refuse_requests(self, reason: Exception) -> None:
        """Nobody waits for ever: requests that were not answered get a reason."""
        waiting = [*self._unanswered, *(item for item in self._items if isinstance(item, RunRequest))]
        self._items = deque(item for item in self._items if not isinstance(item, RunRequest))
        for request in waiting:
            request.refuse(reason)


def _is_claim(item: Input | RunRequest) -> bool:
    if isinstance(item, NodeCompleted):
        return any(draft.child is not None for draft in item.effects)
    return isinstance(item, EffectClaimed | NodeAwaitsChildren)


def _is_stale(item: Input | RunRequest, running: dict[str, int]) -> bool:
    entered: int = getattr(item, "entry_sequence", -1)
    return entered != -1 and running.get(getattr(item, "node_id", "")) != entered


def _wake(waiting: "asyncio.Future[None] | None") -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
