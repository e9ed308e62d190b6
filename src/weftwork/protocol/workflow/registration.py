"""Registration of a workflow: reading the submitted document, and errors that list every problem.

A definition is refused if it is invalid or if a node type needs a capability that the host does not have. For files
that are checked locally, `find_problems` adds the line and column of each problem.

Source: OpenWOP capabilities (refusal contract).
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise
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

    The body is a definition, holds one as `definition`, or is the short form `{workflowId, nodes}`. In every form, the
    nodes of a definition without edges are chained.
    """
    if not is_object(body) or "id" in body:
        return _chain_nodes(body), ""
    if "definition" in body:
        return _chain_nodes(body["definition"]), "/definition"
    if "workflowId" in body:
        return _chain_nodes(_expand_short_form(body)), ""
    return body, ""


def _chain_nodes(document: Any) -> Any:
    """wf-19 (readings, Sample-seam workflows without edges): the definition with an edge from each node to the next
    one, in the order of the list. A definition that has edges, or nodes without usable ids, is returned unchanged."""
    if not is_object(document) or document.get("edges", []) != []:
        return document
    nodes: Any = document.get("nodes")
    if not is_array(nodes):
        return document
    ids = [node.get("id") if is_object(node) else None for node in nodes]
    if not all(isinstance(each, str) for each in ids) or len(set(ids)) < len(ids):
        return document
    edges = [
        {"id": f"chain-{number}", "sourceNodeId": source, "targetNodeId": target}
        for number, (source, target) in enumerate(pairwise(ids), 1)
    ]
    return {**document, "edges": edges}


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
_OVERRIDABLE_NODE_TYPES: Final = {**GATED_NODE_TYPES, "core.ai.generateEnvelope": "host.aiEnvelope.supported"}
"""The same with the types of capabilities that every host has, so only an override can make them missing."""
ATTESTATION_CAPABILITY: Final = "agents.subRunAttestation"
"""No host has this capability yet."""
CONVERSATION_CAPABILITY: Final = GATED_NODE_TYPES["core.conversationGate"]
GATED_CONFIG: Final[tuple[tuple[str, str, Any, str], ...]] = (
    ("core.subWorkflow", "inputMapping", None, "subWorkflow.inputMapping"),
    ("core.subWorkflow", "outputAttestation", None, ATTESTATION_CAPABILITY),
    ("core.dispatch", "inputMapping", None, "agents.dispatchMapping"),
    ("core.dispatch", "outputMapping", None, "agents.dispatchMapping"),
    ("core.dispatch", "perWorkerInputMappings", None, "agents.dispatchMapping"),
    ("core.dispatch", "perWorkerOutputMappings", None, "agents.dispatchMapping"),
    ("core.dispatch", "askUserRouting", "conversation", CONVERSATION_CAPABILITY),
)
"""Config members that need a capability: node type, member, the value that needs it (None: every value), capability."""


def absent_capabilities(types: Container[str], overrides: Iterable[str] = ()) -> frozenset[str]:
    """The capabilities that a host with these node types does not have, in the form of `_capability_key`, together with
    those that an override makes missing."""
    absent = [capability for type_id, capability in GATED_NODE_TYPES.items() if type_id not in types]
    return frozenset(map(_capability_key, (*absent, ATTESTATION_CAPABILITY, *overrides)))


def _capability_key(name: str) -> str:
    """The name without the parts in which the spellings of one capability differ, as in `host.aiEnvelope.supported`,
    `aiEnvelope.supported` and `aiEnvelope`."""
    return name.removeprefix("host.").removesuffix(".supported")


GATED_INTERRUPT_KINDS: Final[dict[str, str]] = dict.fromkeys(
    ("conversation.start", "conversation.exchange", "conversation.close"), "core.conversationGate"
)
"""Interrupt kinds that need the same capability as a node type, with that node type."""


class GatedNode(msgspec.Struct, frozen=True):
    """A node whose type needs a capability that the host does not have."""

    index: int
    type_id: str
    node_id: str | None


def find_gated_node(document: Any, types: Container[str], overrides: Iterable[str] = ()) -> GatedNode | None:
    """wf-09 (OpenWOP capabilities): the first node of a gated type that is not in `types`, or whose capability an
    override makes missing.

    Accepts any document, also one that is not a valid definition.
    """
    overridden = frozenset(map(_capability_key, overrides))
    for index, node in _typed_nodes(document):
        type_id: str = node["typeId"]
        is_absent = type_id in GATED_NODE_TYPES and type_id not in types
        if is_absent or (overridden and _capability_key(_OVERRIDABLE_NODE_TYPES.get(type_id, "")) in overridden):
            node_id: Any = node.get("id")
            has_id = isinstance(node_id, str) and len(node_id) <= MAX_NODE_ID
            return GatedNode(index, type_id, node_id if has_id else None)
    return None


def _typed_nodes(document: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The nodes of any document that have a type, with their indexes."""
    nodes: Any = document.get("nodes") if is_object(document) else None
    for index, node in enumerate(nodes if is_array(nodes) else ()):
        if is_object(node) and isinstance(node.get("typeId"), str):
            yield index, node


def find_gated_config(document: Any, missing: Container[str]) -> list[Violation]:
    """wf-20 (readings, Sample-seam workflows without edges): the config members of all nodes that need a missing
    capability. Callers check them before the configs, which may be invalid in addition. Accepts any document."""
    return [
        msgspec.structs.replace(each, pointer=f"/nodes/{index}/config{each.pointer}")
        for index, node in _typed_nodes(document)
        for each in check_gated_config(node["typeId"], node.get("config"), missing)
    ]


def check_gated_config(type_id: str, config: Any, missing: Container[str]) -> list[Violation]:
    """wf-20: the members of a config that need a missing capability. `missing` is from `absent_capabilities`."""
    return [
        Violation(
            f"/{member}", "capability", f"needs the capability {capability}, which this host does not offer", capability
        )
        for gated_type, member, value, capability in GATED_CONFIG
        if gated_type == type_id
        and is_object(config)
        and member in config
        and (value is None or config[member] == value)
        and _capability_key(capability) in missing
    ]


def check_interrupt_capability(kind: str, types: Container[str]) -> ClientFault | None:
    """wf-09 (OpenWOP capabilities): the error for an interrupt of a kind that a host with these node types does not
    offer; else None."""
    type_id = GATED_INTERRUPT_KINDS.get(kind)
    if type_id is None or type_id in types:
        return None
    capability = GATED_NODE_TYPES[type_id]
    message = (
        f"An interrupt of the kind {kind} needs the capability {capability}, which this host does not offer. Run the "
        "workflow on a host that offers it, or use another kind."
    )
    return ClientFault("capability_required", message, {"requiredCapability": capability, "kind": kind})


def capability_required(gate: GatedNode, at: str = "", pointer: str = "") -> ClientFault:
    """The error for a gated node. `at` is the pointer of the definition in the request. If the request refers to a
    registered workflow instead, `pointer` is the pointer of that reference."""
    capability = _OVERRIDABLE_NODE_TYPES[gate.type_id]
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
