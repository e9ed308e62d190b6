"""Registration of a workflow: the short form becomes a definition, and a refusal lists every problem.

The problems of a text that is not sent have the line and column of each.

Node types that need a capability the host does not have are refused as well. Source: OpenWOP capabilities (refusal
contract).
"""

from collections.abc import Container, Mapping
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
"""Characters of a description that lists show."""


def registration_refusal(violations: list[Violation], at: str = "") -> ClientFault:
    """wf-10: `validation_error` that points at the first violation and lists up to 100 of them.

    wf-09 (OpenWOP capabilities): it names the first capability that is missing.
    """
    listed = [
        {"pointer": _shorten_pointer(at + each.pointer), "keyword": each.rule, "message": each.message}
        for each in violations[:MAX_LISTED_VIOLATIONS]
    ]
    first = listed[0]
    missing = next((each.capability for each in violations if each.capability is not None), None)
    more = {"requiredCapability": missing} if missing is not None else {}
    text = f"The definition cannot be registered: {first['message']}."
    return invalid(text, first["pointer"], violations=listed, **more)


def _shorten_pointer(pointer: str) -> str:
    """The pointer, or that of the closest value above it: names of members may be as long as a document."""
    while len(pointer) > MAX_POINTER_LENGTH:
        pointer = pointer.rpartition("/")[0]
    return pointer


def check_version_length(version: str) -> list[Violation]:
    """What keeps a version from being asked for by its name."""
    if len(version) <= MAX_VERSION_LENGTH:
        return []
    return [Violation("/version", "maxLength", f"takes {MAX_VERSION_LENGTH} or fewer characters")]


def read_test_definition(body: Any) -> tuple[Any, str]:
    """wf-12 (OpenWOP test seams): the definition in the body of the seam, and the pointer to it.

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
    """A definition of the short form. Its version follows from its content, so that another content is no conflict."""
    given = dict(body)
    nodes = given.pop("nodes", [])
    completed: dict[str, Any] = {
        "id": given.pop("workflowId"),
        "version": digest(body)[:16],
        "nodes": [_expand_short_node(node) for node in nodes] if is_array(nodes) else nodes,
        "edges": [],
        "triggers": [],
        "variables": [],
        "metadata": {},
        "settings": {},
    }
    return {"name": completed["id"], **completed, **given}


def _expand_short_node(node: Any) -> Any:
    if not is_object(node) or "nodeId" not in node:
        return node
    given = dict(node)
    node_id = given.pop("nodeId")
    place = {"x": 0, "y": 0}
    return {"id": node_id, "name": node_id, "position": place, "config": {}, "inputs": {}, **given}


GATED_NODE_TYPES: Final[dict[str, str]] = {
    "core.conversationGate": "conversationPrimitive",
    "core.orchestrator.supervisor": "orchestrator.supported",
    "core.dispatch": "dispatch.supported",
}
"""Type -> the capability that a host must have for it."""


class GatedNode(msgspec.Struct, frozen=True):
    """A node that needs what the host does not have."""

    index: int
    type_id: str
    node_id: str | None


def find_gated_node(document: Any, types: Container[str]) -> GatedNode | None:
    """wf-09 (OpenWOP capabilities): the first node of a gated type that is not among the host's; of any document."""
    nodes: Any = document.get("nodes") if is_object(document) else None
    for index, node in enumerate(nodes if is_array(nodes) else ()):
        type_id: Any = node.get("typeId") if is_object(node) else None
        if isinstance(type_id, str) and type_id in GATED_NODE_TYPES and type_id not in types:
            node_id: Any = node.get("id")
            named = isinstance(node_id, str) and len(node_id) <= MAX_NODE_ID
            return GatedNode(index, type_id, node_id if named else None)
    return None


def capability_required(gate: GatedNode, at: str = "", pointer: str = "") -> ClientFault:
    """The refusal. `at` is the pointer of the definition in what was sent; `pointer` what named it, if it was not."""
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
    """One problem and its place. Holds nothing that was written in the text."""

    line: int
    column: int
    pointer: str
    message: str


def find_problems(data: bytes, types: Mapping[str, NodeDeclaration]) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The definition, or what keeps a host with these node types from registering it, in the order of the text.

    Shape comes first: what only a document of the right shape can be asked is asked when the shape is right.
    """
    document, problems = check_shape(data)
    if document is None:
        return None, problems
    workflow, violations = parse_workflow(document, types)
    if workflow is not None:
        _, violations = plan_workflow(workflow)
    return (None, locate_violations(data, violations)) if violations else (document, [])


def check_shape(data: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The document if it has the shape of a definition, or what is wrong with it."""
    if len(data) > MAX_DEFINITION_BYTES:
        return None, [Problem(1, 1, "", f"is larger than {MAX_DEFINITION_BYTES} bytes")]
    try:
        document: Any = decode(data)
    except ClientFault as fault:
        pointer: str = (fault.details or {}).get("pointer", "")
        line, column = locate(data, [pointer], [pointer])[pointer] if pointer else locate_syntax_error(data)
        return None, [Problem(line, column, pointer, fault.message)]
    violations = schema.check("workflow-definition", document)
    return (None, locate_violations(data, violations)) if violations else (document, [])


def locate_violations(data: bytes, violations: list[Violation]) -> list[Problem]:
    """The violations with their places in the text, in its order."""
    members = {each.pointer for each in violations if each.rule in _NAME_RULES}
    places = locate(data, (each.pointer for each in violations), members)
    found = [Problem(*places[each.pointer], each.pointer, each.message) for each in violations]
    return sorted(found, key=lambda each: (each.line, each.column))
