"""Entries of nodes: which one runs, and how its end is said, and that of the run. Pure."""

from typing import Any

from weftwork.protocol.events import Draft
from weftwork.protocol.graph import HANDLES_FAILURE
from weftwork.protocol.state import RunState


def is_running(state: RunState, node_id: str, entered: int) -> bool:
    """Whether this entry is the one that runs; word of an older one comes too late. So does what a look at children
    found, once the run is paused: it looks again when it goes on."""
    node = state.running.get(node_id) or (state.awaiting.get(node_id) if state.status != "paused" else None)
    return node is not None and entered in (-1, node.entered)


def ending(kind: str, node_id: str, /, **members: Any) -> Draft:
    return Draft(kind, {"nodeId": node_id, **members}, node_id)


def leaving(state: RunState, draft: Draft, cause: str | None = None) -> Draft:
    """kin-08 (readings, Child runs): children that a node still waits for when it ends are cancelled with it."""
    node = state.awaiting.get(draft.node_id or "")
    if node is None or not node.open_children:
        return draft if cause is None else Draft(draft.type, draft.payload, draft.node_id, cause)
    left = tuple(child.run_id for child in node.children.values() if child.awaited and not child.ended)
    return Draft(draft.type, draft.payload, draft.node_id, cause, cancels=left)


def finished(state: RunState) -> Draft:
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
