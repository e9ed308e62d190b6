"""A call of a node: from the state to what the node is given, and from its outcome to an input of the run."""

import logging
from typing import Any, Final

from weftwork.engine.inputs import Input, NodeAwaits, NodeCompleted, NodeFailed, NodeSuspended
from weftwork.engine.runtime import Runtime
from weftwork.ports.nodes import (
    AppendLog,
    Arrival,
    Awaits,
    CancelChild,
    Completed,
    EmitArtifact,
    EmitEvent,
    Failed,
    NodeCall,
    NodeEffect,
    Outcome,
    SetVariable,
    StartChild,
    Suspended,
    WriteChannel,
)
from weftwork.protocol import schema
from weftwork.protocol.channel import check_write
from weftwork.protocol.channel_access import denial, may_write
from weftwork.protocol.dataflow import Broken, Missing, arrivals, resolve_inputs, untrusted_inputs
from weftwork.protocol.definition import has_type
from weftwork.protocol.events import CHILD_STARTED, CHILD_STATUS, Draft
from weftwork.protocol.interrupt import Interrupt
from weftwork.protocol.interrupt_data import check_interrupt
from weftwork.protocol.scope import NodeScope
from weftwork.protocol.state import RunState
from weftwork.protocol.weight import MAX_DEPTH, MAX_TEXT, MAX_VALUES, is_too_large

log = logging.getLogger("weftwork.node")

TOO_LARGE: Final = Failed(
    "node_output_too_large",
    f"The node made a value of more than {MAX_TEXT:,} characters, {MAX_VALUES:,} values or {MAX_DEPTH} levels.",
    retryable=False,
)

LEFT_ALONE: Final = Failed("node_misused", "A node that completes waits for no child run.", retryable=False)
RAISED: Final = "The node raised an error; the host's log has the details."

_LEVELS = ("debug", "info", "warn", "error")


def make_call(state: RunState, node_id: str) -> NodeCall | NodeFailed:
    """What the node is given, or why it cannot be called. No repetition would help."""
    place = state.plan.nodes[node_id]
    node, declaration = place.node, place.node.declaration
    entered = state.nodes[node_id].entered
    inputs = resolve_inputs(state, node_id)
    if isinstance(inputs, Missing):
        message = f"The input {inputs.port} has no value: {inputs.source} is not set."
        return NodeFailed(node_id, "node_input_missing", message, retryable=False, entered=entered)
    if isinstance(inputs, Broken):
        message = f"The expression of the input {inputs.port} gave no value: {inputs.message}"
        return NodeFailed(node_id, inputs.code, message, {"port": inputs.port}, retryable=False, entered=entered)
    known = state.nodes[node_id]
    # One that has children was called before, with the same.
    wrong = wrong_inputs(declaration.inputs, inputs) if not known.children else None
    if wrong is not None:
        return NodeFailed(node_id, wrong.code, wrong.message, wrong.details, retryable=False, entered=entered)
    untrusted = untrusted_inputs(state, node_id)
    return NodeCall(
        state.header.run_id,
        node_id,
        inputs,
        node.config,
        NodeScope(state, node_id, inputs, declaration.instant, untrusted),
        state.rounds.get(place.counts, 0) if place.counts is not None else 0,
        _arrivals(state, node_id) if declaration.gathering else (),
        state.answers,
        known.visits,
        known.attempt,
        entered,
        known.children.copy(),
        known.heard,
        known.open_children,
        known.failed_children,
        known.decided,
        node.agent,
        state.header.configurable,
        contract=node.contract,
        prompt_refs=node.prompt_refs,
        hides=place.hides,
        untrusted=untrusted,
    )


def wrong_inputs(wanted: dict[str, Any], inputs: dict[str, Any]) -> Failed | None:
    """A failure if the inputs do not fit what the node type declares."""
    violations = schema.check_inline(wanted, inputs, "/inputs")
    if not violations:
        return None
    message = f"An input does not fit the node type: {violations[0].message}."
    return Failed("node_config_invalid", message, {"pointer": violations[0].pointer}, retryable=False)


