"""What the kit offers: a fixed list of names, each on the page, loaded when they are asked for."""

import importlib
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import weftwork
import weftwork.testing
from tests.live import until
from weftwork.testing.exports import EXPORTS

PAGE = Path(__file__).parents[2] / "docs" / "extend" / "testing.md"
PUBLIC = [
    *(
        "Asset",
        "Crash",
        "Failure",
        "FakeModel",
        "FakeOutbound",
        "Fault",
        "LostAnswer",
        "ManualClock",
        "NodeResult",
        "Outage",
        "Performed",
    ),
    *("Question", "Refused", "RunResult", "Shown", "TIMEOUT", "Unending", "UnexpectedRequest", "Unmet", "Unreached"),
    *("arun_node", "arun_workflow", "crash_everywhere", "find_out", "respond", "run_node", "run_workflow"),
]
"""The snapshot. A change here is a change of the public API and belongs in CHANGELOG.md."""


def test_the_public_names_are_the_snapshot() -> None:
    assert sorted(weftwork.testing.__all__) == PUBLIC
    assert sorted(EXPORTS) == PUBLIC
    for name in PUBLIC:
        assert getattr(weftwork.testing, name).__module__.startswith("weftwork.testing.")
    with pytest.raises(AttributeError, match=r"'weftwork\.testing' has no attribute 'nothing'"):
        getattr(importlib.import_module("weftwork.testing"), "nothing")  # noqa: B009


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ("Failure", "Fault", "Performed")])
def test_what_an_author_writes_is_on_the_page(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE.read_text("utf-8"))


def test_importing_the_kit_loads_no_engine() -> None:
    script = "import sys, weftwork.testing; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert not {"weftwork.engine", "weftwork.app", "asyncio"} & set(ended.stdout.split())


def test_a_run_leaves_no_thread_behind() -> None:
    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext) -> int:
        return ctx.step("step", threading.get_ident)

    before = {*threading.enumerate()}
    for _ in range(3):
        assert weftwork.testing.run_node(plain, faults=[weftwork.testing.Crash(at=1)]).status == "completed"
    until(lambda: {*threading.enumerate()} <= before, "the threads to end")
