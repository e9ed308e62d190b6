"""The state of a run: what the fold of its log has found so far."""

from typing import Any

import msgspec

from weftwork.protocol.channel_state import ChannelState, Stamp
from weftwork.protocol.conversation import Conversation
from weftwork.protocol.definition import Edge
from weftwork.protocol.envelope.rules import Known
from weftwork.protocol.graph import Plan, Tally
from weftwork.protocol.interrupt import Resolution
from weftwork.protocol.interrupt_state import InterruptState
from weftwork.protocol.node_state import Decided, NodeState, NodeStatus
from weftwork.protocol.projection import RowKind
from weftwork.protocol.run import RunHeader, Status
from weftwork.protocol.untrusted import Untrusted

__all__ = ["Artifact", "Decided", "InterruptState", "NodeState", "NodeStatus", "RunState", "Stop", "Touched"]


class Artifact(msgspec.Struct):
    """Where in the log an artifact stands."""

    artifact_type: str
    node_id: str
    version: int
    sequence: int


class Stop(msgspec.Struct, frozen=True):
    """The run is to end: nothing new starts and running nodes are stopped. `error` None means cancelled."""

    error: dict[str, Any] | None
    reason: str | None = None
    parent: str | None = None
    """The run that had it cancelled."""


Touched = tuple[RowKind, str]


class RunState:
    """The folded state of one run. Only `apply` changes it."""

    __slots__ = (
        "agents",
        "answered",
        "answers",
        "artifacts",
        "asked",
        "awaiting",
        "budget",
        "channels",
        "completed_at",
        "conversations",
        "decisions",
        "deferred",
        "dispatches",
        "doomed",
        "envelopes",
        "error",
        "executions",
        "failing",
        "failures",
        "finished",
        "fired",
        "header",
        "hidden",
        "inputs",
        "interrupts",
        "last_sequence",
        "nodes",
        "open",
        "outputs",
        "owed",
        "pause_reason",
        "paused_at",
        "pausing",
        "plan",
        "ready",
        "retrying",
        "rounds",
        "running",
        "settled",
        "spawned",
        "stamps",
        "started_at",
        "status",
        "stop",
        "stuck",
        "suspended",
        "tallies",
        "ticks",
        "touched",
        "untrusted",
        "variables",
        "versions",
    )

    def __init__(self, plan: Plan, header: RunHeader, inputs: dict[str, Any]) -> None:
        self.plan = plan
        self.header = header
        self.inputs = inputs
        """The caller's inputs with hidden values resolved; the header holds their masked form."""
        self.hidden: list[Any] = []
        """Values that the log hides, oldest first, as far as a log that was read again has shown."""
        self.status: Status = "pending"
        self.last_sequence = -1
        self.started_at: int | None = None
        self.completed_at: int | None = None
        self.paused_at: int | None = None
        self.pausing: str | None = None
        """The drain policy of a pause that was asked for and is not there yet."""
        self.pause_reason: str | None = None
        self.error: dict[str, Any] | None = None
        self.outputs: dict[str, Any] | None = None
        self.variables: dict[str, Any] = {}
        self.stamps: dict[str, Stamp] = {}
        self.channels: dict[str, ChannelState] = {}
        self.artifacts: dict[str, Artifact] = {}
        self.envelopes: dict[str, Known] = {}
        """What became of the envelopes of models, by correlation id."""
        self.interrupts: dict[str, InterruptState] = {}
        self.asked: dict[str, InterruptState] = {}
        """Those of them that are open."""
        self.nodes: dict[str, NodeState] = {}
        self.running: dict[str, NodeState] = {}
        self.suspended: dict[str, NodeState] = {}
        self.awaiting: dict[str, NodeState] = {}
        """Nodes that wait for child runs. They run, and nothing of them is in memory."""
        self.owed: set[str] = set()
        """Nodes among them that have not been called since they, or the run after a pause, went on."""
        self.decisions: dict[str, Decided] = {}
        """By the supervisor's node id, the newest last."""
        self.ticks = 0
        """Decisions of supervisors so far."""
        self.dispatches = 0
        """Starts of dispatch nodes so far."""
        self.agents: dict[str, dict[str, Any]] = {}
        """The AgentRef of the run, and that of its orchestrator."""
        self.spawned = 0
        """Children that the run has started so far."""
        self.retrying: dict[str, NodeState] = {}
        self.answers: dict[str, Resolution] = {}
        """What became of interrupts, by key, for the whole run."""
        self.conversations: dict[str, Conversation] = {}
        self.answered: list[tuple[int, str]] = []
        """Suspended nodes that have their answer."""
        self.ready: list[tuple[int, str]] = []
        self.doomed: list[tuple[int, str]] = []
        """Nodes to skip."""
        self.failing: list[tuple[int, str]] = []
        """Nodes that fail without a start, because a condition before them could not be judged."""
        self.failures: list[tuple[int, str]] = []
        self.tallies: dict[str, Tally] = {}
        self.settled: dict[str, str] = {}
        """How edges into a loop have settled, by id; a new round counts them again."""
        self.deferred: list[Edge] = []
        """Edges out of a loop that has not ended."""
        self.open: dict[int, int] = {number: len(loop.body) for number, loop in enumerate(plan.loops)}
        """How many nodes of a loop are not settled in this round."""
        self.finished: set[int] = set()
        self.rounds: dict[int, int] = {}
        self.fired: dict[int, frozenset[str]] = {}
        self.stuck: dict[int, dict[str, Any] | None] = {}
        """Loops that cannot go on, with the error of one whose condition cannot be judged, or None for one that wants
        a round too many. The run ends for it when nothing else is left to do."""
        self.budget = 0
        """What is left of the work that the conditions which are judged together may cost."""
        self.versions: dict[str, int] = {}
        """Pinned versions by the id of the change."""
        self.executions = 0
        self.stop: Stop | None = None
        self.untrusted: Untrusted | None = None
        self.touched: set[Touched] = set()
        """What changed since the caller last cleared it: the cached rows that must be written again."""

    @property
    def terminal(self) -> bool:
        return self.completed_at is not None

    @property
    def open_interrupt(self) -> InterruptState | None:
        """The open interrupt that stands first in the plan's order."""
        found = [each for each in self.asked.values() if each.node_id in self.suspended]
        return min(found, key=lambda each: self.plan.nodes[each.node_id].index, default=None)

    @property
    def under_way(self) -> dict[str, NodeState]:
        """Nodes that run, here or by their children."""
        return {**self.running, **self.awaiting} if self.awaiting else self.running

    @property
    def waiting_parent(self) -> str | None:
        """The node with a child that waits for people, that stands first in the plan's order."""
        found = [node_id for node_id, node in self.awaiting.items() if node.waiting]
        return min(found, key=lambda node_id: self.plan.nodes[node_id].index, default=None)

    @property
    def current_node(self) -> str | None:
        """The node that waits for an answer, else the running or retrying one that stands first in the order."""
        if self.suspended and (waiting := self.open_interrupt) is not None:
            return waiting.node_id
        if self.awaiting and (mirrored := self.waiting_parent) is not None:
            return mirrored
        busy = self.running or self.retrying or self.awaiting
        if not busy:
            return None
        if len(busy) == 1:
            return next(iter(busy))
        return min(busy, key=lambda node_id: self.plan.nodes[node_id].index)
