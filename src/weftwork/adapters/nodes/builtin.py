"""Every node type that comes with the package, under its id and under the other names that published workflows use."""

from collections.abc import Iterable
from typing import Final

import msgspec

from weftwork.adapters.nodes.ai.call_prompt import call_prompt_nodes
from weftwork.adapters.nodes.ai.chat_completion import CHAT_NODE
from weftwork.adapters.nodes.ai.generate_envelope import ENVELOPE_NODE
from weftwork.adapters.nodes.ai.structured_output import STRUCTURED_OUTPUT_NODE
from weftwork.adapters.nodes.data.artifacts import LOG_AND_ARTIFACT_NODES
from weftwork.adapters.nodes.data.lists import LIST_NODES
from weftwork.adapters.nodes.data.variables import DATA_NODES
from weftwork.adapters.nodes.flow.basics import BASIC_NODES
from weftwork.adapters.nodes.flow.branching import BRANCHING_NODES
from weftwork.adapters.nodes.flow.map import MAP_NODE
from weftwork.adapters.nodes.flow.markers import MARKER_NODES
from weftwork.adapters.nodes.flow.wait import WAIT_NODE
from weftwork.adapters.nodes.media.media_emit import MEDIA_NODE
from weftwork.adapters.nodes.net.http_request import http_nodes
from weftwork.adapters.nodes.people.approval_gate import APPROVAL_NODE
from weftwork.adapters.nodes.people.clarification_gate import CLARIFICATION_NODE
from weftwork.adapters.nodes.people.conversation_gate import CONVERSATION_NODE
from weftwork.adapters.nodes.people.interrupt import INTERRUPT_NODE
from weftwork.adapters.nodes.runs.dispatch import dispatch_nodes
from weftwork.adapters.nodes.runs.sub_workflow import SUB_WORKFLOW_NODE
from weftwork.adapters.nodes.runs.supervisor import SUPERVISOR_NODE
from weftwork.adapters.nodes.samples import SAMPLE_NODES
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound
from weftwork.protocol.models.prompt_templates import PromptTemplates

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


def builtin_types(
    outbound: Outbound | None = None,
    conversation: bool = True,
    templates: PromptTemplates | None = None,
) -> tuple[NodeType, ...]:
    """The node types with their other names; those that send requests do so by this client.

    `conversation`: whether the host has what GATED asks conversations for. `templates`: what references to prompts
    find.
    """
    gates = (APPROVAL_NODE, CLARIFICATION_NODE, INTERRUPT_NODE, *((CONVERSATION_NODE,) if conversation else ()))
    types = (
        *BASIC_NODES,
        *MARKER_NODES,
        *BRANCHING_NODES,
        WAIT_NODE,
        *gates,
        *DATA_NODES,
        *LIST_NODES,
        MAP_NODE,
        SUB_WORKFLOW_NODE,
        SUPERVISOR_NODE,
        *dispatch_nodes(conversation),
        *LOG_AND_ARTIFACT_NODES,
        MEDIA_NODE,
        *http_nodes(outbound),
        *call_prompt_nodes(templates or PromptTemplates()),
        CHAT_NODE,
        STRUCTURED_OUTPUT_NODE,
        ENVELOPE_NODE,
        *SAMPLE_NODES,
    )
    return tuple(with_aliases(types).values())


def with_aliases(types: Iterable[NodeType]) -> dict[str, NodeType]:
    """The types by id, and again under each of their other names."""
    known = {each.declaration.type_id: each for each in types}
    return known | {alias: _alias_type(known[type_id], alias) for alias, type_id in ALIASES.items()}


def _alias_type(node_type: NodeType, alias: str) -> NodeType:
    declaration = node_type.declaration
    same = msgspec.structs.replace(declaration, type_id=alias, notes=f"Same as `{declaration.type_id}`.")
    return msgspec.structs.replace(node_type, declaration=same)


BUILTIN_TYPES: Final = builtin_types()
"""node-05 (OpenWOP node catalogue): the reserved node types, and others; in the order of the reference page."""
