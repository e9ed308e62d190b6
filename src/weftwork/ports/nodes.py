"""Node types: the arguments of a node, the services that the host offers to it, and the two kinds of nodes.

An instant node is a pure function of its `NodeCall`. A waiting node also gets a `NodeContext`, with which it does
everything that takes time or must be recorded.
"""

from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any, Protocol, TypeVar

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

T = TypeVar("T")


class Scope(Protocol):
    """The values that expressions of a node can read: the state of the run when the node started."""

    def variable(self, name: str, default: Any = None) -> Any: ...

    def has_variable(self, name: str) -> bool: ...

    def reducer(self, channel: str) -> str | None:
        """The reducer of a channel; None if the workflow does not declare the channel."""
        ...

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        """The value of an expression over inputs, variables, nodes, configurable, ports and the names in `more`.

        A waiting node calls this only in functions that it passes to `NodeContext.compute`. Raises ExpressionFault, and
        an exception that the host catches if the evaluation has to wait.
        """
        ...

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        """The template with its expressions replaced by their values. `wrap` is applied to each untrusted value.

        May be called where `evaluate` may be called, and raises the same.
        """
        ...

    @property
    def untrusted(self) -> bool:
        """Whether the node has received untrusted content. If so, its outputs and events are untrusted as well."""
        ...

    def is_untrusted(self, source: str, more: Mapping[str, Any] | None = None) -> bool:
        """Whether an expression reads untrusted values: content from outside the run, or values derived from it."""
        ...


class Arrival(msgspec.Struct, frozen=True):
    """A value that an edge delivered to a node. Arrivals are in the order of the graph."""

    node_id: str
    port: str
    value: Any


class Emission(msgspec.Struct, frozen=True):
    """The origin of an envelope. It is the same in every entry of the node, because the ids of the envelope are derived
    from it."""

    turn: str = "0"
    """The model turn of this entry whose answer contains the envelope."""
    index: int = 0
    """The position of the envelope in that answer, from 0."""
    schema_rounds: int = 0
    """Schema requests and corrections for this emission so far."""
    contract: EnvelopeContract = OPEN_CONTRACT
    kinds: tuple[KindDefinition, ...] = ()
    """Additional kinds that only this node accepts."""
    form_of: Interrupt | None = None
    """For a surface: the interrupt that the node then requests, with the surface as its form."""
    form: str | None = None
    """For a clarification: the id of the envelope with the surface that is its form."""
    asks: bool = True
    """For a surface without `form_of`: whether it suspends the node if it has a button."""


class CheckedEnvelope(msgspec.Struct, frozen=True):
    """An envelope that has passed `NodeContext.check_envelope`. The document must not be changed afterwards, because it
    is recorded without a second validation."""

    document: Any
    is_validated: bool
    """Whether the document was validated against the schemas of its envelope form and its kind. False for an envelope
    that the gate stops before it reads the payload."""


class NodeCall(msgspec.Struct, frozen=True):
    """The arguments of a node: JSON values only, taken from the fold of the log."""

    run_id: str
    node_id: str
    inputs: dict[str, Any]
    config: dict[str, Any]
    scope: Scope
    iteration: int = 0
    """The iteration of the innermost loop around this node, counted from 0 since the loop was entered."""
    arrivals: tuple[Arrival, ...] = ()
    """The incoming values, for node types that declare `gathers_edges`."""
    answers: Mapping[str, Resolution] = {}
    """Resolutions of interrupts of this run, by key."""
    visit: int = 0
    """The number of earlier loop iterations of this node over the whole run, which makes it unique per iteration."""
    attempt: int = 1
    entry_sequence: int = -1
    """The sequence of the event that started this entry; identifies the entry."""
    children: Mapping[str, ChildState] = {}
    """Child runs of this entry by key, in the order of their start. Read-only."""
    last_child_event: int = -1
    """The sequence of the newest event about these children."""
    open_children: int = 0
    """The number of these children that have not ended."""
    failed_children: int = 0
    """The number of these children that ended without success."""
    decision: SupervisorDecision | None = None
    """For a dispatch node: the decision of the supervisor before it, or else the newest decision of the run."""
    agent: Mapping[str, Any] | None = None
    """The AgentRef of the node in the definition."""
    configurable: Mapping[str, Any] = {}
    untrusted: frozenset[str] = frozenset()
    """Input ports that hold content from outside the run, or values derived from it."""
    contract: EnvelopeContract = OPEN_CONTRACT
    """The envelopes that the node accepts from a model."""
    prompt_refs: Mapping[str, Any] = {}
    """The definition's default prompt templates by kind, for nodes that name no template."""
    part: bool = False
    """Whether the node runs as part of another node, which uses its outputs and rejects effects."""
    hides: bool = False
    """Whether the node may receive sensitive values, so that its outputs are hidden."""
    composed_prompts: Container[str] = ()
    """Contains `node_id` if the prompts of this attempt are recorded already."""


