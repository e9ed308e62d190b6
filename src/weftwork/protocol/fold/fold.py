"""The fold: computes the state of a run from its header and log. It is deterministic and the only source of run states.

A run in memory applies the facts that were just decided; a run that is loaded folds its whole log. Both call `apply`
for one fact at a time, so they have the same result. Unknown event types change nothing (OpenWOP run-event).
"""

from bisect import insort
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from weftwork.protocol.envelopes.handling import NODE_CAPS
from weftwork.protocol.fold.channel_state import Stamp, initial_channel, reduce_write
from weftwork.protocol.fold.data_flow import initialize_trust, mark_untrusted
from weftwork.protocol.fold.facts import NODE_CHANGES, OTHER_CHANGES
from weftwork.protocol.fold.fork_facts import continue_from_past
from weftwork.protocol.fold.live_size import hold, hold_channel
from weftwork.protocol.fold.state import Artifact, NodeState, RunState, RunStop
from weftwork.protocol.fold.traversal import schedule_entry_node
from weftwork.protocol.fold.variable_views import initial_view
from weftwork.protocol.run.events import (
    CANCEL_REQUESTED,
    FORKED,
    LIMIT_BREACHED,
    PAUSE_REQUESTED,
    TERMINAL_TYPES,
    UNTRUSTED,
    Fact,
)
from weftwork.protocol.run.header import WAITING_STATUSES, RunHeader, Status, next_status
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.workflow.plan import Plan

BREACH_CODES: Final = {
    "node-executions": ("recursion_limit_exceeded", "The run reached its limit of node executions."),
    "run-duration": ("run_timeout", "The run reached its time limit."),
    "loop-iterations": (
        "loop_limit_exceeded",
        "A supervised loop reached its limit of iterations. Let the supervisor end the loop earlier, or raise "
        "configurable.maxLoopIterations of the run or iterationCap of the dispatch node.",
    ),
}
"""lim-01 (OpenWOP capabilities, limits): kind of breached limit -> error code and message of the run."""


def initial_variables(plan: Plan, inputs: dict[str, Any]) -> dict[str, Any]:
    """data-01 (OpenWOP run-options): the defaults of the definition, overridden by the caller's inputs."""
    defaults = {v.name: v.default for v in plan.workflow.variables if v.has_default}
    return {**defaults, **inputs}


def fold(plan: Plan, header: RunHeader, inputs: dict[str, Any], facts: Iterable[Fact]) -> RunState:
    """fold-01: the state after `facts`, which must be a prefix of the run's log."""
    state = RunState(plan, header, inputs)
    for fact in facts:
        apply(state, fact)
    return state


def apply(state: RunState, fact: Fact) -> None:
    """fold-01: updates the state with the next fact of the log."""
    state.last_sequence = fact.sequence
    if fact.timestamp > state.last_event_at:
        # Logs of earlier versions contain timestamps that decrease.
        state.last_event_at = fact.timestamp
    if state.unapplied and fact.sequence in state.unapplied:
        return
    kind = fact.type
    state.status = next_status(state.status, kind)
    if fact.content_trust == UNTRUSTED:
        mark_untrusted(state, fact)
    change = _CHANGES.get(kind)
    if change is not None:
        change(state, fact)
    elif kind in NODE_CHANGES:
        node_id = fact.node_id
        if node_id is not None and node_id in state.plan.nodes:
            if state.pending_calls:
                state.pending_calls.discard(node_id)
            NODE_CHANGES[kind](state, fact, node_id)
    if state.suspended or state.awaiting_children or state.status in WAITING_STATUSES:
        _update_waiting_status(state)


def _update_waiting_status(state: RunState) -> None:
    """int-01 (RFC 0094 E), kin-03: a run with an open interrupt or a waiting child has a `waiting-*` status, even if
    other nodes still run."""
    if state.status == "running" or state.status.startswith("waiting-"):
        waiting = state.first_open_interrupt if state.suspended else None
        if waiting is not None:
            state.status = STATUS_BY_KIND[waiting.kind]
        elif (node_id := state.node_with_waiting_child) is not None:
            state.status = cast(Status, next(iter(state.awaiting_children[node_id].waiting_children.values())))
        else:
            state.status = "running"


def _run_started(state: RunState, fact: Fact) -> None:
    state.started_at = fact.timestamp
    state.live_bytes += fact.size
    if fact.content_trust == UNTRUSTED:
        initialize_trust(state)
    state.variables = initial_variables(state.plan, state.inputs)
    state.changed_rows.update(("variable", name) for name in state.variables)
    for name, channel in state.plan.workflow.channels.items():
        if (initial := initial_channel(channel)) is not None:
            state.channels[name] = initial
            state.changed_rows.add(("channel", name))
    view = initial_view(state.variables)
    for node_id in state.plan.entries:
        schedule_entry_node(state, node_id, NodeState("pending", view=view))


def _run_ended(state: RunState, fact: Fact) -> None:
    state.completed_at = fact.timestamp
    state.error = fact.payload.get("error")
    state.outputs = fact.payload.get("outputs")
    for each in state.open_interrupts.values():
        each.status = "cancelled" if fact.type == "run.cancelled" else "closed"
        state.changed_rows.add(("interrupt", each.interrupt_id))
    state.open_interrupts.clear()
    state.suspended.clear()
    state.awaiting_children.clear()


def _cancel_requested(state: RunState, fact: Fact) -> None:
    state.stop = RunStop(None, fact.payload.get("reason"), fact.payload.get("parentRunId"))


