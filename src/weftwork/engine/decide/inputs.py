"""The inputs of a run: everything that can happen to it. `decide` says what follows from each."""

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
    """Do the next thing the state allows."""


class NodeCompleted(msgspec.Struct, frozen=True):
    """A running node ended well; `effects` are the events it wants before its end.

    `entry_sequence`, here and below, says which entry of the node this is about: see NodeState. -1 is whichever runs.
    """

    node_id: str
    outputs: dict[str, Any]
    effects: tuple[Draft, ...] = ()
    entry_sequence: int = -1


class NodeFailed(msgspec.Struct, frozen=True):
    """A running node ended badly. `jitter`, from 0 to 1, spreads the delay before it is tried again."""

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
    """A running node asks something."""

    node_id: str
    interrupt: Interrupt
    entry_sequence: int = -1
    effects: tuple[Draft, ...] = ()


class InterruptPassed(msgspec.Struct, frozen=True):
    """A running node asks something that passes at once, with this answer."""

    node_id: str
    interrupt: Interrupt
    value: Any
    passed: Any
    """A future: what became of it, once that is durable; None if it could not be asked, and the node has failed."""
    entry_sequence: int = -1


class InterruptTimedOut(msgspec.Struct, frozen=True):
    """The time of an interrupt is up."""

    interrupt_id: str


class ReminderDue(msgspec.Struct, frozen=True):
    """It is time to remind of an interrupt; `number` reminders are due by now."""

    interrupt_id: str
    number: int


class ItemsRecorded(msgspec.Struct, frozen=True):
    """A running node has results of single items; `durable` is told once they are committed."""

    node_id: str
    items: tuple[tuple[int, Any], ...]
    durable: Any
    """A future."""
    entry_sequence: int = -1


class NodeReexecuted(msgspec.Struct, frozen=True):
    """A node that ran when a process died is to be executed again."""

    node_id: str
    entry_sequence: int = -1


class NodeEmitted(msgspec.Struct, frozen=True):
    """A running node has something for those who follow the run."""

    node_id: str
    events: tuple[Draft, ...]
    entry_sequence: int = -1


class EffectClaimed(msgspec.Struct, frozen=True):
    """A running node is about to do something that must not happen twice."""

    node_id: str
    effect_ref: EffectRef
    claim: str
    """The id of the event that says so."""
    granted: Any
    """A future: True once the claim is durable, False if somebody else holds it."""
    entry_sequence: int = -1
    replaces: str = ""
    """The claim that this one takes the place of."""


class EffectEnded(msgspec.Struct, frozen=True):
    """What a claimed effect came to: a member `output` or `error`, or none if it did not happen."""

    node_id: str
    effect_ref: EffectRef
    outcome: dict[str, Any]
    durable: Any
    """A future: the effect, once that is durable."""
    entry_sequence: int = -1


class ModelAnswered(msgspec.Struct, frozen=True):
    """A model has answered a running node; `along` are the events that follow from its answer."""

    node_id: str
    answer: model_payloads.ModelAnswered
    """The payload of the event, with the name of the call."""
    along: tuple[Draft, ...]
    durable: Any
    """A future: the payload, once it is durable."""
    entry_sequence: int = -1


class EnvelopeEmitted(msgspec.Struct, frozen=True):
    """A model has sent a running node an envelope that the gate does not call invalid."""

    node_id: str
    judged: JudgedEnvelope
    contract: EnvelopeContract
    interrupt: Interrupt | None
    """The question that a clarification is lifted to, if the node as a whole is to wait for its answer."""
    recorded: Any
    """A future: what stands under its correlation id, once that is durable."""
    entry_sequence: int = -1


class VersionRequested(msgspec.Struct, frozen=True):
    """A running node asks which version of a change the run has pinned, and would pin this one."""

    node_id: str
    change_id: str
    version: int
    pinned: Any
    """A future: the version, once it is durable."""
    entry_sequence: int = -1


class NodeStopped(msgspec.Struct, frozen=True):
    """A running node was stopped because the run is to end."""

    node_id: str


class RetryDue(msgspec.Struct, frozen=True):
    """The time has come to try a failed node again, after this attempt."""

    node_id: str
    attempt: int


class NodeAwaitsChildren(msgspec.Struct, frozen=True):
    """A running node waits for its children; `effects` are the events it wants first, those of new ones among them."""

    node_id: str
    effects: tuple[Draft, ...] = ()
    entry_sequence: int = -1
    last_child_event: int = -1
    """What it knew of its children, see NodeState."""


class ChildrenRecheck(msgspec.Struct, frozen=True):
    """A node that waits for children is called again: it may have missed something."""

    node_id: str
    entry_sequence: int = -1


class ChildResultsReceived(msgspec.Struct, frozen=True):
    """Word of children of one node."""

    node_id: str
    results: tuple[ChildResult, ...]


class AwaitTimedOut(msgspec.Struct, frozen=True):
    """The time of a node that waits for children is up."""

    node_id: str
    entry_sequence: int = -1


class CancelRequested(msgspec.Struct, frozen=True):
    """Somebody wants the run cancelled, or the run that started it does."""

    reason: str | None = None
    parent: str | None = None


class PauseRequested(msgspec.Struct, frozen=True):
    """Somebody wants the run paused."""

    policy: str
    reason: str | None = None


class ResumeRequested(msgspec.Struct, frozen=True):
    """Somebody wants a paused run to go on."""

    reason: str | None = None


class VariablesOverwritten(msgspec.Struct, frozen=True):
    """A test sets variables of the run, as the node would at which it stands."""

    values: dict[str, Any]


class AnswerReceived(msgspec.Struct, frozen=True):
    """Somebody answers the open interrupt of a node, or none but the one that is named."""

    node_id: str
    value: Any
    by: Answerer
    at: int
    interrupt_id: str = ""


class RunTimedOut(msgspec.Struct, frozen=True):
    """The run's time limit has passed; `observed` is the elapsed time in milliseconds."""

    limit: int
    observed: int


class HostFailed(msgspec.Struct, frozen=True):
    """The host found an error of its own while it moved this run."""


Input = (
    Step
    | NodeCompleted
    | NodeFailed
    | NodeSuspended
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
