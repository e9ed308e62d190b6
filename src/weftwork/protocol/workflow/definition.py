"""The parts of a workflow definition as the host works with them: checked, resolved and immutable."""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.expressions.expression import Expression
from weftwork.protocol.expressions.template import Template
from weftwork.protocol.workflow.channels import Channel
from weftwork.protocol.workflow.node_types import NodeDeclaration

ExpressionKey = tuple[str, frozenset[str]]


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often a failed node is tried again, and how long the host waits before it does."""

    max_retries: int = 0
    delay_ms: int = 500
    backoff: float = 2.0
    max_delay_ms: int = 60_000


NODE_SETTINGS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "maxRetries": {"type": "integer", "minimum": 0, "maximum": 100},
        "retryDelayMs": {"type": "integer", "minimum": 0, "maximum": 86_400_000},
        "retryBackoff": {"type": "number", "minimum": 1, "maximum": 10},
        "retryMaxDelayMs": {"type": "integer", "minimum": 0, "maximum": 86_400_000},
        "timeoutMs": {"type": "integer", "minimum": 0, "maximum": 31_536_000_000},
    },
}
"""wf-13 (readings, Node settings): the text leaves a node's settings open; these are ours."""


def parse_retry_policy(settings: dict[str, Any], most: int) -> RetryPolicy:
    """How often a node is tried again; `most` is what the workflow says."""
    if not most and "maxRetries" not in settings:
        return RetryPolicy()
    plain = RetryPolicy()
    return RetryPolicy(
        max_retries=settings.get("maxRetries", most),
        delay_ms=settings.get("retryDelayMs", plain.delay_ms),
        backoff=settings.get("retryBackoff", plain.backoff),
        max_delay_ms=settings.get("retryMaxDelayMs", plain.max_delay_ms),
    )


def retry_delay(retry: RetryPolicy, failures: int, jitter: float) -> int:
    """node-12 (readings, Retries): exponential backoff up to `max_delay_ms`, jittered between 50 % and 100 %.

    `jitter` is a random number from 0 to 1. It keeps nodes that failed together from retrying together.
    """
    # Capped in every step: a power of a large factor would overflow.
    full = retry.delay_ms
    for _ in range(failures):
        full = min(full * retry.backoff, retry.max_delay_ms)
    return int(min(full, retry.max_delay_ms) * (0.5 + 0.5 * jitter))


class Port(msgspec.Struct, frozen=True):
    """Where an input comes from: exactly one of a literal, an expression, a variable or another node's output."""

    type: str
    value: Any = None
    variable: str = ""
    node_id: str = ""
    output_key: str = ""
    optional: bool = False
    expression: Expression | None = None


class Condition(msgspec.Struct, frozen=True):
    """When an edge is taken: an expression, or a comparison of what stands at a path with a value."""

    type: str
    left: str = ""
    right: Any = None
    expression: Expression | None = None


class Edge(msgspec.Struct, frozen=True):
    """A dependency, which also carries one output to one input."""

    id: str
    source: str
    target: str
    source_output: str
    target_input: str
    trigger_rule: str
    condition: Condition | None = None


class Node(msgspec.Struct, frozen=True):
    """One step, with its type's declaration resolved."""

    id: str
    declaration: NodeDeclaration
    config: dict[str, Any]
    ports: dict[str, Port]
    disabled: bool
    is_primary: bool
    sensitive_outputs: frozenset[str]
    retry: RetryPolicy = RetryPolicy()
    timeout_ms: int = 0
    """Of one attempt; 0 is no limit."""
    config_expressions: dict[ExpressionKey, Expression | Template] = {}
    """Expressions and templates in its config, by their text and the names beside the common ones."""
    agent: dict[str, Any] | None = None
    """The AgentRef that the definition gives it."""
    output_reads: tuple[tuple[str, str], ...] = ()
    """Nodes whose outputs its ports and its config read, each with the pointer below the node at which it is named."""
    external_content: bool = False
    """Whether what it gives comes from outside, by its type or by that of a node inside it."""
    contract: EnvelopeContract = OPEN_CONTRACT
    """Which envelopes of a model it takes."""
    prompt_refs: dict[str, Any] = {}
    """References to prompt templates by kind, of the workflow, if its type uses such."""
    uses_prompt_templates: bool = False
    """Whether prompt templates tell what it asks, which may read any variable."""

    @property
    def writes_channel(self) -> str | None:
        """The channel that this node writes, if its type writes one: the one that its config names, or the default."""
        member = self.declaration.writes_channel
        if not member:
            return None
        return self.config.get(member, self.declaration.config["properties"][member].get("default"))

    @property
    def interrupt_key(self) -> str | None:
        """The key under which this node asks, if its author chose one: all who ask under it get the same answer."""
        return self.config.get(self.declaration.interrupt_key_member) if self.declaration.interrupt_key_member else None


class Variable(msgspec.Struct, frozen=True):
    name: str
    type: str
    required: bool
    sensitive: bool
    has_default: bool
    default: Any


class Workflow(msgspec.Struct, frozen=True):
    """A definition that passed every check. `document` is kept verbatim for readers."""

    id: str
    version: str
    digest: str
    document: dict[str, Any]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    variables: tuple[Variable, ...]
    timeout_ms: int
    channels: dict[str, Channel] = {}
    configurable_schema: dict[str, Any] | None = None
    max_loopbacks: int = 5
    max_supervised_loopbacks: int = 5
    """Of a loop that leads back to a supervisor, which has limits of its own."""
    log_level: str = "debug"
    envelope_kinds: tuple[KindDefinition, ...] = ()
    """Kinds of envelopes that its own nodes know beside those of the host."""
