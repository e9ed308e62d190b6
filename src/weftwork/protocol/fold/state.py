"""The state of a run, as the fold of its log computes it: the run, its nodes, and which of its values are untrusted.

Two questions about a state are answered here as well: whether the run is parked (it only waits for people or for child
runs), and when it has to be woken up.
"""

from typing import Any, Literal

import msgspec

from weftwork.protocol.envelopes.gate_rules import RecordedOutcome
from weftwork.protocol.fold.channel_state import ChannelState, Stamp
from weftwork.protocol.fold.variable_views import EMPTY_VIEW, INITIAL_STAMP, VariableView
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.effects import EffectRef, EffectState
from weftwork.protocol.run.header import WAITING_STATUSES, RunHeader, Status
from weftwork.protocol.run.interrupts import Conversation, InterruptState, Resolution
from weftwork.protocol.run.projection import RowKind
from weftwork.protocol.workflow.definition import Edge
from weftwork.protocol.workflow.plan import EdgeTally, Plan

NodeStatus = Literal["pending", "running", "suspended", "retrying", "completed", "failed", "skipped", "cancelled"]


class SupervisorDecision(msgspec.Struct, frozen=True):
    event_id: str
    decision: dict[str, Any]
    agent_id: str
    untrusted: bool = False


class NodeState(msgspec.Struct):
    """What is known of one node, in the present round of the loops around it."""

    status: NodeStatus
    attempt: int = 0
    entry_sequence: int = -1
    """The sequence of the event that last let it run: no two entries of a node share it, in whatever round."""
    failures: int = 0
    """Attempts that failed and were followed by another one."""
    started_at: int = 0
    first_started_at: int = 0
    """When its first attempt in this round started."""
    crashes: int = 0
    """Attempts that ended with their process, and were followed by another one."""
    resumed_at: int = 0
    """When it was last entered again with an answer; time in which it waited for one does not count."""
    retry_at: int = 0
    outputs: dict[str, Any] = {}
    error: dict[str, Any] | None = None
    epoch: int = 0
    """Rounds of all loops that lie behind it: never less than before it in the graph, more with each round."""
    view: VariableView = EMPTY_VIEW
    """Variables as it sees them; once it has written, as those after it do."""
    previous_outputs: dict[str, Any] | None = None
    """Its outputs of the round before."""
    map_items: dict[int, Any] = {}
    effects: dict[EffectRef, EffectState] = {}
    streaming: bool = False
    """Whether the last piece of a streamed answer is still to come."""
    envelope_ids: list[str] = []
    """Correlation ids of its envelopes, while it may ask for their payloads again."""
    model_answers: dict[str, dict[str, Any]] = {}
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
    last_child_event: int = -1
    """The sequence of the newest fact about them."""
    decision: SupervisorDecision | None = None
    """Of a dispatch: the decision that it carries out."""
    waiting_children: dict[str, str] = {}
    """Those of them that wait for people, with their status."""
    untrusted: bool = False
    """Whether content from outside has reached it in this round, and with it all that it makes."""
    previous_untrusted: bool = False
    """Whether its outputs of the round before were so."""

    @property
    def time_limit_start(self) -> int:
        """From when its time limit counts."""
        return max(self.started_at, self.resumed_at)


class UntrustedValues(msgspec.Struct):
    """Values, not names: of a variable, the writes that were so. Nodes know it of themselves."""

    variables: dict[str, set[Stamp]] = {}
    """By name, the stamps of such writes."""
    answers: set[str] = set()
    """Keys of questions that were answered so."""
    inputs: frozenset[str] = frozenset()

    def is_untrusted_variable(self, view: VariableView, name: str) -> bool:
        """Whether the value that counts in a view is one of these."""
        stamps = self.variables.get(name)
        entry = view.get(name) if stamps else None
        return entry is not None and stamps is not None and entry[0] in stamps

    def is_untrusted_final(self, stamps: dict[str, Stamp], name: str) -> bool:
        """The same of the value that the run has in the end."""
        return stamps.get(name, INITIAL_STAMP) in self.variables.get(name, ())


class Artifact(msgspec.Struct):
    """Where in the log an artifact stands."""

    artifact_type: str
    node_id: str
    version: int
    sequence: int


class RunStop(msgspec.Struct, frozen=True):
    """The run is to end: nothing new starts and running nodes are stopped. `error` None means cancelled."""

    error: dict[str, Any] | None
    reason: str | None = None
    parent_run_id: str | None = None
    """The run that had it cancelled."""


ChangedRow = tuple[RowKind, str]


