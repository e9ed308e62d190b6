"""Events: the catalogue of types, the three forms of an event, and its encoding.

The engine decides on a `Draft`, which it builds from the `Payload` Struct of the event's type. The fold reads a `Fact`:
decoded, with hidden values resolved. The store holds an `Event`: its payload is encoded, with hidden values masked, and
every reader receives the same bytes.

Sources: OpenWOP run-event, RFC 0094 C and G (open documents, vendor types).
"""

import re
from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec.structs import astuple, replace

from weftwork.protocol.run.header import EVENT_SCHEMA_VERSION
from weftwork.protocol.timestamps import iso

Trust = Literal["trusted", "untrusted"]


CATALOGUE: Final[frozenset[str]] = frozenset(
    """
    run.started run.completed run.failed run.cancelled run.resuming run.paused run.resumed
    run.restored-from-snapshot run.dead_lettered node.started node.completed node.failed node.suspended
    node.suspend-failed node.resumed node.retried node.skipped node.cancelled node.dispatched approval.requested
    approval.received approval.granted approval.rejected approval.overridden clarification.requested
    clarification.resolved interrupt.requested interrupt.resolved channel.written artifact.created output.chunk
    variable.changed log.appended version.pinned workflow.restored workflow.loopback-limit workflow.stalled
    cap.breached lease.acquired lease.renewed lease.lost lease.handed-off replay.diverged replay.divergedAtRefusal
    agent.reasoned agent.reasoning.delta agent.toolCalled agent.toolReturned agent.handoff agent.decided
    agent.verified agent.promptResolved agent.invocation.started agent.invocation.completed
    agent.memory.consolidated provider.usage prompt.composed model.capability.substituted
    model.capability.insufficient envelope.retry.attempted envelope.retry.exhausted envelope.refusal
    envelope.truncated envelope.nlToFormat.engaged envelope.recovery.applied runOrchestrator.decided
    core.workflowChain.event core.workflowChain.confidence-escalated conversation.opened conversation.exchanged
    conversation.closed memory.compacted memory.written commitment.fired workspace.updated connector.authorized
    connector.auth_expired authorization.decided eval.started eval.scored eval.completed deployment.promoted
    deployment.rolled-back deployment.canary.adjusted deployment.state.changed roster.run.initiated
    tool.session.opened tool.session.closed egress.decided trigger.subscription.state.changed
    trigger.delivery.attempted budget.reserved budget.consumed budget.threshold.crossed budget.exhausted
    proposal.created proposal.activated goal.evaluated goal.closed import.applied voice.speech_start
    voice.transcript voice.endpoint_candidate voice.turn_commit voice.synthesis_chunk voice.barge_in
    voice.cancelled
    """.split()
)
"""evt-01 (OpenWOP run-event): the closed list of protocol event types."""

