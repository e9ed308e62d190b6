"""Steering: what follows when somebody cancels, pauses or resumes a run. Pure."""

from typing import Any

from weftwork.engine.decision import NOTHING, Bounds, Decision, refuse
from weftwork.protocol.effect import is_unrepeatable
from weftwork.protocol.events import CANCEL_REQUESTED, PAUSE_REQUESTED, Draft
from weftwork.protocol.state import RunState
from weftwork.protocol.timestamp import iso


def cancel(state: RunState, reason: str | None) -> Decision:
    """run-03 (RFC 0094 B): `cancelling` while a node still runs, `cancelled` at once otherwise."""
    if state.stop is not None:
        return NOTHING
    payload = {"reason": reason} if reason else {}
    if state.running:
        return Decision((Draft(CANCEL_REQUESTED, payload),))
    waiting = sorted((*state.suspended, *state.retrying), key=lambda node_id: state.plan.nodes[node_id].index)
    ended = tuple(Draft("node.cancelled", {"nodeId": node_id}, node_id) for node_id in waiting)
    return Decision((*ended, Draft("run.cancelled", payload)))


def pause(state: RunState, bounds: Bounds, policy: str, reason: str | None) -> Decision:
    """run-12 (OpenWOP rest-endpoints): at once, or once the nodes that run have ended; the policy is kept.

    What may not happen twice is never interrupted, whatever the policy.
    """
    if state.status != "running" or state.pausing is not None or state.stop is not None:
        details: dict[str, Any] = {"runStatus": state.status}
        if state.paused_at is not None:
            details["pausedAt"] = iso(state.paused_at)
        what = "is about to pause" if state.pausing is not None else f"is {state.status}"
        return refuse("conflict", f"The run {what} and cannot be paused.", details)
    payload: dict[str, Any] = {"drainPolicy": policy, **({"reason": reason} if reason else {})}
    if not may_interrupt(state, bounds, policy):
        return Decision((Draft(PAUSE_REQUESTED, payload),))
    return Decision((Draft("run.paused", payload),), interrupt=True)


def may_interrupt(state: RunState, bounds: Bounds, policy: str) -> bool:
    """run-12, eff-04: whether a pause of this policy can be there now."""
    if policy != "immediate":
        return not state.running
    return not any(is_unrepeatable(node.effects, node.entered, bounds.orphans) for node in state.running.values())


def resume(state: RunState, reason: str | None) -> Decision:
    """run-13 (OpenWOP rest-endpoints): only a paused run goes on."""
    if state.status != "paused":
        details = {"runStatus": state.status}
        return refuse("conflict", f"The run is {state.status} and not paused.", details)
    return Decision((Draft("run.resumed", {"reason": reason} if reason else {}),))
