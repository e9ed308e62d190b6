"""Node types that exist only on hosts with a certain capability, and the refusal of workflows that need them.

Source: OpenWOP capabilities (refusal contract).
"""

from collections.abc import Container
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.json_value import is_array, is_object

GATED: Final[dict[str, str]] = {
    "core.conversationGate": "conversationPrimitive",
    "core.orchestrator.supervisor": "orchestrator.supported",
    "core.dispatch": "dispatch.supported",
}
"""Type -> the capability that a host must have for it."""


class Gate(msgspec.Struct, frozen=True):
    """A node that needs what the host does not have."""

    index: int
    type_id: str
    node_id: str | None


def find_gate(document: Any, types: Container[str]) -> Gate | None:
    """wf-09 (OpenWOP capabilities): the first node of a gated type that is not among the host's; of any document."""
    nodes: Any = document.get("nodes") if is_object(document) else None
    for index, node in enumerate(nodes if is_array(nodes) else ()):
        type_id: Any = node.get("typeId") if is_object(node) else None
        if isinstance(type_id, str) and type_id in GATED and type_id not in types:
            node_id: Any = node.get("id")
            named = isinstance(node_id, str) and len(node_id) <= MAX_NODE_ID
            return Gate(index, type_id, node_id if named else None)
    return None


def gated(gate: Gate, at: str = "", pointer: str = "") -> ClientFault:
    """The refusal. `at` is the pointer of the definition in what was sent; `pointer` what named it, if it was not."""
    capability = GATED[gate.type_id]
    details: dict[str, Any] = {
        "pointer": pointer or f"{at}/nodes/{gate.index}/typeId",
        "requiredCapability": capability,
        "offendingTypeId": gate.type_id,
    }
    if gate.node_id is not None:
        details["nodeId"] = gate.node_id
    return ClientFault("capability_required", f"This host does not offer the capability {capability}.", details)
