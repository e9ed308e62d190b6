"""The parts of a workflow definition after validation, with node types resolved. All of them are immutable."""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.expressions.expression import Expression
from weftwork.protocol.expressions.template import Template
from weftwork.protocol.models.capability_gate import ModelNeeds
from weftwork.protocol.workflow.channels import Channel
from weftwork.protocol.workflow.node_types import NodeDeclaration

ExpressionKey = tuple[str, frozenset[str]]


class RetryPolicy(msgspec.Struct, frozen=True):
    """Number of retries of a failed node, and the backoff between them."""

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
"""wf-13 (readings, Node settings): the settings of a node. OpenWOP leaves their content to the host."""


def parse_retry_policy(settings: dict[str, Any], workflow_retries: int) -> RetryPolicy:
    """The retry policy of a node. `workflow_retries` applies if the node has no `maxRetries`."""
    if not workflow_retries and "maxRetries" not in settings:
        return RetryPolicy()
    default = RetryPolicy()
    return RetryPolicy(
        max_retries=settings.get("maxRetries", workflow_retries),
        delay_ms=settings.get("retryDelayMs", default.delay_ms),
        backoff=settings.get("retryBackoff", default.backoff),
        max_delay_ms=settings.get("retryMaxDelayMs", default.max_delay_ms),
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
    """The condition of an edge: an expression, or a comparison of the value at the path `left` with `right`."""

    type: str
    left: str = ""
    right: Any = None
    expression: Expression | None = None


class Edge(msgspec.Struct, frozen=True):
    """A dependency between two nodes, which also passes one output of the source to one input of the target."""

    id: str
    source: str
    target: str
    source_output: str
    target_input: str
    trigger_rule: str
    condition: Condition | None = None


class Node(msgspec.Struct, frozen=True):
    """A node of a workflow with the declaration of its type."""

    id: str
    declaration: NodeDeclaration
    config: dict[str, Any]
    ports: dict[str, Port]
    disabled: bool
    is_primary: bool
    sensitive_outputs: frozenset[str]
    retry: RetryPolicy = RetryPolicy()
    timeout_ms: int = 0
    """Time limit of one attempt; 0 is no limit."""
    config_expressions: dict[ExpressionKey, Expression | Template] = {}
    """Parsed expressions and templates of its config, by their text and the names that they may use in addition to the
    common ones."""
    has_expression_ports: bool = False
    agent: dict[str, Any] | None = None
    """The AgentRef of the node in the definition."""
    output_reads: tuple[tuple[str, str], ...] = ()
    """References to outputs of other nodes in its ports and config: (pointer below this node, id of the other node)."""
    external_content: bool = False
    """Whether its outputs come from an external source, by its type or by the type of a node in its config."""
    contract: EnvelopeContract = OPEN_CONTRACT
    """The model envelopes that it accepts."""
    prompt_refs: dict[str, Any] = {}
    """The workflow's references to prompt templates by kind; empty if the node's type uses no prompt templates."""
    uses_prompt_templates: bool = False
    """Whether the node composes prompts from templates, which may read any variable."""
    model_needs: ModelNeeds | None = None
    """The model capabilities that its type requires, or the type of a node in its config; None if there are none."""

    @property
    def writes_channel(self) -> str | None:
        """The channel that this node writes, from its config or the default of its type; None if it writes none."""
        member = self.declaration.writes_channel
        if not member:
            return None
        return self.config.get(member, self.declaration.config["properties"][member].get("default"))

    @property
    def interrupt_key(self) -> str | None:
        """The interrupt key in the node's config, if there is one. Nodes with the same key share one answer."""
        return self.config.get(self.declaration.interrupt_key_member) if self.declaration.interrupt_key_member else None


class Variable(msgspec.Struct, frozen=True):
    name: str
    type: str
    required: bool
    sensitive: bool
    has_default: bool
    default: Any


class Workflow(msgspec.Struct, frozen=True):
    """A definition that passed every check. `document` is the registered JSON, unchanged."""

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
    """The limit of a loop that leads back to a supervisor. Supervisors have further limits (lim-14)."""
    log_level: str = "debug"
    envelope_kinds: tuple[KindDefinition, ...] = ()
    """Envelope kinds that this workflow defines in addition to those of the host."""
