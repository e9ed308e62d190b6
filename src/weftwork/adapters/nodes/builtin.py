"""Every node type that comes with the package, under each of its names."""

from typing import Final

from weftwork.adapters.nodes.ai_chat import AI_CHAT
from weftwork.adapters.nodes.ai_envelope import AI_ENVELOPE
from weftwork.adapters.nodes.ai_prompt import ai_prompt_nodes
from weftwork.adapters.nodes.ai_structured import AI_STRUCTURED
from weftwork.adapters.nodes.aliases import with_aliases
from weftwork.adapters.nodes.approval import APPROVAL
from weftwork.adapters.nodes.branching import BRANCHING
from weftwork.adapters.nodes.clarification import CLARIFICATION
from weftwork.adapters.nodes.conformance import CONFORMANCE, MEDIA_CHECKS
from weftwork.adapters.nodes.conversation import CONVERSATION
from weftwork.adapters.nodes.core import CORE
from weftwork.adapters.nodes.data import DATA
from weftwork.adapters.nodes.demo import DEMO
from weftwork.adapters.nodes.dispatch import dispatch_nodes
from weftwork.adapters.nodes.flow import FLOW
from weftwork.adapters.nodes.http import http_nodes
from weftwork.adapters.nodes.interrupt import INTERRUPT
from weftwork.adapters.nodes.lists import LISTS
from weftwork.adapters.nodes.map import MAP
from weftwork.adapters.nodes.media import MEDIA_NODES
from weftwork.adapters.nodes.mock_agent import MOCK_AGENTS
from weftwork.adapters.nodes.mock_ai import mock_ai_nodes
from weftwork.adapters.nodes.output import OUTPUT
from weftwork.adapters.nodes.sub_workflow import SUB_WORKFLOWS
from weftwork.adapters.nodes.supervisor import SUPERVISORS
from weftwork.adapters.nodes.wait import WAIT
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound
from weftwork.protocol.prompt_template import Templates


def builtin(
    outbound: Outbound | None = None,
    conversation: bool = True,
    conformance: bool = True,
    templates: Templates | None = None,
) -> tuple[NodeType, ...]:
    """The node types with their other names; those that send requests do so by this client.

    `conversation`: whether the host has what GATED asks conversations for. `conformance`: whether it has types that
    only those want who check hosts. `templates`: what references to prompts find.
    """
    gates = (*APPROVAL, *CLARIFICATION, *INTERRUPT, *(CONVERSATION if conversation else ()))
    core = (
        *CORE,
        *FLOW,
        *BRANCHING,
        *WAIT,
        *gates,
        *DATA,
        *LISTS,
        *MAP,
        *SUB_WORKFLOWS,
        *SUPERVISORS,
        *dispatch_nodes(conversation),
        *OUTPUT,
        *MEDIA_NODES,
        *http_nodes(outbound),
        *ai_prompt_nodes(templates or Templates()),
        *AI_CHAT,
        *AI_STRUCTURED,
        *AI_ENVELOPE,
    )
    mocks = (*MOCK_AGENTS, *mock_ai_nodes(templates or Templates()), *MEDIA_CHECKS)
    checked = (*CONFORMANCE, *(mocks if conformance else ()))
    return tuple(with_aliases((*core, *DEMO, *checked)).values())


BUILTIN: Final = builtin()
"""node-05 (OpenWOP node catalogue): the reserved node types, and others; in the order of the reference page."""
