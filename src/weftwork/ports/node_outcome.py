"""Outcomes of a node: how it ends its turn, and what it raises to get there."""

from typing import Any, Final

import msgspec

from weftwork.ports.node_effects import EmitEvent, NodeEffect
from weftwork.protocol.interrupt import Interrupt


class Completed(msgspec.Struct, frozen=True):
    """The node's outputs by port, and what it does to the run, which is committed together with them."""

    outputs: dict[str, Any]
    effects: tuple[NodeEffect, ...] = ()


class Failed(msgspec.Struct, frozen=True):
    """A failure the node names itself; code and message go on the wire. What cannot get better is not retryable."""

    code: str
    message: str
    details: dict[str, Any] | None = None
    retryable: bool = True
    effects: tuple[NodeEffect, ...] = ()
    """What is said and set along with it."""
    cause: str | None = None
    """What it follows from: the correlation id of an envelope."""


ANOTHER_QUESTION: Final = Failed("node_misused", "This key was answered for another question.", retryable=False)
"""What becomes of a node that finds an answer under its key which is none to its question (int-20)."""


class Suspended(msgspec.Struct, frozen=True):
    """The node waits for an answer; it is entered again from its start once there is one."""

    interrupt: Interrupt
    effects: tuple[EmitEvent, ...] = ()
    """What is said along with the question."""


class Awaits(msgspec.Struct, frozen=True):
    """The node waits for children, those it starts here and those it started before, and needs no memory meanwhile.

    It is called again from its start each time that one of them has ended, and when a host starts; it must find its
    way by `NodeCall.children` alone, and do nothing if there is nothing to do yet. What else it does is in one
    commit with the start or the cancelling of a child, or with its own end, so that it is known to be done.
    """

    effects: tuple[NodeEffect, ...] = ()


Outcome = Completed | Failed | Suspended | Awaits


class Asking(BaseException):
    """Unwinds a node that has to wait for an answer; the run suspends it. No error, and nobody else's to catch."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt.key)
        self.interrupt = interrupt


class StepFailed(Exception):
    """A step failed: now, or when it was run before. Code and message go on the wire."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


class NotDone(Exception):
    """Raised inside a step: its effect did not happen, so nothing is recorded and it may be run again."""
