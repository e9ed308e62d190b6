"""Entries of nodes: which one runs, and how its end is said. Pure."""

from typing import Any

from weftwork.protocol.events import Draft
from weftwork.protocol.state import RunState


def is_running(state: RunState, node_id: str, entered: int) -> bool:
    """Whether this entry is the one that runs; word of an older one comes too late. So does what a look at children
    found, once the run is paused: it looks again when it goes on."""
    node = state.running.get(node_id) or (state.awaiting.get(node_id) if state.status != "paused" else None)
    return node is not None and entered in (-1, node.entered)


def ending(kind: str, node_id: str, /, **members: Any) -> Draft:
    return Draft(kind, {"nodeId": node_id, **members}, node_id)


def leaving(state: RunState, draft: Draft) -> Draft:
    """kin-08 (readings, Child runs): children that a node still waits for when it ends are cancelled with it."""
    node = state.awaiting.get(draft.node_id or "")
    if node is None or not node.open_children:
        return draft
    left = tuple(child.run_id for child in node.children.values() if child.awaited and not child.ended)
    return Draft(draft.type, draft.payload, draft.node_id, cancels=left)
