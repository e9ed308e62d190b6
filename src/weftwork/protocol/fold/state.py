"""The state of a run as the fold computes it: the run, its nodes, and its untrusted values.

`is_parked` tells whether a run is paused, or only waits for people, for child runs or for a time. `next_wake_at` tells
when the run must be woken up.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from weftwork.protocol.envelopes.gate_rules import RecordedOutcome
from weftwork.protocol.fold.channel_state import ChannelState, Stamp
from weftwork.protocol.fold.variable_views import EMPTY_VIEW, INITIAL_STAMP, VariableView
from weftwork.protocol.limits import MAX_ENTRY_WORK
from weftwork.protocol.models.capability_gate import ModelRef
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.effects import EffectRef, EffectState
from weftwork.protocol.run.header import PARKABLE_STATUSES, RunHeader, Status
from weftwork.protocol.run.interrupts import Conversation, InterruptState, Resolution
from weftwork.protocol.run.projection import RowKind
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.definition import Edge
from weftwork.protocol.workflow.plan import EdgeTally, Plan

Place = str | int | EffectRef | tuple[str, str]
"""Names a value in the state of a run or of a node: see `fold.live_size`."""
NodeStatus = Literal["pending", "running", "suspended", "retrying", "completed", "failed", "skipped", "cancelled"]


class SupervisorDecision(msgspec.Struct, frozen=True):
    event_id: str
    decision: dict[str, Any]
    agent_id: str
    untrusted: bool = False


class ProviderWait(msgspec.Struct, frozen=True):
    """The wait of a node for a model provider that is down."""

    provider: str
    code: str
    retry_at: int

    @property
    def members(self) -> dict[str, Any]:
        """The members of the node in a snapshot that say what the node waits for."""
        return {"waitsFor": {"provider": self.provider, "code": self.code, "retryAt": iso(self.retry_at)}}


class NodeState(msgspec.Struct):
    """The state of a node in the current round of the loops that contain it."""

    status: NodeStatus
    attempt: int = 0
    entry_sequence: int = -1
    """The sequence of the event that last started or resumed the node. It identifies one entry, across all rounds."""
    failures: int = 0
    """Failed attempts that were retried."""
    started_at: int = 0
    first_started_at: int = 0
    """When the first attempt in this round started."""
    crashes: int = 0
    """Consecutive attempts that were lost in a crash of the host soon after their start."""
    resumed_at: int = 0
    """When the node was last resumed with an answer. Time spent waiting does not count towards its time limit."""
    retry_at: int = 0
    long_wait_end: int = 0
    """When the long wait of the node ends: that of a running node which only waits, that before a retry, or that for a
    model provider. 0 if it is in no long wait."""
    provider_wait: ProviderWait | None = None
    """Set while the node waits for a model provider."""
    provider_waited_ms: int = 0
    """The length of all its waits for model providers, in all attempts of this round."""
    outputs: dict[str, Any] = {}
    error: dict[str, Any] | None = None
    epoch: int = 0
    """A counter that grows with each round of a loop and never decreases along an edge; part of the stamp of writes."""
    view: VariableView = EMPTY_VIEW
    """The variables that the node sees, including its own writes."""
    previous_outputs: dict[str, Any] | None = None
    """The outputs of the previous round."""
    map_items: dict[int, Any] = {}
    effects: dict[EffectRef, EffectState] = {}
    streaming: bool = False
    """Whether a streamed answer has not received its last chunk."""
    envelope_ids: list[str] = []
    """Correlation ids of the node's envelopes whose payloads are still kept."""
    surfaces: dict[str, str] = {}
    """Ids of the node's accepted surfaces -> their correlation ids, as long as their payloads are kept."""
    model_answers: dict[str, dict[str, Any]] = {}
    """Recorded model answers by the name of the call."""
    composed_prompts: set[str] = set()
    """The ids under which prompts of this attempt are recorded: the node, or items of a map."""
    visits: int = 0
    """Number of loop rounds that reset this node, over the whole run."""
    interrupts: int = 0
    """Number of interrupts that the node has requested, over the whole run."""
    children: dict[str, ChildState] = {}
    """Child runs of this entry by key, in the order of their start."""
    open_children: int = 0
    """Number of children that the node still waits for."""
    failed_children: int = 0
    """Number of children that ended without completing."""
    last_child_event: int = -1
    """The sequence of the latest event about a child."""
    decision: SupervisorDecision | None = None
    """The decision that a dispatch node carries out."""
    waiting_children: dict[str, str] = {}
    """Keys of the children that wait for people, with their status."""
    untrusted: bool = False
    """Whether untrusted content has reached the node in this round, so that everything it produces is untrusted."""
    model: ModelRef | None = None
    """The model that the gate for model capabilities chose in this round, for all attempts; None if the node requires
    no capabilities."""
    previous_untrusted: bool = False
    """Whether the outputs of the previous round are untrusted."""
    held: dict[Place, int] = {}
    """The sizes of the values that the node holds."""

    @property
    def time_limit_start(self) -> int:
        """The time from which the node's time limit counts."""
        return max(self.started_at, self.resumed_at)


