"""What `import weftwork` exports, by the module that defines it.

Names are looked up on first use (PEP 562), so that a module with nodes is imported quickly and without the host.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

EXPORTS: Final[dict[str, str]] = {
    "Context": "weftwork.adapters.python.context",
    "EnvelopeKind": "weftwork.adapters.python.declaration.envelope_kind",
    "FetchError": "weftwork.adapters.python.errors",
    "Host": "weftwork.app",
    "InterruptTimeout": "weftwork.adapters.python.errors",
    "Media": "weftwork.adapters.python.calls.media",
    "MediaContent": "weftwork.adapters.python.calls.media",
    "NodeError": "weftwork.adapters.python.errors",
    "NotDone": "weftwork.ports.node_outcome",
    "PlainContext": "weftwork.adapters.python.context",
    "Settings": "weftwork.settings",
    "StepError": "weftwork.adapters.python.errors",
    "SurfaceAnswer": "weftwork.adapters.python.calls.interrupts",
    "node": "weftwork.adapters.python.declaration.decorator",
}


def lazy(package: str, exports: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` for the package that imports each name from its module on first use."""

    def look_up(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(exports[name]), name)

    return look_up


resolve_export: Final = lazy("weftwork", EXPORTS)
