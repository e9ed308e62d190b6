"""The test kit: runs nodes and workflows in process, with a manual clock and faults; fakes and suites for adapters."""

from typing import TYPE_CHECKING

from weftwork.testing.exports import resolve_export as __getattr__  # noqa: F401

if TYPE_CHECKING:
    from weftwork.testing.call_recorder import Performed
    from weftwork.testing.deterministic import ManualClock
    from weftwork.testing.errors import Diverged, Refused, Unending, UnexpectedRequest, Unmet, Unreached
    from weftwork.testing.fake_model import FakeModel
    from weftwork.testing.fake_outbound import FakeOutbound, respond
    from weftwork.testing.faults import Crash, Fault, LostAnswer, Outage
    from weftwork.testing.history.replay import ReplayedHistory, areplay, replay
    from weftwork.testing.media import Asset, Shown
    from weftwork.testing.question import TIMEOUT, Question, find_out
    from weftwork.testing.result import Failure, NodeResult, RunResult
    from weftwork.testing.runner import arun_node, arun_workflow, crash_everywhere, run_node, run_workflow

__all__ = [
    "TIMEOUT",
    "Asset",
    "Crash",
    "Diverged",
    "Failure",
    "FakeModel",
    "FakeOutbound",
    "Fault",
    "LostAnswer",
    "ManualClock",
    "NodeResult",
    "Outage",
    "Performed",
    "Question",
    "Refused",
    "ReplayedHistory",
    "RunResult",
    "Shown",
    "Unending",
    "UnexpectedRequest",
    "Unmet",
    "Unreached",
    "areplay",
    "arun_node",
    "arun_workflow",
    "crash_everywhere",
    "find_out",
    "replay",
    "respond",
    "run_node",
    "run_workflow",
]
