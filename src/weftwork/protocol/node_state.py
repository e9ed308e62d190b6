"""The state of a node: what the fold of the log has found about it so far."""

from typing import Any, Literal

import msgspec

from weftwork.protocol.child import ChildState
from weftwork.protocol.effect import EffectState, Place
from weftwork.protocol.view import NOTHING, View

NodeStatus = Literal["pending", "running", "suspended", "retrying", "completed", "failed", "skipped", "cancelled"]


class Decided(msgspec.Struct, frozen=True):
    """What a supervisor decided last."""

    event_id: str
    decision: dict[str, Any]
    agent_id: str
    untrusted: bool = False


class NodeState(msgspec.Struct):
    """What is known of one node, in the present round of the loops around it."""

    status: NodeStatus
    attempt: int = 0
    entered: int = -1
    """The sequence of the event that last let it run: no two entries of a node share it, in whatever round."""
    failures: int = 0
    """Attempts that failed and were followed by another one."""
    started_at: int = 0
    first_at: int = 0
    """When its first attempt in this round started."""
    crashes: int = 0
    """Attempts that ended with their process, and were followed by another one."""
    resumed_at: int = 0
    """When it was last entered again with an answer; time in which it waited for one does not count."""
    due: int = 0
    """When a retrying node starts again."""
    outputs: dict[str, Any] = {}
    error: dict[str, Any] | None = None
    epoch: int = 0
    """Rounds of all loops that lie behind it: never less than before it in the graph, more with each round."""
    view: View = NOTHING
    """Variables as it sees them; once it has written, as those after it do."""
    previous: dict[str, Any] | None = None
    """Its outputs of the round before."""
    items: dict[int, Any] = {}
    effects: dict[Place, EffectState] = {}
    streaming: bool = False
    """Whether the last piece of a streamed answer is still to come."""
    sent: list[str] = []
    """Correlation ids of its envelopes, while it may ask for their payloads again."""
    turns: dict[str, dict[str, Any]] = {}
    """Answers of models, by the name of the call."""
    visits: int = 0
    """How often loops have come round to it, over the whole run."""
    interrupts: int = 0
    """How often it has asked, over the whole run."""
    children: dict[str, ChildState] = {}
    """Child runs of this entry by key, in the order of their start."""
    open_children: int = 0
    """How many of them it waits for."""
    failed_children: int = 0
    """How many ended, and not well."""
    heard: int = -1
    """The sequence of the newest fact about them."""
    decided: Decided | None = None
    """Of a dispatch: the decision that it carries out."""
    waiting: dict[str, str] = {}
    """Those of them that wait for people, with their status."""
    untrusted: bool = False
    """Whether content from outside has reached it in this round, and with it all that it makes."""
    distrusted: bool = False
    """Whether its outputs of the round before were so."""

    @property
    def began_at(self) -> int:
        """From when its time limit counts."""
        return max(self.started_at, self.resumed_at)
