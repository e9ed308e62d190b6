"""Test endpoints for model capabilities: evaluate the gate, and list what node types require."""

from collections.abc import Mapping
from typing import Final

import msgspec

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.protocol.json import schema
from weftwork.protocol.models.capability_gate import (
    ModelCatalogue,
    ModelNeeds,
    ModelRef,
    evaluate_gate,
    gate_event,
)
from weftwork.protocol.workflow.node_types import NodeDeclaration

SUITE_PROVIDERS: Final[dict[str, frozenset[str]]] = {
    "anthropic": frozenset({"structured-output", "function-calling", "long-context"})
}
"""The capabilities of all models of the providers that the suite names. Hosts need not have these providers."""
CONFORMANCE_PREFIX: Final = "conformance."


class NodeModule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The requirements of a node type, in the form of the wire."""

    type_id: str = ""
    required_model_capabilities: tuple[str, ...] = ()
    fallback_model: ModelRef | None = None


class GateQuery(msgspec.Struct, frozen=True, rename="camel"):
    """The body of evaluateModelGate."""

    active_provider: str
    active_model: str
    module: NodeModule = NodeModule()
    substitution_supported: bool = False
    supported_providers: tuple[str, ...] = ()
    node_id: str = "node"


async def evaluate(models: ModelCatalogue, request: Request) -> Response:
    """evaluateModelGate: the result of the gate, and the event that a run would contain. A provider that neither the
    host nor the suite knows has no capabilities."""
    body = await request.json()
    schema.require("model-gate", body)
    query = msgspec.convert(body, GateQuery)
    active = ModelRef(query.active_provider, query.active_model)
    needs = ModelNeeds(query.module.required_model_capabilities, query.module.fallback_model)
    result = evaluate_gate(
        needs,
        active,
        substitution=query.substitution_supported,
        supported=query.supported_providers,
        capabilities_of=lambda ref: SUITE_PROVIDERS.get(ref.provider, frozenset()) | models.capabilities_of(ref),
    )
    event = gate_event(query.node_id, active, needs.fallback, result)
    if event is None:
        return json_response(200, {"outcome": {"route": result.route}, "event": None})
    payload = event.members()
    described = {"type": event.event_type, "payload": payload}
    return json_response(200, {"outcome": {"route": result.route, **payload}, "event": described})


async def list_node_catalog(declarations: Mapping[str, NodeDeclaration], request: Request) -> Response:
    """listNodeCatalog: the node types, without those for conformance tests, whose requirements no model can have."""
    nodes = [
        msgspec.to_builtins(NodeModule(type_id, declared.required_model_capabilities, declared.fallback_model))
        for type_id, declared in sorted(declarations.items())
        if not type_id.startswith(CONFORMANCE_PREFIX)
    ]
    return json_response(200, {"nodes": nodes})
