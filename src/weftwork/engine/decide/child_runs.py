"""Decides what follows when a node waits for child runs, and when their results arrive. Pure."""

from typing import Any

import msgspec
from msgspec import UNSET

from weftwork.engine.decide.decision import NOTHING, Decision, is_running
from weftwork.engine.decide.inputs import AwaitTimedOut, ChildResultsReceived, NodeAwaitsChildren, NodeFailed
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run import payloads
from weftwork.protocol.run.batch import ChildResult
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.header import TERMINAL_STATUSES


def await_children(state: RunState, wait: NodeAwaitsChildren) -> Decision | NodeFailed:
    """kin-02 (readings, Child runs): a node that waits has open children, and its effects start or cancel children. A
    node that breaks this fails with node_misused."""
    node = state.nodes[wait.node_id]
    if wait.last_child_event != node.last_child_event:
        # A child changed after the node looked at its children, or this input was applied before: call the node again.
        return Decision(start=wait.node_id) if may_continue(state) else NOTHING
    started = [draft.child.key for draft in wait.effects if draft.child is not None]
    text = None
    if len(set(started)) < len(started) or any(key in node.children for key in started):
        text = "Two child runs of the node have the same key."
    elif not started and not node.open_children:
        text = "The node waits for child runs, but it has none that is open."
    elif wait.effects and not started and not any(draft.cancels for draft in wait.effects):
        text = "A node that waits for child runs can have effects only when it starts or cancels a child run."
    if text is not None:
        return NodeFailed(wait.node_id, "node_misused", text, retryable=False, entry_sequence=wait.entry_sequence)
    return Decision(wait.effects) if wait.effects else NOTHING


def receive_results(state: RunState, received: ChildResultsReceived) -> Decision:
    """kin-04 (readings, Child runs): each result of a child is applied once. Results that match no child of the node
    are ignored."""
    node = state.nodes.get(received.node_id)
    if node is None or state.stop is not None:
        return NOTHING
    drafts: list[Draft] = []
    ended = False
    for result in received.results:
        child = node.children.get(result.key)
        if child is None or child.run_id != result.child_run_id or child.has_ended or child.status == result.status:
            continue
        if result.status in TERMINAL_STATUSES:
            ended = True
            drafts.append(_child_ended_event(received.node_id, result))
        elif child.status != "cancelling":
            drafts.append(
                Draft.of(payloads.ChildStatus(result.child_run_id, result.key, result.status), received.node_id)
            )
    if not drafts:
        return NOTHING
    calls_node = ended and received.node_id in state.awaiting_children and may_continue(state)
    return Decision(tuple(drafts), start=received.node_id if calls_node else None)


def may_continue(state: RunState) -> bool:
    """Whether nodes that wait for children, a retry or a model provider may be called: not while the run is paused,
    pausing or stopping."""
    return state.status != "paused" and state.pausing is None and state.stop is None


def recheck_children(state: RunState, node_id: str, entered: int) -> Decision:
    """kin-05 (readings, Child runs): the node is called again if it still waits for children. If it finds no change, no
    event follows."""
    waits = node_id in state.awaiting_children and is_running(state, node_id, entered) and may_continue(state)
    return Decision(start=node_id) if waits else NOTHING


def await_timeout(state: RunState, timeout: AwaitTimedOut) -> NodeFailed | None:
    """node-13 (readings, Time limits): the time that a node waits for children, or for a model provider, counts towards
    its time limit."""
    node = state.awaiting_children.get(timeout.node_id) or state.retrying.get(timeout.node_id)
    if node is None or node.entry_sequence != timeout.entry_sequence or not may_continue(state):
        return None
    if timeout.node_id in state.retrying and node.provider_wait is None:
        return None
    limit = state.plan.nodes[timeout.node_id].node.timeout_ms
    text = f"The node did not end within {limit} ms."
    return NodeFailed(timeout.node_id, "node_timeout", text, entry_sequence=timeout.entry_sequence)


def _child_ended_event(node_id: str, result: ChildResult) -> Draft:
    outcome: dict[str, Any] = msgspec.json.decode(result.outcome)
    members = [outcome.get(name, UNSET) for name in ("error", "variables", "hidden", "outputs")]
    payload = payloads.ChildEnded(result.child_run_id, result.key, result.status, *members)
    return Draft.of(payload, node_id, content_trust="untrusted" if outcome.get("untrusted") else None)