class UntrustedValues(msgspec.Struct):
    """The untrusted values of a run, except outputs: `NodeState.untrusted` covers these.

    Trust belongs to a write of a variable, not to its name.
    """

    variables: dict[str, set[Stamp]] = {}
    """Stamps of untrusted writes by variable."""
    answers: set[str] = set()
    """Keys of interrupts with an untrusted answer."""
    inputs: frozenset[str] = frozenset()

    def is_untrusted_variable(self, view: VariableView, name: str) -> bool:
        """Whether the value of a variable in a view is untrusted."""
        stamps = self.variables.get(name)
        entry = view.get(name) if stamps else None
        return entry is not None and stamps is not None and entry[0] in stamps

    def is_untrusted_final(self, stamps: dict[str, Stamp], name: str) -> bool:
        """Whether the final value of a variable is untrusted. `stamps` holds the stamps of the final values."""
        return stamps.get(name, INITIAL_STAMP) in self.variables.get(name, ())


class Artifact(msgspec.Struct):
    """An artifact and the sequence of the event that contains it."""

    artifact_type: str
    node_id: str
    version: int
    sequence: int


class RunStop(msgspec.Struct, frozen=True):
    """The run must end: no new nodes start and running nodes are stopped. Without an `error` the run is cancelled."""

    error: dict[str, Any] | None
    reason: str | None = None
    parent_run_id: str | None = None
    """The parent run that requested the cancellation."""


ChangedRow = tuple[RowKind, str]


