"""docs/architecture.md is what the sources say and what a host does; and a run passes through few modules."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.architecture_page import PAGE, PART, SOURCE, main
from tools.walkthroughs import LOOP_THREAD, OUTSIDE, WALKTHROUGHS, Entry, Recording, count_modules, walk_and_count

from tests.docs.pages import ROOT
from tests.harness.cases import each_case

THREAD = re.compile(r"On the (?:event loop|thread `([^`]+)`):")
ROW = re.compile(r"\| \[([^\]]+)\]\([^)]+\) \| `([^`]+)` \| .+ \|")
PATH = re.compile(r"`((?:\.?[\w-]+/)+[\w.-]*|[a-z_]+\.py)`")
RENEW = "run `make docs`"

MOST_MODULES = {"create-run": 51, "model-turn": 82, "model-run": 94}
"""Modules that work may pass through, from the ASGI application inward: the HTTP server and the command around it do
not count, and no log lines are formatted. Modules of all threads count.

create-run: `POST /v1/runs` for a workflow of one instant node, until the host is at rest; the run is complete then.
model-turn: one node that gets an envelope from the scripted provider, from the moment at which the node may start (a
delay before it ends) until the run is complete. The request that creates the run is not in it.
model-run: both, that is `POST /v1/runs` for a workflow of that one node, until the run is complete.
"""


def page() -> str:
    return (ROOT / PAGE).read_text("utf-8")


def listed(text: str) -> dict[str, Recording]:
    """The walkthroughs of a page."""
    found: dict[str, Recording] = {}
    for part in PART.finditer(text):
        if part[2] in WALKTHROUGHS:
            rows = found[part[2]] = []
            thread = LOOP_THREAD
            for line in part[0].splitlines():
                if title := THREAD.fullmatch(line):
                    thread = title[1] or LOOP_THREAD
                elif row := ROW.fullmatch(line):
                    rows.append(Entry(thread, row[1], row[2]))
    return found


def changes(shown: Recording, traced: Recording) -> str:
    """What is on the page and not in the trace, or the other way round; or that the order differs."""
    gone = [f"- {each.file} {each.function} ({each.thread})" for each in shown if each not in traced]
    new = [f"+ {each.file} {each.function} ({each.thread})" for each in traced if each not in shown]
    return "\n".join(gone + new) or ("the order differs" if shown != traced else "")


def test_the_page_has_every_walkthrough() -> None:
    found = listed(page())
    assert list(found) == list(WALKTHROUGHS)
    assert all(len(rows) > 20 for rows in found.values())


def test_packages_modules_and_sentences_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything but the lists themselves, which only a trace can tell."""
    assert (main(["--check"], ROOT, lambda root: listed(page())), capsys.readouterr().err) == (0, "")


def test_the_walkthroughs_are_what_a_host_does_and_a_run_passes_through_few_modules() -> None:
    shown, (traced, counted) = listed(page()), walk_and_count(ROOT)
    assert counted.keys() == MOST_MODULES.keys()
    assert too_many(counted) == []
    found = {name: said for name in WALKTHROUGHS if (said := changes(shown[name], traced[name]))}
    assert not found, f"{PAGE} is stale: {RENEW}\n" + "\n".join(f"{name}\n{said}" for name, said in found.items())


def too_many(traced: dict[str, Recording]) -> list[str]:
    """The scenarios that pass through more modules than they may, with these modules."""
    numbers = {name: count_modules(recording) for name, recording in traced.items()}
    return [
        f"{name}: {number} modules, at most {MOST_MODULES[name]}: {sorted({each.file for each in traced[name]})}"
        for name, number in numbers.items()
        if number > MOST_MODULES[name]
    ]


def test_modules_are_counted_from_the_application_inward() -> None:
    inside = [Entry(LOOP_THREAD, "app.py", "a"), Entry(LOOP_THREAD, "app.py", "b"), Entry("writer", "store.py", "c")]
    outside = [Entry(LOOP_THREAD, f"{folder}x.py", "d") for folder in OUTSIDE]
    assert count_modules([*inside, *outside]) == 2
    assert count_modules([*inside, *outside], ()) == 2 + len(OUTSIDE)


