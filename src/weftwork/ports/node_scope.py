"""What a node sees of the run around it: its variables and expressions, and what the edges brought."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec


class Scope(Protocol):
    """What expressions of a node see: the run as it stood when the node started."""

    def variable(self, name: str, default: Any = None) -> Any:
        """A run variable, or the default."""
        ...

    def has_variable(self, name: str) -> bool: ...

    def reducer(self, channel: str) -> str | None:
        """The reducer of a channel that the workflow declares; None for any other."""
        ...

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        """The value of an expression over inputs, variables, nodes, configurable, ports and the given names.

        Raises ExpressionFault.
        """
        ...

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        """A template with its expressions filled in; with `wrap`, what is untrusted among them goes through it.

        Raises ExpressionFault.
        """
        ...

    def is_untrusted(self, source: str, more: Mapping[str, Any] | None = None) -> bool:
        """Whether what an expression reads came from outside, or is made of something that did."""
        ...


class Arrival(msgspec.Struct, frozen=True):
    """A value that an edge brought, in the order of the graph."""

    node_id: str
    port: str
    value: Any
