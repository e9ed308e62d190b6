"""The ties of a live run: what it tells whoever keeps it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from weftwork.ports.eventlog import Batch
from weftwork.ports.nodes import NewChild
from weftwork.protocol.run import RunKey

if TYPE_CHECKING:
    from weftwork.engine.live import LiveRun


class Ties(msgspec.Struct, frozen=True):
    """Called by a live run, never in the middle of a change to it."""

    ended: "Callable[[LiveRun], None]"
    """Its terminal event is durable."""
    broken: "Callable[[LiveRun], None]"
    """The host failed it."""
    left: "Callable[[LiveRun], None]"
    """It only waits for people and children, or another executor turned out to move it."""
    wanted: Callable[[RunKey], bool]
    """Whether somebody is about to ask it something."""
    related: "Callable[[LiveRun, Batch, Sequence[NewChild]], None]"
    """A batch is durable that concerns its parent or its children; these are the new ones."""
    doubted: "Callable[[LiveRun, Sequence[NewChild]], None]"
    """The store was away, and may have taken more than it said: these children, for instance."""
