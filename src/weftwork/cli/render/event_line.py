"""An event as one line: time, sequence, type, node, and the main members of its payload as name=value.

The format is stable, for use with grep: a missing field is a dash, and new members are added at the end.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.text import clean
from weftwork.cli.render.run_progress import RunProgress
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.events import MODEL_ANSWERED

_MAX_VALUE: Final = 300
_BARE_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+@,")

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "run.started": ("workflowId",),
    "run.completed": ("durationMs", "outputs"),
    "run.failed": ("error", "failedNodeId"),
    "run.cancelled": ("reason",),
    "run.paused": ("reason", "drainPolicy"),
    "run.resumed": ("reason",),
    "node.started": ("typeId", "attempt", "model"),
    "node.completed": ("durationMs", "outputs"),
    "node.failed": ("error",),
    "node.retried": ("attempt", "delayMs", "lastError"),
    "node.skipped": ("reason",),
    "node.cancelled": ("reason",),
    "node.suspended": ("kind", "key"),
    "node.resumed": (),
    "node.dispatched": ("childRunId", "childWorkflowId", "childStatus"),
    "interrupt.requested": ("kind", "key", "data", "message"),
    "interrupt.resolved": ("kind", "resolvedBy", "resumeValue", "outcome", "reason"),
    "approval.requested": ("title", "artifactId", "artifactType", "actions"),
    "approval.received": ("action", "decidedBy", "comment", "feedback", "refineFeedback", "editedArtifactData"),
    "approval.granted": ("principal", "quorumProgress"),
    "approval.rejected": ("principal", "reason"),
    "approval.overridden": ("principal", "reason"),
    "clarification.requested": ("questions",),
    "clarification.resolved": ("answeredBy", "answers"),
    "conversation.opened": ("conversationId", "initialTurn"),
    "conversation.exchanged": ("conversationId", "turnIndex", "turn"),
    "conversation.closed": ("conversationId", "turnIndex", "outcome"),
    "variable.changed": ("name", "next"),
    "channel.written": ("channel", "value"),
    "log.appended": ("level", "message", "fields"),
    "media.image": ("mimeType", "bytes", "alt", "url"),
    "media.audio": ("mimeType", "bytes", "durationSeconds", "alt", "url"),
    "media.file": ("mimeType", "bytes", "name", "alt", "url"),
    "artifact.created": ("artifactId", "artifactType", "version"),
    "cap.breached": ("kind", "limit", "observed"),
    "model.capability.substituted": (
        "missingCapabilities",
        "originalProvider",
        "originalModel",
        "fallbackProvider",
        "fallbackModel",
    ),
    "model.capability.insufficient": ("missingCapabilities", "provider", "model", "fallbackAttempted"),
    "state.snapshot": ("status", "currentNodeId"),
    "runOrchestrator.decided": ("iteration", "kind", "nextWorkerIds", "prompt", "reason", "confidence", "agentId"),
    "core.workflowChain.event": ("phase", "workerId", "childRunId", "harvestedKeys", "error"),
    "core.workflowChain.confidence-escalated": ("workerId", "confidence", "floor", "escalationKind"),
    "agent.reasoned": ("agentId", "reasoning"),
    "agent.reasoning.delta": ("agentId", "delta"),
    "agent.toolCalled": ("agentId", "toolName", "callId", "inputs"),
    "agent.toolReturned": ("agentId", "toolName", "callId", "status", "outcome", "error", "durationMs"),
    "agent.handoff": ("fromAgentId", "toAgentId", "reason"),
    "agent.decided": ("agentId", "decision", "confidence"),
    "weftwork.child.started": ("workflowId", "childRunId", "key"),
    "weftwork.child.status": ("workflowId", "childRunId", "status", "key"),
    "weftwork.child.ended": ("workflowId", "childRunId", "status", "error", "key"),
    "weftwork.map.item": ("index", "error"),
    "weftwork.approval.remark": ("principal", "action", "text"),
    "weftwork.interrupt.reminder": ("number",),
    "weftwork.provider.waiting": ("provider", "code", "retryAt"),
    "weftwork.provider.retried": (),
    "weftwork.run.cancel-requested": ("reason",),
    "weftwork.run.limit-breached": ("error",),
    "weftwork.run.set-aside": ("error",),
    "weftwork.run.pause-requested": ("reason", "drainPolicy"),
    "output.chunk": ("chunk", "isLast"),
    "ai.message.chunk": ("chunk", "isLast"),
}
"""The members shown for each event type. For other types the payload is shown, truncated."""
_LEFT_OUT: Final[dict[str, frozenset[str]]] = {MODEL_ANSWERED: frozenset({"requestKeys"})}
"""Members of payloads that are never shown. The keys of a request are digests, and would push the text of the answer
out of the line."""
_MESSAGE_CHUNK: Final = "ai.message.chunk"
_MAX_FIELDS: Final = 20


def is_repeat(tree: "RunProgress", frame: ReceivedFrame) -> bool:
    """Whether the frame repeats a text chunk that was already shown. Call it before `tree.apply`.

    The mode debug sends each chunk twice: as the log event and in the form of the mode messages.
    """
    return frame.event_type == _MESSAGE_CHUNK and frame.sequence is not None and frame.sequence <= tree.sequence


def run_event_line(tree: "RunProgress", frame: ReceivedFrame) -> str:
    """The line of an event, after `tree.apply`. Adds the workflow id of a child, which only its first event has."""
    child = tree.child_of(frame)
    return event_line(frame, {"workflowId": child.workflow_id} if child is not None and child.workflow_id else None)


def event_line(frame: ReceivedFrame, extra: Mapping[str, Any] | None = None) -> str:
    """The line, printable regardless of what the host sent. `extra` has members that the payload lacks."""
    document = as_object(frame.data)
    payload = document.get("payload", document)
    members: dict[str, Any] = {**(extra or {}), **as_object(payload)}
    node = document.get("nodeId", members.get("nodeId"))
    sequence = frame.sequence
    head = [
        _field(document.get("timestamp")),
        "-" if sequence is None else str(sequence),
        clean(frame.event_type, 100),
        _field(node),
    ]
    kind = frame.event_type
    if kind in _FIELDS:
        if kind == "runOrchestrator.decided":
            members |= as_object(members.get("decision"))
        elif kind == "interrupt.requested":
            # The question itself: `data` may be truncated before it.
            message = as_object(as_object(members.get("data")).get("payload")).get("message")
            members["message"] = message if isinstance(message, str) else None
        return " ".join([*head, *_members(members, _FIELDS[kind])])
    if kind in _LEFT_OUT and is_object(payload):
        payload = {name: value for name, value in payload.items() if name not in _LEFT_OUT[kind]}
    return " ".join([*head, *([f"payload={_text(payload)}"] if payload not in (None, {}, "") else [])])


def _members(members: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = members.get(name)
        if value is None:
            continue
        if name in ("error", "lastError") and is_object(value):
            yield from _members(value, ("code", "message"))
        elif name == "fields" and is_object(value):
            yield from named_values(value)
        else:
            yield f"{name}={_text(value)}"


def named_values(fields: dict[str, Any]) -> list[str]:
    """The fields of a log line as name=value."""
    values = [f"{_field(name)}={_text(value)}" for name, value in list(fields.items())[:_MAX_FIELDS]]
    return values if len(fields) <= _MAX_FIELDS else [*values, f"and {len(fields) - _MAX_FIELDS} more"]


def _text(value: Any) -> str:
    """A value: bare if it is one plain word, otherwise as JSON."""
    if not isinstance(value, str):
        return clean(value, _MAX_VALUE)
    if value and _BARE_CHARACTERS.issuperset(value) and len(value) <= _MAX_VALUE:
        return value
    return '"' + clean(value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"), _MAX_VALUE) + '"'


def _field(value: Any) -> str:
    """A field without spaces, so that a line can be split at spaces."""
    return clean(value, 200).replace(" ", "_") if isinstance(value, str) and value else "-"
