"""The decision: events to append, and what the caller is to do about them."""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.events import Draft


class Bounds(msgspec.Struct, frozen=True):
    """What the host and the run's options allow."""

    parallel: int
    executions: int
    provided: frozenset[str]
    duration: int | None = None
    """Milliseconds that the run may take in all."""
    orphans: frozenset[str] = frozenset()
    """Claims of a process that is gone: nothing of them is under way."""


class Decision(msgspec.Struct, frozen=True):
    """Events to append, in order; a node to run once they are folded; whether to stop or interrupt what runs."""

    events: tuple[Draft, ...] = ()
    start: str | None = None
    stop: bool = False
    """Running nodes are told to end and report it: the run is to end."""
    interrupt: bool = False
    """Running nodes are dropped without a word: they start again later."""
    refusal: ClientFault | None = None
    """For whoever asked."""

    @property
    def marked(self) -> bool:
        """Whether there is more to it than events and a start."""
        return self.stop or self.interrupt or self.refusal is not None


NOTHING: Final = Decision()


def refuse(code: str, message: str, details: dict[str, Any] | None = None) -> Decision:
    """Nothing happens, and whoever asked is told why."""
    return Decision(refusal=ClientFault(code, message, details))


def error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The error object of node.failed, run.failed and the snapshot."""
    document: dict[str, Any] = {"code": code, "message": message}
    return {**document, "details": details} if details else document
