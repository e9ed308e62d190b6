"""Payloads of the events that the engine writes: one Struct per event type.

Members are in snake_case here and in camelCase in the log. A member whose default is UNSET may be absent; None is null.
Payloads of model calls and envelopes are in `model_payloads`. Vendor events, media and mock agents have no Struct,
because an author, a model or a fixture chooses their members.

The engine uses the Structs only for writing. The fold reads payloads member by member, because the log may have been
written by another version of the host, with fewer or more members.

The four events of every run override `members` with a literal, which takes a third of the time of the generic method.

Source: OpenWOP run-event-payloads.
"""

from typing import Any, Final

from msgspec import UNSET, UnsetType

from weftwork.protocol.run import events
from weftwork.protocol.run.events import Payload

JsonObject = dict[str, Any]


class RunStarted(Payload, frozen=True):
    event_type = "run.started"
    workflow_id: str
    inputs: JsonObject
    owner: JsonObject

    def members(self) -> JsonObject:
        return {"workflowId": self.workflow_id, "inputs": self.inputs, "owner": self.owner}


class RunCompleted(Payload, frozen=True):
    event_type = "run.completed"
    outputs: JsonObject

    def members(self) -> JsonObject:
        return {"outputs": self.outputs}


class RunFailed(Payload, frozen=True):
    event_type = "run.failed"
    error: JsonObject | None
    failed_node_id: str | UnsetType = UNSET


class RunCancelled(Payload, frozen=True):
    event_type = "run.cancelled"
    reason: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    """The parent run whose end cancelled this run."""


class CancelRequested(RunCancelled, frozen=True):
    event_type = events.CANCEL_REQUESTED


class RunForked(Payload, frozen=True):
    event_type = events.FORKED
    source_run_id: str
    from_seq: int
    past_ended_at: str
    """The time of the last event of the source that the branch has."""
    inputs: JsonObject | UnsetType = UNSET
    """The inputs that replace those of the source."""
    retry_node_id: str | UnsetType = UNSET
    """The failed node that the branch runs again."""
    effects_run_id: str | UnsetType = UNSET
    """The run that began the effects in the log of the source, if the source is a replay."""


class RunPaused(Payload, frozen=True):
    event_type = "run.paused"
    drain_policy: str
    reason: str | UnsetType = UNSET


class PauseRequested(RunPaused, frozen=True):
    event_type = events.PAUSE_REQUESTED


class RunResumed(Payload, frozen=True):
    event_type = "run.resumed"
    reason: str | UnsetType = UNSET


class LimitBreached(Payload, frozen=True):
    event_type = events.LIMIT_BREACHED
    error: JsonObject


class SetAside(Payload, frozen=True):
    event_type = events.SET_ASIDE
    error: JsonObject


class CapBreached(Payload, frozen=True):
    event_type = "cap.breached"
    kind: str
    limit: int
    observed: int
    node_id: str | UnsetType = UNSET


class LoopbackLimit(Payload, frozen=True):
    event_type = "workflow.loopback-limit"
    node_id: str
    iterations: int
    limit: int | None


class VersionPinned(Payload, frozen=True):
    event_type = "version.pinned"
    change_id: str
    version: int
    node_id: str


class ReplayDiverged(Payload, frozen=True):
    event_type = "replay.diverged"
    source_run_id: str
    at_sequence: int
    divergence_kind: str
    divergence_point: str
    """The type of the event that differs."""
    original_event_id: str | UnsetType = UNSET


class NodeStarted(Payload, frozen=True):
    event_type = "node.started"
    node_id: str
    type_id: str
    attempt: int
    model: JsonObject | UnsetType = UNSET
    """The model of a node whose type requires model capabilities."""

    def members(self) -> JsonObject:
        members: JsonObject = {"nodeId": self.node_id, "typeId": self.type_id, "attempt": self.attempt}
        if self.model is not UNSET:
            members["model"] = self.model
        return members