TERMINAL_TYPES: Final[frozenset[str]] = frozenset({"run.completed", "run.failed", "run.cancelled"})
CANCEL_REQUESTED: Final = "weftwork.run.cancel-requested"
PAUSE_REQUESTED: Final = "weftwork.run.pause-requested"
MAP_ITEM: Final = "weftwork.map.item"
EFFECT_CLAIMED: Final = "weftwork.effect.claimed"
EFFECT_RECORDED: Final = "weftwork.effect.recorded"
APPROVAL_REMARK: Final = "weftwork.approval.remark"
CHILD_STARTED: Final = "weftwork.child.started"
CHILD_STATUS: Final = "weftwork.child.status"
CHILD_ENDED: Final = "weftwork.child.ended"
ORCHESTRATOR_DECIDED: Final = "runOrchestrator.decided"
WORKFLOW_CHAIN: Final = "core.workflowChain.event"
INTERRUPT_REMINDER: Final = "weftwork.interrupt.reminder"
LIMIT_BREACHED: Final = "weftwork.run.limit-breached"
"""The run reached a limit for which `cap.breached` has no kind."""
SET_ASIDE: Final = "weftwork.run.set-aside"
"""The host does not load the run, because it is too large."""
FORKED: Final = "weftwork.run.forked"
"""A branch begins to act: all events before this one are those of its source."""
EXTERNAL_CONTENT: Final = "weftwork.content.outside"
"""A node has read external content that is not part of its inputs."""
OUTPUT_CHUNK: Final = "output.chunk"
MODEL_ANSWERED: Final = "weftwork.model.answered"
PROVIDER_WAITING: Final = "weftwork.provider.waiting"
PROVIDER_RETRIED: Final = "weftwork.provider.retried"
ENVELOPE_RECORDED: Final = "weftwork.envelope.recorded"
HOST_PREFIX: Final = "weftwork."
"""The prefix of the host's own event types and custom interrupt kinds."""
VENDOR_PATTERN: Final = r"^(?!(?:openwop|core|community|vendor|private|local)\.)[a-z][a-zA-Z0-9_-]*(\.[a-zA-Z0-9_-]+)+$"
RESERVED_FAMILIES: Final[frozenset[str]] = frozenset(
    [
        *(name.partition(".")[0] for name in CATALOGUE),
        # Frames that streams derive from the log, and the name that readers use for streams.
        *("state", "ai", "stream"),
        # Protocol events that are not part of the log of a run (RFC 0060).
        "heartbeat",
        # Envelope kinds: readers of streams look for events with the type of a kind, such as media.image.
        *("media", "ui", "schema", "error"),
        # Registries of the protocol (host-extensions), which no event type may begin with.
        *("openwop", "core", "community", "vendor", "private", "local"),
        # The host, and its node types for conformance tests.
        *("weftwork", "conformance"),
    ]
)
"""The first segments of event types that node code may not use."""
DOCUMENT_OVERHEAD: Final = 256
"""Approximate size of an event document without its payload."""
MAX_CACHED_DOCUMENT: Final = 16_384
"""Size of the largest encoding that is cached on an event."""

_VENDOR = re.compile(VENDOR_PATTERN)
_CLOSED_FAMILIES = ("run.", "node.", "approval.", "clarification.", "cap.", "channel.", "replay.")


def is_event_type(name: str) -> bool:
    """evt-02 (RFC 0094 C): whether the type is in the catalogue, or is a vendor name outside the closed families."""
    if name in CATALOGUE:
        return True
    return not name.startswith(_CLOSED_FAMILIES) and _VENDOR.fullmatch(name) is not None


def is_author_event_type(name: str) -> bool:
    """evt-06 (RFC 0094 C): whether node code may emit events of this type: a vendor name outside RESERVED_FAMILIES."""
    return name not in CATALOGUE and name.partition(".")[0] not in RESERVED_FAMILIES and is_event_type(name)


