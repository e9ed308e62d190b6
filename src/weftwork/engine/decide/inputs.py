"""The inputs of a run: everything that can happen to it. `decide` turns each input into events and actions.

Members of type Any that are called a future are `asyncio.Future`s of the caller. The run resolves them once the events
of the input are durable; `decide` does not read them.
"""

from typing import Any

import msgspec

from weftwork.protocol.envelopes.gate_rules import EnvelopeContract
from weftwork.protocol.envelopes.handling import JudgedEnvelope
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run import model_payloads
from weftwork.protocol.run.batch import ChildResult
from weftwork.protocol.run.effects import EffectRef
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import Interrupt


class Step(msgspec.Struct, frozen=True):
    """Take the next step that the state allows."""


class NodeCompleted(msgspec.Struct, frozen=True):
    """A running node completed; `effects` are events that precede its completion.

    `entry_sequence`, here and below, identifies the entry of the node: see NodeState. -1 is the current entry.
    """

    node_id: str
    outputs: dict[str, Any]
    effects: tuple[Draft, ...] = ()
    entry_sequence: int = -1
    size: int = 0
    """The approximate size of outputs and effects in memory."""


class NodeFailed(msgspec.Struct, frozen=True):
    """A running node failed. `jitter`, from 0 to 1, scales the random part of the retry delay."""

    node_id: str
    code: str
    message: str
    details: dict[str, Any] | None = None
    retryable: bool = True
    jitter: float = 1.0
    entry_sequence: int = -1
    effects: tuple[Draft, ...] = ()
    cause: str | None = None


class NodeSuspended(msgspec.Struct, frozen=True):
    """A running node requests an interrupt and waits for its answer."""

    node_id: str
    interrupt: Interrupt
    entry_sequence: int = -1
    effects: tuple[Draft, ...] = ()
    cause: str | None = None
    """The correlation id of the envelope with the form of the interrupt."""


class NodeAwaitsProvider(msgspec.Struct, frozen=True):
    """A running node waits for a model provider until `retry_at`."""

    node_id: str
    provider: str
    code: str
    retry_at: int
    entry_sequence: int = -1


class ProviderRetryDue(msgspec.Struct, frozen=True):
    """The wait of a node for a model provider is over. `entry_sequence` is the entry that ended with the wait."""

    node_id: str
    entry_sequence: int


class InterruptPassed(msgspec.Struct, frozen=True):
    """A running node requests an interrupt that is resolved at once, with `value`."""

    node_id: str
    interrupt: Interrupt
    value: Any
    passed: Any
    """A future: the resolution, once it is durable; None if the interrupt was refused and the node has failed."""
    entry_sequence: int = -1


class InterruptTimedOut(msgspec.Struct, frozen=True):
    """The deadline of an interrupt has passed."""

    interrupt_id: str


class ReminderDue(msgspec.Struct, frozen=True):
    """A reminder of an interrupt is due; `number` is the count of reminders that are due by now."""

    interrupt_id: str
    number: int


class ItemsRecorded(msgspec.Struct, frozen=True):
    """A running node has outputs, or an ItemError, of single items, by index."""

    node_id: str
    items: tuple[tuple[int, Any], ...]
    durable: Any
    """A future: resolved once the items are durable."""
    entry_sequence: int = -1


class NodeReexecuted(msgspec.Struct, frozen=True):
    """A node that was running when the process died has to be executed again."""

    node_id: str
    entry_sequence: int = -1


class NodeEmitted(msgspec.Struct, frozen=True):
    """A running node emits events."""

    node_id: str
    events: tuple[Draft, ...]
    entry_sequence: int = -1


class EffectClaimed(msgspec.Struct, frozen=True):
    """A running node claims an effect that must not happen twice."""

    node_id: str
    effect_ref: EffectRef
    claim: str
    """The id of the claiming event."""
    granted: Any
    """A future: True once the claim is durable, False if another executor holds the claim."""
    entry_sequence: int = -1
    replaces: str = ""
    """An abandoned claim that this one replaces."""


class EffectEnded(msgspec.Struct, frozen=True):
    """A claimed effect has ended: `outcome` has a member `output` or `error`, or no member if it did not happen."""

    node_id: str
    effect_ref: EffectRef
    outcome: dict[str, Any]
    durable: Any
    """A future: the recorded effect, once it is durable."""
    entry_sequence: int = -1