def _arrivals(state: RunState, node_id: str) -> tuple[Arrival, ...]:
    return tuple(Arrival(edge.source, edge.target_input, value) for edge, value in arrivals(state, node_id))


def outcome_input(runtime: Runtime, state: RunState, call: NodeCall, outcome: Outcome) -> Input:
    """The outcome as the run takes it in. Effects that are not allowed make a failure of it."""
    # Of the call, because the state may have gone on to the next attempt.
    node_id, entered = call.node_id, call.entered
    match outcome:
        case Completed(outputs, effects):
            if is_too_large(outputs):
                return outcome_input(runtime, state, call, TOO_LARGE)
            wanted = _drafts(state, node_id, effects)
            if isinstance(wanted, Failed):
                return outcome_input(runtime, state, call, wanted)
            if wanted and any(draft.child is not None and draft.payload["awaited"] for draft in wanted):
                return outcome_input(runtime, state, call, LEFT_ALONE)
            return NodeCompleted(node_id, outputs, wanted, entered)
        case Awaits(effects):
            wanted = _drafts(state, node_id, effects)
            if isinstance(wanted, Failed):
                return outcome_input(runtime, state, call, wanted)
            return NodeAwaits(node_id, wanted, entered, call.heard)
        case Suspended(interrupt, said):
            wanted = unaskable(interrupt) or _drafts(state, node_id, said)
            if isinstance(wanted, Failed):
                return outcome_input(runtime, state, call, wanted)
            return NodeSuspended(node_id, interrupt, entered, wanted)
        case Failed(code, message, details, retryable, said, cause):
            chance = runtime.ids.fraction()
            wanted = _drafts(state, node_id, said)
            if isinstance(wanted, Failed):
                return outcome_input(runtime, state, call, wanted)
            return NodeFailed(node_id, code, message, details, retryable, chance, entered, wanted, cause)


def _drafts(state: RunState, node_id: str, effects: tuple[NodeEffect, ...]) -> tuple[Draft, ...] | Failed:
    if not effects:
        return ()
    drafts: list[Draft] = []
    for effect in effects:
        wanted = effect_drafts(state, node_id, effect)
        if isinstance(wanted, Failed):
            return wanted
        drafts += wanted
    return tuple(drafts)


def unaskable(interrupt: Interrupt) -> Failed | None:
    """Why a question cannot be asked, in whatever run."""
    if is_too_large(interrupt.data):
        return TOO_LARGE
    if wrong := check_interrupt(interrupt):
        message = f"A question of the node does not fit its kind: the value at the pointer {wrong[0].message}."
        return Failed("node_misused", message, {"pointer": wrong[0].pointer}, retryable=False)
    return None


def raised(runtime: Runtime, state: RunState, call: NodeCall) -> Input:
    """What a node raised goes to the log file; the wire learns only that it failed.

    Whether the effect of a `once` node happened before that is not known, so it is not tried again.
    """
    log.exception("node raised", extra={"runId": call.run_id, "nodeId": call.node_id})
    return outcome_input(runtime, state, call, Failed("node_failed", RAISED, retryable=not is_once(state, call)))


def is_once(state: RunState, call: NodeCall) -> bool:
    """Whether the node as a whole must not happen twice."""
    return state.plan.nodes[call.node_id].node.declaration.effect == "once"