class RunState(msgspec.Struct, eq=False):
    """The folded state of one run. Only `apply` changes it."""

    plan: Plan
    header: RunHeader
    inputs: dict[str, Any]
    """The caller's inputs with hidden values resolved; the header contains them masked."""
    unapplied: frozenset[int] = frozenset()
    """Events that change nothing: see `Fork.unapplied`."""
    hidden_values: list[Any] = []
    """Hidden values of the log, oldest first. Filled only when a log is loaded from the store."""
    hidden_variables: list[tuple[str, Any]] = []
    """Hidden values of variables by name, from the same source."""
    hidden_credentials: list[Any] = []
    """Hidden values that may contain credentials, from the same source."""
    hidden_media: list[str] = []
    """URLs of media that contain a secret, oldest first."""
    status: Status = "pending"
    last_sequence: int = -1
    last_event_at: int = 0
    """The latest time of an event, or the creation of the run before there is one."""
    started_at: int | None = None
    forked_at: int | None = None
    """When the branch began to act; None for other runs."""
    completed_at: int | None = None
    paused_at: int | None = None
    """When the pause was requested, which is before it takes effect if running nodes end first."""
    pausing: str | None = None
    """The drain policy of a requested pause that has not taken effect."""
    pause_reason: str | None = None
    error: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    variables: dict[str, Any] = {}
    variable_stamps: dict[str, Stamp] = {}
    channels: dict[str, ChannelState] = {}
    artifacts: dict[str, Artifact] = {}
    envelopes: dict[str, RecordedOutcome] = {}
    """Outcomes of model envelopes by correlation id."""
    interrupts: dict[str, InterruptState] = {}
    open_interrupts: dict[str, InterruptState] = {}
    nodes: dict[str, NodeState] = {}
    running: dict[str, NodeState] = {}
    suspended: dict[str, NodeState] = {}
    awaiting_children: dict[str, NodeState] = {}
    """Nodes that wait for child runs. Their status is running, but no task in memory executes them."""
    pending_calls: set[str] = set()
    """Nodes in `awaiting_children` that must be called because they, or the run after a pause, were resumed."""
    decisions: dict[str, SupervisorDecision] = {}
    """The latest decision of each supervisor by node id, in the order in which they were made."""
    decision_count: int = 0
    dispatches: int = 0
    agents: dict[str, dict[str, Any]] = {}
    """The AgentRef of the run (`agent`) and of its orchestrator (`runOrchestrator`)."""
    children_started: int = 0
    retrying: dict[str, NodeState] = {}
    """Nodes that wait for a time before they are called again: before a retry, or for a model provider. The latter
    have the status running."""
    resolutions: dict[str, Resolution] = {}
    """Resolutions of interrupts by key, over the whole run."""
    conversations: dict[str, Conversation] = {}
    resumable: list[tuple[int, str]] = []
    """Suspended nodes whose interrupt is resolved."""
    ready: list[tuple[int, str]] = []
    to_skip: list[tuple[int, str]] = []
    to_fail: list[tuple[int, str]] = []
    """Nodes that fail without starting, because the condition of an incoming edge could not be evaluated."""
    failures: list[tuple[int, str]] = []
    tallies: dict[str, EdgeTally] = {}
    settled_edges: dict[str, str] = {}
    """Outcomes of edges by id, where they differ from the status of the source or the target is in a loop: a new round
    counts them again."""
    deferred_edges: list[Edge] = []
    """Edges of settled nodes that leave a loop which has not ended."""
    unsettled_in_loop: dict[int, int] = {}
    """Number of nodes of a loop that are not settled in the current round."""
    finished_loops: set[int] = set()
    loop_rounds: dict[int, int] = {}
    fired_edges: dict[int, frozenset[str]] = {}
    stuck_loops: dict[int, dict[str, Any] | None] = {}
    """Loops that cannot continue: with an error if a condition could not be evaluated, or None if the limit of rounds
    is reached. The run fails once it has no other work left."""
    condition_limit: int = MAX_ENTRY_WORK
    """What the conditions that are evaluated together may cost: work for runs without limits, else loop units."""
    condition_budget: int = 0
    """What is left of it for the conditions behind the node that is being settled."""
    condition_units: int = 0
    """The cost of all conditions so far. Only a measure of how long the fold occupies the event loop."""
    versions: dict[str, int] = {}
    """Pinned versions by the id of the change."""
    executions: int = 0
    diverged_at: int | None = None
    """In a replay, the sequence at which it left the log of its source."""
    stop: RunStop | None = None
    untrusted: UntrustedValues | None = None
    live_bytes: int = 0
    """The size of the values that the state holds: see `fold.live_size`."""
    held: dict[Place, int] = {}
    """The sizes of the values outside of nodes and variable views."""
    remeasured_at: dict[str, int] = {}
    """The counted sizes from which channels are encoded again."""
    changed_rows: set[ChangedRow] = set()
    """Rows of the projection that changed and must be written. The caller clears the set after writing."""

    def __post_init__(self) -> None:
        self.last_event_at = self.header.created_at
        if self.header.expression_limits is not None:
            self.condition_limit = self.header.expression_limits.condition_work
        if self.header.fork is not None:
            self.unapplied = frozenset(self.header.fork.unapplied)
        if self.plan.loops:
            self.unsettled_in_loop = {number: len(loop.body) for number, loop in enumerate(self.plan.loops)}

    @property
    def time_limit_start(self) -> int | None:
        """The time from which the time limit of the run counts; None if it has not started."""
        return self.started_at if self.forked_at is None else self.forked_at

    @property
    def is_terminal(self) -> bool:
        return self.completed_at is not None

    @property
    def first_open_interrupt(self) -> InterruptState | None:
        """The open interrupt whose node comes first in the order of the plan."""
        found = [each for each in self.open_interrupts.values() if each.node_id in self.suspended]
        return min(found, key=lambda each: self.plan.nodes[each.node_id].index, default=None)

    @property
    def active_nodes(self) -> dict[str, NodeState]:
        """Nodes with the status running, including those that wait for child runs."""
        return {**self.running, **self.awaiting_children} if self.awaiting_children else self.running

    @property
    def node_with_waiting_child(self) -> str | None:
        """The first node, in the order of the plan, with a child that waits for people."""
        found = [node_id for node_id, node in self.awaiting_children.items() if node.waiting_children]
        return min(found, key=lambda node_id: self.plan.nodes[node_id].index, default=None)

    @property
    def current_node(self) -> str | None:
        """The first node that waits for an answer, else the first one that runs or waits for a retry."""
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
    """park-01 (host): whether the run has no work until an answer, the end of a child, a request or a timer.

    A paused run has no work. Running nodes, retries and waits for a model provider count as idle during a long wait
    (park-03).
    """
    status = state.status
    if status not in PARKABLE_STATUSES or state.stop is not None:
        return False
    if status == "paused":
        return True
    running, retrying = state.running, state.retrying
    for node_id in running:
        if not running[node_id].long_wait_end:
            return False
    if state.pausing is not None:
        # Nothing starts any more, and the run pauses as soon as its nodes have ended.
        return bool(running) and not state.pending_calls
    for node_id in retrying:
        if not retrying[node_id].long_wait_end:
            return False
    if state.ready or state.resumable or state.to_skip or state.to_fail or state.pending_calls:
        return False
    return status != "running" or bool(running or retrying or state.awaiting_children)


