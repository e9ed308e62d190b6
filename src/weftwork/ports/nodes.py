"""Node types: a declaration and the code behind it."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from weftwork.protocol.node_type import NodeDeclaration


class Completed(msgspec.Struct, frozen=True):
    """The node's outputs by port."""

    outputs: dict[str, Any]


class Failed(msgspec.Struct, frozen=True):
    """A failure the node names itself; code and message go on the wire."""

    code: str
    message: str
    details: dict[str, Any] | None = None


Outcome = Completed | Failed


class NodeCall(msgspec.Struct, frozen=True):
    """What a node is called with: JSON values only, taken from the fold of the log."""

    run_id: str
    node_id: str
    inputs: dict[str, Any]
    config: dict[str, Any]


class NodeContext(Protocol):
    """What a waiting node may ask of the host."""

    @property
    def started_at(self) -> int:
        """When this attempt started, by the log: the same before and after a restart."""
        ...

    async def sleep_until(self, when: int) -> None:
        """Wait for a wall-clock instant. Cancelled when the run is to end."""
        ...


class InstantNode(msgspec.Struct, frozen=True):
    """A pure function of its call; runs inline and must answer within microseconds."""

    declaration: NodeDeclaration
    run: Callable[[NodeCall], Outcome]


class WaitingNode(msgspec.Struct, frozen=True):
    """May wait. Re-entered from its start when a process dies while it runs; must end soon when cancelled."""

    declaration: NodeDeclaration
    run: Callable[[NodeCall, NodeContext], Awaitable[Outcome]]


NodeType = InstantNode | WaitingNode
