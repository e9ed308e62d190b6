"""Registration of a workflow: the short form becomes a definition, and a refusal lists every problem.

Node types that need a capability the host does not have are refused as well. Source: OpenWOP capabilities (refusal
contract).
"""

from collections.abc import Container
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object

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
