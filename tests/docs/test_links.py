"""Links between pages lead somewhere, and the front page holds what it must."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, name, pages

RULE = re.compile(r"`--rule ([a-z]+-\d\d)`|pytest --rule ([a-z]+-\d\d)")


def broken(page: Path) -> list[str]:
    """Links of a page that lead to no file or to no heading of it."""
    found: list[str] = []
    for link in links(page.read_text("utf-8")):
        if "://" in link:
            continue
        file, _, fragment = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (fragment and fragment not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other things, here\n\n```text\n# not a heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#other-things-here) [c](other.md#not-a-heading) [d](gone.md) [e](#own)\n"
    )
    assert broken(page) == ["other.md#not-a-heading", "gone.md", "#own"]


def test_the_rules_that_pages_name_are_rules() -> None:
    manifest = tomllib.loads((ROOT / "src" / "weftwork" / "protocol" / "rules.toml").read_text("utf-8"))
    known = {row["id"] for row in manifest["rule"]}
    named = {a or b for page in pages() for a, b in RULE.findall(page.read_text("utf-8"))}
    assert "fold-01" in named
    assert named <= known


def test_the_tests_that_pages_name_exist() -> None:
    named = {path for page in pages() for path in re.findall(r"`(tests/[\w/.]+)`", page.read_text("utf-8"))}
    assert "tests/docs/test_operate.py" in named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_has_a_picture_a_start_and_proofs() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(re.findall(r"\S*\w\S*", text)) <= 500
    assert "LOG: 0 1 2 3" in text
    assert "```sh\nmake run\nmake test\n```" in text
    assert len(RULE.findall(text)) >= 4


def test_pages_are_short() -> None:
    """All but the lists of rules and modules, which are generated and not read from end to end."""
    long = [name(page) for page in pages() if len(page.read_text("utf-8").splitlines()) > 300]
    long = [each for each in long if not each.endswith(("rules.md", "architecture.md"))]
    assert not long
