"""The workflow definition: from a JSON document to a checked, immutable plan.

The schema (`workflow-definition`) decides the shape; the checks here decide what shape alone cannot:
references, duplicates, known node types, and what this host can run. Source: OpenWOP workflow-definition.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol import schema
from weftwork.protocol.canonical import digest
from weftwork.protocol.decode import escape
from weftwork.protocol.node_type import NodeDeclaration
from weftwork.protocol.schema import Violation


class Port(msgspec.Struct, frozen=True):
    """Where an input comes from: exactly one of a literal, a variable or another node's output."""

    type: str
    value: Any = None
    variable: str = ""
    node_id: str = ""
    output_key: str = ""
    optional: bool = False


class Edge(msgspec.Struct, frozen=True):
    """A dependency, which also carries one output to one input."""

    id: str
    source: str
    target: str
    source_output: str
    target_input: str
    rule: str


class Node(msgspec.Struct, frozen=True):
    """One step, with its type's declaration resolved."""

    id: str
    declaration: NodeDeclaration
    config: dict[str, Any]
    ports: dict[str, Port]
    disabled: bool
    primary: bool
    sensitive_outputs: frozenset[str]


class Variable(msgspec.Struct, frozen=True):
    """A declared run variable."""

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


_MAX_NODE_ID: Final = 128
"""What the nodeId of an event may hold; the definition's own schema sets no bound."""

_JSON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def has_type(value: Any, name: str) -> bool:
    """wf-04 (OpenWOP workflow-definition): whether a value fits a variable's declared type; a boolean is no number."""
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _JSON_TYPES[name])


def parse_workflow(
    document: dict[str, Any], types: Mapping[str, NodeDeclaration]
) -> tuple[Workflow | None, list[Violation]]:
    """wf-01 (OpenWOP workflow-definition): the checked workflow, or every violation with its pointer."""
    violations = schema.check("workflow-definition", document)
    if violations:
        return None, violations
    nodes, violations = _nodes(document["nodes"], types)
    edges = [_edge(item) for item in document["edges"]]
    variables = [_variable(item) for item in document["variables"]]
    violations += _check_edges(document["edges"], {node["id"] for node in document["nodes"]})
    violations += _check_ports(document["nodes"])
    violations += _check_variables(variables)
    violations += _check_not_yet(document)
    if violations:
        return None, violations
    workflow = Workflow(
        id=document["id"],
        version=document["version"],
        digest=digest(document),
        document=document,
        nodes=tuple(nodes),
        edges=tuple(edges),
        variables=tuple(variables),
        timeout_ms=document["settings"].get("timeout", 0),
    )
    return workflow, []


def _nodes(documents: list[dict[str, Any]], types: Mapping[str, NodeDeclaration]) -> tuple[list[Node], list[Violation]]:
    nodes: list[Node] = []
    violations: list[Violation] = []
    seen: set[str] = set()
    for index, item in enumerate(documents):
        at = f"/nodes/{index}"
        if item["id"] in seen:
            violations.append(Violation(f"{at}/id", "unique", "two nodes share this id"))
        seen.add(item["id"])
        if len(item["id"]) > _MAX_NODE_ID:
            violations.append(Violation(f"{at}/id", "maxLength", f"takes {_MAX_NODE_ID} or fewer characters"))
        declaration = types.get(item["typeId"])
        if declaration is None:
            violations.append(Violation(f"{at}/typeId", "known", "this host has no such node type"))
            continue
        violations += schema.check_inline(declaration.config, item["config"], f"{at}/config")
        nodes.append(
            Node(
                id=item["id"],
                declaration=declaration,
                config=item["config"],
                ports={name: _port(port) for name, port in item["inputs"].items()},
                disabled=item.get("disabled", False),
                primary=item.get("outputRole") == "primary",
                sensitive_outputs=frozenset(
                    name for name, hidden in item.get("outputSensitivity", {}).items() if hidden
                ),
            )
        )
    return nodes, violations


def _port(item: dict[str, Any]) -> Port:
    return Port(
        type=item["type"],
        value=item.get("value"),
        variable=item.get("variableName", ""),
        node_id=item.get("nodeId", ""),
        output_key=item.get("outputKey", ""),
        optional=item.get("optional", False),
    )


def _edge(item: dict[str, Any]) -> Edge:
    return Edge(
        id=item["id"],
        source=item["sourceNodeId"],
        target=item["targetNodeId"],
        source_output=item.get("sourceOutput", "output"),
        target_input=item.get("targetInput", "input"),
        rule=item.get("triggerRule", "all_success"),
    )


def _variable(item: dict[str, Any]) -> Variable:
    return Variable(
        name=item["name"],
        type=item["type"],
        required=item.get("required", False),
        sensitive=item.get("sensitive", False),
        has_default="defaultValue" in item,
        default=item.get("defaultValue"),
    )


def _check_edges(documents: list[dict[str, Any]], node_ids: set[str]) -> list[Violation]:
    """wf-02 (OpenWOP workflow-definition): edges join existing nodes and their ids are unique."""
    violations: list[Violation] = []
    seen: set[str] = set()
    for index, item in enumerate(documents):
        if item["id"] in seen:
            violations.append(Violation(f"/edges/{index}/id", "unique", "two edges share this id"))
        seen.add(item["id"])
        violations.extend(
            Violation(f"/edges/{index}/{end}", "reference", "no node has this id")
            for end in ("sourceNodeId", "targetNodeId")
            if item[end] not in node_ids
        )
    return violations


def _check_ports(documents: list[dict[str, Any]]) -> list[Violation]:
    """wf-03 (OpenWOP workflow-definition): a connection names an existing node."""
    node_ids = {node["id"] for node in documents}
    return [
        Violation(f"/nodes/{index}/inputs/{escape(name)}/nodeId", "reference", "no node has this id")
        for index, node in enumerate(documents)
        for name, port in node["inputs"].items()
        if port["type"] == "connection" and port["nodeId"] not in node_ids
    ]


def _check_variables(variables: list[Variable]) -> list[Violation]:
    violations: list[Violation] = []
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        if variable.name in seen:
            violations.append(Violation(f"/variables/{index}/name", "unique", "two variables share this name"))
        seen.add(variable.name)
        if variable.has_default and not has_type(variable.default, variable.type):
            violations.append(Violation(f"/variables/{index}/defaultValue", "type", f"must be of type {variable.type}"))
    return violations


def _check_not_yet(document: dict[str, Any]) -> list[Violation]:
    """What the schema allows and this host does not run: refused by name, never ignored."""
    found: list[tuple[str, str]] = []
    for index, node in enumerate(document["nodes"]):
        found.extend(
            (f"/nodes/{index}/inputs/{escape(name)}", "expression ports")
            for name, port in node["inputs"].items()
            if port["type"] == "expression"
        )
        if "envelopeContract" in node:
            found.append((f"/nodes/{index}/envelopeContract", "envelope contracts"))
    for index, edge in enumerate(document["edges"]):
        if "condition" in edge:
            found.append((f"/edges/{index}/condition", "edge conditions"))
    if document.get("channels"):
        found.append(("/channels", "channels"))
    if document.get("configurableSchema"):
        found.append(("/configurableSchema", "a configurable schema"))
    if document["settings"].get("maxRetries", 0) > 0:
        found.append(("/settings/maxRetries", "retries"))
    return [Violation(at, "unsupported", f"this host does not support {what} yet") for at, what in found]