class ModelAnswered(msgspec.Struct, frozen=True):
    """A model has answered a call of a running node; `along` are the events that are committed with the answer."""

    node_id: str
    answer: model_payloads.ModelAnswered
    """The payload of the event, which names the call."""
    along: tuple[Draft, ...]
    durable: Any
    """A future: the recorded payload, once it is durable."""
    entry_sequence: int = -1


class EnvelopeEmitted(msgspec.Struct, frozen=True):
    """A running node has an envelope of a model that the gate did not judge invalid."""

    node_id: str
    judged: JudgedEnvelope
    contract: EnvelopeContract
    interrupt: Interrupt | None
    """The interrupt of a clarification, if the whole node has to wait for its answer."""
    recorded: Any
    """A future: the outcome recorded under the correlation id, once it is durable."""
    entry_sequence: int = -1


class VersionRequested(msgspec.Struct, frozen=True):
    """A running node requests the pinned version of a change. If the run has none, it pins `version`."""

    node_id: str
    change_id: str
    version: int
    pinned: Any
    """A future: the version, once it is durable."""
    entry_sequence: int = -1
    least: int = 0
    """The lowest version that the node supports."""


class NodeStopped(msgspec.Struct, frozen=True):
    """A running node was cancelled because the run has to end."""

    node_id: str


class RetryDue(msgspec.Struct, frozen=True):
    """The retry delay of a failed node has passed; `attempt` is the attempt that failed."""

    node_id: str
    attempt: int


class NodeAwaitsChildren(msgspec.Struct, frozen=True):
    """A running node waits for its children; `effects` are events to append first, such as starts of children."""

    node_id: str
    effects: tuple[Draft, ...] = ()
    entry_sequence: int = -1
    last_child_event: int = -1
    """The newest event about its children that the node has seen: see NodeState."""


class ChildrenRecheck(msgspec.Struct, frozen=True):
    """Call a node that waits for children again, because it may have missed a result."""

    node_id: str
    entry_sequence: int = -1


class ChildResultsReceived(msgspec.Struct, frozen=True):
    """Status changes and results of children of one node."""

    node_id: str
    results: tuple[ChildResult, ...]


class AwaitTimedOut(msgspec.Struct, frozen=True):
    """The time limit of a node that waits for children or for a model provider has passed."""

    node_id: str
    entry_sequence: int = -1


class CancelRequested(msgspec.Struct, frozen=True):
    """A caller requests the cancellation of the run, or its `parent` run does."""

    reason: str | None = None
    parent: str | None = None


class PauseRequested(msgspec.Struct, frozen=True):
    """A caller requests a pause."""

    policy: str
    reason: str | None = None


class ResumeRequested(msgspec.Struct, frozen=True):
    """A caller requests that a paused run continues."""

    reason: str | None = None


class VariablesOverwritten(msgspec.Struct, frozen=True):
    """A test endpoint sets variables of the run, as its current node would."""

    values: dict[str, Any]


class AnswerReceived(msgspec.Struct, frozen=True):
    """A caller answers the open interrupt of a node."""

    node_id: str
    value: Any
    by: Answerer
    at: int
    interrupt_id: str = ""
    """If set, only this interrupt may be answered."""


class RunTimedOut(msgspec.Struct, frozen=True):
    """The run's time limit has passed; `observed` is the elapsed time in milliseconds."""

    limit: int
    observed: int


class HostFailed(msgspec.Struct, frozen=True):
    """A bug of the host prevents this run from continuing."""


Input = (
    Step
    | NodeCompleted
    | NodeFailed
    | NodeSuspended
    | NodeAwaitsProvider
    | ProviderRetryDue
    | InterruptPassed
    | InterruptTimedOut
    | ReminderDue
    | ItemsRecorded
    | NodeReexecuted
    | NodeEmitted
    | EffectClaimed
    | EffectEnded
    | ModelAnswered
    | EnvelopeEmitted
    | VersionRequested
    | NodeStopped
    | RetryDue
    | NodeAwaitsChildren
    | ChildrenRecheck
    | ChildResultsReceived
    | AwaitTimedOut
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | VariablesOverwritten
    | AnswerReceived
    | RunTimedOut
    | HostFailed
)
