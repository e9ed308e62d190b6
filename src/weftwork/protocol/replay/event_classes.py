"""What a replay does with each event of the record, as a table from event type to class.

Theory. The log of a run mixes three things. Facts of the world cannot be computed again: answers, outcomes of effects,
ends of children, timeouts, requests. Decisions follow from the state alone. And what the code of a node produces
follows from the state and that code. A replay takes over the first, and repeats and compares the others.
"""

from typing import Any, Final, Literal

from weftwork.protocol.run import events, model_payloads, payloads
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.run.events import CATALOGUE, HOST_PREFIX, Event

EventClass = Literal["decided", "ends-entry", "produced", "fact"]

EVENT_CLASSES: Final[dict[str, EventClass]] = {
    **dict.fromkeys(
        (
            payloads.RunStarted.event_type,
            payloads.RunCompleted.event_type,
            payloads.RunFailed.event_type,
            payloads.RunCancelled.event_type,
            payloads.NodeStarted.event_type,
            payloads.NodeResumed.event_type,
            payloads.NodeSkipped.event_type,
            payloads.NodeCancelled.event_type,
            payloads.LoopbackLimit.event_type,
        ),
        "decided",
    ),
    **dict.fromkeys(
        (
            payloads.NodeCompleted.event_type,
            payloads.NodeFailed.event_type,
            payloads.NodeRetried.event_type,
            payloads.NodeSuspended.event_type,
        ),
        "ends-entry",
    ),
    **dict.fromkeys(
        (
            payloads.RunPaused.event_type,
            payloads.RunResumed.event_type,
            payloads.CapBreached.event_type,
            payloads.VersionPinned.event_type,
            payloads.NodeDispatched.event_type,
            payloads.InterruptResolved.event_type,
            payloads.ApprovalReceived.event_type,
            payloads.ApprovalGranted.event_type,
            payloads.ApprovalRejected.event_type,
            payloads.ApprovalOverridden.event_type,
            payloads.ClarificationResolved.event_type,
            payloads.WorkflowChainEvent.event_type,
            payloads.ReplayDiverged.event_type,
            model_payloads.ProviderUsage.event_type,
            model_payloads.ModelSubstituted.event_type,
            model_payloads.ModelInsufficient.event_type,
            model_payloads.PromptResolved.event_type,
            model_payloads.PromptComposed.event_type,
            events.OUTPUT_CHUNK,
        ),
        "fact",
    ),
}
"""replay-01 (OpenWOP replay): the classes of the host's event types. Types that are missing here are facts if they are
the host's own, and else produced by a node."""

RECORDED_FAILURES: Final[frozenset[str]] = frozenset(
    {
        "node_timeout",
        "node_crashed",
        "expression_worker_lost",
        "run_state_too_large",
        "node_heartbeat_lost",
        "node_threads_exhausted",
        "replay_source_missing",
    }
)
"""replay-01: failures of a node that its code and its inputs do not explain."""
ANSWER_TYPES: Final = (events.MODEL_ANSWERED, events.ENVELOPE_RECORDED)
"""Facts that are committed together with events which the node emits for them, and does not emit again."""
STATEFUL_TYPES: Final = frozenset(
    (
        payloads.VariableChanged.event_type,
        payloads.ChannelWritten.event_type,
        payloads.ArtifactCreated.event_type,
    )
)
"""Events of a node that its own code can see."""


def event_class(kind: str) -> EventClass:
    """replay-01: the class of an event type."""
    found = EVENT_CLASSES.get(kind)
    if found is not None:
        return found
    return "fact" if kind.startswith(HOST_PREFIX) or (kind not in CATALOGUE and kind.startswith("run.")) else "produced"


def may_share_decision(before: Event, event: Event) -> bool:
    """replay-06: whether an event and the one before it may come from one decision, so that a replay cannot begin
    between them."""
    if before.type == event.type == payloads.NodeSkipped.event_type:
        return True
    if before.type == payloads.NodeCancelled.event_type:
        return event.type in (before.type, payloads.RunCancelled.event_type, payloads.RunFailed.event_type)
    return event.node_id is not None and event.node_id == before.node_id and event_class(before.type) == "produced"


def is_recorded_end(kind: str, payload: dict[str, Any]) -> bool:
    """replay-01: whether the end of an entry is a fact: a failure such as a timeout, or the question of the host what
    became of an effect when a process died."""
    if kind == payloads.NodeSuspended.event_type:
        return payload["key"].startswith(UNKNOWN_OUTCOME_KIND)
    error = payload.get("error", payload.get("lastError"))
    return error is not None and error.get("code") in RECORDED_FAILURES
