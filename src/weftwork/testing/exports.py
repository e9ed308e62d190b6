"""What `import weftwork.testing` offers, by the module that has it. Looked up when it is asked for."""

import importlib
from typing import Any, Final

PLACES: Final[dict[str, tuple[str, ...]]] = {
    "clock": ("ManualClock",),
    "fault": ("Crash", "Fault", "LostAnswer", "Outage"),
    "media": ("Asset", "Shown"),
    "model": ("FakeModel",),
    "outbound": ("FakeOutbound", "respond"),
    "question": ("TIMEOUT", "Question", "find_out"),
    "result": ("Failure", "NodeResult", "RunResult"),
    "running": ("arun_node", "arun_workflow", "crash_everywhere", "run_node", "run_workflow"),
    "unmet": ("Refused", "Unending", "UnexpectedRequest", "Unmet", "Unreached"),
    "watched": ("Performed",),
}


def look_up(name: str) -> Any:
    """PEP 562: an attribute of the package that nobody has asked for yet."""
    place = next((module for module, names in PLACES.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module 'weftwork.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"weftwork.testing.{place}"), name)
