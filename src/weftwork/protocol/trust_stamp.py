"""Trust stamps: which events, and which words to a parent, carry something untrusted of their run."""

from typing import Any, Final

from weftwork.protocol.events import EFFECT_CLAIMED, REMARK, REMINDER, Draft
from weftwork.protocol.state import RunState

BARE: Final = frozenset(
    {
        *("node.started", "node.resumed", "node.skipped", "node.cancelled", "run.cancelled"),
        *("version.pinned", "cap.breached", "provider.usage", EFFECT_CLAIMED, REMINDER),
    }
)
"""Events that carry nothing of what their node made."""
ANSWERS: Final = frozenset(
    {
        *("interrupt.resolved", "clarification.resolved", REMARK),
        *("approval.received", "approval.granted", "approval.rejected", "approval.overridden"),
    }
)
"""Events that carry the words of whoever answers: they are as trusted as those are."""


def carries_untrusted(state: RunState, draft: Draft) -> bool:
    """trust-06 (RFC 0021): whether an event carries something that an untrusted node made, or the inputs of such a run.

    For runs in which there is anything untrusted.
    """
    kind = draft.type
    if kind in BARE or kind in ANSWERS:
        return False
    if draft.node_id is not None:
        node = state.nodes.get(draft.node_id)
        return node is not None and node.untrusted
    if kind == "run.completed":
        return _are_untrusted(state, draft.payload["outputs"])
    return kind == "run.failed" and _is_untrusted(state, draft.payload.get("failedNodeId", ""))


def tells_untrusted(state: RunState, outcome: dict[str, Any]) -> bool:
    """trust-05 (RFC 0143): whether what an ended child gives its parent is untrusted. For such runs, likewise."""
    known = state.untrusted
    if known is None:
        return False
    if any(known.is_final(state.stamps, name) for name in outcome.get("variables", ())):
        return True
    if "error" in outcome:
        return any(node.untrusted and node.status == "failed" for node in state.nodes.values())
    return "outputs" in outcome and _are_untrusted(state, state.outputs or {})


def _are_untrusted(state: RunState, outputs: dict[str, Any]) -> bool:
    return any(_is_untrusted(state, node_id) for node_id in outputs)


def _is_untrusted(state: RunState, node_id: str) -> bool:
    node = state.nodes.get(node_id)
    return node is not None and node.untrusted
