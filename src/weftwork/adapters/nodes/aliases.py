"""Other names of node types, as published workflows spell them."""

from collections.abc import Iterable
from typing import Final

import msgspec

from weftwork.ports.nodes import NodeType

ALIASES: Final[dict[str, str]] = {
    "conformance.artifact.emit": "core.artifact.emit",
    "core.chat.approvalGate": "core.approvalGate",
    "core.flow.aggregate-array": "core.aggregate",
    "core.flow.filter": "core.filter",
    "core.flow.if": "core.conditional",
    "core.flow.iterator": "core.flow.map",
    "core.flow.merge": "core.merge",
    "core.flow.noop": "core.noop",
    "core.flow.router": "core.switch",
    "core.flow.stop-and-error": "core.fail",
    "core.flow.switch": "core.switch",
    "core.flow.wait": "core.wait",
    "core.hitl.approval-request": "core.approvalGate",
    "core.hitl.ask-user": "core.clarificationGate",
    "core.hitl.form-request": "core.clarificationGate",
    "core.llm.chat": "core.ai.chatCompletion",
    "core.llm.completion": "core.ai.callPrompt",
    "core.openwop.http.fetch": "core.http.request",
    "core.openwop.http.get": "core.http.request",
    "core.trigger.event": "core.start",
    "core.trigger.form": "core.start",
    "core.trigger.schedule": "core.start",
    "core.trigger.webhook": "core.start",
}
"""Name -> the node type that is meant. Config and ports are those of that type, whatever others take under the name."""


def with_aliases(types: Iterable[NodeType]) -> dict[str, NodeType]:
    """The types by id, and again under each of their other names."""
    known = {each.declaration.type_id: each for each in types}
    return known | {alias: _renamed(known[type_id], alias) for alias, type_id in ALIASES.items()}


def _renamed(node_type: NodeType, alias: str) -> NodeType:
    declaration = node_type.declaration
    same = msgspec.structs.replace(declaration, type_id=alias, notes=f"Same as `{declaration.type_id}`.")
    return msgspec.structs.replace(node_type, declaration=same)
