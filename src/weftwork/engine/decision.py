"""The decision: events to append, and what the caller is to do about them."""

from typing import Any, Final

import msgspec

from weftwork.protocol.definition import Node
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.events import Draft
from weftwork.protocol.state import RunState


class Bounds(msgspec.Struct, frozen=True):
    """What the host and the run's options allow."""

    parallel: int
    executions: int
    provided: frozenset[str]
    duration: int | None = None
    """Milliseconds that the run may take in all."""
    orphans: frozenset[str] = frozenset()
    """Claims of a process that is gone: nothing of them is under way."""
    iterations: int = 100
    """Decisions of its supervisors."""


def too_often(state: RunState, bounds: Bounds, node: Node) -> tuple[int, int] | None:
    """lim-14 (RFC 0058, RFC 0007): limit and count of a supervisor that would decide, or a dispatch that would start,
    once too often in this run; None while it may."""
    if node.declaration.role == "supervisor":
        return (bounds.iterations, state.ticks + 1) if state.ticks >= bounds.iterations else None
    cap: int | None = node.config.get("iterationCap")
    return (cap, state.dispatches + 1) if cap is not None and state.dispatches >= cap else None


class Decision(msgspec.Struct, frozen=True):
    """Events to append, in order; a node to run once they are folded; whether to stop or interrupt what runs."""

    events: tuple[Draft, ...] = ()
    start: str | None = None
    looks: tuple[str, ...] = ()
    """Nodes that wait for children and are called again."""
    stop: bool = False
    """Running nodes are told to end and report it: the run is to end."""
    interrupt: bool = False
    """Running nodes are dropped without a word: they start again later."""
    refusal: ClientFault | None = None
    """For whoever asked."""


NOTHING: Final = Decision()


def refuse(code: str, message: str, details: dict[str, Any] | None = None) -> Decision:
    """Nothing happens, and whoever asked is told why."""
    return Decision(refusal=ClientFault(code, message, details))


def error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The error object of node.failed, run.failed and the snapshot."""
    document: dict[str, Any] = {"code": code, "message": message}
    return {**document, "details": details} if details else document
