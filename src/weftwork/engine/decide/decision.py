"""What a decision is made of: the decision itself, the bounds of a run, and what the deciding modules share. Pure."""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.run.events import Draft
from weftwork.protocol.workflow.definition import Node

_LOG_LEVELS: Final = ("debug", "info", "warn", "error")


class RunBounds(msgspec.Struct, frozen=True):
    """What the host and the run's options allow."""

    parallel: int
    executions: int
    provided: frozenset[str]
    duration: int | None = None
    """Milliseconds that the run may take in all."""
    orphans: frozenset[str] = frozenset()
    """Claims of a process that is gone: nothing of them is under way."""
    iterations: int = 100
    """Decisions of its supervisors."""


class Decision(msgspec.Struct, frozen=True):
    """Events to append, in order; a node to run once they are folded; whether to stop or interrupt what runs."""

    events: tuple[Draft, ...] = ()
    start: str | None = None
    rechecks: tuple[str, ...] = ()
    """Nodes that wait for children and are called again."""
    stop: bool = False
    """Running nodes are told to end and report it: the run is to end."""
    interrupt: bool = False
    """Running nodes are dropped without a word: they start again later."""
    refusal: ClientFault | None = None
    """For whoever asked."""


NOTHING: Final = Decision()


def refuse(code: str, message: str, details: dict[str, Any] | None = None) -> Decision:
    """Nothing happens, and whoever asked is told why."""
    return Decision(refusal=ClientFault(code, message, details))


def error_object(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The error object of node.failed, run.failed and the snapshot."""
    document: dict[str, Any] = {"code": code, "message": message}
    return {**document, "details": details} if details else document


def is_running(state: RunState, node_id: str, entered: int) -> bool:
    """Whether this entry is the one that runs; word of an older one comes too late. So does what a look at children
    found, once the run is paused: it looks again when it goes on."""
    node = state.running.get(node_id) or (state.awaiting_children.get(node_id) if state.status != "paused" else None)
    return node is not None and entered in (-1, node.entry_sequence)


def running_node(state: RunState, node_id: str, entered: int) -> NodeState | None:
    """The node if this entry of it runs; unlike `is_running` not while it waits for children."""
    node = state.running.get(node_id)
    return node if node is not None and entered in (-1, node.entry_sequence) else None


def passes_log_level(state: RunState, level: str) -> bool:
    """Whether the workflow wants log lines of this level."""
    return _LOG_LEVELS.index(level) >= _LOG_LEVELS.index(state.plan.workflow.log_level)


def cancel_open_children(state: RunState, draft: Draft, cause: str | None = None) -> Draft:
    """kin-08 (readings, Child runs): children that a node still waits for when it ends are cancelled with it."""
    node = state.awaiting_children.get(draft.node_id or "")
    if node is None or not node.open_children:
        return draft if cause is None else Draft(draft.type, draft.payload, draft.node_id, cause)
    left = tuple(child.run_id for child in node.children.values() if child.awaited and not child.has_ended)
    return Draft(draft.type, draft.payload, draft.node_id, cause, cancels=left)


def iteration_breach(state: RunState, bounds: RunBounds, node: Node) -> tuple[int, int] | None:
    """lim-14 (RFC 0058, RFC 0007): limit and count of a supervisor that would decide, or a dispatch that would start,
    once too often in this run; None while it may."""
    if node.declaration.role == "supervisor":
        return (bounds.iterations, state.decision_count + 1) if state.decision_count >= bounds.iterations else None
    cap: int | None = node.config.get("iterationCap")
    return (cap, state.dispatches + 1) if cap is not None and state.dispatches >= cap else None
