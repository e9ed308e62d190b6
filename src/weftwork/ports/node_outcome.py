"""Outcomes of a node: how a call ends, and the exceptions with which a node can end its call.

Effects are what a node does to its run: variables, channels, log lines, events, artifacts and child runs. They are
committed together with the outcome that carries them.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.people.approvals import UNTRUSTED_BLOCKED
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.child_runs import JOIN_DECIDED
from weftwork.protocol.run.events import Payload
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.plan import Plan


class SetVariable(msgspec.Struct, frozen=True):
    """Sets a run variable."""

    name: str
    value: Any


class WriteChannel(msgspec.Struct, frozen=True):
    """Writes a value to a channel. `reducer` applies only if the workflow does not declare the channel."""

    channel: str
    value: Any
    reducer: str


class AppendLog(msgspec.Struct, frozen=True):
    """Adds a log line to the run's events."""

    level: Literal["debug", "info", "warn", "error"]
    message: str
    fields: dict[str, Any] = {}


class EmitArtifact(msgspec.Struct, frozen=True):
    """Stores an artifact of the run, which callers fetch by its id. Ids are unique within a run, and derived from the
    node so that a repeated entry gives the same id."""

    artifact_id: str
    artifact_type: str
    data: Any
    summary: str = ""


class EmitEvent(msgspec.Struct, frozen=True):
    """Emits an event whose type has the author's own prefix, such as `acme.`. Node types of the host also emit events
    of the protocol."""

    type: str
    payload: dict[str, Any]
    causation_id: str | None = None
    event_id: str | None = None
    """An id from NodeContext.new_event_id, set if another event refers to this one."""

    @classmethod
    def of(cls, payload: Payload, causation_id: str | None = None, event_id: str | None = None) -> "EmitEvent":
        """An event of the protocol, for node types that come with the host."""
        return cls(payload.event_type, payload.members(), causation_id, event_id)


class ChildRequest(msgspec.Struct, frozen=True):
    """The arguments of NodeContext.prepare_child."""

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
    """Whether the requesting node has untrusted content."""


class NewChild(msgspec.Struct, frozen=True):
    """A child run that can be started; made only by NodeContext.prepare_child."""

    key: str
    header: RunHeader
    plan: Plan
    inputs: dict[str, Any]
    hidden: tuple[HiddenValue, ...] = ()
    input_bytes: int = 0
    """The approximate size of the inputs."""

    @property
    def run_id(self) -> str:
        return self.header.run_id

    @property
    def root(self) -> str:
        """The id of the root run of the tree."""
        return self.header.parent.root if self.header.parent is not None else self.run_id


class StartChild(msgspec.Struct, frozen=True):
    """Creates a child run, in one commit with the node's other effects."""

    child: NewChild


class CancelChild(msgspec.Struct, frozen=True):
    """Requests the cancellation of a child of this entry. The child has ended once its status says so."""

    key: str
    reason: str = JOIN_DECIDED


NodeEffect = SetVariable | WriteChannel | AppendLog | EmitArtifact | EmitEvent | StartChild | CancelChild


class Completed(msgspec.Struct, frozen=True):
    """The node succeeded. Outputs are by port; effects are committed together with them."""

    outputs: dict[str, Any]
    effects: tuple[NodeEffect, ...] = ()


class Failed(msgspec.Struct, frozen=True):
    """The node failed. Code and message are visible on the wire; `retryable` is false if a retry cannot help."""

    code: str
    message: str
    details: dict[str, Any] | None = None
    retryable: bool = True
    effects: tuple[NodeEffect, ...] = ()
    """Effects that are committed together with the failure."""
    cause: str | None = None
    """The correlation id of the envelope that caused the failure."""


INTERRUPT_KEY_REUSED: Final = Failed("node_misused", "This key was answered for another question.", retryable=False)
"""The failure of a node that reuses an interrupt key: the recorded answer belongs to another interrupt (int-20)."""

GRANTED_FOR_OTHER_CONTENT: Final = Failed(
    UNTRUSTED_BLOCKED,
    "The recorded answer was given for other content, and untrusted content needs an answer of its own. Read the "
    "content in a step, so that it does not change after the answer, or use a new key for new content.",
    retryable=False,
)
"""The failure of a node with untrusted content whose approval was given for other content (appr-05)."""
TIMEOUT_BLOCKED: Final = Failed(
    UNTRUSTED_BLOCKED,
    "The interrupt was not answered within its timeout. Its default value cannot decide about untrusted content; only "
    "a person can.",
    retryable=False,
)
"""The failure of a node with untrusted content whose decision timed out (appr-05)."""
UNTRUSTED_ANSWER: Final = Failed(
    UNTRUSTED_BLOCKED, "The answer comes from an untrusted source; only a person can decide.", retryable=False
)
"""The failure of a node whose decision was answered by a model or a tool (appr-05)."""


class Suspended(msgspec.Struct, frozen=True):
    """The node waits for an answer. It is called again from its start once the interrupt is resolved."""

    interrupt: Interrupt
    effects: tuple[EmitEvent, ...] = ()
    """Events that are committed together with the interrupt."""
    untrusted: bool = False
    """Whether the entry has read untrusted content, of which its form may consist. Set by the host."""


class AwaitsChildren(msgspec.Struct, frozen=True):
    """The node waits for its children, started now or earlier, and holds no memory while it waits.

    It is called again from its start each time a child ends, and when a host starts. It must derive its progress from
    `NodeCall.children` and recorded items alone, and return this outcome without effects if nothing is to be done yet.
    Other effects are allowed only together with StartChild or CancelChild, or when the node ends: otherwise a later
    call could not tell that they were done.
    """

    effects: tuple[NodeEffect, ...] = ()


class AwaitsProvider(msgspec.Struct, frozen=True):
    """The node waits for a model provider that is down. It is called again from its start at `retry_at`, as the same
    attempt; recorded answers and steps are reused. Made by the host, for a node that raises ProviderPending."""

    provider: str
    code: str
    retry_at: int


NodeOutcome = Completed | Failed | Suspended | AwaitsChildren | AwaitsProvider


class NodePending(BaseException):
    """Unwinds a node that has to wait and is called again later. It is a BaseException because it is not an error, and
    `except Exception` in a node must not catch it."""


class InterruptPending(NodePending):
    """The node has to wait for an answer, so the run suspends it."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt.key)
        self.interrupt = interrupt


class ProviderPending(NodePending):
    """The node has to wait for a model provider that is down, `wait_ms` from now."""

    def __init__(self, provider: str, code: str, wait_ms: int) -> None:
        super().__init__(provider)
        self.provider = provider
        self.code = code
        self.wait_ms = wait_ms


class StepFailed(Exception):
    """A node or one of its steps failed, now or in an earlier attempt. Code and message are visible on the wire."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


def raised_failure(error: StepFailed | ExpressionFault) -> Failed:
    """The failure of a node that raises this error. An expression fault is not retryable, because the same expression
    over the same run state fails again."""
    return error.failure if isinstance(error, StepFailed) else Failed(error.code, error.message, retryable=False)


class NotDone(Exception):
    """Raised inside a step to say that its effect did not happen. Nothing is recorded, and the step may run again."""
