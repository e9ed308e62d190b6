"""The fold: header and log in, state of the run out. Deterministic, and the only way to a state.

A live run advances its state by the facts just decided; a cold one folds the whole log. Both call
`apply`, one fact at a time, so both agree. Unknown event types change nothing (OpenWOP run-event).
"""

from bisect import insort
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from weftwork.protocol.events import CANCEL_REQUESTED, TERMINAL_TYPES, Fact
from weftwork.protocol.graph import Plan, Settled, Tally, satisfied
from weftwork.protocol.run import RunHeader, Status, next_status

NodeStatus = Literal["running", "completed", "failed", "skipped", "cancelled"]
_ENDINGS: dict[str, NodeStatus] = {
    "node.completed": "completed",
    "node.failed": "failed",
    "node.skipped": "skipped",
    "node.cancelled": "cancelled",
}


class NodeState(msgspec.Struct):
    """What is known of one node."""

    status: NodeStatus
    attempt: int = 0
    started_at: int = 0
    outputs: dict[str, Any] = {}
    error: dict[str, Any] | None = None


class Stop(msgspec.Struct, frozen=True):
    """The run is to end: nothing new starts and running nodes are stopped. `error` None means cancelled."""

    error: dict[str, Any] | None
    reason: str | None = None


class RunState:
    """The folded state of one run. Only `apply` changes it."""

    __slots__ = (
        "channels",
        "completed_at",
        "doomed",
        "error",
        "executions",
        "failures",
        "header",
        "inputs",
        "last_sequence",
        "nodes",
        "outputs",
        "plan",
        "ready",
        "running",
        "started_at",
        "status",
        "stop",
        "tallies",
        "touched",
        "variables",
    )

    def __init__(self, plan: Plan, header: RunHeader, inputs: dict[str, Any]) -> None:
        self.plan = plan
        self.header = header
        self.inputs = inputs
        """The caller's inputs with hidden values resolved; the header holds their masked form."""
        self.status: Status = "pending"
        self.last_sequence = -1
        self.started_at: int | None = None
        self.completed_at: int | None = None
        self.error: dict[str, Any] | None = None
        self.outputs: dict[str, Any] | None = None
        self.variables: dict[str, Any] = {}
        self.channels: dict[str, Any] = {}
        self.nodes: dict[str, NodeState] = {}
        self.running: dict[str, NodeState] = {}
        self.ready: list[tuple[int, str]] = []
        self.doomed: list[tuple[int, str]] = []
        self.failures: list[tuple[int, str]] = []
        self.tallies: dict[str, Tally] = {}
        self.executions = 0
        self.stop: Stop | None = None
        self.touched: set[tuple[Literal["variable", "channel", "node"], str]] = set()
        """What changed since the caller last cleared it: the cached rows that must be written again."""

    @property
    def terminal(self) -> bool:
        return self.completed_at is not None

    @property
    def current_node(self) -> str | None:
        """The running node that stands first in the plan's order."""
        if not self.running:
            return None
        return min(self.running, key=lambda node_id: self.plan.nodes[node_id].index)


def initial_variables(plan: Plan, inputs: dict[str, Any]) -> dict[str, Any]:
    """data-01 (OpenWOP run-options): defaults of the definition, then the caller's inputs by name."""
    defaults = {v.name: v.default for v in plan.workflow.variables if v.has_default}
    return {**defaults, **inputs}


def fold(plan: Plan, header: RunHeader, inputs: dict[str, Any], facts: Iterable[Fact]) -> RunState:
    """fold-01: the state after these facts, which must be a prefix of one run's log."""
    state = RunState(plan, header, inputs)
    for fact in facts:
        apply(state, fact)
    return state


def apply(state: RunState, fact: Fact) -> None:
    """fold-01: advance the state by one fact."""
    state.last_sequence = fact.sequence
    kind = fact.type
    state.status = next_status(state.status, kind)
    if kind.startswith("node."):
        _apply_node(state, fact)
    elif kind == "run.started":
        _start(state, fact)
    elif kind in TERMINAL_TYPES:
        state.completed_at = fact.timestamp
        state.error = fact.payload.get("error")
        state.outputs = fact.payload.get("outputs")
    elif kind == CANCEL_REQUESTED:
        state.stop = Stop(None, fact.payload.get("reason"))
    elif kind == "cap.breached":
        state.stop = Stop(_breach_error(fact.payload))
    elif kind == "variable.changed":
        state.variables[fact.payload["name"]] = fact.payload.get("next")
        state.touched.add(("variable", fact.payload["name"]))


def _start(state: RunState, fact: Fact) -> None:
    state.started_at = fact.timestamp
    state.variables = initial_variables(state.plan, state.inputs)
    state.touched.update(("variable", name) for name in state.variables)
    for node_id in state.plan.entries:
        _schedule(state, node_id, True)


def _schedule(state: RunState, node_id: str, runs: bool) -> None:
    place = state.plan.nodes[node_id]
    target = state.ready if runs and not place.node.disabled else state.doomed
    insort(target, (place.index, node_id))


def _apply_node(state: RunState, fact: Fact) -> None:
    node_id = fact.node_id
    if node_id is None or node_id not in state.plan.nodes:
        return
    if fact.type == "node.started":
        node = NodeState("running", attempt=fact.payload.get("attempt", 1), started_at=fact.timestamp)
        state.nodes[node_id] = state.running[node_id] = node
        state.executions += 1
        _drop(state.ready, state.plan.nodes[node_id].index, node_id)
        state.touched.add(("node", node_id))
        return
    status = _ENDINGS.get(fact.type)
    if status is None:
        return
    node = state.running.pop(node_id, None) or NodeState(status)
    node.status = status
    state.nodes[node_id] = node
    state.touched.add(("node", node_id))
    index = state.plan.nodes[node_id].index
    if status == "completed":
        node.outputs = fact.payload.get("outputs", {})
    elif status == "failed":
        node.error = fact.payload["error"]
        insort(state.failures, (index, node_id))
        _drop(state.ready, index, node_id)
    elif status == "skipped":
        _drop(state.doomed, index, node_id)
    if status in ("completed", "failed", "skipped"):
        _settle(state, node_id, status)


def _settle(state: RunState, node_id: str, status: Settled) -> None:
    """Tell every downstream node how this one ended; a node whose edges are all settled is decided."""
    nodes = state.plan.nodes
    for edge in nodes[node_id].outgoing:
        tally = state.tallies.get(edge.target)
        if tally is None:
            tally = state.tallies[edge.target] = Tally(len(nodes[edge.target].incoming))
        tally.open -= 1
        setattr(tally, status, getattr(tally, status) + 1)
        if tally.open == 0:
            _schedule(state, edge.target, satisfied(nodes[edge.target].rule, tally))


def _drop(places: list[tuple[int, str]], index: int, node_id: str) -> None:
    if (index, node_id) in places:
        places.remove((index, node_id))


BREACH_CODES = {
    "node-executions": ("recursion_limit_exceeded", "The run reached its limit of node executions."),
    "run-duration": ("run_timeout", "The run reached its time limit."),
}
"""lim-01 (OpenWOP capabilities, limits): breach kind -> code and message of the failed run."""


def _breach_error(payload: dict[str, Any]) -> dict[str, Any]:
    code, message = BREACH_CODES.get(payload["kind"], ("cap_breached", "The run reached a limit."))
    details = {"kind": payload["kind"], "limit": payload["limit"], "observed": payload["observed"]}
    return {"code": code, "message": message, "details": details}
