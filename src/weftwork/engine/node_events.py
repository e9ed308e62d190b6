"""Turns the effects of a node into events of its run, and enforces their limits.

Effects of an outcome are committed with the end of the node. Log lines and events that a node emits while it runs are
buffered for one iteration of the event loop and committed together, in order (`BufferedEvents`).
"""

import asyncio
from collections.abc import Callable, Container
from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.engine.decide.decision import passes_log_level
from weftwork.engine.decide.inputs import Input, NodeEmitted
from weftwork.ports.node_outcome import (
    AppendLog,
    CancelChild,
    EmitArtifact,
    EmitEvent,
    Failed,
    NodeEffect,
    SetVariable,
    StartChild,
    StepFailed,
    WriteChannel,
)
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import MAX_VALUE_COUNT, MAX_VALUE_DEPTH, MAX_VALUE_TEXT, has_type, is_too_large
from weftwork.protocol.people.interrupt_validation import check_interrupt
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.channels import access_denied_details, check_write, may_write
from weftwork.protocol.workflow.registration import check_interrupt_capability

OUTPUT_TOO_LARGE: Final = Failed(
    "node_output_too_large",
    f"The node returned a value of more than {MAX_VALUE_TEXT:,} characters, {MAX_VALUE_COUNT:,} values "
    f"or {MAX_VALUE_DEPTH} levels.",
    retryable=False,
)
QUESTION_HIDDEN: Final = Failed(
    "question_hidden",
    "Nothing readable is left of a question of the node once the sensitive values are cut out of it. "
    "Ask for the value without quoting it, or keep sensitive values away from the node.",
    retryable=False,
)
MAX_NODE_EVENTS: Final = 10_000
MAX_NODE_EVENT_BYTES: Final = 4 * 2**20
"""Both limits apply to the events that one entry of a node emits while it runs."""


def interrupt_failure(interrupt: Interrupt, types: Container[str]) -> Failed | None:
    """The failure of a node that requests this interrupt, if it is invalid in any run of a host with these node types;
    else None."""
    if (fault := check_interrupt_capability(interrupt.kind, types)) is not None:
        return Failed(fault.code, fault.message, fault.details, retryable=False)
    if is_too_large(interrupt.data):
        return OUTPUT_TOO_LARGE
    if violations := check_interrupt(interrupt):
        message = f"The node requested an invalid interrupt: the value at the pointer {violations[0].message}."
        return Failed("node_misused", message, {"pointer": violations[0].pointer}, retryable=False)
    return None


def effect_events(state: RunState, node_id: str, effect: NodeEffect) -> list[Draft] | Failed:
    if is_too_large(_effect_value(effect)):
        return OUTPUT_TOO_LARGE
    match effect:
        case SetVariable(name, value):
            return _set_variable(state, node_id, name, value)
        case WriteChannel(channel, value, reducer):
            return _write_channel(state, node_id, channel, value, reducer)
        case AppendLog(level, message, fields):
            if not passes_log_level(state, level):
                return []
            return [Draft.of(payloads.LogAppended(level, message, node_id, fields or UNSET), node_id)]
        case EmitEvent(kind, payload, cause, event_id):
            return [Draft(kind, payload, node_id, cause, event_id=event_id)]
        case StartChild(new):
            awaited = new.header.parent is not None and new.header.parent.awaited
            started = payloads.ChildStarted(new.run_id, new.header.workflow_id, new.key, awaited)
            return [Draft.of(started, node_id, child=new)]
        case CancelChild(key, reason):
            child = state.nodes[node_id].children.get(key)
            if child is None or child.has_ended or child.status == "cancelling" or not child.awaited:
                return []
            stopped = payloads.ChildStatus(child.run_id, key, "cancelling", reason)
            return [Draft.of(stopped, node_id, cancels=(child.run_id,))]
        case EmitArtifact(artifact_id, artifact_type, data, summary):
            previous = state.artifacts.get(artifact_id)
            version = str(previous.version + 1 if previous is not None else 1)
            created = payloads.ArtifactCreated(artifact_id, artifact_type, node_id, version, data, summary or UNSET)
            return [Draft.of(created, node_id)]


def _effect_value(effect: NodeEffect) -> Any:
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
        message = f"The variable {name} is declared as {declared.type}, and the node set a value of another type."
        return Failed("variable_type_mismatch", message, {"variable": name}, retryable=False)
    return [Draft.of(payloads.VariableChanged(name, value, node_id), node_id)]


def _write_channel(state: RunState, node_id: str, name: str, value: Any, reducer: str) -> list[Draft] | Failed:
    """evt-05 (OpenWOP channels): the event holds the written value and the reducer, not the reduced value."""
    channel = state.plan.workflow.channels.get(name)
    type_id = state.plan.nodes[node_id].node.declaration.type_id
    if channel is not None and not may_write(channel, node_id, type_id):
        message = f"The node may not write to the channel {name}."
        return Failed(
            "channel_access_denied",
            message,
            access_denied_details(channel, "writers", node_id, type_id),
            retryable=False,
        )
    if channel is not None:
        reducer = channel.reducer
    violation = check_write(channel, reducer, value)
    if violation is not None:
        return Failed(violation[0], violation[1], {"channel": name}, retryable=False)
    schema_version = UNSET if channel is None or channel.schema_version == 1 else channel.schema_version
    return [Draft.of(payloads.ChannelWritten(name, value, reducer, node_id, schema_version), node_id)]


class BufferedEvents(msgspec.Struct, eq=False):
    """Buffers the events of one entry of a node. Events of one iteration of the event loop share an append."""

    _report: Callable[[Input], None]
    _state: RunState
    _node_id: str
    _entry_sequence: int
    _buffer: list[Draft] = []
    _count: int = 0
    _bytes: int = 0

    def emit(self, effect: AppendLog | EmitEvent) -> None:
        """See ports.nodes.NodeContext."""
        drafts = effect_events(self._state, self._node_id, effect)
        if isinstance(drafts, Failed):
            raise StepFailed(drafts)
        self._count += len(drafts)
        self._bytes += sum(len(encode_stored(draft.payload)) for draft in drafts)
        if self._count > MAX_NODE_EVENTS or self._bytes > MAX_NODE_EVENT_BYTES:
            message = (
                f"The node emitted more than {MAX_NODE_EVENTS:,} events or {MAX_NODE_EVENT_BYTES:,} bytes of events."
            )
            raise StepFailed(Failed("node_output_too_large", message, retryable=False))
        for draft in drafts:
            self.add(draft)

    def add(self, draft: Draft) -> None:
        """Like `emit`, for events with limits of their own."""
        if not self._buffer:
            asyncio.get_running_loop().call_soon(self.flush)
        self._buffer.append(draft)

    def flush(self) -> None:
        """Report the buffered events now, so that inputs which are reported next come after them."""
        if self._buffer:
            events, self._buffer = tuple(self._buffer), []
            self._report(NodeEmitted(self._node_id, events, self._entry_sequence))
