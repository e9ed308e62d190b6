"""Registration of a workflow: reading the submitted document, and errors that list every problem.

A definition is refused if it is invalid or if a node type needs a capability that the host does not have. For files
that are checked locally, `find_problems` adds the line and column of each problem.

Source: OpenWOP capabilities (refusal contract).
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.source_locations import locate, locate_syntax_error
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow

MAX_VERSION_LENGTH: Final = 128
MAX_LISTED_VIOLATIONS: Final = 100
MAX_POINTER_LENGTH: Final = 512
MAX_DESCRIPTION: Final = 500
"""Characters of a description that list responses include."""


def registration_refusal(violations: list[Violation], at: str = "") -> ClientFault:
    """wf-10: a `validation_error` that points at the first violation and lists up to 100 of them.

    wf-09 (OpenWOP capabilities): `requiredCapability` is the first missing capability.
    """
    listed = [
        {"pointer": _shorten_pointer(at + each.pointer), "keyword": each.rule, "message": each.message}
        for each in violations[:MAX_LISTED_VIOLATIONS]
    ]
    first = listed[0]
    missing = next((each.capability for each in violations if each.capability is not None), None)
    capability = {"requiredCapability": missing} if missing is not None else {}
    text = f"The definition cannot be registered: {first['message']}."
    return invalid(text, first["pointer"], violations=listed, **capability)


def _shorten_pointer(pointer: str) -> str:
    """The pointer, or that of its closest ancestor within the limit, because member names can have any length."""
    while len(pointer) > MAX_POINTER_LENGTH:
        pointer = pointer.rpartition("/")[0]
    return pointer


def check_version_length(version: str) -> list[Violation]:
    if len(version) <= MAX_VERSION_LENGTH:
        return []
    return [Violation("/version", "maxLength", f"must have {MAX_VERSION_LENGTH} or fewer characters")]


def read_test_definition(body: Any) -> tuple[Any, str]:
    """wf-12 (OpenWOP test seams): the definition in the body of the test endpoint, and the pointer to it.

    The body is a definition, holds one as `definition`, or is the short form `{workflowId, nodes}`.
    """
    if not is_object(body) or "id" in body:
        return body, ""
    if "definition" in body:
        return body["definition"], "/definition"
    if "workflowId" in body:
        return _expand_short_form(body), ""
    return body, ""


def _expand_short_form(body: dict[str, Any]) -> dict[str, Any]:
    """A full definition from the short form. Its version is derived from its content, so that different content under
    the same id is a new version and not a conflict."""
    members = dict(body)
    nodes = members.pop("nodes", [])
    defaults: dict[str, Any] = {
        "id": members.pop("workflowId"),
        "version": digest(body)[:16],
        "nodes": [_expand_short_node(node) for node in nodes] if is_array(nodes) else nodes,
        "edges": [],
        "triggers": [],
        "variables": [],
        "metadata": {},
        "settings": {},
    }
    return {"name": defaults["id"], **defaults, **members}


def _expand_short_node(node: Any) -> Any:
    if not is_object(node) or "nodeId" not in node:
        return node
    members = dict(node)
    node_id = members.pop("nodeId")
    position = {"x": 0, "y": 0}
    return {"id": node_id, "name": node_id, "position": position, "config": {}, "inputs": {}, **members}


GATED_NODE_TYPES: Final[dict[str, str]] = {
    "core.conversationGate": "conversationPrimitive",
    "core.orchestrator.supervisor": "orchestrator.supported",
    "core.dispatch": "dispatch.supported",
}
"""Node types that need a capability of the host, with that capability."""


class GatedNode(msgspec.Struct, frozen=True):
    """A node whose type needs a capability that the host does not have."""

    index: int
    type_id: str
    node_id: str | None


def find_gated_node(document: Any, types: Container[str]) -> GatedNode | None:
    """wf-09 (OpenWOP capabilities): the first node of a gated type that is not in `types`.

    Accepts any document, also one that is not a valid definition.
    """
    nodes: Any = document.get("nodes") if is_object(document) else None
    for index, node in enumerate(nodes if is_array(nodes) else ()):
        type_id: Any = node.get("typeId") if is_object(node) else None
        if isinstance(type_id, str) and type_id in GATED_NODE_TYPES and type_id not in types:
            node_id: Any = node.get("id")
            has_id = isinstance(node_id, str) and len(node_id) <= MAX_NODE_ID
            return GatedNode(index, type_id, node_id if has_id else None)
    return None


def capability_required(gate: GatedNode, at: str = "", pointer: str = "") -> ClientFault:
    """The error for a gated node. `at` is the pointer of the definition in the request. If the request refers to a
    registered workflow instead, `pointer` is the pointer of that reference."""
    capability = GATED_NODE_TYPES[gate.type_id]
    details: dict[str, Any] = {
        "pointer": pointer or f"{at}/nodes/{gate.index}/typeId",
        "requiredCapability": capability,
        "offendingTypeId": gate.type_id,
    }
    if gate.node_id is not None:
        details["nodeId"] = gate.node_id
    return ClientFault("capability_required", f"This host does not offer the capability {capability}.", details)


MAX_DEFINITION_BYTES: Final = 16 * 2**20

_NAME_RULES: Final = frozenset({"additionalProperties", "unevaluatedProperties", "propertyNames"})


class Problem(msgspec.Struct, frozen=True):
    """One problem of a definition file and its position. The message contains no value from the file."""

    line: int
    column: int
    pointer: str
    message: str


def find_problems(data: bytes, types: Mapping[str, NodeDeclaration]) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The definition, or the problems for which a host with these node types would refuse it, in the order of the text.

    References, node types and expressions are checked only if the document matches the schema of definitions.
    """
    document, problems = check_shape(data)
    if document is None:
        return None, problems
    workflow, violations = parse_workflow(document, types)
    if workflow is not None:
        _, violations = plan_workflow(workflow)
    return (None, locate_violations(data, violations)) if violations else (document, [])


def check_shape(data: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The document if it matches the schema of definitions, or its problems."""
    if len(data) > MAX_DEFINITION_BYTES:
        return None, [Problem(1, 1, "", f"is larger than the limit of {MAX_DEFINITION_BYTES:,} bytes")]
    try:
        document: Any = decode(data)
    except ClientFault as fault:
        pointer: str = (fault.details or {}).get("pointer", "")
        line, column = locate(data, [pointer], [pointer])[pointer] if pointer else locate_syntax_error(data)
        return None, [Problem(line, column, pointer, fault.message)]
    violations = schema.check("workflow-definition", document)
    return (None, locate_violations(data, violations)) if violations else (document, [])


def locate_violations(data: bytes, violations: list[Violation]) -> list[Problem]:
    """The violations with their line and column, in the order of the text."""
    members = {each.pointer for each in violations if each.rule in _NAME_RULES}
    places = locate(data, (each.pointer for each in violations), members)
    found = [Problem(*places[each.pointer], each.pointer, each.message) for each in violations]
    return sorted(found, key=lambda each: (each.line, each.column))


def placeholder_types(document: dict[str, Any], violations: Iterable[Violation]) -> dict[str, NodeDeclaration]:
    """run-15 (host): placeholders for the types of all nodes with a violation: types that the host does not have, or
    that no longer accept their config. With them the definition of an old run can be read, in order to cancel the run.
    """
    places = [each.pointer.split("/") for each in violations if each.pointer.startswith("/nodes/")]
    names = {document["nodes"][int(place[2])]["typeId"] for place in places}
    return {name: NodeDeclaration(name, "", config={"type": "object"}) for name in names}
