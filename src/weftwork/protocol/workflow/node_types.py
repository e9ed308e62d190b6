"""The declaration of a node type (inputs, outputs, config, effect class, capabilities) and its public description."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from weftwork.protocol.models.capability_gate import ModelRef, requirement_problem

if TYPE_CHECKING:
    from weftwork.protocol.json.schema import Violation


Effect = Literal["pure", "idempotent", "once"]

EFFECTS: Final[dict[str, str]] = {
    "pure": "no effect outside the run; the node runs again after a crash",
    "idempotent": "an effect outside the run that can be repeated; the node runs again after a crash",
    "once": "an effect outside the run that must not be repeated; after a crash a person is asked for the outcome",
}
"""The meaning of each effect class, for the reference pages and the command line."""
EXECUTION: Final = {
    True: ("instant", "returns immediately: it completes as soon as it starts, or requests an interrupt"),
    False: ("waiting", "runs asynchronously, while other nodes run"),
}
"""The name and meaning of each value of `instant`, for the reference pages and the command line."""

NEVER_PROVIDED: Final = "conformance.never-provided"
"""node-02 (OpenWOP capabilities): no host may ever provide this runtime capability."""


def _any_object() -> dict[str, Any]:
    return {"type": "object"}


class NodeDeclaration(msgspec.Struct, frozen=True):
    """The contract of a node type, without its code.

    effect: `pure` nodes can be repeated freely, so their events need no separate commit. `idempotent` and `once` nodes
    have external effects, so their start is durable before they run.
    instant: the node computes its outputs from inputs and config and never waits.
    resumes_after_crash: after a crash, the interrupted attempt continues from the log; otherwise a new attempt starts.
    concurrency: maximum number of nodes of this type that a host runs concurrently; 0 is no limit.
    holds_thread: the node occupies a thread while it runs.
    source: where the type comes from; empty for the types of this package.
    requires: runtime capabilities that the host must provide, checked when the node is dispatched.
    required_model_capabilities: capabilities that the model of the node must have, checked when the node is dispatched.
    fallback_model: the model for a node whose selected model lacks one of them; None: the node is refused.
    branching: an edge from an output port that the node did not set counts as skipped, except from `output`.
    gathers_edges: the node also receives the values of all its edges, not only one per port.
    expressions: where the config contains expressions: pointer patterns (`*` matches any one member), each with the
    names that these expressions may use in addition to the common ones.
    templates: the same for strings with expressions in double braces.
    sets_variable, reads_variable, writes_channel: the config member that names the variable or channel.
    input_mappings, output_mappings: pointer patterns of the config members that map variables of this run to variables
    of a child run, and variables of the child run back to this run.
    interrupt_key_member: the config member with the key of the interrupt that the node requests.
    equal_outputs: output ports that have the same value; if one of them is sensitive, all are.
    untainted_outputs: output ports that contain no data of the node's inputs, such as the action of an answer.
    bodies: pointer patterns of the config members that hold a nested node, {typeId, config, inputs}. An object without
    a typeId is not a nested node.
    prompt_templates: the node composes prompts from templates, which may read any variable: `named` if its config or
    the workflow names templates, or `always`.
    external_content: the outputs come from an external source and are untrusted.
    role: a `supervisor` decides the next step and a `dispatch` node performs it; a supervisor that ends its loop skips
    the dispatch node.
    wait_end: for a node that does nothing but wait: when its wait ends, from its inputs, its config and its start. None
    if the node does not wait but fails.
    check_config: further checks of a config that matches its schema. Pointers of violations are relative to the config.
    notes: Markdown for the reference page, in addition to the schemas.
    example_config, example_inputs: an example of a node of this type in a definition.
    """

    type_id: str
    title: str
    effect: Effect = "pure"
    instant: bool = True
    resumes_after_crash: bool = True
    concurrency: int = 0
    holds_thread: bool = False
    source: str = ""
    version: str = "1.0.0"
    requires: tuple[str, ...] = ()
    required_model_capabilities: tuple[str, ...] = ()
    fallback_model: ModelRef | None = None
    inputs: dict[str, Any] = msgspec.field(default_factory=_any_object)
    outputs: dict[str, Any] = msgspec.field(default_factory=_any_object)
    config: dict[str, Any] = msgspec.field(
        # With `properties`, even if empty, the validator points at the unknown member and not at the object.
        default_factory=lambda: {"type": "object", "properties": {}, "additionalProperties": False}
    )
    branching: bool = False
    gathers_edges: bool = False
    expressions: dict[str, tuple[str, ...]] = {}
    templates: dict[str, tuple[str, ...]] = {}
    sets_variable: str = ""
    reads_variable: str = ""
    writes_channel: str = ""
    input_mappings: tuple[str, ...] = ()
    output_mappings: tuple[str, ...] = ()
    interrupt_key_member: str = ""
    bodies: tuple[str, ...] = ()
    prompt_templates: Literal["", "named", "always"] = ""
    external_content: bool = False
    equal_outputs: tuple[str, ...] = ()
    untainted_outputs: tuple[str, ...] = ()
    role: Literal["", "supervisor", "dispatch"] = ""
    wait_end: "Callable[[dict[str, Any], dict[str, Any], int], int | None] | None" = None
    check_config: "Callable[[dict[str, Any]], list[Violation]] | None" = None
    notes: str = ""
    example_config: dict[str, Any] | None = None
    example_inputs: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Raises ValueError for invalid model requirements."""
        if self.required_model_capabilities or self.fallback_model is not None:
            problem = requirement_problem(self.required_model_capabilities, self.fallback_model)
            if problem is not None:
                raise ValueError(f"{self.type_id}: {problem}")


def missing_capabilities(requires: tuple[str, ...], provided: frozenset[str]) -> list[str]:
    """node-01 (OpenWOP capabilities): the required capabilities that the host lacks, in declared order."""
    return [name for name in requires if name not in provided or name == NEVER_PROVIDED]


def describe_node_type(declaration: NodeDeclaration) -> dict[str, Any]:
    """The public document of a node type. `inputs`, `outputs` and `config` are JSON Schemas. `fallbackModel` is absent
    if the type has none."""
    fallback = declaration.fallback_model
    return {
        "typeId": declaration.type_id,
        "version": declaration.version,
        "title": declaration.title,
        "description": _description(declaration),
        "effect": declaration.effect,
        "instant": declaration.instant,
        "concurrency": declaration.concurrency,
        "source": declaration.source,
        "requires": list(declaration.requires),
        "requiredModelCapabilities": list(declaration.required_model_capabilities),
        **({} if fallback is None else {"fallbackModel": fallback.document()}),
        "inputs": declaration.inputs,
        "outputs": declaration.outputs,
        "config": declaration.config,
    }


def _description(declaration: NodeDeclaration) -> str:
    if declaration.example_config is None:
        return declaration.notes
    ports = {"config": declaration.example_config, "inputs": declaration.example_inputs}
    node = {"id": "example", "typeId": declaration.type_id, **ports}
    example = msgspec.json.format(msgspec.json.encode(node), indent=2).decode()
    return f"{declaration.notes.strip()}\n\n```json\n{example}\n```"


def describe_node_types(declarations: Iterable[NodeDeclaration]) -> list[dict[str, Any]]:
    return [describe_node_type(each) for each in sorted(declarations, key=lambda each: each.type_id)]