def effect_drafts(state: RunState, node_id: str, effect: NodeEffect) -> list[Draft] | Failed:
    if is_too_large(_carried(effect)):
        return TOO_LARGE
    match effect:
        case SetVariable(name, value):
            return _set_variable(state, node_id, name, value)
        case WriteChannel(channel, value, reducer):
            return _write_channel(state, node_id, channel, value, reducer)
        case AppendLog(level, message, fields):
            if _LEVELS.index(level) < _LEVELS.index(state.plan.workflow.log_level):
                return []
            payload: dict[str, Any] = {"level": level, "message": message, "nodeId": node_id}
            return [Draft("log.appended", {**payload, "fields": fields} if fields else payload, node_id)]
        case EmitEvent(kind, payload, cause, event_id):
            return [Draft(kind, payload, node_id, cause, event_id=event_id)]
        case StartChild(new):
            awaited = new.header.parent is not None and new.header.parent.awaited
            started = {"childRunId": new.run_id, "workflowId": new.header.workflow_id, "key": new.key}
            return [Draft(CHILD_STARTED, {**started, "awaited": awaited}, node_id, child=new)]
        case CancelChild(key, reason):
            child = state.nodes[node_id].children.get(key)
            if child is None or child.ended or child.status == "cancelling" or not child.awaited:
                return []
            stopped = {"childRunId": child.run_id, "key": key, "status": "cancelling", "reason": reason}
            return [Draft(CHILD_STATUS, stopped, node_id, cancels=(child.run_id,))]
        case EmitArtifact(artifact_id, artifact_type, data, summary):
            known = state.artifacts.get(artifact_id)
            made = {
                "artifactId": artifact_id,
                "artifactType": artifact_type,
                "nodeId": node_id,
                "version": str(known.version + 1 if known is not None else 1),
                "data": data,
            }
            return [Draft("artifact.created", {**made, "summary": summary} if summary else made, node_id)]


def _carried(effect: NodeEffect) -> Any:
    match effect:
        case SetVariable(_, value) | WriteChannel(_, value, _) | EmitArtifact(_, _, value, _):
            return value
        case AppendLog(_, message, fields):
            return [message, fields]
        case EmitEvent(_, payload, _, _):
            return payload
        case StartChild() | CancelChild():
            return None


def _set_variable(state: RunState, node_id: str, name: str, value: Any) -> list[Draft] | Failed:
    """data-08 (OpenWOP workflow-definition): a declared variable keeps its type."""
    declared = next((each for each in state.plan.workflow.variables if each.name == name), None)
    if declared is not None and not has_type(value, declared.type):
        message = f"The variable {name} is declared as {declared.type}."
        return Failed("variable_type_mismatch", message, {"variable": name}, retryable=False)
    return [Draft("variable.changed", {"name": name, "next": value, "nodeId": node_id}, node_id)]


def _write_channel(state: RunState, node_id: str, name: str, value: Any, reducer: str) -> list[Draft] | Failed:
    """evt-05 (OpenWOP channels): the event holds the write itself and the reducer."""
    channel = state.plan.workflow.channels.get(name)
    type_id = state.plan.nodes[node_id].node.declaration.type_id
    if channel is not None and not may_write(channel, node_id, type_id):
        message = f"The node may not write to the channel {name}."
        return Failed("channel_access_denied", message, denial(channel, "writers", node_id, type_id), retryable=False)
    if channel is not None:
        reducer = channel.reducer
    wrong = check_write(channel, reducer, value)
    if wrong is not None:
        return Failed(wrong[0], wrong[1], {"channel": name}, retryable=False)
    payload = {"channel": name, "value": value, "reducer": reducer, "nodeId": node_id}
    if channel is not None and channel.schema_version != 1:
        payload["schemaVersion"] = channel.schema_version
    return [Draft("channel.written", payload, node_id)]


def part_call(whole: NodeCall, inputs: dict[str, Any], config: dict[str, Any], item: str, untrusted: bool) -> NodeCall:
    """What another node type is called with that runs as a part of this one."""
    return NodeCall(
        whole.run_id,
        f"{whole.node_id}[{item}]",
        inputs,
        config,
        whole.scope,
        iteration=whole.iteration,
        answers=whole.answers,
        visit=whole.visit,
        attempt=whole.attempt,
        entered=whole.entered,
        configurable=whole.configurable,
        untrusted=frozenset(inputs) if untrusted else frozenset(),
        part=True,
        hides=whole.hides,
    )
