"""A Python host for OpenWOP."""

from typing import TYPE_CHECKING

from weftwork.exports import resolve_export as __getattr__  # noqa: F401

if TYPE_CHECKING:
    from weftwork.adapters.python.calls.interrupts import SurfaceAnswer
    from weftwork.adapters.python.calls.media import Media, MediaContent
    from weftwork.adapters.python.context import Context, PlainContext
    from weftwork.adapters.python.declaration.decorator import node
    from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
    from weftwork.adapters.python.errors import FetchError, InterruptTimeout, NodeError, StepError
    from weftwork.app import Host
    from weftwork.ports.node_outcome import NotDone
    from weftwork.settings import Settings

__all__ = [
    "Context",
    "EnvelopeKind",
    "FetchError",
    "Host",
    "InterruptTimeout",
    "Media",
    "MediaContent",
    "NodeError",
    "NotDone",
    "PlainContext",
    "Settings",
    "StepError",
    "SurfaceAnswer",
    "node",
]
