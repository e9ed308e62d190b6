"""Which members of an event carry values: what its author made, beside names, ids and codes of the protocol."""

from collections.abc import Iterable
from typing import Any, Final

from weftwork.protocol.events import (
    CANCEL_REQUESTED,
    EFFECT_CLAIMED,
    EFFECT_RECORDED,
    MAP_ITEM,
    PAUSE_REQUESTED,
    is_authors_type,
)

MADE: Final[dict[str, tuple[str, ...]]] = {
    "log.appended": ("message", "fields"),
    "artifact.created": ("data", "summary"),
    "interrupt.requested": ("data",),
    "interrupt.resolved": ("resumeValue",),
    MAP_ITEM: ("output",),
    EFFECT_RECORDED: ("output",),
}
"""Members that are made by a node: hidden whole when the node hides what it makes."""

VALUES: Final[dict[str, tuple[str, ...]]] = {
    "run.started": ("inputs",),
    "run.completed": ("outputs",),
    "run.cancelled": ("reason",),
    "run.paused": ("reason",),
    "run.resumed": ("reason",),
    CANCEL_REQUESTED: ("reason",),
    PAUSE_REQUESTED: ("reason",),
    "node.completed": ("outputs",),
    "variable.changed": ("previous", "next"),
    "channel.written": ("value",),
    "version.pinned": ("changeId",),
    EFFECT_CLAIMED: ("step",),
    **MADE,
    EFFECT_RECORDED: ("step", *MADE[EFFECT_RECORDED]),
}
"""Event type -> members that carry values, beside errors. Nothing else in a payload is ever rewritten."""

NODE_ERRORS: Final = {"node.failed": "error", "node.retried": "lastError", EFFECT_RECORDED: "error"}
"""Event type -> the member with the error of the node."""
OBJECTS: Final = frozenset({"log.appended", "interrupt.requested"})
"""Types with a member that must stay an object."""
WORDS: Final = frozenset({"customKind", "actions", "eventType"})
"""Members of such an object that are words of the protocol and never values."""


def members(kind: str, payload: dict[str, Any]) -> Iterable[str]:
    """The members that carry values. Of an event that an author made up, every one."""
    return tuple(payload) if is_authors_type(kind) else VALUES.get(kind, ())