def may_unload(state: RunState, limit: int | None, now: Callable[[], int]) -> bool:
    """park-02 (host): whether a run is parked and no timer of it is due. Needs the time only of a parked run."""
    return is_parked(state) and ((when := next_wake_at(state, limit)) is None or when > now())


def next_wake_at(state: RunState, limit: int | None) -> int | None:
    """park-02 (host): when a parked run must be woken; None if it has no timer.

    It is the earliest of these: the end of a long wait, the timeout of a node in a long wait or with children, the
    timeout or reminder of an open interrupt, and the end of the run's time limit `limit`.

    In a paused run only the last two count. While a run is about to pause, no node is retried, and nodes that wait for
    children or for a model provider do not time out.
    """
    start = state.time_limit_start
    times = [start + limit + 1] if limit is not None and start is not None else []
    for interrupt in state.open_interrupts.values():
        times += [when for when in (interrupt.due, interrupt.next_reminder) if when is not None]
    if state.status == "paused":
        return min(times, default=None)
    times += [node.long_wait_end for node in state.running.values()]
    limited = dict(state.running)
    if state.pausing is None:
        times += [node.long_wait_end for node in state.retrying.values()]
        limited |= state.awaiting_children
        limited |= {name: node for name, node in state.retrying.items() if node.provider_wait is not None}
    for node_id, node in limited.items():
        if (timeout_ms := state.plan.nodes[node_id].node.timeout_ms) > 0:
            times.append(node.time_limit_start + timeout_ms)
    return min(times, default=None)
