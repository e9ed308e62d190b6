"""Every node type that comes with the package, under each of its names."""

from typing import Final

from weftwork.adapters.nodes.aliases import with_aliases
from weftwork.adapters.nodes.approval import APPROVAL
from weftwork.adapters.nodes.branching import BRANCHING
from weftwork.adapters.nodes.clarification import CLARIFICATION
from weftwork.adapters.nodes.conformance import CONFORMANCE
from weftwork.adapters.nodes.conversation import CONVERSATION
from weftwork.adapters.nodes.core import CORE
from weftwork.adapters.nodes.data import DATA
from weftwork.adapters.nodes.demo import DEMO
from weftwork.adapters.nodes.flow import FLOW
from weftwork.adapters.nodes.http import http_nodes
from weftwork.adapters.nodes.interrupt import INTERRUPT
from weftwork.adapters.nodes.lists import LISTS
from weftwork.adapters.nodes.map import MAP
from weftwork.adapters.nodes.output import OUTPUT
from weftwork.adapters.nodes.wait import WAIT
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound


def builtin(outbound: Outbound | None = None, conversation: bool = True) -> tuple[NodeType, ...]:
    """The node types with their other names; those that send requests do so by this client.

    `conversation`: whether the host has what GATED asks conversations for.
    """
    gates = (*APPROVAL, *CLARIFICATION, *INTERRUPT, *(CONVERSATION if conversation else ()))
    core = (*CORE, *FLOW, *BRANCHING, *WAIT, *gates, *DATA, *LISTS, *MAP, *OUTPUT, *http_nodes(outbound))
    return tuple(with_aliases((*core, *DEMO, *CONFORMANCE)).values())


BUILTIN: Final = builtin()
"""node-05 (OpenWOP node catalogue): the reserved node types, and others; in the order of the reference page."""
