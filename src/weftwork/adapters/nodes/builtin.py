"""All built-in node types, under their ids and under the aliases that published workflows use."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from weftwork.adapters.nodes.ai.model_nodes import model_nodes
from weftwork.adapters.nodes.data.lists import LIST_NODES
from weftwork.adapters.nodes.data.run_data import DATA_NODES, LOG_AND_ARTIFACT_NODES
from weftwork.adapters.nodes.flow.control import FLOW_NODES
from weftwork.adapters.nodes.flow.map import map_node
from weftwork.adapters.nodes.media.media_emit import media_emit
from weftwork.adapters.nodes.net.http_request import http_nodes
from weftwork.adapters.nodes.people.conversation_gate import conversation_gate
from weftwork.adapters.nodes.people.gates import GATE_NODES
from weftwork.adapters.nodes.people.surface_form import surface_node
from weftwork.adapters.nodes.runs.dispatch import dispatch_nodes
from weftwork.adapters.nodes.runs.sub_workflow import sub_workflow
from weftwork.adapters.nodes.runs.supervisor import supervisor
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
"""Aliases and their node types. An alias has the config and ports of its type; other hosts may define it otherwise."""


def builtin_types(
    outbound: Outbound | None = None,
    conversation: bool = True,
    templates: PromptTemplates | None = None,
) -> tuple[NodeType, ...]:
    """The node types and their aliases.

    `outbound`: the client of the node types that send requests; without it they fail. `conversation`: whether the host
    offers conversations. `templates`: the prompt templates that nodes can refer to.
    """
    types = (
        *FLOW_NODES,
        *GATE_NODES,
        *((conversation_gate,) if conversation else ()),
        surface_node,
        *DATA_NODES,
        *LIST_NODES,
        map_node,
        sub_workflow,
        supervisor,
        *dispatch_nodes(conversation),
        *LOG_AND_ARTIFACT_NODES,
        media_emit,
        *http_nodes(outbound),
        *model_nodes(templates or PromptTemplates()),
        *SAMPLE_NODES,
    )
    return tuple(with_aliases(types).values())


def with_aliases(types: Iterable[NodeType]) -> dict[str, NodeType]:
    """The types by id and by alias."""
    known = {each.declaration.type_id: each for each in types}
    return known | {alias: _alias_type(known[type_id], alias) for alias, type_id in ALIASES.items()}


def _alias_type(node_type: NodeType, alias: str) -> NodeType:
    notes = f"Same as `{node_type.declaration.type_id}`."
    same = replace(node_type.declaration, type_id=alias, notes=notes, example_config=None, example_inputs={})
    return replace(node_type, declaration=same)


BUILTIN_TYPES: Final = builtin_types()
"""node-05 (OpenWOP node catalogue): the reserved node types and others, in the order of the reference page."""
