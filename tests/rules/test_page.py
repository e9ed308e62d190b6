"""docs/rules.md is what the manifest says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("tools/rules_page.py", "src/weftwork/protocol/rules.toml", "docs/rules.md")


def run_tool(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(root / "tools" / "rules_page.py"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return ended.returncode, ended.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for part in PARTS:
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, tmp_path / part)
    return tmp_path


def test_the_page_is_up_to_date() -> None:
    assert run_tool(ROOT, "--check") == (0, "")


def test_a_stale_page_is_seen_and_written_anew(tree: Path) -> None:
    manifest = tree / "src" / "weftwork" / "protocol" / "rules.toml"
    manifest.write_text(manifest.read_text("utf-8").replace('text = "', 'text = "Changed | ', 1), "utf-8")
    assert run_tool(tree, "--check") == (1, "docs/rules.md is stale: run `make docs`\n")
    assert "Changed" not in (tree / "docs" / "rules.md").read_text("utf-8")
    assert run_tool(tree) == (0, "")
    assert "Changed \\| " in (tree / "docs" / "rules.md").read_text("utf-8")
    assert run_tool(tree, "--check") == (0, "")


def test_one_rule_can_be_chosen(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = rule(id): a rule\n")
    (tmp_path / "test_two.py").write_text(
        "import pytest\n\n@pytest.mark.rule('abc-01')\ndef test_one(): ...\n\ndef test_other(): ...\n"
    )
    options = "-m pytest -q --collect-only -p no:cacheprovider --rule abc-01".split()
    # The plugins that it names are modules of the tests.
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *options]
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "test_two.py::test_one" in ended.stdout
    assert "test_other" not in ended.stdout
