"""Node types: a declaration and the code behind it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET

from weftwork.ports.node_effects import (
    AppendLog,
    CancelChild,
    EmitArtifact,
    EmitEvent,
    NewChild,
    NodeEffect,
    SetVariable,
    StartChild,
    WriteChannel,
)
from weftwork.protocol.child import SUB_WORKFLOW, ChildState
from weftwork.protocol.interrupt import Interrupt, Resolution
from weftwork.protocol.node_type import Effect, NodeDeclaration
from weftwork.protocol.state import Decided

__all__ = [
    "ANOTHER_QUESTION",
    "AppendLog",
    "Arrival",
    "Asking",
    "Awaits",
    "CancelChild",
    "Completed",
    "EmitArtifact",
    "EmitEvent",
    "Failed",
    "InstantNode",
    "NewChild",
    "NodeCall",
    "NodeContext",
    "NodeEffect",
    "NodeType",
    "NotDone",
    "Outcome",
    "Scope",
    "SetVariable",
    "StartChild",
    "StepFailed",
    "Suspended",
    "WaitingNode",
    "WriteChannel",
]


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


ANOTHER_QUESTION: Final = Failed("node_misused", "This key was answered for another question.", retryable=False)
"""What becomes of a node that finds an answer under its key which is none to its question (int-20)."""


class Suspended(msgspec.Struct, frozen=True):
    """The node waits for an answer; it is entered again from its start once there is one."""

    interrupt: Interrupt
    effects: tuple[EmitEvent, ...] = ()
    """What is said along with the question."""


class Awaits(msgspec.Struct, frozen=True):
    """The node waits for children, those it starts here and those it started before, and needs no memory meanwhile.

    It is called again from its start each time that one of them has ended, and when a host starts; it must find its
    way by `NodeCall.children` alone, and do nothing if there is nothing to do yet. What else it does is in one
    commit with the start or the cancelling of a child, or with its own end, so that it is known to be done.
    """

    effects: tuple[NodeEffect, ...] = ()


Outcome = Completed | Failed | Suspended | Awaits


class Asking(BaseException):
    """Unwinds a node that has to wait for an answer; the run suspends it. No error, and nobody else's to catch."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt.key)
        self.interrupt = interrupt


class StepFailed(Exception):
    """A step failed: now, or when it was run before. Code and message go on the wire."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


class NotDone(Exception):
    """Raised inside a step: its effect did not happen, so nothing is recorded and it may be run again."""


class Scope(Protocol):
    """What expressions of a node see: the run as it stood when the node started."""

    def variable(self, name: str, default: Any = None) -> Any:
        """A run variable, or the default."""
        ...

    def has_variable(self, name: str) -> bool: ...

    def reducer(self, channel: str) -> str | None:
        """The reducer of a channel that the workflow declares; None for any other."""
        ...

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        """The value of an expression over inputs, variables, nodes, configurable, ports and the given names.

        Raises ExpressionFault.
        """
        ...

    def render(self, text: str, more: Mapping[str, Any] | None = None) -> str:
        """A template with its expressions filled in. Raises ExpressionFault."""
        ...


class Arrival(msgspec.Struct, frozen=True):
    """A value that an edge brought, in the order of the graph."""

    node_id: str
    port: str
    value: Any


class NodeCall(msgspec.Struct, frozen=True):
    """What a node is called with: JSON values only, taken from the fold of the log."""

    run_id: str
    node_id: str
    inputs: dict[str, Any]
    config: dict[str, Any]
    scope: Scope
    iteration: int = 0
    """How often the loop around this node has come round to it, since the loop was entered."""
    arrivals: tuple[Arrival, ...] = ()
    """For gathering types."""
    answers: Mapping[str, Resolution] = {}
    """What became of interrupts of this run, by key."""
    visit: int = 0
    """How often loops have come round to this node, over the whole run: no two entries share it."""
    attempt: int = 1
    entered: int = -1
    """The host's mark of this entry of the node."""
    children: Mapping[str, ChildState] = {}
    """Child runs of this entry by key, in the order of their start. Not to be changed."""
    heard: int = -1
    """The host's mark of what is known of them."""
    open_children: int = 0
    """How many of them have not ended."""
    failed_children: int = 0
    """How many have ended, and not well."""
    decided: Decided | None = None
    """For a dispatch: the decision of the supervisor before it, or the newest of the run."""
    agent: Mapping[str, Any] | None = None
    """The AgentRef that the definition gives the node."""
    configurable: Mapping[str, Any] = {}


