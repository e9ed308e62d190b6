"""Node types: what a node is called with, what it may ask of the host, and the two kinds of nodes.

An instant node is a pure function of its `NodeCall`. A waiting node also gets a `NodeContext`, with which it does
everything that takes time or must be recorded.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import UNSET

from weftwork.ports.media import EmittedMedia, MediaBytes, OutgoingMedia
from weftwork.ports.models import ModelRequest
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed, NewChild, NodeOutcome
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, Invalid
from weftwork.protocol.fold.state import SupervisorDecision
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.child_runs import SUB_WORKFLOW, ChildState
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration


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

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        """A template with its expressions filled in; with `wrap`, what is untrusted among them goes through it.

        Raises ExpressionFault.
        """
        ...

    def is_untrusted(self, source: str, more: Mapping[str, Any] | None = None) -> bool:
        """Whether what an expression reads came from outside, or is made of something that did."""
        ...


class Arrival(msgspec.Struct, frozen=True):
    """A value that an edge brought, in the order of the graph."""

    node_id: str
    port: str
    value: Any


class Emission(msgspec.Struct, frozen=True):
    """Where an envelope comes from. The same in every entry of the node, so that its ids are."""

    turn: str = "0"
    """Which answer of a model in this entry it stands in."""
    index: int = 0
    """How many envelopes of that answer stand before it."""
    schema_rounds: int = 0
    """Schemas asked for, and answers sent back for correction, for this emission so far."""
    contract: EnvelopeContract = OPEN_CONTRACT
    kinds: tuple[KindDefinition, ...] = ()
    """Kinds that are known to this node alone."""


class CheckedEnvelope(msgspec.Struct, frozen=True):
    """An envelope that has passed `NodeContext.check_envelope`. The document is not to be changed after that: what was
    validated is what gets recorded."""

    document: Any
    is_validated: bool
    """Whether it fits the schemas of its form and its kind, which are applied once. False for one that the gate stops
    before it looks at the payload."""


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
    """For node types that declare `gathers_edges`."""
    answers: Mapping[str, Resolution] = {}
    """What became of interrupts of this run, by key."""
    visit: int = 0
    """How often loops have come round to this node, over the whole run: no two entries share it."""
    attempt: int = 1
    entry_sequence: int = -1
    """The host's mark of this entry of the node."""
    children: Mapping[str, ChildState] = {}
    """Child runs of this entry by key, in the order of their start. Not to be changed."""
    last_child_event: int = -1
    """The host's mark of what is known of them."""
    open_children: int = 0
    """How many of them have not ended."""
    failed_children: int = 0
    """How many have ended, and not well."""
    decision: SupervisorDecision | None = None
    """For a dispatch: the decision of the supervisor before it, or the newest of the run."""
    agent: Mapping[str, Any] | None = None
    """The AgentRef that the definition gives the node."""
    configurable: Mapping[str, Any] = {}
    untrusted: frozenset[str] = frozenset()
    """Input ports that hold content from outside, or something made of it."""
    contract: EnvelopeContract = OPEN_CONTRACT
    """Which envelopes of a model the node takes."""
    prompt_refs: Mapping[str, Any] = {}
    """References to prompt templates by kind, that the definition has for nodes which name none."""
    part: bool = False
    """Whether this is a part of another node, which takes outputs alone and no effects."""
    hides: bool = False
    """Whether the node can be given something sensitive, so that what it makes is hidden."""


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

        `run` gives JSON or raises StepFailed, which is recorded and raised again, or NotDone. Raises
        InterruptPending when the step was begun before, its outcome is unknown and its effect is `once`. `plain`: `run`
        holds a thread that the node does not hold yet, so it waits for one before anything is claimed.
        """
        ...

    async def ask(self, interrupt: Interrupt, instead: Any = UNSET) -> Resolution:
        """What became of a question of this run, by its key: its recorded answer, or that nobody gave one in time.

        Raises InterruptPending when it is still to be asked. One of a kind that passes returns when it is durable; so
        does one that is answered with `instead` and not asked of anybody. Raises StepFailed for one that cannot be
        asked.
        """
        ...

    def emit_event(self, effect: AppendLog | EmitEvent) -> None:
        """Something for those who follow the run: committed soon, in order, and before the node's end."""
        ...

    async def prepare_child(
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

    def new_event_id(self) -> str:
        """A fresh id for an event that others point at."""
        ...

    @property
    def limits(self) -> Limits: ...

    @property
    def untrusted(self) -> bool:
        """Whether this entry has been given content from outside, or something made of it: then all it makes is too."""
        ...

    def mark_untrusted(self) -> None:
        """Content from outside has come into this entry: all that it makes from here on is untrusted."""
        ...

    async def generate(
        self, request: ModelRequest, along: "Callable[[ModelAnswer], tuple[EmitEvent | AppendLog, ...]]"
    ) -> ModelAnswer:
        """What a model answers: streamed as it comes, and recorded once it is whole, in one commit with its usage and
        with what `along` makes of it. Later entries of the node get what was recorded, and no model is asked.

        Calls are told apart by their order in the entry. Raises StepFailed when no answer came.
        """
        ...

    def envelope_kind(self, name: str) -> KindDefinition | None:
        """A kind of envelope that this host, or this workflow, knows."""
        ...

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        """The envelope as `emit_envelope` takes it, or why it would be refused. No consequence, and no regard to what
        was sent before."""
        ...

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        """Send an envelope of a model through the gate: the one way for any of them. `envelope` is a document, or what
        `check_envelope` gave for it; then all rules are applied as they stand now, but no schema a second time.

        Its outcome is recorded under its correlation id, in one commit with all that its handler does; sent again, in
        whatever entry, it gets that outcome and no handler runs. Raises InterruptPending for a clarification that is
        open.
        """
        ...

    async def emit_media(self, sent: OutgoingMedia, turn: str = "") -> EmittedMedia:
        """Keep media as an asset, and send its envelope through the gate; durable on return.

        Emissions are told apart by `turn`, or by their order in the entry: sent again, in whatever entry, one gets what
        became of it the first time. Raises StepFailed.
        """
        ...

    async def read_media(self, ref: object, most: int) -> MediaBytes:
        """The bytes behind a mediaRef of the run's tenant, which come from outside: the entry is untrusted then.

        Raises StepFailed: media_not_found for what is not there or is somebody else's, media_too_large for more bytes.
        """
        ...

    async def pin_version(self, change_id: str, version: int) -> int:
        """The version that this run has pinned for a change: the one given, if it is the first to ask. Durable."""
        ...

    @property
    def recorded_items(self) -> Mapping[int, Any]:
        """Items of this node that are recorded already, by index."""
        ...

    async def record_item(self, index: int, output: Any) -> None:
        """Record an item; returns when it is durable. Items of one turn of the loop share a commit."""
        ...

    async def run_part(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> NodeOutcome:
        """Run another node type as a part of this node; `item` tells such calls apart."""
        ...


class InstantNode(msgspec.Struct, frozen=True):
    """A pure function of its call; runs inline and must answer within microseconds.

    Like every node it may raise StepFailed and ExpressionFault: `raised_failure` says how it fails then.
    """

    declaration: NodeDeclaration
    run: Callable[[NodeCall], NodeOutcome]


class WaitingNode(msgspec.Struct, frozen=True):
    """May wait. Re-entered from its start when a process dies while it runs; must end soon when cancelled."""

    declaration: NodeDeclaration
    run: Callable[[NodeCall, NodeContext], Awaitable[NodeOutcome]]


NodeType = InstantNode | WaitingNode