class RunState(msgspec.Struct, eq=False):
    """The folded state of one run. Only `apply` changes it."""

    plan: Plan
    header: RunHeader
    inputs: dict[str, Any]
    """The caller's inputs with hidden values resolved; the header holds their masked form."""
    hidden_values: list[Any] = []
    """Values that the log hides, oldest first, as far as a log that was read again has shown."""
    status: Status = "pending"
    last_sequence: int = -1
    started_at: int | None = None
    completed_at: int | None = None
    paused_at: int | None = None
    pausing: str | None = None
    """The drain policy of a pause that was asked for and is not there yet."""
    pause_reason: str | None = None
    error: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    variables: dict[str, Any] = {}
    variable_stamps: dict[str, Stamp] = {}
    channels: dict[str, ChannelState] = {}
    artifacts: dict[str, Artifact] = {}
    envelopes: dict[str, RecordedOutcome] = {}
    """What became of the envelopes of models, by correlation id."""
    interrupts: dict[str, InterruptState] = {}
    open_interrupts: dict[str, InterruptState] = {}
    nodes: dict[str, NodeState] = {}
    running: dict[str, NodeState] = {}
    suspended: dict[str, NodeState] = {}
    awaiting_children: dict[str, NodeState] = {}
    """Nodes that wait for child runs. They run, and nothing of them is in memory."""
    pending_calls: set[str] = set()
    """Nodes among them that have not been called since they, or the run after a pause, went on."""
    decisions: dict[str, SupervisorDecision] = {}
    """By the supervisor's node id, the newest last."""
    decision_count: int = 0
    dispatches: int = 0
    agents: dict[str, dict[str, Any]] = {}
    """The AgentRef of the run, and that of its orchestrator."""
    children_started: int = 0
    retrying: dict[str, NodeState] = {}
    resolutions: dict[str, Resolution] = {}
    """What became of interrupts, by key, for the whole run."""
    conversations: dict[str, Conversation] = {}
    resumable: list[tuple[int, str]] = []
    """Suspended nodes that have their answer."""
    ready: list[tuple[int, str]] = []
    to_skip: list[tuple[int, str]] = []
    to_fail: list[tuple[int, str]] = []
    """Nodes that fail without a start, because a condition before them could not be judged."""
    failures: list[tuple[int, str]] = []
    tallies: dict[str, EdgeTally] = {}
    settled_edges: dict[str, str] = {}
    """How edges into a loop have settled, by id; a new round counts them again."""
    deferred_edges: list[Edge] = []
    """Edges out of a loop that has not ended."""
    unsettled_in_loop: dict[int, int] = {}
    """How many nodes of a loop are not settled in this round."""
    finished_loops: set[int] = set()
    loop_rounds: dict[int, int] = {}
    fired_edges: dict[int, frozenset[str]] = {}
    stuck_loops: dict[int, dict[str, Any] | None] = {}
    """Loops that cannot go on, with the error of one whose condition cannot be judged, or None for one that wants
    a round too many. The run ends for it when nothing else is left to do."""
    condition_budget: int = 0
    """What is left of the work that the conditions which are judged together may cost."""
    versions: dict[str, int] = {}
    """Pinned versions by the id of the change."""
    executions: int = 0
    stop: RunStop | None = None
    untrusted: UntrustedValues | None = None
    changed_rows: set[ChangedRow] = set()
    """What changed since the caller last cleared it: the cached rows that must be written again."""

    def __post_init__(self) -> None:
        self.unsettled_in_loop = {number: len(loop.body) for number, loop in enumerate(self.plan.loops)}

    @property
    def is_terminal(self) -> bool:
        return self.completed_at is not None

    @property
    def first_open_interrupt(self) -> InterruptState | None:
        """The open interrupt that stands first in the plan's order."""
        found = [each for each in self.open_interrupts.values() if each.node_id in self.suspended]
        return min(found, key=lambda each: self.plan.nodes[each.node_id].index, default=None)

    @property
    def active_nodes(self) -> dict[str, NodeState]:
        """Nodes that run, here or by their children."""
        return {**self.running, **self.awaiting_children} if self.awaiting_children else self.running

    @property
    def node_with_waiting_child(self) -> str | None:
        """The node with a child that waits for people, that stands first in the plan's order."""
        found = [node_id for node_id, node in self.awaiting_children.items() if node.waiting_children]
        return min(found, key=lambda node_id: self.plan.nodes[node_id].index, default=None)

    @property
    def current_node(self) -> str | None:
        """The node that waits for an answer, else the running or retrying one that stands first in the order."""
        if self.suspended and (waiting := self.first_open_interrupt) is not None:
            return waiting.node_id
        if self.awaiting_children and (mirrored := self.node_with_waiting_child) is not None:
            return mirrored
        busy = self.running or self.retrying or self.awaiting_children
        if not busy:
            return None
        if len(busy) == 1:
            return next(iter(busy))
        return min(busy, key=lambda node_id: self.plan.nodes[node_id].index)


def is_parked(state: RunState) -> bool:
    """park-01 (host): nothing of the run is under way here or can begin before somebody answers, a child has ended,
    somebody cancels, or time passes."""
    idle = state.status in WAITING_STATUSES or (state.status == "running" and bool(state.awaiting_children))
    if not idle or state.stop is not None or state.pausing is not None:
        return False
    busy = state.running or state.retrying or state.ready or state.resumable or state.to_skip or state.to_fail
    return not busy and not state.pending_calls


def may_unload(state: RunState, limit: int | None, now: int) -> bool:
    """park-02 (host): whether a run is parked, and nothing of it is due."""
    return is_parked(state) and ((when := next_wake_at(state, limit)) is None or when > now)


def next_wake_at(state: RunState, limit: int | None) -> int | None:
    """park-02 (host): the earliest deadline or reminder of an open interrupt, or the end of the run's time limit."""
    found = [state.started_at + limit + 1] if limit is not None and state.started_at is not None else []
    for asked in state.open_interrupts.values():
        found += [when for when in (asked.due, asked.next_reminder) if when is not None]
    for node_id, node in state.awaiting_children.items():
        if (given := state.plan.nodes[node_id].node.timeout_ms) > 0:
            found.append(node.time_limit_start + given)
    return min(found, default=None)
