"""The declaration of a node type (ports, config, effect class, needed capabilities) and its public description."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

if TYPE_CHECKING:
    from weftwork.protocol.json.schema import Violation


Effect = Literal["pure", "idempotent", "once"]

NEVER_PROVIDED: Final = "conformance.never-provided"
"""node-02 (OpenWOP capabilities): no host may ever provide this runtime capability."""


def _any_object() -> dict[str, Any]:
    return {"type": "object"}


class NodeDeclaration(msgspec.Struct, frozen=True):
    """The contract of a node type, without its code.

    effect: `pure` nodes may run again freely, so their events need no commit of their own;
    `idempotent` and `once` nodes touch the world and are started durably first.
    instant: the node answers at once from its inputs and config and never waits.
    resumes_after_crash: after a crash an attempt goes on where the log has it; otherwise the next attempt starts over.
    concurrency: how many nodes of this type a host runs at the same time; 0 is no limit.
    holds_thread: the node occupies a thread while it runs.
    source: where the type comes from, if not with the package.
    requires: runtime capabilities the host must provide, checked when the node is dispatched.
    branching: an edge from an output port that the node did not give counts as skipped, except from `output`.
    gathers_edges: the node is also given every value that its edges bring, not only one per port.
    expressions: where the config holds expressions, by pointer pattern (`*` is any one member), with the names
    they may use beside the common ones; templates: the same for texts with expressions in double braces.
    sets_variable, reads_variable, writes_channel: the config member that names what such a node writes or reads.
    input_mappings, output_mappings: where the config maps variables of this run to those of a child run, and variables
    of the child back to those of this run, by pointer pattern.
    interrupt_key_member: the config member with the key of the interrupt that such a node requests.
    equal_outputs: output ports that hold the same value: if one of them is hidden, all are.
    untainted_outputs: output ports that hold nothing of what the node was given, such as the action of an answer.
    bodies: where the config holds another node to run, as {typeId, config, inputs}; one without a typeId is none.
    prompt_templates: the node uses prompt templates, which may read any variable: `named` where its config or the
    workflow names some, or `always`.
    external_content: its outputs come from an external source and are untrusted.
    role: `supervisor` decides what is next, `dispatch` does it: a supervisor that ends its loop skips the dispatch.
    check_config: further checks of a config that fits its schema; violations point below the config.
    notes: what the reference page says beyond the schemas, in Markdown.
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
    inputs: dict[str, Any] = msgspec.field(default_factory=_any_object)
    outputs: dict[str, Any] = msgspec.field(default_factory=_any_object)
    config: dict[str, Any] = msgspec.field(
        # With `properties`, even empty, the validator points at the member and not at the object around it.
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
    check_config: "Callable[[dict[str, Any]], list[Violation]] | None" = None
    notes: str = ""
    example_config: dict[str, Any] | None = None
    example_inputs: dict[str, Any] = {}


def missing_capabilities(requires: tuple[str, ...], provided: frozenset[str]) -> list[str]:
    """node-01 (OpenWOP capabilities): what the node needs and the host lacks, in declared order."""
    return [name for name in requires if name not in provided or name == NEVER_PROVIDED]


def describe_node_type(declaration: NodeDeclaration) -> dict[str, Any]:
    """The document of one node type; its schemas are JSON Schemas of the objects that the definition holds."""
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
        "inputs": declaration.inputs,
        "outputs": declaration.outputs,
        "config": declaration.config,
    }


def _description(declaration: NodeDeclaration) -> str:
    """The notes, then the example if there is one."""
    if declaration.example_config is None:
        return declaration.notes
    ports = {"config": declaration.example_config, "inputs": declaration.example_inputs}
    node = {"id": "example", "typeId": declaration.type_id, **ports}
    shown = msgspec.json.format(msgspec.json.encode(node), indent=2).decode()
    return f"{declaration.notes.strip()}\n\n```json\n{shown}\n```"


def describe_node_types(declarations: Iterable[NodeDeclaration]) -> list[dict[str, Any]]:
    return [describe_node_type(each) for each in sorted(declarations, key=lambda each: each.type_id)]