class Payload(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The payload of one event type. A member with the value UNSET is absent; None is null."""

    event_type: ClassVar[str]

    def members(self) -> dict[str, Any]:
        """The members by their wire names. Values are not copied, because outputs may be large."""
        # Both have the length of the Struct; with `strict` this took twice as long.
        pairs = zip(self.__struct_encode_fields__, astuple(self))  # noqa: B905
        if self.__struct_defaults__:
            return {name: value for name, value in pairs if value is not msgspec.UNSET}
        return dict(pairs)


class Draft(msgspec.Struct, frozen=True):
    """An event that the engine has decided on, before it has a sequence, an id and a time."""

    type: str
    payload: dict[str, Any]
    node_id: str | None = None
    causation_id: str | None = None
    interrupt_id: str | None = None
    event_id: str | None = None
    """Set if the id must be known before the append, as for claims and decisions."""
    child: Any = None
    """ports.nodes.NewChild: the child run to create in the same commit."""
    cancels: tuple[str, ...] = ()
    """Ids of child runs to cancel in the same commit."""
    content_trust: Trust | None = None
    """The trust of the payload, if the code that decided on the event knows it. The trust of the node's inputs is
    applied in addition."""

    @classmethod
    def of(
        cls,
        payload: Payload,
        node_id: str | None = None,
        causation_id: str | None = None,
        interrupt_id: str | None = None,
        event_id: str | None = None,
        child: Any = None,
        cancels: tuple[str, ...] = (),
        content_trust: Trust | None = None,
    ) -> "Draft":
        """A draft of the payload's event type. Its payload is a dict, which redaction, trust and the fold work on."""
        kind, members = payload.event_type, payload.members()
        return cls(kind, members, node_id, causation_id, interrupt_id, event_id, child, cancels, content_trust)


class Fact(msgspec.Struct, frozen=True):
    """An event as the fold reads it: decoded, with hidden values resolved."""

    sequence: int
    type: str
    payload: dict[str, Any]
    timestamp: int
    node_id: str | None = None
    event_id: str = ""
    """Empty for a new event whose draft had no id."""
    content_trust: Trust | None = None
    size: int = 0
    """Bytes of the encoded payload and of its hidden values."""


class Event(msgspec.Struct):
    """A stored event. Its encodings are cached for all readers, except those over MAX_CACHED_DOCUMENT."""

    run_id: str
    sequence: int
    event_id: str
    type: str
    timestamp: int
    payload: bytes
    node_id: str | None = None
    causation_id: str | None = None
    schema_version: int = EVENT_SCHEMA_VERSION
    engine_version: int = 1
    interrupt_id: str | None = None
    """Set on the events of an interrupt, because the closed schemas of their payloads do not allow it."""
    content_trust: Trust | None = None
    """The trust of the payload. None: it contains no external content."""
    frames: dict[frozenset[str], bytes] | None = None
    """Cache of encoded frames by stream modes; `wire.streams.encoded_frames` fills it."""
    masked: "Event | None" = None
    """Cache of the event as readers without the scope runs:debug see it; `models.answers.mask_answers` fills it."""
    _document: bytes | None = None

    @property
    def size(self) -> int:
        """The approximate size of the event document in bytes."""
        return len(self.payload) + DOCUMENT_OVERHEAD

    @property
    def is_terminal(self) -> bool:
        return self.type in TERMINAL_TYPES

    @property
    def document(self) -> bytes:
        """evt-03 (OpenWOP run-event): the RunEventDoc as JSON bytes. Absent members are omitted, never null."""
        if self._document is not None:
            return self._document
        document = _encode_document(self)
        if len(document) <= MAX_CACHED_DOCUMENT:
            self._document = document
        return document


def copy_event(event: Event, run_id: str) -> Event:
    """The event of a source in the log of its fork: with the id of the fork, also in the payload of a chunk.

    Only the member `runId` of the payload itself is changed: the tool calls in a chunk have names and texts that a
    model has chosen. Everything else stays as it was encoded.
    """
    payload = event.payload
    if event.type == OUTPUT_CHUNK:
        members = _decode_members(payload)
        if "runId" in members:
            payload = msgspec.json.encode(members | {"runId": run_id})
    return replace(event, run_id=run_id, payload=payload, frames=None, masked=None, _document=None)


_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def take_bytes(events: list[Event], budget: int) -> list[Event]:
    """The first events, up to and including the one that reaches `budget` bytes."""
    for at, event in enumerate(events):
        budget -= event.size
        if budget <= 0:
            return events[: at + 1]
    return events


_quote = msgspec.json.encode


def _encode_document(event: Event) -> bytes:
    node = b'"nodeId":%b,' % _quote(event.node_id) if event.node_id is not None else b""
    cause = b'"causationId":%b,' % _quote(event.causation_id) if event.causation_id is not None else b""
    if event.interrupt_id is not None:
        cause += b'"interruptId":%b,' % _quote(event.interrupt_id)
    if event.content_trust is not None:
        cause += b'"contentTrust":%b,' % _quote(event.content_trust)
    head = (
        f'{{"eventId":"{event.event_id}","runId":"{event.run_id}","type":"{event.type}",'
        f'"sequence":{event.sequence},"timestamp":"{iso(event.timestamp)}",'
        f'"schemaVersion":{event.schema_version},"engineVersion":"{event.engine_version}",'
    )
    return b'%b%b%b"payload":%b}' % (head.encode(), node, cause, event.payload)


TRUSTED: Final[Trust] = "trusted"
UNTRUSTED: Final[Trust] = "untrusted"
