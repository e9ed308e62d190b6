"""The generated parts of the pages are what the code says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

TOOL = Path("tools", "reference_pages.py")
PAGES = ("concepts.md", "reference/settings.md", "reference/errors.md", "reference/cli.md", "reference/http.md")


def run_tool(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(root / TOOL), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / TOOL, tmp_path / TOOL)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def test_the_pages_are_up_to_date() -> None:
    assert run_tool(ROOT, "--check") == (0, "")


def test_a_stale_part_is_seen_and_written_anew(tree: Path) -> None:
    page = tree / "docs" / "reference" / "settings.md"
    before = page.read_text("utf-8")
    page.write_text(before.replace("`8787`", "`8788`"), "utf-8")
    assert run_tool(tree, "--check") == (1, "docs/reference/settings.md is stale: run `make docs`\n")
    assert run_tool(tree) == (0, "")
    assert page.read_text("utf-8") == before


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_generated_parts(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert "<!-- begin: " in text
    assert text.count("<!-- begin: ") == text.count("<!-- end: ")


def test_an_unknown_part_stops_the_tool(tree: Path) -> None:
    page = tree / "docs" / "index.md"
    page.write_text("<!-- begin: weather -->\n<!-- end: weather -->\n", "utf-8")
    status, said = run_tool(tree)
    assert status != 0
    assert "weather" in said
