"""`weftwork new node-package`: what it makes works as it is, with its tests and in a host."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from tests.live import KEY, start_host, weftwork
from weftwork.cli.commands.new import TEMPLATE_SUFFIX

ROOT = Path(__file__).parents[3]
FILES = [
    *("README.md", "pyproject.toml", "src/acme_nodes/__init__.py", "src/acme_nodes/nodes.py"),
    *("src/acme_nodes/py.typed", "tests/test_nodes.py", "workflows/score.json"),
]


def made_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def run_tests(package: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "WEFTWORK"))}
    return subprocess.run(
        command,
        cwd=package,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = weftwork(tmp_path, "new", "node-package", "acme-nodes")
    assert made.returncode == 0, made.stderr
    return tmp_path / "acme-nodes"


def test_it_makes_a_package_and_says_what_to_do_next(tmp_path: Path) -> None:
    made = weftwork(tmp_path, "new", "node-package", "here", "--name", "acme-nodes")
    assert (made.returncode, made.stderr) == (0, "")
    assert made_in(tmp_path / "here") == FILES
    assert made.stdout.splitlines()[0] == "made acme-nodes in here:"
    assert made.stdout.splitlines()[-4:-1] == ["  cd here", "  pip install -e '.[dev]'", "  pytest"]
    project = tomllib.loads((tmp_path / "here" / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"] == {"weftwork.nodes": {"acme-nodes": "acme_nodes.nodes"}}
    for name in FILES:
        assert "@" not in (tmp_path / "here" / name).read_text("utf-8").replace("@weftwork.node", ""), name


def test_its_tests_pass_and_can_fail(package: Path) -> None:
    ended = run_tests(package)
    assert ended.returncode == 0, ended.stdout
    assert "4 passed" in ended.stdout
    nodes = package / "src" / "acme_nodes" / "nodes.py"
    whole = nodes.read_text("utf-8")
    bare = whole.replace('await ctx.step("deliver", deliver, f"{points} points")', 'deliver(f"{points} points")')
    assert bare != whole
    # Outside of a step it happens again after a crash, which is what the tests are there for.
    nodes.write_text(bare, "utf-8")
    ended = run_tests(package)
    assert ended.returncode == 1, ended.stdout
    assert "1 failed, 3 passed" in ended.stdout


def test_a_host_runs_its_workflow(package: Path, tmp_path: Path) -> None:
    paths = {"PYTHONPATH": str(package / "src")}
    options = ("--nodes", "acme_nodes.nodes", "--workflows", package / "workflows")
    with start_host(tmp_path / "host", *options, env=paths, store="memory") as host:
        client = ("--url", host.address, "--key", KEY)
        ran = weftwork(tmp_path, "run", "acme-score", "--input", "text=one two three", "--follow", "--json", *client)
        assert ran.returncode == 0, ran.stderr
        last = json.loads(ran.stdout.splitlines()[-1])
        assert last["status"] == "completed"
        assert '"delivered: 3 points"' in ran.stdout


@pytest.mark.parametrize(
    "name", ["Acme", "acme_nodes", "1acme", "", "core-nodes", "weftwork-x", "a" * 65, "class", "a--b"]
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    refused = weftwork(tmp_path, "new", "node-package", "here", "--name", name)
    assert refused.returncode == 2
    assert "name" in refused.stderr
    assert not (tmp_path / "here").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "README.md").write_text("mine", "utf-8")
    (tmp_path / "file").write_text("mine", "utf-8")
    (tmp_path / "empty").mkdir()
    for name in ("full", "file"):
        refused = weftwork(tmp_path, "new", "node-package", name, "--name", "acme")
        assert refused.returncode == 2
        assert "not empty" in refused.stderr
    assert made_in(tmp_path / "full") == ["README.md"]
    assert weftwork(tmp_path, "new", "node-package", "empty", "--name", "acme").returncode == 0


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    refused = weftwork(tmp_path, "new", "node-package", "file/below", "--name", "acme")
    assert (refused.returncode, "cannot be written" in refused.stderr) == (1, True)


def test_the_templates_are_part_of_the_package() -> None:
    """They lie in the folder that goes into the wheel as a whole, and git does not ignore them."""
    folder = ROOT / "src" / "weftwork" / "templates"
    assert Path(str(resources.files("weftwork"))) == folder.parent
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/weftwork"]}
    listed = made_in(folder)
    assert len(listed) == len(FILES)
    assert all(name.endswith(TEMPLATE_SUFFIX) for name in listed)
    ignored = subprocess.run(
        ["git", "check-ignore", *listed], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert ignored.stdout == ""
