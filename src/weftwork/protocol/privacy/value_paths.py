"""Lists the members of each event type that carry values, as opposed to names, ids and codes of the protocol.

Redaction applies only to these members. Every other member of a payload stays unchanged.
"""

from collections.abc import Iterable
from typing import Any, Final

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS, SURFACE_KIND
from weftwork.protocol.run import events
from weftwork.protocol.run.payloads import ConfidenceEscalated, WorkflowChainEvent

MADE_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "log.appended": ("message", "fields"),
    "artifact.created": ("data", "summary"),
    "interrupt.requested": ("data", "resumeSchema"),
    "interrupt.resolved": ("resumeValue",),
    "approval.requested": ("title", "artifactId", "artifactType"),
    "approval.received": ("comment", "feedback", "refineFeedback", "editedArtifactData"),
    "approval.rejected": ("reason",),
    "approval.overridden": ("reason",),
    events.APPROVAL_REMARK: ("text",),
    "clarification.requested": ("questions",),
    "clarification.resolved": ("answers",),
    "conversation.opened": ("initialTurn",),
    "conversation.exchanged": ("turn",),
    "conversation.closed": ("finalTurn", "outcome"),
    events.MAP_ITEM: ("output",),
    events.EFFECT_RECORDED: ("output",),
    events.CHILD_ENDED: ("variables", "outputs", "error"),
    events.ORCHESTRATOR_DECIDED: ("decision",),
    ConfidenceEscalated.event_type: ("originalDecision",),
    WorkflowChainEvent.event_type: ("error",),
    "agent.reasoning.delta": ("delta",),
    "agent.reasoned": ("reasoning", "summary", "trace"),
    "agent.toolCalled": ("inputs", "arguments"),
    "agent.toolReturned": ("outcome", "result"),
    "agent.handoff": ("reason", "context"),
    "agent.decided": ("decision", "reasoning"),
    "output.chunk": ("chunk",),
    events.MODEL_ANSWERED: ("text", "toolCalls", "safetyCategory", "detail", "media", "requestKeys"),
    events.ENVELOPE_RECORDED: ("payload", "rendering", "label", "traceparent"),
    **dict.fromkeys(MEDIA_KINDS, ("alt", "name")),
    SURFACE_KIND: ("surface", "reasoning"),
    "envelope.refusal": ("refusalText", "safetyCategory"),
}
"""Members whose values come from a node. They are hidden whole if the outputs of the node are hidden. Of media, only
the texts are: a reader must be able to fetch and decode them, unless they contain a sensitive value (`hides_media`)."""

QUESTION_KINDS: Final = frozenset(
    {"interrupt.requested", "approval.requested", "clarification.requested", "conversation.opened", SURFACE_KIND}
)
"""Event types with a text that a person has to read. Sensitive values are cut out of it instead."""

VALUE_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("run.started", events.FORKED), ("inputs",)),
    "run.completed": ("outputs",),
    **dict.fromkeys(("run.cancelled", "run.paused", "run.resumed"), ("reason",)),
    **dict.fromkeys((events.CANCEL_REQUESTED, events.PAUSE_REQUESTED), ("reason",)),
    "node.completed": ("outputs",),
    "variable.changed": ("previous", "next"),
    "channel.written": ("value",),
    "version.pinned": ("changeId",),
    "prompt.composed": ("composed", "systemPrompt", "userPrompt", "variableBindings"),
    events.EFFECT_CLAIMED: ("step",),
    events.CHILD_STARTED: ("workflowId",),
    "node.dispatched": ("childWorkflowId",),
    **MADE_MEMBERS,
    events.EFFECT_RECORDED: ("step", *MADE_MEMBERS[events.EFFECT_RECORDED]),
    "approval.requested": (*MADE_MEMBERS["approval.requested"], "approversList"),
    "approval.received": (*MADE_MEMBERS["approval.received"], "decidedBy"),
    "approval.granted": ("principal",),
    "approval.rejected": (*MADE_MEMBERS["approval.rejected"], "principal"),
    "approval.overridden": (*MADE_MEMBERS["approval.overridden"], "principal"),
    events.APPROVAL_REMARK: (*MADE_MEMBERS[events.APPROVAL_REMARK], "principal"),
    **dict.fromkeys(MEDIA_KINDS, ("url", "alt", "name")),
    WorkflowChainEvent.event_type: (*MADE_MEMBERS.get(WorkflowChainEvent.event_type, ()), "workerId"),
}
"""Members that carry values, by event type. Only these members and errors are ever redacted. The sender of an answer
chooses the name of the person."""

