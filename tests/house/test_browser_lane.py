"""The tests that need a browser run where one is or can be installed; where they do not run, that is said."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PYTEST = ["python", "-m", "pytest", "-n", "2"]


@pytest.fixture
def lane() -> ModuleType:
    spec = importlib.util.spec_from_file_location("browser_lane", ROOT / "tools" / "browser_lane.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Machine:
    """What is installed on it, and what was run. `works` says after how many commands of apt the browser is there."""

    def __init__(self, browser: bool = False, works: int = 99, status: int = 0) -> None:
        self.browser, self.works, self.status = browser, works, status
        self.asked: list[str] = []
        self.ran: list[list[str]] = []

    def find(self) -> str | None:
        return "/usr/bin/chromium" if self.browser else None

    def run(self, command: list[str]) -> int:
        if command[0] != "apt-get":
            self.ran.append(command)
            return self.status
        self.asked.append(command[1])
        self.browser = len(self.asked) >= self.works and command[1] == "install"
        return 0 if self.browser or command[1] == "update" else 100


def test_with_a_browser_everything_runs(lane: ModuleType) -> None:
    machine = Machine(browser=True, status=3)
    assert lane.main(PYTEST, machine.find, True, True, machine.run) == 3
    assert machine.ran == [PYTEST]
    assert machine.asked == []


@pytest.mark.parametrize(
    ("works", "asked"),
    [
        (1, ["install"]),
        (3, ["install", "update", "install"]),
        (4, ["install", "update", "install", "install"]),
    ],
)
def test_the_administrator_gets_one_installed(lane: ModuleType, works: int, asked: list[str]) -> None:
    machine = Machine(works=works)
    assert lane.main(PYTEST, machine.find, True, False, machine.run) == 0
    assert machine.ran == [PYTEST]
    assert machine.asked == asked


@pytest.mark.parametrize("root", [True, False])
def test_without_one_the_lane_is_named(lane: ModuleType, root: bool, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine(status=4)
    assert lane.main(PYTEST, machine.find, root, False, machine.run) == 4
    assert machine.ran == [[*PYTEST, "--ignore=tests/browser"]]
    assert bool(machine.asked) is root
    assert "Did not run: the browser lane (tests/browser)." in capsys.readouterr().err


@pytest.mark.parametrize("root", [True, False])
def test_a_gate_without_one_fails(lane: ModuleType, root: bool, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine()
    assert lane.main(PYTEST, machine.find, root, True, machine.run) == 1
    assert machine.ran == []
    assert "Did not run" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_no_accident(lane: ModuleType) -> None:
    assert lane.run(["weftwork-no-such-program"]) == 127
    assert lane.run(["sh", "-c", "exit 5"]) == 5


def test_the_gate_and_the_targets_go_this_way() -> None:
    made = (ROOT / "Makefile").read_text("utf-8")
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    assert made.count("$(LANE) ") == 2
    assert "export CI=true" in gate
    assert "make check test" in gate
    assert "make check test browser" not in gate
