"""Decides about cancelling, pausing and resuming a run, and about variables that tests set. Pure."""

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
    """The events that cancel nodes which wait for an answer, for children, for a model provider or for a retry, in the
    order of the graph."""
    waiting = (*state.suspended, *state.retrying, *state.awaiting_children)
    ordered = sorted(waiting, key=lambda node_id: state.plan.nodes[node_id].index)
    return tuple(Draft.of(payloads.NodeCancelled(node_id), node_id) for node_id in ordered)


def cancel(state: RunState, reason: str | None, parent: str | None = None) -> Decision:
    """run-03 (RFC 0094 B): `cancelling` while a node still runs, `cancelled` at once otherwise.

    kin-06 (interrupt-profiles, cascade): the event of a run that its parent cancelled names the parent.
    """
    if state.stop is not None:
        return NOTHING
    if state.running:
        return Decision((Draft.of(payloads.CancelRequested(reason or UNSET, parent or UNSET)),))
    cancelled = payloads.RunCancelled(reason or UNSET, parent or UNSET)
    return Decision((*cancel_waiting_nodes(state), Draft.of(cancelled)))


def pause(state: RunState, bounds: RunBounds, policy: str, reason: str | None) -> Decision:
    """run-12 (OpenWOP rest-endpoints): the run pauses at once, or after its running nodes have ended, by policy.

    No policy interrupts an effect in progress that must not happen twice.
    """
    if state.status != "running" or state.pausing is not None or state.stop is not None:
        details: dict[str, Any] = {"runStatus": state.status}
        if state.paused_at is not None and (state.status == "paused" or state.pausing is not None):
            details["pausedAt"] = iso(state.paused_at)
        what = "is already pausing" if state.pausing is not None else f"is {state.status}"
        return refuse("conflict", f"The run {what} and cannot be paused.", details)
    if not may_interrupt(state, bounds, policy):
        return Decision((Draft.of(payloads.PauseRequested(policy, reason or UNSET)),))
    return Decision((Draft.of(payloads.RunPaused(policy, reason or UNSET)),), interrupt=True)


def may_interrupt(state: RunState, bounds: RunBounds, policy: str) -> bool:
    """run-12, eff-04: whether a run can be paused now under this policy."""
    return not state.running if policy != "immediate" else not nodes_with_open_effects(state, bounds)


def nodes_with_open_effects(state: RunState, bounds: RunBounds) -> list[str]:
    """eff-04: the running nodes with an effect in progress that must not be interrupted."""
    entries = [(node_id, node.effects, node.entry_sequence) for node_id, node in state.running.items()]
    return [node_id for node_id, effects, at in entries if has_unrepeatable_effect(effects, at, bounds.orphans)]


def overwrite_variables(state: RunState, values: dict[str, Any]) -> Decision:
    """seam-01 (RFC 0022 B): sets variables as if the current node had; the nodes after it see them."""
    node_id = state.current_node
    if node_id is None or state.stop is not None:
        return refuse("conflict", "The run has no current node.", {"runStatus": state.status})
    declared = {each.name: each.type for each in state.plan.workflow.variables}
    for name, value in values.items():
        writable = name in declared and name not in state.plan.sensitive_variables
        if not writable or not has_type(value, declared[name]):
            return refuse("validation_error", "A variable is not declared, has another type, or is sensitive.")
    changed = (payloads.VariableChanged(name, value, node_id) for name, value in values.items())
    return Decision(tuple(Draft.of(each, node_id) for each in changed))


def resume(state: RunState, reason: str | None) -> Decision:
    """run-13 (OpenWOP rest-endpoints): only a paused run can be resumed."""
    if state.status != "paused":
        details = {"runStatus": state.status}
        return refuse("conflict", f"The run is {state.status}; only a paused run can be resumed.", details)
    # Results of children that arrived during the pause are recorded, but their nodes were not called.
    resumed = Draft.of(payloads.RunResumed(reason or UNSET))
    return Decision((resumed,), rechecks=tuple(state.awaiting_children))
