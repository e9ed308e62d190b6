"""Sayings: what one entry of a node says to those who follow the run, in order, a few at a time."""

import asyncio
from collections.abc import Callable
from typing import Final

from weftwork.engine.call import effect_drafts
from weftwork.engine.inputs import Input, NodeSaid
from weftwork.ports.nodes import AppendLog, EmitEvent, Failed, StepFailed
from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.events import Draft
from weftwork.protocol.state import RunState

MOST_SAID: Final = 10_000
MOST_SAID_BYTES: Final = 4 * 2**20
"""What one entry of a node may say to those who follow the run."""


class Sayings:
    """Committed soon: all that is said in one turn of the loop goes into one append."""

    __slots__ = ("_bytes", "_count", "_entered", "_node_id", "_report", "_said", "_state")

    def __init__(self, report: Callable[[Input], None], state: RunState, node_id: str, entered: int) -> None:
        self._report = report
        self._state = state
        self._node_id = node_id
        self._entered = entered
        self._said: list[Draft] = []
        self._count = 0
        self._bytes = 0

    def say(self, effect: AppendLog | EmitEvent) -> None:
        """See ports.nodes.NodeContext."""
        drafts = effect_drafts(self._state, self._node_id, effect)
        if isinstance(drafts, Failed):
            raise StepFailed(drafts)
        self._count += len(drafts)
        self._bytes += sum(len(encode_stored(draft.payload)) for draft in drafts)
        if self._count > MOST_SAID or self._bytes > MOST_SAID_BYTES:
            message = f"A node says at most {MOST_SAID:,} things of {MOST_SAID_BYTES:,} bytes in all."
            raise StepFailed(Failed("node_output_too_large", message, retryable=False))
        for draft in drafts:
            self.tell(draft)

    def tell(self, draft: Draft) -> None:
        """Like `say`, for what is bounded elsewhere."""
        if not self._said:
            asyncio.get_running_loop().call_soon(self.flush)
        self._said.append(draft)

    def flush(self) -> None:
        """Whatever comes next stands after what was said so far."""
        if self._said:
            said, self._said = tuple(self._said), []
            self._report(NodeSaid(self._node_id, said, self._entered))
