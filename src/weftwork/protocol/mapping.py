"""Variables of its run that a node reads and writes beside its ports: those that its config names."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from weftwork.protocol.decode import escape
from weftwork.protocol.definition import Node
from weftwork.protocol.expression import References
from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.node_type import NodeDeclaration
from weftwork.protocol.pointer import tokens
from weftwork.protocol.prompt_ref import composes


def variables_read(node: Node) -> Iterator[str]:
    """The variable that such a node reads by its name, and those that it gives to a child run."""
    declaration = node.declaration
    if declaration.reads_variable:
        yield node.config[declaration.reads_variable]
    for pattern in declaration.maps_in:
        for _, mapped in matching(node.config, pattern):
            yield from mapped.values()


def variables_written(node: Node) -> Iterator[tuple[str, str]]:
    """The variable that such a node writes, and those that it takes from a child run, each with the pointer below the
    config at which it is named."""
    declaration = node.declaration
    if declaration.sets_variable:
        yield f"/{declaration.sets_variable}", node.config[declaration.sets_variable]
    for pattern in declaration.maps_out:
        for pointer, mapped in matching(node.config, pattern):
            yield from ((f"{pointer}/{escape(name)}", name) for name in mapped)


def comes_from_outside(
    declaration: NodeDeclaration, types: Mapping[str, NodeDeclaration], config: dict[str, Any]
) -> bool:
    """trust-02 (RFC 0143): whether what such a node gives comes from outside, by its type or by that of a body."""
    if declaration.outside:
        return True
    bodies = (body for pattern in declaration.bodies for _, body in matching(config, pattern))
    return any((found := types.get(body.get("typeId", ""))) is not None and found.outside for body in bodies)


def formulas_of(node: Node) -> Iterator[References]:
    """What the expressions and templates in its config read, and what prompt templates can."""
    for formula in node.formulas.values():
        yield formula.references
    if node.composes:
        yield References(variables=None)


def with_prompts(node: Node, types: Mapping[str, NodeDeclaration], refs: dict[str, Any]) -> Node:
    """The node as it is told by prompt templates: those of its config, of a body in it, or of the workflow, `refs`."""
    declaration = node.declaration
    if not declaration.composes and not declaration.bodies:
        return node
    bodies = [body for pattern in declaration.bodies for _, body in matching(node.config, pattern)]
    told = [(declaration, node.config, refs)]
    told += [(found, body.get("config", {}), {}) for body in bodies if (found := types.get(body.get("typeId", "")))]
    composing = any(
        each.composes == "always" or (each.composes == "named" and composes(config, more))
        for each, config, more in told
    )
    return msgspec.structs.replace(node, composes=composing, prompt_refs=refs if declaration.composes else {})


def matching(value: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """What stands at a pointer pattern, where `*` is any one member or item; absent members give nothing."""
    places = [("", value)]
    for step in tokens(pattern):
        below: list[tuple[str, Any]] = []
        for pointer, place in places:
            if is_array(place) and step == "*":
                below += [(f"{pointer}/{index}", item) for index, item in enumerate(place)]
            if not is_object(place):
                continue
            names = list(place) if step == "*" else [step] if step in place else []
            below += [(f"{pointer}/{escape(name)}", place[name]) for name in names]
        places = below
    yield from places
