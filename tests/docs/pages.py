"""Pages as data: their code blocks, links and headings."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
OUTPUT = ("text", "json")
TOP = ("README", "CHANGELOG", "CONTRIBUTING", "DEPENDENCIES", "SECURITY", "STYLE")

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A code block; `shown` is the output block that follows it directly, if there is one."""

    language: str
    code: str
    shown: str | None


def pages() -> list[Path]:
    """Every page of the repository."""
    return [
        *(ROOT / f"{name}.md" for name in TOP),
        *sorted((ROOT / "examples").rglob("README.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """The code blocks of a page, in order."""
    found = list(_FENCE.finditer(text))
    listed: list[Block] = []
    for index, match in enumerate(found):
        shown = None
        for follower in found[index + 1 : index + 2]:
            if follower[1] in OUTPUT and not text[match.end() : follower.start()].strip():
                shown = follower[2]
        listed.append(Block(match[1], match[2], shown))
    return listed


def links(text: str) -> list[str]:
    return _LINK.findall(_FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The fragments that a heading of this page can be reached by."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