@pytest.mark.parametrize("name", MOST_MODULES)
def test_too_many_modules_are_seen(name: str) -> None:
    entries = [Entry(LOOP_THREAD, f"module{number}.py", "f") for number in range(MOST_MODULES[name] + 1)]
    assert too_many({name: entries[1:]}) == []
    assert len(too_many({name: entries})) == 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the page and of what it is made from."""
    shutil.copytree(ROOT / SOURCE, tmp_path / SOURCE, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / PAGE).parent.mkdir()
    for file in (PAGE, "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def first_docstring(tree: Path, file: str) -> None:
    path = tree / SOURCE / file
    path.write_text('"""Something else."""\n' + path.read_text("utf-8").split("\n", 1)[1], "utf-8")


def new_module(tree: Path) -> None:
    (tree / SOURCE / "engine" / "extra.py").write_text('"""Something new."""\n', "utf-8")


def new_package(tree: Path) -> None:
    (tree / SOURCE / "extra").mkdir()
    (tree / SOURCE / "extra" / "__init__.py").write_text('"""Something new."""\n', "utf-8")


def without_part(tree: Path) -> None:
    text = (tree / PAGE).read_text("utf-8")
    (tree / PAGE).write_text(PART.sub(lambda part: "" if part[2] == "packages" else part[0], text), "utf-8")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda tree: first_docstring(tree, "engine/host/__init__.py"), "packages"),
        (lambda tree: first_docstring(tree, "ports/clock.py"), "modules"),
        (new_module, "packages, modules"),
        (new_package, "packages"),
        (without_part, "packages"),
    ],
)
def test_a_stale_tree_is_seen(
    tree: Path, change: Callable[[Path], None], parts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(tree)
    assert main(["--check"], tree, lambda root: listed(page())) == 1
    assert capsys.readouterr().err == f"{PAGE} is stale ({parts}): {RENEW}\n"


def test_a_stale_tree_is_written_again(tree: Path) -> None:
    first_docstring(tree, "ports/clock.py")
    new_module(tree)
    same = listed(page())
    assert main([], tree, lambda root: same) == 0
    assert main(["--check"], tree, lambda root: same) == 0
    text = (tree / PAGE).read_text("utf-8")
    assert "ports/clock.py) | Something else. |" in text
    assert "engine/extra.py) | Something new. |" in text


def without_row(text: str) -> str:
    rows = [row[0] for row in ROW.finditer(text)]
    return text.replace(rows[0] + "\n", "", 1)


def swapped(text: str) -> str:
    one, other, *_ = [row[0] for row in ROW.finditer(text)]
    return text.replace(f"{one}\n{other}\n", f"{other}\n{one}\n", 1)


def renamed(text: str) -> str:
    row = next(ROW.finditer(text))
    return text.replace(f"`{row[2]}`", "`Gone.call`", 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_row, r"\+ \S+ \S+ \(MainThread\)"),
        (swapped, "the order differs"),
        (renamed, r"- \S+ Gone\.call \(MainThread\)\n\+ .+"),
    ],
)
def test_a_stale_walkthrough_is_seen(
    tree: Path, change: Callable[[str], str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the page as it is in place of a trace."""
    traced = listed(page())
    altered = change(page())
    first = next(iter(WALKTHROUGHS))
    assert re.fullmatch(said, changes(listed(altered)[first], traced[first]))
    (tree / PAGE).write_text(altered, "utf-8")
    assert main(["--check"], tree, lambda root: traced) == 1
    assert capsys.readouterr().err == f"{PAGE} is stale ({first}): {RENEW}\n"


def paths_of(text: str) -> list[str]:
    """The paths that a page names in its written parts; NAME stands for any, and .venv may be missing."""
    return [path for path in PATH.findall(PART.sub("", text)) if "NAME" not in path and not path.startswith(".venv/")]


def lost(paths: list[str], root: Path) -> list[str]:
    """Paths that exist neither below the root nor in the package."""
    return [path for path in paths if not (root / path).exists() and not (root / SOURCE / path).exists()]


@each_case("name", "CONTRIBUTING.md", "STYLE.md", "README.md", PAGE.as_posix())
def test_the_paths_on_a_page_exist(name: str) -> None:
    paths = paths_of((ROOT / name).read_text("utf-8"))
    assert paths
    assert lost(paths, ROOT) == []


def test_a_lost_path_is_seen() -> None:
    paths = paths_of("`engine/api/`, `engine/gone.py`, `app.py`, `gone.py`, `adapters/NAME/`, `.venv/bin/x`, `a/b c`")
    assert paths == ["engine/api/", "engine/gone.py", "app.py", "gone.py"]
    assert lost(paths, ROOT) == ["engine/gone.py", "gone.py"]
