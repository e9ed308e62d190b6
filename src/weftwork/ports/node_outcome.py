"""Outcomes of a node: how a call ends, and the exceptions with which a node can end it from within.

Effects are what a node does to its run: variables, channels, log lines, events, artifacts and child runs. They are
committed together with the outcome that carries them.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.child_runs import JOIN_DECIDED
from weftwork.protocol.run.events import Payload
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.plan import Plan


class SetVariable(msgspec.Struct, frozen=True):
    """A run variable takes a new value."""

    name: str
    value: Any


class WriteChannel(msgspec.Struct, frozen=True):
    """A value goes into a channel; the reducer is the declared one, or `reducer` where the channel is not declared."""

    channel: str
    value: Any
    reducer: str


class AppendLog(msgspec.Struct, frozen=True):
    """A line for those who follow the run."""

    level: Literal["debug", "info", "warn", "error"]
    message: str
    fields: dict[str, Any] = {}


class EmitArtifact(msgspec.Struct, frozen=True):
    """Something made by the run, to be fetched by its id. Ids are unique within a run and derived, never random."""

    artifact_id: str
    artifact_type: str
    data: Any
    summary: str = ""


class EmitEvent(msgspec.Struct, frozen=True):
    """An event of the author's own type, in the vendor branch of the type pattern."""

    type: str
    payload: dict[str, Any]
    causation_id: str | None = None
    event_id: str | None = None
    """From NodeContext.event_id, where another event is to point at this one."""

    @classmethod
    def of(cls, payload: Payload, causation_id: str | None = None, event_id: str | None = None) -> "EmitEvent":
        """An event of the protocol, for nodes of the host."""
        return cls(payload.event_type, payload.members(), causation_id, event_id)


class ChildRequest(msgspec.Struct, frozen=True):
    """What a node wants of a child: see NodeContext.prepare_child."""

    key: str
    workflow_id: str
    mapping: Mapping[str, str]
    inputs: Mapping[str, Any]
    cause: str
    variables: tuple[str, ...] = ()
    outputs: bool = False
    awaited: bool = True
    cascade: bool = True
    untrusted: bool = False
    """Whether the node is."""


class NewChild(msgspec.Struct, frozen=True):
    """A child run that can be started; made only by NodeContext.prepare_child."""

    key: str
    header: RunHeader
    plan: Plan
    inputs: dict[str, Any]
    hidden: tuple[HiddenValue, ...] = ()
    input_bytes: int = 0
    """About the bytes of its inputs."""

    @property
    def run_id(self) -> str:
        return self.header.run_id

    @property
    def root(self) -> str:
        """The run at the top of its tree."""
        return self.header.parent.root if self.header.parent is not None else self.run_id


class StartChild(msgspec.Struct, frozen=True):
    """A child run comes into being, in one commit with all else that the node does."""

    child: NewChild


class CancelChild(msgspec.Struct, frozen=True):
    """A child of this entry is no longer needed. It is over when its status says so."""

    key: str
    reason: str = JOIN_DECIDED


NodeEffect = SetVariable | WriteChannel | AppendLog | EmitArtifact | EmitEvent | StartChild | CancelChild


class Completed(msgspec.Struct, frozen=True):
    """The node's outputs by port, and what it does to the run, which is committed together with them."""

    outputs: dict[str, Any]
    effects: tuple[NodeEffect, ...] = ()


class Failed(msgspec.Struct, frozen=True):
    """A failure the node names itself; code and message go on the wire. What cannot get better is not retryable."""

    code: str
    message: str
    details: dict[str, Any] | None = None
    retryable: bool = True
    effects: tuple[NodeEffect, ...] = ()
    """What is said and set along with it."""
    cause: str | None = None
    """What it follows from: the correlation id of an envelope."""


INTERRUPT_KEY_REUSED: Final = Failed("node_misused", "This key was answered for another question.", retryable=False)
"""What becomes of a node that finds an answer under its key which is none to its question (int-20)."""


class Suspended(msgspec.Struct, frozen=True):
    """The node waits for an answer; it is entered again from its start once there is one."""

    interrupt: Interrupt
    effects: tuple[EmitEvent, ...] = ()
    """What is said along with the question."""


class AwaitsChildren(msgspec.Struct, frozen=True):
    """The node waits for children, those it starts here and those it started before, and needs no memory meanwhile.

    It is called again from its start each time that one of them has ended, and when a host starts; it must find its
    way by `NodeCall.children` alone, and do nothing if there is nothing to do yet. What else it does is in one
    commit with the start or the cancelling of a child, or with its own end, so that it is known to be done.
    """

    effects: tuple[NodeEffect, ...] = ()


NodeOutcome = Completed | Failed | Suspended | AwaitsChildren


class InterruptPending(BaseException):
    """Unwinds a node that has to wait for an answer; the run suspends it. No error, and nobody else's to catch."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt.key)
        self.interrupt = interrupt


class StepFailed(Exception):
    """A node or one of its steps has failed, now or in an earlier attempt. Code and message are visible on the wire."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


def raised_failure(error: StepFailed | ExpressionFault) -> Failed:
    """How a node fails that raises this. The same expression over the same run gives the same fault, so there is
    nothing to try again."""
    return error.failure if isinstance(error, StepFailed) else Failed(error.code, error.message, retryable=False)


class NotDone(Exception):
    """Raised inside a step: its effect did not happen, so nothing is recorded and it may be run again."""
