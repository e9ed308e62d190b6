"""Node types as a host shows them to those who write definitions."""

from collections.abc import Iterable
from typing import Any

from weftwork.protocol.node_type import NodeDeclaration


def describe(declaration: NodeDeclaration) -> dict[str, Any]:
    """The document of one node type; its schemas are JSON Schemas of the objects that the definition holds."""
    return {
        "typeId": declaration.type_id,
        "version": declaration.version,
        "title": declaration.title,
        "description": declaration.notes,
        "effect": declaration.effect,
        "instant": declaration.instant,
        "concurrency": declaration.concurrency,
        "source": declaration.source,
        "requires": list(declaration.requires),
        "inputs": declaration.inputs,
        "outputs": declaration.outputs,
        "config": declaration.config,
    }


def describe_all(declarations: Iterable[NodeDeclaration]) -> list[dict[str, Any]]:
    """All of them, by type id."""
    return [describe(each) for each in sorted(declarations, key=lambda each: each.type_id)]
