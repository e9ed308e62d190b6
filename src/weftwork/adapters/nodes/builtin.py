"""Every node type that comes with the package, under each of its names."""

from typing import Final

from weftwork.adapters.nodes.aliases import with_aliases
from weftwork.adapters.nodes.branching import BRANCHING
from weftwork.adapters.nodes.conformance import CONFORMANCE
from weftwork.adapters.nodes.core import CORE
from weftwork.adapters.nodes.data import DATA
from weftwork.adapters.nodes.demo import DEMO
from weftwork.adapters.nodes.flow import FLOW
from weftwork.adapters.nodes.interrupt import INTERRUPT
from weftwork.adapters.nodes.lists import LISTS
from weftwork.adapters.nodes.map import MAP
from weftwork.adapters.nodes.output import OUTPUT
from weftwork.adapters.nodes.wait import WAIT
from weftwork.ports.nodes import NodeType

BUILTIN: Final[tuple[NodeType, ...]] = tuple(
    with_aliases(
        (*CORE, *FLOW, *BRANCHING, *WAIT, *INTERRUPT, *DATA, *LISTS, *MAP, *OUTPUT, *DEMO, *CONFORMANCE),
    ).values()
)
"""node-05 (OpenWOP node catalogue): the reserved node types, and others; in the order of the reference page."""
