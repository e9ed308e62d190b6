"""Inputs: everything that can happen to a run. `decide` says what follows from each."""

from typing import Any

import msgspec

from weftwork.protocol.envelopes.contract import EnvelopeContract
from weftwork.protocol.envelopes.handling import JudgedEnvelope
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.batch import ChildResult
from weftwork.protocol.run.effects import EffectRef
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import Interrupt


class Step(msgspec.Struct, frozen=True):
    """Do the next thing the state allows."""


class NodeCompleted(msgspec.Struct, frozen=True):
    """A running node ended well; `effects` are the events it wants before its end.

    `entered`, here and below, says which entry of the node this is about: see NodeState. -1 is whichever runs.
    """

    node_id: str
    outputs: dict[str, Any]
    effects: tuple[Draft, ...] = ()
    entered: int = -1


class NodeFailed(msgspec.Struct, frozen=True):
    """A running node ended badly. `chance`, from 0 to 1, spreads the delay before it is tried again."""

    node_id: str
    code: str
    message: str
    details: dict[str, Any] | None = None
    retryable: bool = True
    chance: float = 1.0
    entered: int = -1
    effects: tuple[Draft, ...] = ()
    cause: str | None = None


class NodeSuspended(msgspec.Struct, frozen=True):
    """A running node asks something."""

    node_id: str
    interrupt: Interrupt
    entered: int = -1
    effects: tuple[Draft, ...] = ()


class InterruptPassed(msgspec.Struct, frozen=True):
    """A running node asks something that passes at once, with this answer."""

    node_id: str
    interrupt: Interrupt
    value: Any
    passed: Any
    """A future: what became of it, once that is durable; None if it could not be asked, and the node has failed."""
    entered: int = -1


class InterruptDue(msgspec.Struct, frozen=True):
    """The time of an interrupt is up."""

    interrupt_id: str


class ReminderDue(msgspec.Struct, frozen=True):
    """It is time to remind of an interrupt; `number` reminders are due by now."""

    interrupt_id: str
    number: int


class NodeRecorded(msgspec.Struct, frozen=True):
    """A running node has results of single items; `durable` is told once they are committed."""

    node_id: str
    items: tuple[tuple[int, Any], ...]
    durable: Any
    """A future."""
    entered: int = -1


class NodeAgain(msgspec.Struct, frozen=True):
    """A node that ran when a process died is to be executed again."""

    node_id: str
    entered: int = -1


class NodeSaid(msgspec.Struct, frozen=True):
    """A running node has something for those who follow the run."""

    node_id: str
    events: tuple[Draft, ...]
    entered: int = -1


class EffectClaimed(msgspec.Struct, frozen=True):
    """A running node is about to do something that must not happen twice."""

    node_id: str
    place: EffectRef
    claim: str
    """The id of the event that says so."""
    granted: Any
    """A future: True once the claim is durable, False if somebody else holds it."""
    entered: int = -1
    instead: str = ""
    """The claim that this one takes the place of."""


class EffectEnded(msgspec.Struct, frozen=True):
    """What a claimed effect came to: a member `output` or `error`, or none if it did not happen."""

    node_id: str
    place: EffectRef
    outcome: dict[str, Any]
    durable: Any
    """A future: the effect, once that is durable."""
    entered: int = -1


class ModelAnswered(msgspec.Struct, frozen=True):
    """A model has answered a running node; `along` are the events that follow from its answer."""

    node_id: str
    answer: dict[str, Any]
    """The payload of the event, with the name of the call."""
    along: tuple[Draft, ...]
    durable: Any
    """A future: the payload, once it is durable."""
    entered: int = -1


class EnvelopeSent(msgspec.Struct, frozen=True):
    """A model has sent a running node an envelope that the gate does not call invalid."""

    node_id: str
    judged: JudgedEnvelope
    contract: EnvelopeContract
    interrupt: Interrupt | None
    """The question that a clarification is lifted to, if the node as a whole is to wait for its answer."""
    recorded: Any
    """A future: what stands under its correlation id, once that is durable."""
    entered: int = -1


class VersionAsked(msgspec.Struct, frozen=True):
    """A running node asks which version of a change the run has pinned, and would pin this one."""

    node_id: str
    change_id: str
    version: int
    pinned: Any
    """A future: the version, once it is durable."""
    entered: int = -1


class NodeStopped(msgspec.Struct, frozen=True):
    """A running node was stopped because the run is to end."""

    node_id: str


class RetryDue(msgspec.Struct, frozen=True):
    """The time has come to try a failed node again, after this attempt."""

    node_id: str
    attempt: int


class NodeAwaits(msgspec.Struct, frozen=True):
    """A running node waits for its children; `effects` are the events it wants first, those of new ones among them."""

    node_id: str
    effects: tuple[Draft, ...] = ()
    entered: int = -1
    heard: int = -1
    """What it knew of its children, see NodeState."""


class Look(msgspec.Struct, frozen=True):
    """A node that waits for children is called again: it may have missed something."""

    node_id: str
    entered: int = -1


class ChildNews(msgspec.Struct, frozen=True):
    """Word of children of one node."""

    node_id: str
    tells: tuple[ChildResult, ...]


class AwaitDue(msgspec.Struct, frozen=True):
    """The time of a node that waits for children is up."""

    node_id: str
    entered: int = -1


class CancelAsked(msgspec.Struct, frozen=True):
    """Somebody wants the run cancelled, or the run that started it does."""

    reason: str | None = None
    parent: str | None = None


class PauseAsked(msgspec.Struct, frozen=True):
    """Somebody wants the run paused."""

    policy: str
    reason: str | None = None


class ResumeAsked(msgspec.Struct, frozen=True):
    """Somebody wants a paused run to go on."""

    reason: str | None = None


class VariablesGiven(msgspec.Struct, frozen=True):
    """A test sets variables of the run, as the node would at which it stands."""

    values: dict[str, Any]


class AnswerGiven(msgspec.Struct, frozen=True):
    """Somebody answers the open interrupt of a node, or none but the one that is named."""

    node_id: str
    value: Any
    by: Answerer
    at: int
    interrupt_id: str = ""


class TimeUp(msgspec.Struct, frozen=True):
    """The run's time limit has passed; `observed` is the elapsed time in milliseconds."""

    limit: int
    observed: int


class HostBroke(msgspec.Struct, frozen=True):
    """The host found an error of its own while it moved this run."""


Input = (
    Step
    | NodeCompleted
    | NodeFailed
    | NodeSuspended
    | InterruptPassed
    | InterruptDue
    | ReminderDue
    | NodeRecorded
    | NodeAgain
    | NodeSaid
    | EffectClaimed
    | EffectEnded
    | ModelAnswered
    | EnvelopeSent
    | VersionAsked
    | NodeStopped
    | RetryDue
    | NodeAwaits
    | Look
    | ChildNews
    | AwaitDue
    | CancelAsked
    | PauseAsked
    | ResumeAsked
    | VariablesGiven
    | AnswerGiven
    | TimeUp
    | HostBroke
)