class NodeCompleted(Payload, frozen=True):
    event_type = "node.completed"
    node_id: str
    outputs: JsonObject

    def members(self) -> JsonObject:
        return {"nodeId": self.node_id, "outputs": self.outputs}


class NodeFailed(Payload, frozen=True):
    event_type = "node.failed"
    node_id: str
    error: JsonObject | None
    attempts: int | UnsetType = UNSET


class NodeRetried(Payload, frozen=True):
    event_type = "node.retried"
    node_id: str
    attempt: int
    """The number of the next attempt."""
    delay_ms: int
    last_error: JsonObject


class NodeSuspended(Payload, frozen=True):
    event_type = "node.suspended"
    node_id: str
    interrupt_id: str
    kind: str
    key: str
    reason: str | UnsetType = UNSET
    remind_after_ms: list[int] | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    threshold: float | UnsetType = UNSET
    observed: float | UnsetType = UNSET
    surface: str | UnsetType = UNSET
    """The id of the envelope with the surface that is the form of the interrupt."""


class NodeResumed(Payload, frozen=True):
    event_type = "node.resumed"
    node_id: str
    interrupt_id: str


class NodeSkipped(Payload, frozen=True):
    event_type = "node.skipped"
    node_id: str
    reason: str


class NodeCancelled(Payload, frozen=True):
    event_type = "node.cancelled"
    node_id: str


class MapItem(Payload, frozen=True):
    """A recorded item has either an output or an error."""

    event_type = events.MAP_ITEM
    index: int
    output: Any = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class EffectClaimed(Payload, frozen=True):
    event_type = events.EFFECT_CLAIMED
    node_id: str
    step: str | UnsetType = UNSET
    item: str | UnsetType = UNSET


class EffectRecorded(EffectClaimed, frozen=True):
    """The outcome of an effect. If both output and error are absent, the effect did not happen."""

    event_type = events.EFFECT_RECORDED
    output: Any = UNSET
    error: JsonObject | UnsetType = UNSET


class ExternalContent(Payload, frozen=True):
    event_type = events.EXTERNAL_CONTENT
    node_id: str
    media_ref: str | UnsetType = UNSET


class VariableChanged(Payload, frozen=True):
    event_type = "variable.changed"
    name: str
    next: Any
    node_id: str


class ChannelWritten(Payload, frozen=True):
    event_type = "channel.written"
    channel: str
    value: Any
    reducer: str
    node_id: str
    schema_version: int | UnsetType = UNSET


class LogAppended(Payload, frozen=True):
    event_type = "log.appended"
    level: str
    message: str
    node_id: str
    fields: JsonObject | UnsetType = UNSET


class ArtifactCreated(Payload, frozen=True):
    event_type = "artifact.created"
    artifact_id: str
    artifact_type: str
    node_id: str
    version: str
    data: Any
    summary: str | UnsetType = UNSET


class ChildStarted(Payload, frozen=True):
    event_type = events.CHILD_STARTED
    child_run_id: str
    workflow_id: str
    key: str
    awaited: bool


class ChildStatus(Payload, frozen=True):
    event_type = events.CHILD_STATUS
    child_run_id: str
    key: str
    status: str
    reason: str | UnsetType = UNSET


class ChildEnded(Payload, frozen=True):
    event_type = events.CHILD_ENDED
    child_run_id: str
    key: str
    status: str
    error: JsonObject | UnsetType = UNSET
    variables: JsonObject | UnsetType = UNSET
    hidden: list[str] | UnsetType = UNSET
    outputs: JsonObject | UnsetType = UNSET


class OrchestratorDecided(Payload, frozen=True):
    event_type = events.ORCHESTRATOR_DECIDED
    agent_id: str
    decision: JsonObject


class NodeDispatched(Payload, frozen=True):
    event_type = "node.dispatched"
    child_run_id: str
    child_workflow_id: str


