"""The heart: from a state and one input to events and effects. Pure; the caller does everything else.

Every event that starts, ends or stops something is decided here. `decide` never changes the state:
the caller folds the events it returns and asks again until nothing more is to be done.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.events import CANCEL_REQUESTED, Draft
from weftwork.protocol.fold import RunState
from weftwork.protocol.graph import HANDLES_FAILURE
from weftwork.protocol.node_type import missing_capabilities


class Step(msgspec.Struct, frozen=True):
    """Do the next thing the state allows."""


class NodeCompleted(msgspec.Struct, frozen=True):
    """A running node ended well."""

    node_id: str
    outputs: dict[str, Any]


class NodeFailed(msgspec.Struct, frozen=True):
    """A running node ended badly."""

    node_id: str
    code: str
    message: str
    details: dict[str, Any] | None = None


class NodeStopped(msgspec.Struct, frozen=True):
    """A running node was stopped because the run is to end."""

    node_id: str


class CancelAsked(msgspec.Struct, frozen=True):
    """Somebody wants the run cancelled."""

    reason: str | None = None


class TimeUp(msgspec.Struct, frozen=True):
    """The run's time limit has passed; `observed` is the elapsed time in milliseconds."""

    limit: int
    observed: int


class HostBroke(msgspec.Struct, frozen=True):
    """The host found an error of its own while it moved this run."""


Input = Step | NodeCompleted | NodeFailed | NodeStopped | CancelAsked | TimeUp | HostBroke


class Bounds(msgspec.Struct, frozen=True):
    """What the host and the run's options allow."""

    parallel: int
    executions: int
    provided: frozenset[str]


class Decision(msgspec.Struct, frozen=True):
    """Events to append, in order; a node to run once they are folded; whether to stop what runs."""

    events: tuple[Draft, ...] = ()
    start: str | None = None
    stop: bool = False


NOTHING: Final = Decision()


def decide(state: RunState, bounds: Bounds, given: Input) -> Decision:
    """run-02: what follows from this input. An input that no longer matters decides nothing."""
    if state.terminal:
        return NOTHING
    match given:
        case Step():
            return _step(state, bounds)
        case NodeCompleted(node_id, outputs):
            return _end(state, node_id, "node.completed", {"outputs": outputs})
        case NodeFailed(node_id, code, message, details):
            return _end(state, node_id, "node.failed", {"error": error(code, message, details)})
        case NodeStopped(node_id):
            return _end(state, node_id, "node.cancelled", {}) if state.stop is not None else NOTHING
        case CancelAsked(reason):
            return _cancel(state, reason)
        case TimeUp(limit, observed):
            return _time_up(state, limit, observed)
        case HostBroke():
            message = "The host found an error of its own; its log has the details."
            return Decision((Draft("run.failed", {"error": error("host_invariant_broken", message)}),))


def error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The error object of node.failed, run.failed and the snapshot."""
    document: dict[str, Any] = {"code": code, "message": message}
    return {**document, "details": details} if details else document


def _end(state: RunState, node_id: str, kind: str, extra: dict[str, Any]) -> Decision:
    if node_id not in state.running:
        return NOTHING
    return Decision((Draft(kind, {"nodeId": node_id, **extra}, node_id),))


def _cancel(state: RunState, reason: str | None) -> Decision:
    """run-03 (RFC 0094 B): `cancelling` while a node still runs, `cancelled` at once otherwise."""
    if state.stop is not None:
        return NOTHING
    payload = {"reason": reason} if reason else {}
    kind = CANCEL_REQUESTED if state.running else "run.cancelled"
    return Decision((Draft(kind, payload),))


def _time_up(state: RunState, limit: int, observed: int) -> Decision:
    """lim-02 (OpenWOP capabilities, limits): one cap.breached, observed above the limit, then the run fails."""
    if state.stop is not None:
        return NOTHING
    return Decision((_breach("run-duration", limit, max(observed, limit + 1)),))


def _breach(kind: str, limit: int, observed: int, node_id: str | None = None) -> Draft:
    payload: dict[str, Any] = {"kind": kind, "limit": limit, "observed": observed}
    if node_id is not None:
        payload["nodeId"] = node_id
    return Draft("cap.breached", payload, node_id)


def _opening(state: RunState) -> Draft:
    header = state.header
    owner = {"tenant": header.owner.tenant, "principal": header.owner.principal}
    payload = {"workflowId": header.workflow_id, "inputs": state.inputs, "owner": owner}
    return Draft("run.started", payload)


def _step(state: RunState, bounds: Bounds) -> Decision:
    if state.started_at is None:
        return Decision((_opening(state),))
    if state.stop is not None:
        return Decision(stop=True) if state.running else Decision((_stopped(state),))
    if state.doomed:
        return Decision(tuple(_skip(state, node_id) for _, node_id in state.doomed))
    if state.ready:
        return _start(state, bounds) if len(state.running) < bounds.parallel else NOTHING
    if state.running:
        return NOTHING
    return Decision((_finished(state),))


def _skip(state: RunState, node_id: str) -> Draft:
    reason = "disabled" if state.plan.nodes[node_id].node.disabled else "trigger-rule"
    return Draft("node.skipped", {"nodeId": node_id, "reason": reason}, node_id)


def _start(state: RunState, bounds: Bounds) -> Decision:
    _, node_id = state.ready[0]
    if state.executions >= bounds.executions:
        # lim-03 (OpenWOP capabilities, limits): found before the node starts, so at most `limit` nodes ever start.
        return Decision((_breach("node-executions", bounds.executions, state.executions + 1, node_id),))
    declaration = state.plan.nodes[node_id].node.declaration
    missing = missing_capabilities(declaration.requires, bounds.provided)
    if missing:
        message = f"The node needs the runtime capability {missing[0]}, which this host does not provide."
        failure = error("capability_not_provided", message, {"capability": missing[0]})
        return Decision((Draft("node.failed", {"nodeId": node_id, "error": failure}, node_id),))
    payload = {"nodeId": node_id, "typeId": declaration.type_id, "attempt": 1}
    return Decision((Draft("node.started", payload, node_id),), start=node_id)


def _stopped(state: RunState) -> Draft:
    stop = state.stop
    if stop is not None and stop.error is not None:
        return Draft("run.failed", {"error": stop.error})
    return Draft("run.cancelled", {"reason": stop.reason} if stop and stop.reason else {})


def _finished(state: RunState) -> Draft:
    """run-04 (readings, Data flow): failed by the first failure nobody handles, else completed with outputs."""
    nodes = state.plan.nodes
    for _, node_id in state.failures:
        targets = [nodes[edge.target] for edge in nodes[node_id].outgoing]
        if not any(target.rule in HANDLES_FAILURE and not target.node.disabled for target in targets):
            return Draft("run.failed", {"error": state.nodes[node_id].error, "failedNodeId": node_id})
    return Draft("run.completed", {"outputs": run_outputs(state)})


def run_outputs(state: RunState) -> dict[str, Any]:
    """data-02 (readings, Data flow): outputs by node id of the primary nodes, else of the sinks."""
    primary = [node_id for node_id in state.plan.order if state.plan.nodes[node_id].node.primary]
    chosen = primary or state.plan.sinks
    return {
        node_id: state.nodes[node_id].outputs
        for node_id in chosen
        if node_id in state.nodes and state.nodes[node_id].status == "completed"
    }
