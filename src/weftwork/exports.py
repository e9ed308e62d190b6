"""What `import weftwork` offers, by the module that has it. Looked up when it is asked for: a module with nodes is
imported quickly, and without the host around it."""

import importlib
from typing import Any, Final

PLACES: Final[dict[str, str]] = {
    "Context": "weftwork.adapters.python.context",
    "EnvelopeKind": "weftwork.adapters.python.declaration.envelope_kind",
    "FetchError": "weftwork.adapters.python.errors",
    "Host": "weftwork.app",
    "InterruptTimeout": "weftwork.adapters.python.errors",
    "Media": "weftwork.adapters.python.calls.media",
    "MediaContent": "weftwork.adapters.python.calls.media",
    "NodeError": "weftwork.adapters.python.errors",
    "NotDone": "weftwork.ports.node_outcome",
    "PlainContext": "weftwork.adapters.python.plain_context",
    "Settings": "weftwork.settings",
    "StepError": "weftwork.adapters.python.errors",
    "node": "weftwork.adapters.python.declaration.decorator",
}


def look_up(name: str) -> Any:
    """PEP 562: an attribute of the package that nobody has asked for yet."""
    if name not in PLACES:
        raise AttributeError(f"module 'weftwork' has no attribute {name!r}")
    return getattr(importlib.import_module(PLACES[name]), name)
