"""Decides what follows when a run is cancelled, paused or resumed, or a test sets its variables. Pure."""

from typing import Any

from msgspec import UNSET

from weftwork.engine.decide.decision import NOTHING, Decision, RunBounds, refuse
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.values import has_type
from weftwork.protocol.run import payloads
from weftwork.protocol.run.effects import has_unrepeatable_effect
from weftwork.protocol.run.events import Draft
from weftwork.protocol.timestamps import iso


def cancel_waiting_nodes(state: RunState) -> tuple[Draft, ...]:
    """Nodes that wait for people, their children or another attempt are cancelled along with their run."""
    waiting = (*state.suspended, *state.retrying, *state.awaiting_children)
    ordered = sorted(waiting, key=lambda node_id: state.plan.nodes[node_id].index)
    return tuple(Draft.of(payloads.NodeCancelled(node_id), node_id) for node_id in ordered)


def cancel(state: RunState, reason: str | None, parent: str | None = None) -> Decision:
    """run-03 (RFC 0094 B): `cancelling` while a node still runs, `cancelled` at once otherwise.

    kin-06 (interrupt-profiles, cascade): a run that was cancelled by its parent says so.
    """
    if state.stop is not None:
        return NOTHING
    if state.running:
        return Decision((Draft.of(payloads.CancelRequested(reason or UNSET, parent or UNSET)),))
    cancelled = payloads.RunCancelled(reason or UNSET, parent or UNSET)
    return Decision((*cancel_waiting_nodes(state), Draft.of(cancelled)))


def pause(state: RunState, bounds: RunBounds, policy: str, reason: str | None) -> Decision:
    """run-12 (OpenWOP rest-endpoints): at once, or once the nodes that run have ended; the policy is kept.

    What may not happen twice is never interrupted, whatever the policy.
    """
    if state.status != "running" or state.pausing is not None or state.stop is not None:
        details: dict[str, Any] = {"runStatus": state.status}
        if state.paused_at is not None:
            details["pausedAt"] = iso(state.paused_at)
        what = "is about to pause" if state.pausing is not None else f"is {state.status}"
        return refuse("conflict", f"The run {what} and cannot be paused.", details)
    if not may_interrupt(state, bounds, policy):
        return Decision((Draft.of(payloads.PauseRequested(policy, reason or UNSET)),))
    return Decision((Draft.of(payloads.RunPaused(policy, reason or UNSET)),), interrupt=True)


def may_interrupt(state: RunState, bounds: RunBounds, policy: str) -> bool:
    """run-12, eff-04: whether a pause of this policy can be there now."""
    if policy != "immediate":
        return not state.running
    return not any(
        has_unrepeatable_effect(node.effects, node.entry_sequence, bounds.orphans) for node in state.running.values()
    )


def overwrite_variables(state: RunState, values: dict[str, Any]) -> Decision:
    """seam-01 (RFC 0022 B): variables from outside, for what comes after the node at which the run stands."""
    node_id = state.current_node
    if node_id is None or state.stop is not None:
        return refuse("conflict", "The run stands at no node.", {"runStatus": state.status})
    declared = {each.name: each.type for each in state.plan.workflow.variables}
    for name, value in values.items():
        known = name in declared and name not in state.plan.sensitive_variables
        if not known or not has_type(value, declared[name]):
            return refuse("validation_error", "A variable is not declared, has another type, or is sensitive.")
    changed = (payloads.VariableChanged(name, value, node_id) for name, value in values.items())
    return Decision(tuple(Draft.of(each, node_id) for each in changed))


def resume(state: RunState, reason: str | None) -> Decision:
    """run-13 (OpenWOP rest-endpoints): only a paused run goes on."""
    if state.status != "paused":
        details = {"runStatus": state.status}
        return refuse("conflict", f"The run is {state.status} and not paused.", details)
    # What children said meanwhile is known, and nobody has looked at it yet.
    resumed = Draft.of(payloads.RunResumed(reason or UNSET))
    return Decision((resumed,), rechecks=tuple(state.awaiting_children))
