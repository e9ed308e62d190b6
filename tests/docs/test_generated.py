"""The generated parts of the pages are what the code says."""

from pathlib import Path

import pytest

from tests.docs.page_tool import copy_tree, run_tool
from tests.docs.pages import ROOT

TOOL = "reference_pages.py"
REFERENCE = ("settings", "errors", "cli", "http", "parameters", "seams", "nodes", "workflow")
PAGES = ("concepts.md", *(f"reference/{name}.md" for name in REFERENCE))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree(tmp_path, TOOL)


def test_the_pages_are_up_to_date() -> None:
    assert run_tool(ROOT, TOOL, "--check") == (0, "")


def test_a_stale_part_is_seen_and_written_anew(tree: Path) -> None:
    page = tree / "docs" / "reference" / "settings.md"
    before = page.read_text("utf-8")
    page.write_text(before.replace("`8787`", "`8788`"), "utf-8")
    assert run_tool(tree, TOOL, "--check") == (1, "docs/reference/settings.md is stale: run `make docs`\n")
    assert run_tool(tree, TOOL) == (0, "")
    assert page.read_text("utf-8") == before


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_generated_parts(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert "<!-- begin: " in text
    assert text.count("<!-- begin: ") == text.count("<!-- end: ")


def test_an_unknown_part_stops_the_tool(tree: Path) -> None:
    page = tree / "docs" / "index.md"
    page.write_text("<!-- begin: weather -->\n<!-- end: weather -->\n", "utf-8")
    status, said = run_tool(tree, TOOL)
    assert status != 0
    assert "weather" in said