class WorkflowChainEvent(Payload, frozen=True):
    event_type = events.WORKFLOW_CHAIN
    phase: str
    worker_id: str
    parent_run_id: str
    child_run_id: str | UnsetType = UNSET
    error: JsonObject | UnsetType = UNSET
    harvested_keys: list[str] | UnsetType = UNSET


class ConfidenceEscalated(Payload, frozen=True):
    event_type = "core.workflowChain.confidence-escalated"
    confidence: float
    floor: float
    escalation_kind: str
    parent_run_id: str
    original_decision: JsonObject
    worker_id: str | UnsetType = UNSET


class InterruptRequested(Payload, frozen=True):
    event_type = "interrupt.requested"
    kind: str
    key: str
    data: JsonObject
    resume_schema: JsonObject | UnsetType = UNSET
    timeout_ms: int | UnsetType = UNSET


class InterruptResolved(Payload, frozen=True):
    event_type = "interrupt.resolved"
    node_id: str
    interrupt_id: str
    kind: str
    resume_value: Any = UNSET
    resolved_by: str | UnsetType = UNSET
    outcome: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class InterruptReminder(Payload, frozen=True):
    event_type = events.INTERRUPT_REMINDER
    node_id: str
    interrupt_id: str
    number: int


class ApprovalRequested(Payload, frozen=True):
    event_type = "approval.requested"
    node_id: str
    interrupt_id: str
    artifact_id: str
    artifact_type: str
    actions: list[str]
    title: str | UnsetType = UNSET
    approvers_list: list[str] | UnsetType = UNSET
    required_approvals: int | UnsetType = UNSET


class ApprovalReceived(Payload, frozen=True):
    event_type = "approval.received"
    node_id: str
    action: str
    decided_by: str | UnsetType = UNSET
    comment: str | UnsetType = UNSET
    feedback: str | UnsetType = UNSET
    refine_feedback: JsonObject | UnsetType = UNSET
    edited_artifact_data: Any = UNSET


class ApprovalGranted(Payload, frozen=True):
    event_type = "approval.granted"
    gate_id: str
    principal: str
    quorum_progress: dict[str, int]


class ApprovalRejected(Payload, frozen=True):
    event_type = "approval.rejected"
    gate_id: str
    principal: str
    reason: str | UnsetType = UNSET


class ApprovalOverridden(Payload, frozen=True):
    event_type = "approval.overridden"
    gate_id: str
    principal: str
    reason: str


class ApprovalRemark(Payload, frozen=True):
    event_type = events.APPROVAL_REMARK
    node_id: str
    principal: str
    action: str
    text: Any


class ClarificationRequested(Payload, frozen=True):
    event_type = "clarification.requested"
    node_id: str
    interrupt_id: str
    questions: list[JsonObject]


class ClarificationResolved(Payload, frozen=True):
    event_type = "clarification.resolved"
    node_id: str
    answers: Any
    answered_by: str


class ConversationOpened(Payload, frozen=True):
    event_type = "conversation.opened"
    conversation_id: str
    initial_turn: JsonObject
    capabilities: list[str]
    agent_id: str | UnsetType = UNSET


class ConversationExchanged(Payload, frozen=True):
    event_type = "conversation.exchanged"
    conversation_id: str
    turn_index: int
    turn: JsonObject


class ConversationClosed(Payload, frozen=True):
    event_type = "conversation.closed"
    conversation_id: str
    turn_index: int
    final_turn: JsonObject
    outcome: JsonObject | UnsetType = UNSET


TIMESTAMP_MEMBERS: Final = {ChannelWritten.event_type: "writtenAt"}
"""evt-04 (readings, Volatile data): required members whose value is the time of the event. The append path adds
them."""
TURN_MEMBERS: Final = {
    ConversationOpened.event_type: "initialTurn",
    ConversationExchanged.event_type: "turn",
    ConversationClosed.event_type: "finalTurn",
}
"""evt-04: members that hold a conversation turn, whose `ts` is the time of the event. The append path adds it."""
