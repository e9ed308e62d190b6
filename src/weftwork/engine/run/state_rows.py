"""The stored form of a folded state: the rows and the projection of a run, with hidden values masked.

The append path writes what an event has changed; a reader of an earlier state, and a fork, build all of it. Each row is
redacted when it is built, so a redactor that knows the values of the state must be passed.
"""

from typing import Any

from weftwork.protocol.fold.state import RunState, is_parked, next_wake_at
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.privacy.redaction import Redactor, visible_channel, visible_variable
from weftwork.protocol.run.interrupts import StoredSurface
from weftwork.protocol.run.projection import InterruptListing, Projection, RowKind, StateRow, StoredRun
from weftwork.protocol.timestamps import iso


def stored_run(state: RunState, redactor: Redactor | None, duration: int | None = None) -> StoredRun:
    """The stored form of a state that was folded from its first event, so that `changed_rows` names all of its rows.
    The error or the outputs of a run that has ended are missing: they are in its last event.

    `redactor` comes from `make_redactor`. `duration` is the time limit of the run, for the time at which to wake it.
    """
    return StoredRun(state.header, projection_of(state, duration), changed_rows(state, redactor))


def projection_of(
    state: RunState, duration: int | None, error: bytes | None = None, outputs: bytes | None = None
) -> Projection:
    """The projection of a state. `error` and `outputs` are those of the event that ended the run, encoded and
    masked."""
    parked = is_parked(state)
    return Projection(
        status=state.status,
        last_sequence=state.last_sequence,
        started_at=state.started_at,
        completed_at=state.completed_at,
        current_node=state.current_node,
        error=error,
        executions=state.executions,
        outputs=outputs,
        parked=parked,
        wake_at=next_wake_at(state, duration) if parked else None,
    )


def changed_rows(state: RunState, redactor: Redactor | None) -> tuple[StateRow, ...]:
    """The rows that `state.changed_rows` names, by kind and name. Does not clear the set."""
    # Not with `state_row`, because that would be another call for each row of every commit.
    return tuple(
        [
            StateRow(
                kind,
                name,
                encode_recorded(_row_value(state, redactor, kind, name)),
                _interrupt_listing(state, kind, name),
            )
            for kind, name in sorted(state.changed_rows)
        ]
    )


def state_row(state: RunState, redactor: Redactor | None, kind: RowKind, name: str) -> StateRow:
    """One row. For a reader that builds all rows of a large state in slices."""
    value = encode_recorded(_row_value(state, redactor, kind, name))
    return StateRow(kind, name, value, _interrupt_listing(state, kind, name))


def _row_value(state: RunState, redactor: Redactor | None, kind: RowKind, name: str) -> Any:
    if kind == "node":
        return _node_row(state, redactor, name)
    if kind == "variable":
        value = visible_variable(state.plan, name, state.variables[name])
        return value if name in state.plan.sensitive_variables else _redact(redactor, value)
    if kind == "channel":
        value = visible_channel(state.plan, name, state.channels[name].value)
        return value if name in state.plan.taint.channels else _redact(redactor, value)
    if kind == "artifact":
        artifact = state.artifacts[name]
        return {
            "artifactType": artifact.artifact_type,
            "nodeId": artifact.node_id,
            "version": artifact.version,
            "sequence": artifact.sequence,
        }
    if kind == "agent":
        return state.agents[name]
    if kind == "kin":
        return state.children_started
    return _interrupt_row(state, redactor, name)


def _interrupt_row(state: RunState, redactor: Redactor | None, name: str) -> dict[str, Any]:
    """An interrupt as snapshots and listings show it."""
    interrupt = state.interrupts[name]
    row: dict[str, Any] = {
        "interruptId": name,
        "nodeId": interrupt.node_id,
        "kind": interrupt.kind,
        "key": interrupt.key,
        "status": interrupt.status,
        "requestedAt": iso(interrupt.requested_at),
    }
    if interrupt.status == "open":
        content: dict[str, Any] = {"data": interrupt.data}
        if interrupt.resume_schema is not None:
            content["resumeSchema"] = interrupt.resume_schema
        if redactor is not None:
            content = redactor.visible_interrupt(interrupt.node_id, interrupt.kind, content)
        row |= content | interrupt.trust_member
        if interrupt.surface is not None:
            row["surface"] = _surface_member(redactor, interrupt.node_id, interrupt.surface)
        if interrupt.due is not None:
            row |= {"timeoutMs": interrupt.timeout_ms, "dueAt": iso(interrupt.due)}
        if interrupt.reminders_sent:
            row["remindersSent"] = interrupt.reminders_sent
    elif interrupt.status == "resolved" and (resolution := state.resolutions.get(interrupt.key)) is not None:
        optional = {
            "resolvedBy": _redact(redactor, resolution.by),
            "outcome": resolution.outcome,
            "reason": resolution.reason,
        }
        row |= {
            "resolvedAt": iso(resolution.at),
            **{name: each for name, each in optional.items() if each is not None},
        }
    if interrupt.votes:
        votes = interrupt.votes.items()
        row["votes"] = [{"voter": _redact(redactor, voter), "action": action} for voter, action in votes]
    if interrupt.status != "open" and interrupt.surface is not None:
        row |= interrupt.surface.reference
    return row


def _surface_member(redactor: Redactor | None, node_id: str, stored: StoredSurface) -> dict[str, Any]:
    payload = stored.shown_payload
    return stored.member(payload if redactor is None else redactor.visible_surface(node_id, payload))


def _interrupt_listing(state: RunState, kind: str, name: str) -> InterruptListing | None:
    interrupt = state.interrupts[name] if kind == "interrupt" else None
    if interrupt is None or interrupt.status != "open":
        return None
    return InterruptListing(interrupt.kind, interrupt.node_id, interrupt.requested_at, interrupt.due)


def _node_row(state: RunState, redactor: Redactor | None, node_id: str) -> dict[str, Any]:
    """A node's entry in nodeStates of the snapshot: its status, without inputs and outputs."""
    node = state.nodes[node_id]
    row: dict[str, Any] = {"status": node.status}
    if node.attempt:
        row["attempt"] = node.attempt
    if (wait := node.provider_wait) is not None:
        row |= wait.members
    if node.error is not None:
        row["error"] = node.error if redactor is None else redactor.visible_error(node_id, node.error)
    return row


def _redact(redactor: Redactor | None, value: Any) -> Any:
    return value if redactor is None else redactor.visible_value(value)