def _cap_breached(state: RunState, fact: Fact) -> None:
    payload = fact.payload
    if payload["kind"] in NODE_CAPS:
        return
    code, message = BREACH_CODES.get(payload["kind"], ("cap_breached", "The run reached a limit."))
    details = {"kind": payload["kind"], "limit": payload["limit"], "observed": payload["observed"]}
    state.stop = RunStop({"code": code, "message": message, "details": details})


def _limit_breached(state: RunState, fact: Fact) -> None:
    state.stop = RunStop(fact.payload["error"])


def _loopback_limit(state: RunState, fact: Fact) -> None:
    details = {name: fact.payload[name] for name in ("nodeId", "iterations", "limit")}
    message = (
        "A loop reached its limit of iterations. Give its back-edge a condition that ends the loop, "
        "or raise settings.maxLoopbackIterations."
    )
    state.stop = RunStop({"code": "loop_limit_exceeded", "message": message, "details": details})


def _pause_requested(state: RunState, fact: Fact) -> None:
    state.pausing = fact.payload["drainPolicy"]
    state.pause_reason = fact.payload.get("reason")
    state.paused_at = fact.timestamp


def _run_paused(state: RunState, fact: Fact) -> None:
    """run-12 (OpenWOP rest-endpoints): nodes that still run are interrupted, and start again when the run resumes."""
    if state.pausing is None:
        state.paused_at = fact.timestamp
    state.pausing = None
    for node_id, node in state.running.items():
        if node.children:
            # A new attempt would lose its children, so the same attempt is called again after the pause.
            state.awaiting_children[node_id] = node
            continue
        node.status = "pending"
        insort(state.ready, (state.plan.nodes[node_id].index, node_id))
        state.changed_rows.add(("node", node_id))
    state.running.clear()


def _run_resumed(state: RunState, fact: Fact) -> None:
    state.paused_at = None
    state.pending_calls = set(state.awaiting_children)


def _variable_changed(state: RunState, fact: Fact) -> None:
    """data-05 (readings, Determinism): the write with the greatest stamp wins, not the last one in the log."""
    name, value = fact.payload["name"], fact.payload.get("next")
    stamp = _stamp(state, fact)
    if stamp is not None:
        node = state.nodes[stamp[2]]
        node.view = node.view.with_write(name, stamp, value, fact.size)
        state.live_bytes += fact.size
        if node.view.needs_pruning(name):
            state.live_bytes -= node.view.prune(name, [each.view for each in state.nodes.values()])
        if stamp < state.variable_stamps.get(name, stamp):
            return
        state.variable_stamps[name] = stamp
    else:
        hold(state, ("variable", name), fact.size)
    state.variables[name] = value
    state.changed_rows.add(("variable", name))


def _channel_written(state: RunState, fact: Fact) -> None:
    """fold-03 (OpenWOP channels): the event names the reducer; `ttlMs` and `maxSize` come from the channel's
    declaration, or from the node's config if the channel is not declared."""
    payload = fact.payload
    name = payload["channel"]
    declared = state.plan.workflow.channels.get(name)
    place = state.plan.nodes.get(fact.node_id or "")
    config = place.node.config if place is not None else {}
    state.channels[name] = reduce_write(
        state.channels.get(name),
        reducer=payload["reducer"],
        value=payload["value"],
        at=fact.timestamp,
        stamp=_stamp(state, fact) or (0, 0, ""),
        ttl_ms=config.get("ttlMs") if declared is None else declared.ttl_ms,
        max_size=config.get("maxSize") if declared is None else declared.max_size,
    )
    hold_channel(state, name, fact.size)
    state.changed_rows.add(("channel", name))


def _stamp(state: RunState, fact: Fact) -> Stamp | None:
    node_id = fact.node_id
    if node_id is None or node_id not in state.nodes:
        return None
    return state.nodes[node_id].epoch, state.plan.nodes[node_id].index, node_id


def _version_pinned(state: RunState, fact: Fact) -> None:
    """ver-01 (OpenWOP version-negotiation): the first pinned version of a change is final."""
    state.versions.setdefault(fact.payload["changeId"], fact.payload["version"])


def _replay_diverged(state: RunState, fact: Fact) -> None:
    """replay-04 (OpenWOP replay): the log of a replay may also repeat such an event of its source."""
    fork = state.header.fork
    if fork is not None and fork.run_id == fact.payload["sourceRunId"]:
        state.diverged_at = fact.sequence


def _artifact_created(state: RunState, fact: Fact) -> None:
    payload = fact.payload
    name = payload["artifactId"]
    state.artifacts[name] = Artifact(
        payload["artifactType"], fact.node_id or "", int(payload.get("version", 1)), fact.sequence
    )
    state.changed_rows.add(("artifact", name))


_CHANGES: Final[dict[str, Callable[[RunState, Fact], None]]] = {
    "run.started": _run_started,
    **dict.fromkeys(TERMINAL_TYPES, _run_ended),
    CANCEL_REQUESTED: _cancel_requested,
    FORKED: continue_from_past,
    PAUSE_REQUESTED: _pause_requested,
    "run.paused": _run_paused,
    "run.resumed": _run_resumed,
    "cap.breached": _cap_breached,
    LIMIT_BREACHED: _limit_breached,
    "workflow.loopback-limit": _loopback_limit,
    "variable.changed": _variable_changed,
    "channel.written": _channel_written,
    "version.pinned": _version_pinned,
    "artifact.created": _artifact_created,
    "replay.diverged": _replay_diverged,
    **OTHER_CHANGES,
}

FOLDED_TYPES: Final = frozenset((*_CHANGES, *NODE_CHANGES))
"""The event types that the fold handles. All others change nothing."""
