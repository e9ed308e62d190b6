"""The import contracts of pyproject.toml hold, and each goes red when it is broken."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(no_cache=True, no_logo=True))
"""


def verdicts(tree: Path) -> tuple[dict[str, str], str]:
    """Contract name -> KEPT or BROKEN for the tree, and everything the linter said."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", LINT],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = ended.stdout + ended.stderr
    found = dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", said, re.MULTILINE))
    assert (ended.returncode == 0) == (bool(found) and "BROKEN" not in found.values()), said
    return found, said


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold() -> None:
    found, said = verdicts(ROOT)
    assert found, said
    assert set(found.values()) == {"KEPT"}, said


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("protocol/run.py", "import time", "protocol does no I/O"),
        ("protocol/run.py", "import weftwork.ports.clock", "Arrows point inward"),
        ("app.py", "import weftwork.testing.clock", "Only tests import the test kit"),
        ("engine/decide.py", "import weftwork.ports.clock", "decide sees the protocol only"),
        ("engine/__init__.py", "import apsw", "engine and ports know no drivers"),
        ("adapters/memory/__init__.py", "import weftwork.adapters.http", "Adapters do not import each other"),
        ("adapters/outbound/__init__.py", "import weftwork.adapters.nodes", "Adapters do not import each other"),
    ],
)
def test_a_broken_contract_goes_red(tree: Path, module: str, line: str, contract: str) -> None:
    with (tree / "src" / "weftwork" / module).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    found, said = verdicts(tree)
    assert found.get(contract) == "BROKEN", said