SENT_KINDS: Final = frozenset(
    {
        *("variable.changed", "channel.written", "interrupt.resolved", "clarification.resolved"),
        *("approval.received", "approval.granted", "approval.rejected", "approval.overridden", events.APPROVAL_REMARK),
        *("conversation.exchanged", "run.cancelled", "run.paused", "run.resumed"),
        *(events.CANCEL_REQUESTED, events.PAUSE_REQUESTED, events.CHILD_ENDED, events.FORKED),
    }
)
"""Event types with values that a caller, a person or a child run has sent, or that became a variable. They are searched
for credentials; inputs are searched when a run is created."""

NODE_ERROR_MEMBERS: Final = {
    "node.failed": "error",
    "node.retried": "lastError",
    events.EFFECT_RECORDED: "error",
    events.MAP_ITEM: "error",
}
"""The member that holds the error of the node, by event type."""
_DECISION_WORDS: Final = frozenset({"kind", "nextWorkerIds", "confidence", "successCriteria"})
_TURN_WORDS: Final = frozenset({"messageId", "from", "role", "ts", "turnIndex", "speakerId"})
_APPROVAL_WORDS: Final = frozenset({"action", "decidedBy", "voter", "override"})
PROTOCOL_WORDS: Final[dict[str, frozenset[str]]] = {
    "log.appended": frozenset(),
    "interrupt.requested": frozenset(
        "customKind actions eventType requiredApprovals approversList rejectionPolicy profile override "
        "overrideBypassesQuorum conversationId turnIndex threshold observed".split()
    ),
    SURFACE_KIND: frozenset({"component", "id", "target", "level", "required", "default"}),
    "approval.received": frozenset({"scope"}),
    "clarification.requested": frozenset(),
    "clarification.resolved": frozenset(),
    "conversation.opened": _TURN_WORDS,
    "conversation.exchanged": _TURN_WORDS,
    "conversation.closed": _TURN_WORDS,
    events.ORCHESTRATOR_DECIDED: _DECISION_WORDS,
    ConfidenceEscalated.event_type: _DECISION_WORDS,
    WorkflowChainEvent.event_type: frozenset({"code"}),
}
"""Event types with a value that must stay an object, and the members of that object that hold names of the protocol or
of the workflow's author instead of values."""
SHAPED_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "questions": ("question", "schema"),
    **dict.fromkeys(("correlation", "outcomeSchema", "resumeSchema"), ()),
}
"""Members that must also keep their shape. In a list of objects, the listed members are values. In an object, all
members are."""

FIXED_MEMBERS: Final = frozenset(
    "actions rejectionPolicy profile action role scope kind requiredApprovals turnIndex threshold observed ts".split()
)
"""Members whose values the protocol defines. They are not searched for copies, because a secret may equal such a
word or number."""


def protocol_words(kind: str, payload: dict[str, Any]) -> frozenset[str] | None:
    """The members of a node's value that are not values themselves; None if the value need not stay an object."""
    if kind == "interrupt.resolved" and payload.get("kind") == "approval":
        return _APPROVAL_WORDS
    return PROTOCOL_WORDS.get(kind)


def value_members(kind: str, payload: dict[str, Any]) -> Iterable[str]:
    """The members that carry values. For an event type of the workflow's author, all members do."""
    return tuple(payload) if events.is_author_event_type(kind) else VALUE_MEMBERS.get(kind, ())
