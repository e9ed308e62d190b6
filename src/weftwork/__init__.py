"""A Python host for OpenWOP."""

from typing import TYPE_CHECKING

from weftwork.offered import look_up as __getattr__  # noqa: F401

if TYPE_CHECKING:
    from weftwork.adapters.python.context import Context
    from weftwork.adapters.python.declare import node
    from weftwork.adapters.python.errors import FetchError, InterruptTimeout, NodeError, StepError
    from weftwork.adapters.python.kinds import EnvelopeKind
    from weftwork.adapters.python.media import Media, MediaContent
    from weftwork.adapters.python.plain import PlainContext
    from weftwork.app import Host
    from weftwork.ports.nodes import NotDone
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
    "node",
]
