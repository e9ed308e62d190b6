"""Collects the node types of a host: those that come with the package, and those written in Python."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weftwork.adapters.nodes.builtin import builtin_types
from weftwork.adapters.python.declaration.decorator import NodeFunction
from weftwork.adapters.python.declaration.node_discovery import (
    NodeLoadError,
    check_distinct,
    find_model_capabilities,
    find_nodes,
    nodes_from_functions,
)
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound
from weftwork.protocol.models.capability_gate import ModelCatalogue
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.settings import SettingsError


def builtin_node_types(
    outbound: Outbound | None = None,
    conversation: bool = True,
    conformance: bool = True,
    templates: PromptTemplates | None = None,
) -> dict[str, NodeType]:
    """The node types that come with the package, by type id. Without `outbound`, none of them sends requests."""
    types = builtin_types(outbound, conversation, templates)
    if conformance:
        from weftwork.conformance.workflows import conformance_nodes

        types += conformance_nodes(templates or PromptTemplates())
    return {node.declaration.type_id: node for node in types}


def load_python_nodes(modules: Iterable[str], functions: Iterable[Callable[..., Any]] = ()) -> list[NodeFunction]:
    """The Python nodes of these modules, of the installed packages, and of these functions.

    Raises SettingsError.
    """
    builtin_ids = {node.declaration.type_id for node in builtin_types()}
    try:
        nodes = check_distinct([*find_nodes(modules), *nodes_from_functions(functions)])
    except NodeLoadError as error:
        raise SettingsError(str(error)) from None
    for node in nodes:
        if node.declaration.type_id in builtin_ids:
            raise SettingsError(
                f"{node.place}: {node.declaration.type_id!r} is a built-in node type; choose another type id"
            )
    return nodes


def check_packages(modules: Iterable[str], models: ModelCatalogue) -> None:
    """cap-09 (RFC 0055 A): refuse a package that needs a model capability which no model of this host has.

    Raises SettingsError with the code host_capability_missing.
    """
    offered = models.advertised
    try:
        for package in find_model_capabilities(modules):
            missing = [name for name in package.capabilities if name not in offered]
            if missing:
                raise SettingsError(
                    f"host_capability_missing: {package.label}: the package {package.module} needs the model "
                    f"capability {missing[0]} (host.aiProviders.modelCapabilities), and no model of this host has it; "
                    f"configure a model with it in [[providers.NAME.models]], "
                    f'capabilities = ["{missing[0]}"], or do not load the package'
                )
    except NodeLoadError as error:
        raise SettingsError(str(error)) from None


def declarations_by_type(types: Mapping[str, NodeType]) -> dict[str, NodeDeclaration]:
    """The declarations by type id, against which definitions are validated."""
    return {type_id: node.declaration for type_id, node in types.items()}