class NodeContext(Protocol):
    """What a waiting node may ask of the host."""

    @property
    def started_at(self) -> int:
        """When this attempt started, by the log: the same before and after a restart."""
        ...

    @property
    def now(self) -> int:
        """The run's clock: the time of the newest fact that this entry has seen. It stands still in between."""
        ...

    async def sleep_until(self, when: int) -> None:
        """Wait for a wall-clock instant. Cancelled when the run is to end."""
        ...

    def effect_key(self, step: str = "") -> str:
        """The identity of the node's effect, or of a step of it: the same in every attempt (RFC layer 2)."""
        ...

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        """What a step came to, as JSON. `run` is called once per name; later entries of the node
        get what was recorded. A name is good for one step in an entry.

        `run` gives JSON or raises StepFailed, which is recorded and raised again, or NotDone. Raises Asking when the
        step was begun before, its outcome is unknown and its effect is `once`. `plain`: `run` holds a thread that the
        node does not hold yet, so it waits for one before anything is claimed.
        """
        ...

    async def ask(self, interrupt: Interrupt, instead: Any = UNSET) -> Resolution:
        """What became of a question of this run, by its key: its recorded answer, or that nobody gave one in time.

        Raises Asking when it is still to be asked. One of a kind that passes returns when it is durable; so does one
        that is answered with `instead` and not asked of anybody. Raises StepFailed for one that cannot be asked.
        """
        ...

    def say(self, effect: AppendLog | EmitEvent) -> None:
        """Something for those who follow the run: committed soon, in order, and before the node's end."""
        ...

    async def child(
        self,
        key: str,
        workflow_id: str,
        mapping: Mapping[str, str],
        inputs: Mapping[str, Any] | None = None,
        *,
        cause: str = SUB_WORKFLOW,
        variables: tuple[str, ...] = (),
        outputs: bool = False,
        awaited: bool = True,
        cascade: bool = True,
    ) -> NewChild | Failed:
        """A child run to start: of the tenant's workflow of that id as it is now, with `inputs`, and above them, by
        `mapping`, the child's variables from this run's; a variable that is not set is left out.

        `variables`, `outputs`: what of the child is wanted when it has completed. Or why it cannot be started.
        """
        ...

    def event_id(self) -> str:
        """A fresh id for an event that others point at."""
        ...

    async def pin_version(self, change_id: str, version: int) -> int:
        """The version that this run has pinned for a change: the one given, if it is the first to ask. Durable."""
        ...

    @property
    def items(self) -> Mapping[int, Any]:
        """Items of this node that are recorded already, by index."""
        ...

    async def record(self, index: int, output: Any) -> None:
        """Record an item; returns when it is durable. Items of one turn of the loop share a commit."""
        ...

    async def perform(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> Outcome:
        """Run another node type as a part of this node; `item` tells such calls apart."""
        ...


class InstantNode(msgspec.Struct, frozen=True):
    """A pure function of its call; runs inline and must answer within microseconds."""

    declaration: NodeDeclaration
    run: Callable[[NodeCall], Outcome]


class WaitingNode(msgspec.Struct, frozen=True):
    """May wait. Re-entered from its start when a process dies while it runs; must end soon when cancelled."""

    declaration: NodeDeclaration
    run: Callable[[NodeCall, NodeContext], Awaitable[Outcome]]


NodeType = InstantNode | WaitingNode
