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


def await_children(state: RunState, given: NodeAwaitsChildren) -> Decision | NodeFailed:
    """kin-02 (readings, Child runs): the node has said what it wants of its children, or waits for none at all."""
    node = state.nodes[given.node_id]
    if given.last_child_event != node.last_child_event:
        # It looked before the last word, or this was heard already.
        return Decision(start=given.node_id) if may_continue(state) else NOTHING
    started = [draft.child.key for draft in given.effects if draft.child is not None]
    text = None
    if len(set(started)) < len(started) or any(key in node.children for key in started):
        text = "Two child runs of the node have the same key."
    elif not started and not node.open_children:
        text = "The node waits for child runs and has none."
    elif given.effects and not started and not any(draft.cancels for draft in given.effects):
        text = "A node that waits for child runs does something only along with starting or cancelling one."
    if text is not None:
        return NodeFailed(given.node_id, "node_misused", text, retryable=False, entry_sequence=given.entry_sequence)
    return Decision(given.effects) if given.effects else NOTHING


def receive_results(state: RunState, given: ChildResultsReceived) -> Decision:
    """kin-04 (readings, Child runs): each word of a child once; one of a child that nobody waits for is none."""
    node = state.nodes.get(given.node_id)
    if node is None or state.stop is not None:
        return NOTHING
    drafts: list[Draft] = []
    ended = False
    for told in given.results:
        child = node.children.get(told.key)
        if child is None or child.run_id != told.child_run_id or child.has_ended or child.status == told.status:
            continue
        if told.status in TERMINAL_STATUSES:
            ended = True
            drafts.append(_child_ended_event(given.node_id, told))
        elif child.status != "cancelling":
            drafts.append(Draft.of(payloads.ChildStatus(told.child_run_id, told.key, told.status), given.node_id))
    if not drafts:
        return NOTHING
    looks = ended and given.node_id in state.awaiting_children and may_continue(state)
    return Decision(tuple(drafts), start=given.node_id if looks else None)


def may_continue(state: RunState) -> bool:
    """Whether nodes that wait for children may go on: not while the run is paused or about to be."""
    return state.status != "paused" and state.pausing is None and state.stop is None


def recheck_children(state: RunState, node_id: str, entered: int) -> Decision:
    """kin-05 (readings, Child runs): a look that finds nothing new decides nothing."""
    found = node_id in state.awaiting_children and is_running(state, node_id, entered) and may_continue(state)
    return Decision(start=node_id) if found else NOTHING


def await_timeout(state: RunState, given: AwaitTimedOut) -> NodeFailed | None:
    """node-13 (readings, Time limits): time in which a node waits for children counts."""
    if given.node_id not in state.awaiting_children or not is_running(state, given.node_id, given.entry_sequence):
        return None
    if not may_continue(state):
        return None
    limit = state.plan.nodes[given.node_id].node.timeout_ms
    text = f"The node did not end within {limit} ms."
    return NodeFailed(given.node_id, "node_timeout", text, entry_sequence=given.entry_sequence)


def _child_ended_event(node_id: str, told: ChildResult) -> Draft:
    outcome: dict[str, Any] = msgspec.json.decode(told.outcome)
    members = [outcome.get(name, UNSET) for name in ("error", "variables", "hidden", "outputs")]
    payload = payloads.ChildEnded(told.child_run_id, told.key, told.status, *members)
    return Draft.of(payload, node_id, content_trust="untrusted" if outcome.get("untrusted") else None)
