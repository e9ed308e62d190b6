"""Trust flow: how untrusted content spreads through a run, value by value. Source: RFC 0143.

Theory. A node is untrusted from the moment that something untrusted reaches it: as an input, by an expression of its
config, as an answer, from a child run, or because it fetches content itself. Everything that it makes from then on is
untrusted, and stays so wherever it is read, also in a later round of a loop. Trust follows values, not control flow: a
condition over untrusted content does not mark later nodes as untrusted.

The fold calls `mark_untrusted` and `initialize_trust`; the engine asks which events, and which results for a parent
run, carry untrusted content.
"""

from typing import Any, Final

from weftwork.protocol.fold.data_flow import has_untrusted_edge_value, reads_untrusted, untrusted_inputs
from weftwork.protocol.fold.state import RunState, UntrustedValues
from weftwork.protocol.fold.variable_views import INITIAL_STAMP
from weftwork.protocol.run.events import APPROVAL_REMARK, EFFECT_CLAIMED, INTERRUPT_REMINDER, Draft, Fact
from weftwork.protocol.workflow.node_config import config_references, variables_read


def mark_untrusted(state: RunState, fact: Fact) -> None:
    """trust-03 (RFC 0143): an untrusted fact makes its node untrusted, and what it writes. Before it is folded."""
    known = state.untrusted
    if known is None:
        known = state.untrusted = UntrustedValues()
    node_id, payload = fact.node_id or "", fact.payload
    node = state.nodes.get(node_id)
    if node is not None:
        node.untrusted = True
    if fact.type == "variable.changed":
        stamp = INITIAL_STAMP if node is None else (node.epoch, state.plan.nodes[node_id].index, node_id)
        known.variables.setdefault(payload["name"], set()).add(stamp)
    elif fact.type == "interrupt.resolved":
        known.answers.add(state.interrupts[payload["interruptId"]].key)


def initialize_trust(state: RunState) -> None:
    """trust-05 (RFC 0143): a child run begins with what its parent gave it, as it was there."""
    parent = state.header.parent
    if parent is not None and parent.untrusted:
        names = frozenset(parent.untrusted)
        state.untrusted = UntrustedValues({name: {INITIAL_STAMP} for name in names}, inputs=names)


def is_given_untrusted(state: RunState, node_id: str) -> bool:
    """trust-02 (RFC 0143): whether a node that starts is given content from outside, or fetches some."""
    node, known = state.plan.nodes[node_id].node, state.untrusted
    if node.external_content:
        if known is None:
            state.untrusted = UntrustedValues()
        return True
    if known is None:
        return False
    here = state.nodes[node_id]
    return (
        bool(untrusted_inputs(state, node_id))
        or (node.declaration.gathers_edges and has_untrusted_edge_value(state, node_id))
        or any(reads_untrusted(state, node_id, read) for read in config_references(node))
        or any(known.is_untrusted_variable(here.view, name) for name in variables_read(node))
        or node.interrupt_key in known.answers
        or (here.decision is not None and here.decision.untrusted)
    )


CONTENT_FREE_TYPES: Final = frozenset({EFFECT_CLAIMED, INTERRUPT_REMINDER, "cap.breached", "provider.usage"}).union(
    "node.started node.resumed node.skipped node.cancelled run.cancelled version.pinned".split()
)
"""Events that carry nothing of what their node made."""
ANSWER_TYPES: Final = frozenset({APPROVAL_REMARK, "interrupt.resolved", "clarification.resolved"}).union(
    "approval.received approval.granted approval.rejected approval.overridden".split()
)
"""Events that carry an answer: they are as trusted as the person or system that gave it."""


def carries_untrusted(state: RunState, draft: Draft) -> bool:
    """trust-06 (RFC 0021): whether an event carries something that an untrusted node made, or the inputs of such a run.

    For runs in which there is anything untrusted.
    """
    kind = draft.type
    if kind in CONTENT_FREE_TYPES or kind in ANSWER_TYPES:
        return False
    if draft.node_id is not None:
        return _is_untrusted_node(state, draft.node_id)
    if kind == "run.completed":
        return _has_untrusted_output(state, draft.payload["outputs"])
    return kind == "run.failed" and _is_untrusted_node(state, draft.payload.get("failedNodeId", ""))


def is_child_result_untrusted(state: RunState, outcome: dict[str, Any]) -> bool:
    """trust-05 (RFC 0143): whether what an ended child gives its parent is untrusted. For such runs, likewise."""
    known = state.untrusted
    if known is None:
        return False
    if any(known.is_untrusted_final(state.variable_stamps, name) for name in outcome.get("variables", ())):
        return True
    if "error" in outcome:
        return any(node.untrusted and node.status == "failed" for node in state.nodes.values())
    return "outputs" in outcome and _has_untrusted_output(state, state.outputs or {})


def _has_untrusted_output(state: RunState, outputs: dict[str, Any]) -> bool:
    return any(_is_untrusted_node(state, node_id) for node_id in outputs)


def _is_untrusted_node(state: RunState, node_id: str) -> bool:
    node = state.nodes.get(node_id)
    return node is not None and node.untrusted
