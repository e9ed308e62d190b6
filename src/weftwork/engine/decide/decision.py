"""The result of `decide`, the bounds of a run, and helpers that the deciding modules share. Pure."""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.models.capability_gate import NO_MODELS, ModelCatalogue
from weftwork.protocol.run.events import Draft
from weftwork.protocol.workflow.definition import Node

_LOG_LEVELS: Final = ("debug", "info", "warn", "error")


class RunBounds(msgspec.Struct, frozen=True):
    """Limits of a run, from the host's settings and the run's options."""

    parallel: int
    """Nodes that may run at once; 0 while the host closes, so that nothing new starts."""
    executions: int
    """Node executions of the whole run."""
    provided: frozenset[str]
    """Runtime capabilities that the host provides."""
    duration: int | None = None
    """Milliseconds for the whole run."""
    orphans: frozenset[str] = frozenset()
    """Effect claims of a process that has died. Their effects are not in progress."""
    iterations: int = 100
    """Decisions of the run's supervisors."""
    models: ModelCatalogue = NO_MODELS
    """The models of the host."""


class Decision(msgspec.Struct, frozen=True):
    """Events to append, in order, and the actions that follow once the events are durable and folded."""

    events: tuple[Draft, ...] = ()
    start: str | None = None
    """The node to run."""
    rechecks: tuple[str, ...] = ()
    """Nodes that wait for children and are to be called again."""
    stop: bool = False
    """Cancel the running nodes and wait until they have ended, because the run has to end."""
    interrupt: bool = False
    """Abandon the running nodes without an event. They start again when the run resumes."""
    drops_stale: bool = False
    """Abandon calls of nodes whose entry has ended, because these events end an entry that may still be executing."""
    refusal: ClientFault | None = None
    """The error for the caller of the request."""


NOTHING: Final = Decision()


def refuse(code: str, message: str, details: dict[str, Any] | None = None) -> Decision:
    """A decision that changes nothing and returns an error to the caller."""
    return Decision(refusal=ClientFault(code, message, details))


def error_object(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The error object of node.failed, run.failed and the snapshot."""
    document: dict[str, Any] = {"code": code, "message": message}
    return {**document, "details": details} if details else document


def is_running(state: RunState, node_id: str, entered: int) -> bool:
    """Whether this entry of the node is the current one, running or waiting for children. Inputs of older entries are
    ignored. A node that waits for children does not count while the run is paused: it is called again on resume."""
    node = state.running.get(node_id) or (state.awaiting_children.get(node_id) if state.status != "paused" else None)
    return node is not None and entered in (-1, node.entry_sequence)


def running_node(state: RunState, node_id: str, entered: int) -> NodeState | None:
    """The node if this entry of it runs. Unlike with `is_running`, waiting for children does not count."""
    node = state.running.get(node_id)
    return node if node is not None and entered in (-1, node.entry_sequence) else None


def passes_log_level(state: RunState, level: str) -> bool:
    """Whether the workflow's log level lets lines of this level through."""
    return _LOG_LEVELS.index(level) >= _LOG_LEVELS.index(state.plan.workflow.log_level)


def cancel_open_children(state: RunState, draft: Draft, cause: str | None = None) -> Draft:
    """kin-08 (readings, Child runs): a node that ends while it awaits children cancels them with the same event."""
    node = state.awaiting_children.get(draft.node_id or "")
    if node is None or not node.open_children:
        return draft if cause is None else Draft(draft.type, draft.payload, draft.node_id, cause)
    open_ids = tuple(child.run_id for child in node.children.values() if child.awaited and not child.has_ended)
    return Draft(draft.type, draft.payload, draft.node_id, cause, cancels=open_ids)


def iteration_breach(state: RunState, bounds: RunBounds, node: Node) -> tuple[int, int] | None:
    """lim-14 (RFC 0058, RFC 0007): limit and observed count if this supervisor or dispatch would exceed its number of
    iterations in this run, else None."""
    if node.declaration.role == "supervisor":
        return (bounds.iterations, state.decision_count + 1) if state.decision_count >= bounds.iterations else None
    cap: int | None = node.config.get("iterationCap")
    return (cap, state.dispatches + 1) if cap is not None and state.dispatches >= cap else None