class NodeContext(Protocol):
    """The services that the host offers to a waiting node."""

    @property
    def started_at(self) -> int:
        """When this attempt started, from the log: the same before and after a restart."""
        ...

    @property
    def long_wait_end(self) -> int:
        """When the long wait of this attempt ends (park-03), computed when it started; 0 if it is in none. Variables
        that change during the wait do not change it."""
        ...

    @property
    def now(self) -> int:
        """The time of the newest recorded event that this entry has seen. It does not advance between events, so that a
        repeated entry sees the same times."""
        ...

    async def compute(self, function: Callable[[], T]) -> T:
        """The result of a function that evaluates expressions or renders templates of the node.

        The function must be pure, because the host repeats it if one of its evaluations has to wait. It should not
        catch exceptions other than StepFailed and ExpressionFault. Raises what it raises, and StepFailed.
        """
        ...

    async def turn(self) -> None:
        """Yield to the event loop until it is the turn of the run's tenant. A node that computes for long calls this at
        least once per millisecond of its work."""
        ...

    async def sleep_until(self, when: int) -> None:
        """Wait until this time of the run, which is that of its events: the wall clock, unless that was set back.
        Cancelled when the run has to end."""
        ...

    def effect_key(self, step: str = "") -> str:
        """The idempotency key of the node's effect, or of one of its steps: the same in every attempt (RFC layer 2)."""
        ...

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        """The result of a step, as JSON. `run` is called once per name, and later entries of the node get the recorded
        result. An entry can use a name for one step only.

        `run` returns JSON or raises. StepFailed is recorded and raised again, also in later entries; NotDone records
        nothing. Raises InterruptPending if an earlier attempt began the step, its outcome is unknown and its effect is
        `once`. `plain` means that `run` needs a thread and the node does not hold one, so the step waits for a thread
        before it claims the effect.
        """
        ...

    async def ask(self, interrupt: Interrupt, instead: Any = UNSET) -> Resolution:
        """The recorded resolution of an interrupt of this run, by its key: an answer, or a timeout.

        Raises InterruptPending if the interrupt is not resolved yet. An interrupt that does not wait, and one that the
        host answers itself with `instead`, returns as soon as it is durable. Raises StepFailed for an interrupt that
        is not allowed.
        """
        ...

    def emit_event(self, effect: AppendLog | EmitEvent) -> None:
        """Queue an event of the run. Events are committed in order, and before the outcome of the node."""
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
        """Prepare a child run of the current version of the tenant's workflow, or say why it cannot be started.

        The inputs of the child are `inputs`, overridden by `mapping`: names in the child to variables of this run.
        Variables that are not set are left out. `variables` and `outputs` select the data that this run gets from the
        child when the child completes.
        """
        ...

    def new_event_id(self) -> str:
        """A new id for an event to which other events refer."""
        ...

    def check_may_request(self) -> None:
        """Called before each request to another host. Raises StepFailed in a replay, which sends no requests."""
        ...

    @property
    def limits(self) -> Limits: ...

    @property
    def prompt_directive(self) -> str:
        """Instructions of the host for the system prompt of every model call; empty if there are none."""
        ...

    @property
    def untrusted(self) -> bool:
        """Whether this entry has read untrusted content. If so, its outputs and events are untrusted as well."""
        ...

    def mark_untrusted(self) -> None:
        """Mark this entry as untrusted, because it has read content from outside: its later outputs and events are
        untrusted."""
        ...

    async def generate(
        self, request: ModelRequest, along: "Callable[[ModelAnswer], tuple[EmitEvent | AppendLog, ...]]"
    ) -> ModelAnswer:
        """The answer of a model. It is streamed as it arrives, and recorded when it is complete, in one commit with its
        usage and the events that `along` returns for it. Later entries of the node get the recorded answer without a
        call.

        Calls are identified by their order in the entry. Raises StepFailed if there is no answer, and ProviderPending
        if the node has to wait for the provider.
        """
        ...

    def envelope_kind(self, name: str) -> KindDefinition | None:
        """The envelope kind of that name, if this host or this workflow defines it."""
        ...

    @property
    def renders_surfaces(self) -> bool:
        """Whether this host shows surfaces to people. If not, it only records them."""
        ...

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        """Validate an envelope for `emit_envelope`. Records nothing, and does not consider earlier envelopes."""
        ...

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        """Send an envelope of a model through the gate, the only path for envelopes. `envelope` is a document or a
        CheckedEnvelope; for the latter every rule is applied again except the schemas.

        The outcome is recorded under the correlation id of the envelope, in one commit with the effects of its handler.
        An envelope that is emitted again, also in a later entry, gets that outcome and no handler runs. Raises
        InterruptPending while a clarification is open.
        """
        ...

    async def emit_media(self, sent: OutgoingMedia, turn: str = "") -> EmittedMedia:
        """Store media as an asset and send its envelope through the gate; durable on return.

        Emissions are identified by `turn`, or by their order in the entry. A repeated emission, also in a later entry,
        gets the recorded result. Raises StepFailed.
        """
        ...

    async def read_media(self, ref: object, most: int) -> MediaBytes:
        """The bytes of an asset of the run's tenant. Marks the entry as untrusted, because assets come from outside.

        Raises StepFailed: media_not_found if the tenant has no such asset, media_too_large for more than `most` bytes.
        """
        ...

    async def pin_version(self, change_id: str, version: int, least: int = 0) -> int:
        """The version that this run has pinned for a change. The first call pins `version`; durable on return.

        ver-03: it pins -1 instead, if `least` allows that and the call repeats a part of the node that an earlier call
        has executed without this change: what is recorded for this part was made by the code before the change.
        """
        ...

    @property
    def recorded_items(self) -> Mapping[int, Any]:
        """Outputs of items that this node has recorded, by index. An item that failed has an ItemError."""
        ...

    async def record_item(self, index: int, output: Any) -> None:
        """Record the output of an item, or its ItemError; returns when it is durable. Items of one pass of the event
        loop share a commit."""
        ...

    @property
    def has_retries_left(self) -> bool:
        """Whether the host calls the node again if this entry fails with a retryable failure."""
        ...

    async def run_part(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> NodeOutcome:
        """Run another node type as a part of this node; `item` identifies the call."""
        ...


class InstantNode(msgspec.Struct, frozen=True):
    """A pure function of its call. It runs inline on the event loop, so apart from its expressions it must return
    within microseconds. The host repeats the call if an evaluation has to wait.

    Like every node it may raise StepFailed and ExpressionFault; `raised_failure` turns them into outcomes.
    """

    declaration: NodeDeclaration
    run: Callable[[NodeCall], NodeOutcome]


class WaitingNode(msgspec.Struct, frozen=True):
    """An asynchronous function. It is called again from its start after a crash, and must end soon when cancelled."""

    declaration: NodeDeclaration
    run: Callable[[NodeCall, NodeContext], Awaitable[NodeOutcome]]


NodeType = InstantNode | WaitingNode
