"""The exports of `weftwork.testing`, by the module that defines them. Modules are imported on first use."""

from typing import Final

from weftwork.exports import lazy

_MODULES: Final[dict[str, tuple[str, ...]]] = {
    "deterministic": ("ManualClock",),
    "faults": ("Crash", "Fault", "LostAnswer", "Outage"),
    "media": ("Asset", "Shown"),
    "fake_model": ("FakeModel",),
    "fake_outbound": ("FakeOutbound", "respond"),
    "question": ("TIMEOUT", "Question", "find_out"),
    "result": ("Failure", "NodeResult", "RunResult"),
    "runner": ("arun_node", "arun_workflow", "crash_everywhere", "run_node", "run_workflow"),
    "history.replay": ("ReplayedHistory", "areplay", "replay"),
    "errors": ("Diverged", "Refused", "Unending", "UnexpectedRequest", "Unmet", "Unreached"),
    "call_recorder": ("Performed",),
}

EXPORTS: Final = {name: f"weftwork.testing.{module}" for module, names in _MODULES.items() for name in names}

resolve_export: Final = lazy("weftwork.testing", EXPORTS)
